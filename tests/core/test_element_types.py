"""Element types: what runs has the type that was inferred and that numpy gives, whatever the storage types and their order."""

import itertools
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import IndexWarning, StorageFallbackWarning
from sparsekit.core import infer, spec
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.kernels.cpu import jit
from sparsekit.storage import convert, densify, stype_of
from tests.core.inference import inferred
from tests.sampling import chosen, some
from tests.sweeping import CPU, OPS, STYPES, combinations, compiled_for, listed, stores

TYPES = tuple(map(np.dtype, ("float16", "float32", "float64", "int32", "int64")))
BYTES = tuple(itertools.permutations(map(np.dtype, ("int8", "uint8"))))  # which meet in int16 in numpy


def joint(*given):
    """numpy's element type of all of them together, or the smallest of arrays that holds it."""
    found = np.result_type(*given)
    return np.dtype(np.int32) if found == np.int16 else found


#: Where inputs have types of their own; those that meet in one are in ``test_references``, and steps of optimizers refuse others.
APART = [op for _, op in sorted(OPS.items()) if op.joined is None and not op.mutates
         and not op.name.startswith(("_random", "_sample", "mp_", "multi_", "preloaded", "lamb"))]


def mixed_types(op, stypes):
    """One type for all, and pairs of types with either in each of the first three places.

    Of two dense arrays these are all pairs.  Kernels of sparse ones are compiled for each, and get few.
    """
    count, dense = len(stypes), set(stypes) == {"default"}
    if count < 3 and dense:
        return [*itertools.product(TYPES, repeat=count), *BYTES[: 2 * (count - 1)]]
    pairs = ((TYPES[1], TYPES[2]), (TYPES[2], TYPES[1]), (TYPES[0], TYPES[1]), *(((TYPES[3], TYPES[1]), *BYTES) if dense else ()))
    mixed = [tuple(one if place == at else other for place in range(count))
             for at in range(min(count, 3)) for one, other in pairs]
    return [(kind,) * count for kind in TYPES if compiled_for(op.name, kind.name, stypes)] + mixed


def rows():
    """One sample for each rule row and combination of storage types that it serves."""
    for op in APART:
        seen = set()
        for arrays, attrs in op.sample():
            for stypes in combinations(arrays) if len(arrays) > 1 else ():
                rule = op.find_rule(stypes, op.bind(attrs).attrs)
                if rule is not None and (id(rule), stypes) not in seen:
                    seen.add((id(rule), stypes))
                    yield pytest.param(op, arrays, attrs, stypes, id=f"{op.name}-{'-'.join(stypes)}-{len(seen)}")


@pytest.mark.parametrize(("op", "arrays", "attrs", "stypes"), some(rows(), one_in=4))
def test_what_runs_has_the_inferred_type(op, arrays, attrs, stypes):
    call, ran = op.bind(attrs), 0
    for types in mixed_types(op, stypes):
        if types[0].itemsize == 1 and op.dtype is not infer.same:
            continue  # whose samples need not be numbers of uint8
        given = stores(op, [array.astype(kind) for array, kind in zip(arrays, types, strict=True)], attrs, stypes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndexWarning)
            try:
                specs = tuple(map(spec.Spec, (array.shape for array in arrays), types, stypes))
                spec.infer_dtypes(call, list(types))
                results = listed(invoke(call, tuple(wrap(store, CPU) for store in given), None, CPU))
                found = inferred(call, specs, results)
            except mx.DTypeError as error:
                refusal = str(error)
            else:
                refusal = ""
        if refusal:
            assert "cannot be computed" not in refusal, types  # refused by name, not by numpy
            continue
        for one, expected in zip(results, found, strict=False):
            store = one._store
            assert store.dtype == expected.dtype, (types, store.dtype, expected.dtype)
            assert (stype_of(store), tuple(store.shape)) == (expected.stype, tuple(expected.shape))
        ran += 1
    assert ran


