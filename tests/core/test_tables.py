"""Tables of calls: each operator that is lowered gives the bits of its ordinary run, and what is not lowered is known."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.core.dispatch import plan_for
from sparsekit.core.program import Program
from sparsekit.core.table import machine
from sparsekit.core.table.table import Lowered, Table
from sparsekit.core.trace import Note, Step, abstract_store
from sparsekit.core.workspace import parts_of
from sparsekit.storage import CSR, stype_of
from tests.core.test_references import cases, typed
from tests.sweeping import CPU, OPS, stores

#: Element types that dense rows are tried in, and those with a sparse array.
DENSE, SPARSE = ("float32", "float64", "int64", "uint8", "float16"), ("float32", "float64")

pytestmark = pytest.mark.skipif(bool(machine.reason_against_tables()), reason=machine.reason_against_tables() or "-")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mx.StorageFallbackWarning)
        warnings.simplefilter("ignore", mx.base.errors.IndexWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def program_of(call, inputs, results, rule=None):
    """One step, whose kernel may be another."""
    specs = [abstract_store(store.shape, store.dtype, stype_of(store)) for store in (*inputs, *results)]
    made = tuple(range(len(inputs), len(specs)))
    step = Step(call, tuple(range(len(inputs))), made, Note("", "", -1, hooks.state.training))
    program = Program("forward", CPU, [step], specs, set(made), set(made))
    if rule is not None:
        program.plans[0].with_function(rule)
    return program


def same(one, other):
    """Whether two stores agree to the bit; the bits of nan may differ."""
    if type(one) is not type(other):
        return False
    for left, right in zip(parts_of(one), parts_of(other), strict=True):
        left, right = np.asarray(left), np.asarray(right)
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            return False
        if not np.array_equal(left, right, equal_nan=left.dtype.kind == "f"):
            return False
        if left.dtype.kind == "f" and not (np.signbit(left) == np.signbit(right))[~np.isnan(left)].all():
            return False
    return True


class Case:
    """A call on stores: its plan, its results, and its step in a table; ``plan`` is None where it falls back or fails."""

    def __init__(self, op, stores, attrs):
        self.stores, self.plan = stores, None
        call = op.bind(attrs)
        try:
            call.infer_shape([store.shape for store in stores])
            plan = plan_for(call, tuple(map(stype_of, stores)), CPU, op.meeting([store.dtype for store in stores]))
            if plan.fallback or plan.cast is not None:
                return
            self.results = self.run(plan, [store.copy() for store in stores])
        except Exception:  # such types or shapes are refused, which other tests are about
            return
        self.plan = plan
        self.program = program_of(call, stores, self.results)

    @staticmethod
    def run(plan, stores):
        made = hooks.ignore_fp_errors(plan.function, plan.k, *stores, plan.attrs)
        return made if isinstance(made, tuple) else (made,)

    def lowered(self):
        return Lowered(self.program, [*[store.copy() for store in self.stores], *self.results], set())

    def table(self):
        """Of a call that has to be lowered."""
        lowered = self.lowered()
        assert lowered.reasons == [""]
        return Table(lowered)

    def check_if_lowered(self):
        lowered = self.lowered() if self.plan is not None else None
        if lowered is not None and not lowered.reasons[0]:
            self.check(Table(lowered), self.stores)

    def check(self, table, stores):
        """Run the table twice on stores, and compare with a run in Python."""
        expected = self.run(self.plan, [store.copy() for store in stores])

        def execute(number, values):
            values[len(stores):] = self.run(self.plan, values[: len(stores)])

        for _ in range(2):
            values = [*[store.copy() for store in stores], *[None] * len(expected)]
            assert table.run(values, execute)
            assert all(map(same, expected, values[len(stores):])), (self.plan.call, expected, values[len(stores):])
            assert all(map(same, stores, values)), f"{self.plan.call} writes to its inputs"


def kinds_of(op, arrays, stypes):
    if not arrays:
        return ["float32"]
    return DENSE if set(stypes) == {"default"} else SPARSE


def ready(op, arrays, attrs, stypes, kind):
    """The sample's stores in an element type; None where it is not taken."""
    try:
        given = typed(op, arrays, (kind,) * len(arrays)) if kind != "float32" else arrays
        return stores(op, given, attrs, stypes)
    except Exception:  # the values of the sample do not fit the type
        return None


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_lowered_row_gives_the_same_bits(name):
    op = OPS[name]
    for arrays, attrs, stypes in cases(op):
        for kind in kinds_of(op, arrays, stypes):
            given = ready(op, arrays, attrs, stypes, kind)
            if given is not None:
                Case(op, given, attrs).check_if_lowered()