def test_a_second_call_with_float16_compiles_nothing(monkeypatch):
    compiled = []
    x, y = (mx.nd.array(np.eye(3), dtype="float16").tostype(stype) for stype in ("csr", "default"))
    mx.nd.dot(x, y)
    monkeypatch.setattr(jit, "listeners", [lambda name, *_: compiled.append(name)])
    mx.nd.dot(x, y)
    assert not compiled


def quotient(left, right):
    if "f" in (left.dtype.kind, right.dtype.kind):
        return left / right
    return np.trunc(left / right).astype(np.result_type(left, right))


NUMPY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": quotient, "maximum": np.maximum, "minimum": np.minimum}
SHAPES = {"whole": (4, 5), "row": (1, 5), "flat row": (5,), "column": (4, 1), "one": (1, 1)}
VALUES = np.random.default_rng(7)


def numbers(shape, dtype, zeros):
    values = VALUES.uniform(1, 9, shape)
    if dtype.kind == "f":
        values *= VALUES.choice([1e-3, 1, 1e3], shape) if dtype != np.float16 else 1
    values = values.astype(dtype)
    return np.where(VALUES.random(shape) < 0.4, 0, values).astype(dtype) if zeros else values


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize(("left", "right"), [(a, b) for a in STYPES for b in STYPES])
@pytest.mark.parametrize("pattern", SHAPES)
def test_arithmetic_is_numpys_to_the_bit(name, left, right, pattern):
    """Every pair of element types, with either side broadcast; a divisor has no zeros, since absent ones are not divided.

    Types that differ meet before anything is broadcast, so of these pairs, each pattern but the first tries a sample, and sparse
    arrays try one of those whose kernels are for int32.
    """
    expected_of = NUMPY[name]
    for turned, (one, two) in itertools.product((False, True), [*itertools.product(TYPES, repeat=2), *BYTES]):
        if pattern != "whole" and one != two and not chosen(f"{name} {left} {right} {pattern} {turned} {one} {two}", 4):
            continue
        if not compiled_for(name, joint(one, two).name, (left, right)):
            continue
        shapes = ((4, 5), SHAPES[pattern])[:: -1 if turned else 1]
        if any(stype == "csr" and len(shape) != 2 for stype, shape in zip((left, right), shapes, strict=True)):
            continue
        first, second = numbers(shapes[0], one, True), numbers(shapes[1], two, name != "div")
        arrays = [wrap(convert(values, stype), CPU) for values, stype in ((first, left), (second, right))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            made = getattr(mx.nd, f"{'elemwise' if pattern == 'whole' and name in ('add', 'sub', 'mul', 'div') else 'broadcast'}"
                                  f"_{name}")(*arrays)
        with np.errstate(all="ignore"):
            expected = expected_of(first, second)
        assert made.dtype == joint(expected) == joint(first, second), (one, two, turned)
        np.testing.assert_array_equal(densify(made._store), expected, err_msg=f"{one} {two} {turned}")


@pytest.mark.parametrize("stypes", list(itertools.product(STYPES, repeat=3)))
@pytest.mark.parametrize("name", ["add_n", "concat", "stack", "where"])
def test_operators_of_several_arrays_take_one_type_in_every_order(name, stypes):
    numpys = {"add_n": lambda *given: given[0] + given[1] + given[2], "concat": lambda *given: np.concatenate(given, 1),
              "stack": lambda *given: np.stack(given), "where": lambda test, *given: np.where(test != 0, *given)}[name]
    for types in [*list(itertools.permutations(TYPES, 3))[::7], *((one, one, two) for one, two in BYTES)]:
        given = [numbers((4, 5), kind, True) for kind in types]
        joined = joint(*given[1:] if name == "where" else given)
        if not compiled_for(name, joined.name, stypes):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            made = getattr(mx.nd, name)(*[wrap(convert(values, stype), CPU) for values, stype in zip(given, stypes, strict=True)])
        expected = numpys(*given) if name == "where" else numpys(*[values.astype(joined) for values in given])
        assert made.dtype == joined == joint(expected), types
        np.testing.assert_array_equal(densify(made._store), expected, err_msg=f"{types}")


def test_a_quotient_of_numbers_whose_reciprocals_are_infinite():
    tiny = mx.nd.array([[1e-39]]).tostype("csr")
    assert (tiny / mx.nd.array([[1e-39]])).asnumpy()[0, 0] == 1


def _results(one, two):
    """What operators give for two arrays of these types, however they are run."""
    left, right = (mx.nd.array([[100, -3], [200, 7]][kind == "uint8"], dtype=kind).reshape((1, 2)) for kind in (one, two))
    net = mx.gluon.nn.HybridLambda("elemwise_add")
    net.hybridize()
    out = mx.nd.zeros((1, 2), dtype="int32")
    mx.nd.elemwise_add(left, right, out=out)
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = (a + b).bind(mx.cpu(), {"a": left, "b": right})
    return [left + right, left + right, net(left, right), net(left, right), out, executor.forward()[0],
            mx.nd.dot(left, right, transpose_b=True), mx.nd.concat(left, right, dim=0)]


@pytest.mark.parametrize(("one", "two"), [("int8", "uint8"), ("uint8", "int8")])
def test_signed_and_unsigned_bytes_meet_in_a_type_of_arrays_also_after_calls_of_other_types(one, two):
    _results("float32", "float32")
    left, right = (np.array([[[100, -3], [200, 7]][kind == "uint8"]]) for kind in (one, two))
    *sums, product, both = _results(one, two)
    for made in sums:
        assert made.dtype == np.int32
        assert np.array_equal(made.asnumpy(), left + right)
    assert product.dtype == both.dtype == np.int32
    assert product.asscalar() == (left @ right.T).item()
    assert np.array_equal(both.asnumpy(), np.concatenate([left, right]))
    assert mx.nd.zeros((1,), dtype=sums[0].dtype).astype(sums[0].dtype).dtype == np.int32
    assert (_results("float32", "float32")[0]).dtype == np.float32


EXACT = {
    "softrelu": lambda x: np.logaddexp(0, x), "softsign": lambda x: x / (1 + np.abs(x)),
    "smooth_l1": lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("name", EXACT)
def test_formulas_of_integers_do_not_wrap(name, dtype):
    limits = np.iinfo(dtype)
    whole = np.array([max(limits.min, -1000) + 1, 0, 1, 2, 9, min(limits.max, 1000)], dtype)
    made = getattr(mx.nd, name)(mx.nd.array(whole, dtype=dtype))
    with np.errstate(over="ignore"):
        expected = EXACT[name](whole.astype(np.float64))
    np.testing.assert_array_equal(made.asnumpy(), expected.astype(dtype))


def test_a_quadratic_of_unsigned_integers_takes_negative_factors():
    for stype in ("default", "csr"):
        x = mx.nd.array([[3, 0, 20]], dtype="uint8").tostype(stype)
        made = mx.nd.contrib.quadratic(x, a=1, b=-2, c=0)
        assert (made.stype, made.asnumpy().tolist()) == (stype, [[3, 0, 360 - 256]])


@pytest.mark.parametrize(("left", "right"), [(np.int32, np.int64), (np.int64, np.int32), (np.int32, np.int32)])
def test_integers_to_negative_powers_lose_their_fraction(left, right):
    bases, exponents = np.array([2, 4, 1, -1, -2], left), np.array([-1, 3, -3, -3, -2], right)
    found = mx.nd.broadcast_power(mx.nd.array(bases, dtype=left), mx.nd.array(exponents, dtype=right))
    assert found.dtype == np.result_type(left, right)
    assert found.asnumpy().tolist() == np.trunc(bases.astype(float) ** exponents).astype(int).tolist() == [0, 64, 1, -1, 0]