#: Shapes at which numpy adds in other orders, goes through buffers of 8,192 elements, or leaves rows to BLAS.
LARGE = ((1,), (7,), (8,), (129,), (8193,), (3, 5000), (5000, 3), (64, 129), (2, 3, 1000), (40, 1, 300), (0, 4), (4, 0))


def axes_of(shape):
    return [None, *range(len(shape)), *([tuple(range(len(shape)))] if len(shape) > 1 else [])]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "norm", "nansum"])
def test_reductions_add_in_the_order_of_numpy(name, shape, kind):
    values = np.random.default_rng(0).normal(size=shape).astype(kind)
    for axis in axes_of(shape):
        for keep in (False, True):
            Case(OPS[name], [values], {"axis": axis, "keepdims": keep}).check_if_lowered()


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "log", "sqrt", "erf", "relu", "square", "softmax", "log_softmax",
                                  "transpose", "reverse", "expand_dims", "abs", "broadcast_add", "broadcast_mul", "broadcast_div",
                                  "broadcast_maximum", "_plus_scalar", "_mod_scalar", "concat", "stack"])
def test_large_and_empty_arrays(name, shape):
    random = np.random.default_rng(1)
    op = OPS[name]
    attrs = {"_plus_scalar": {"scalar": 0.5}, "_mod_scalar": {"scalar": 0.7}, "reverse": {"axis": 0}, "expand_dims": {"axis": 0},
             "concat": {"num_args": 2, "dim": 0}, "stack": {"num_args": 2, "axis": 0}}.get(name, {})
    count = 2 if name.startswith("broadcast_") or name in {"concat", "stack"} else 1
    others = [shape[-1:], (*shape[:-1], 1), shape] if name.startswith("broadcast_") else [shape]
    for other in others:
        stores = [random.random(one).astype(np.float32) for one in (shape, other)[:count]]
        Case(op, stores, attrs).check_if_lowered()


@pytest.mark.parametrize("attrs", [{}, {"transpose_a": True}, {"transpose_b": True}])
@pytest.mark.parametrize("shape", [(1, 1, 1), (10, 128, 8), (8, 1, 10), (1, 300, 1), (64, 300, 65), (0, 3, 2), (3, 0, 2)],
                         ids=str)
def test_products_of_matrices(shape, attrs):
    rows, inner, columns = shape
    random = np.random.default_rng(2)
    left = random.normal(size=(inner, rows) if attrs.get("transpose_a") else (rows, inner)).astype(np.float32)
    right = random.normal(size=(columns, inner) if attrs.get("transpose_b") else (inner, columns)).astype(np.float32)
    case = Case(OPS["dot"], [left, right], attrs)
    case.check(case.table(), [left, right])


def csr_of(rows, columns, stored, seed, index):
    random = np.random.default_rng(seed)
    chosen = [np.sort(random.choice(columns, min(columns, one), replace=False)) for one in random.integers(0, stored + 1, rows)]
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in chosen])])
    indices = np.concatenate([*chosen, np.zeros(0)])
    return CSR(random.normal(size=len(indices)).astype(np.float32), indices.astype(index), indptr.astype(index), (rows, columns))


@pytest.mark.parametrize(("transpose", "index"), [(False, "int32"), (True, "int64")])
def test_one_table_takes_matrices_that_store_more_and_less(transpose, index):
    """Also none at all, and so much that threads share the product."""
    rows, columns, width = 40, 3000, 16
    dense = np.random.default_rng(3).normal(size=(rows if transpose else columns, width)).astype(np.float32)
    first = csr_of(rows, columns, 5, 0, index)
    case = Case(OPS["dot"], [first, dense], {"transpose_a": transpose})
    table = case.table()
    for seed, most in enumerate((5, 0, 60, 1, 2000, 7, 3)):
        case.check(table, [csr_of(rows, columns, most, seed, index), dense])
    assert table.stops == 2 * transpose, "for the one that stores nothing, run twice; threads share the largest in the table"


def singles():
    """Float32 numbers at which rounding to float16 may go wrong: those that are float16, the middles, their neighbours."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves[np.isfinite(halves)].astype(np.float64)
    middles = ((exact[:-1] + exact[1:]) / 2).astype(np.float32)
    odd = np.array([65504, 65519.996, 65520, 65536, 1e10, 3e38, np.inf, np.nan, 2.0**-24, 2.0**-25, 1e-45, 0], np.float32)
    random = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    around = [np.nextafter(middles, np.float32(limit)) for limit in (-np.inf, np.inf)]
    found = np.concatenate([halves.astype(np.float32), middles, *around, odd, -odd, random])
    return found[~np.isnan(found) | (found.view(np.uint32) & 0x400000 != 0)]  # a signalling nan is the processor's affair


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_casts_between_float16_and_float32_have_the_bits_of_numpy(dtype):
    values = singles()
    if dtype == "float32":
        values = hooks.ignore_fp_errors(values.astype, np.float16)
    case = Case(OPS["Cast"], [values], {"dtype": dtype})
    found = [values, None]
    assert case.table().run(found, lambda number, values: None)
    word = f"u{np.dtype(dtype).itemsize}"
    np.testing.assert_array_equal(found[1].view(word), case.results[0].view(word))


@pytest.mark.parametrize("kind", ["float16", "float32", "int64", "bool"])
def test_rows_are_taken_and_written_as_numpy_does(kind):
    """Python runs what has a row that there is not."""
    def taken(k, x, rows, attrs):
        return x[rows]

    def written(k, x, rows, attrs):
        made = x.copy()
        made[rows] = x[rows][:, ::-1]
        return made

    x = np.random.default_rng(0).normal(size=(9, 4, 2)).astype(kind)
    for rule in (taken, written):
        rows = np.array([7, 0, 3])
        result = rule(None, x, rows, {})
        lowered = Lowered(program_of(OPS["elemwise_add"].bind({}), [x, rows], [result], rule), [x, rows, result], set())
        table = Table(lowered)
        assert lowered.reasons == [""]
        for stops, one in enumerate(([7, 0, 3], [-1, 2, 2])):
            values, expected = [x, np.array(one), None], rule(None, x, np.array(one), {})
            assert table.run(values, lambda number, values, made=expected: values.__setitem__(2, made))
            np.testing.assert_array_equal(values[2], expected)
            assert table.stops == stops


def test_a_table_refuses_stores_of_another_kind():
    first, dense = csr_of(4, 30, 5, 0, "int64"), np.ones((30, 3), np.float32)
    case = Case(OPS["dot"], [first, dense], {})
    table = case.table()
    other = csr_of(4, 30, 5, 1, "int32")
    assert not table.run([other, dense, None], lambda number, values: None)
    assert table.run([first, np.asfortranarray(dense), None], lambda number, values: None)
    with mx.config.set(indices="error"):
        assert not table.run([first, dense, None], lambda number, values: None)


def test_what_is_computed_while_lowering_is_refused_and_not_frozen():
    """A rule that draws numbers, looks at values, or brings an array along has no rows."""
    def drawn(k, x, attrs):
        return x + np.random.default_rng(0).random(x.shape)

    def looked(k, x, attrs):
        return x if x.sum() > 0 else -x

    def brought(k, x, attrs):
        return x * np.arange(x.size, dtype=x.dtype)

    def made(k, x, attrs):
        return np.ones(x.shape, x.dtype)

    def guarded(k, x, attrs):
        try:
            return x * float(x.max())
        except Exception:
            return x * 2

    values = np.ones(3, np.float32)
    for rule in (drawn, looked, brought, made, guarded):
        program = program_of(OPS["exp"].bind({}), [values], [values], rule)
        assert Lowered(program, [values, values], set()).reasons[0], rule.__name__


def counted():
    """The rows of the operators that are lowered with all their float32 samples, and the others: of dense arrays, and sparse."""
    found = {}
    for name, op in sorted(OPS.items()):
        for arrays, attrs, stypes in cases(op):
            case = Case(op, stores(op, arrays, attrs, stypes), attrs)
            if case.plan is not None:
                key = name, repr(case.plan.rule)
                sparse = set(stypes) != {"default"} or any(stype_of(store) != "default" for store in case.results)
                found.setdefault((sparse, key), []).append(not case.lowered().reasons[0])
    return [[[key for (sparse, key), made in found.items() if sparse is wanted and all(made) is lowered]
             for lowered in (True, False)] for wanted in (False, True)]


def test_the_rows_that_are_not_lowered_are_as_many_as_before():
    """A new operator need not be: its rows are then counted here."""
    for (lowered, others), (least, most), stype in zip(counted(), ((206, 146), (154, 258)), ("dense", "sparse"), strict=True):
        assert len(lowered) >= least, f"{len(lowered)} of {least} {stype} rows are lowered"
        assert len(others) == most, f"{len(others)} instead of {most} {stype} rows are not lowered: {others}"
