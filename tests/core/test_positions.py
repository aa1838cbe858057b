"""One rule for positions: fractions cut off, NaN refused, the rest clipped, wrapped or refused, on every storage type."""

import math
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import IndexWarning, RowIndexError
from sparsekit.core import indices
from sparsekit.kernels import for_device
from sparsekit.ops.indexing import positions
from tests.calls import initialized, refused, variable

SIZE = 5
TABLE = np.arange(1, 4 * SIZE + 1, dtype=np.float32).reshape(SIZE, 4)
STYPES = ("default", "row_sparse", "csr")
NUMBERS = [0, 4, 2.7, -0.5, -1, -2.3, -5, 5, 7, 12, 1e20, -1e20, 2.0**31, 2.0**63, -(2.0**63), 3e38, math.inf, -math.inf,
           math.nan]
TYPES = ("float16", "float32", "float64", "int8", "uint8", "int32", "int64")


@pytest.fixture(autouse=True)
def _quiet():
    indices._told.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndexWarning)
        yield


def expected(number, mode, size=SIZE):
    """The entry that a number names, by Python's own integers; RowIndexError if it names none."""
    if math.isnan(number) or (mode in ("wrap", "raise") and math.isinf(number)):
        return RowIndexError
    if math.isinf(number):
        return 0 if number < 0 else size - 1
    whole = math.trunc(number)
    if mode == "raise":
        return whole if 0 <= whole < size else RowIndexError
    return whole % size if mode == "wrap" else min(max(whole, 0), size - 1)


def cases(mode):
    for kind in TYPES:
        for number in NUMBERS:
            if np.dtype(kind).kind != "f":
                limits = np.iinfo(kind)
                if not (math.isfinite(number) and limits.min <= number <= limits.max) or number != int(number):
                    continue
            with np.errstate(over="ignore"):
                value = np.array([1, number], kind)
            yield kind, value, expected(float(value[1]) if np.dtype(kind).kind == "f" else int(value[1]), mode)


OPERATORS = {
    "take": lambda table, ids, mode: mx.nd.take(table, ids, mode=mode),
    "take of columns": lambda table, ids, mode: mx.nd.take(mx.nd.transpose(table), ids, axis=1, mode=mode).T,
    "Embedding": lambda table, ids, mode: mx.nd.Embedding(ids, table, input_dim=SIZE, output_dim=4),
    "SparseEmbedding": lambda table, ids, mode: mx.nd.contrib.SparseEmbedding(ids, table, input_dim=SIZE, output_dim=4),
    "pick": lambda table, ids, mode: mx.nd.pick(mx.nd.stack(table, table).transpose((0, 2, 1)), mx.nd.stack(
        *[ids] * 4, axis=1), axis=2, mode=mode),
    "batch_take": lambda table, ids, mode: mx.nd.batch_take(mx.nd.stack(table[:, 0], table[:, 0]), ids),
}
MODES = {"Embedding": ("clip",), "SparseEmbedding": ("clip",), "batch_take": ("clip",)}


@pytest.mark.parametrize(("name", "mode", "stype"), [
    (name, mode, stype) for name in OPERATORS for mode in MODES.get(name, positions.MODES)
    for stype in (STYPES if name not in ("pick", "batch_take") else ("default",))])  # which take dense arrays
def test_every_operator_follows_the_rule(name, mode, stype):
    table = mx.nd.array(TABLE).tostype(stype)
    for kind, value, wanted in cases(mode):
        ids = mx.nd.array(value, dtype=kind)
        if wanted is RowIndexError:
            with pytest.raises(RowIndexError):
                OPERATORS[name](table, ids, mode)
            continue
        made = OPERATORS[name](table, ids, mode)
        made = (made if made.stype == "default" else made.tostype("default")).asnumpy()
        rows = TABLE[[1, wanted], 0] if name == "batch_take" else TABLE[[1, wanted]]
        np.testing.assert_array_equal(made, rows, err_msg=f"{kind} {value}")


@pytest.mark.parametrize("stype", STYPES)
def test_gradients_arrive_at_the_entries_that_were_named(stype):
    for kind, value, wanted in cases("clip"):
        if wanted is RowIndexError:
            continue
        table = variable(mx.nd.array(TABLE), stype="row_sparse" if stype == "row_sparse" else "default")
        with mx.autograd.record():
            made = mx.nd.Embedding(mx.nd.array(value, dtype=kind), table, input_dim=SIZE, output_dim=4)
        made.backward()
        counts = np.bincount([1, wanted], minlength=SIZE)
        np.testing.assert_array_equal(table.grad.asnumpy()[:, 0], counts, err_msg=f"{kind} {value}")


@pytest.mark.parametrize("number", NUMBERS)
def test_operators_without_modes(number):
    ids = mx.nd.array([1, number], dtype="float64")
    nan = math.isnan(number)
    whole = None if not math.isfinite(number) else math.trunc(number)
    inside = whole is not None and 0 <= whole < SIZE

    def either(act, check):
        if nan:
            refused(RowIndexError, "NaN", act)
        else:
            check(act().asnumpy())

    hot = np.zeros((2, SIZE))
    hot[0, 1] = 1
    if inside:
        hot[1, whole] = 1
    either(lambda: mx.nd.one_hot(ids, SIZE), lambda made: np.testing.assert_array_equal(made, hot))
    rows = np.zeros_like(TABLE)
    rows[[1, whole] if inside else [1]] = TABLE[[1, whole] if inside else [1]]
    for stype in STYPES:
        table = mx.nd.array(TABLE).tostype(stype)
        either(lambda table=table: mx.nd.sparse.retain(table, ids), lambda made: np.testing.assert_array_equal(made, rows))
    steps = min(max(number, 0), SIZE) if not nan else 0
    mask = np.where(np.arange(SIZE)[:, None] < [1, math.trunc(steps)], 1, 0)
    either(lambda: mx.nd.SequenceMask(mx.nd.ones((SIZE, 2)), ids, use_sequence_length=True),
           lambda made: np.testing.assert_array_equal(made, mask))
    if whole is not None and -SIZE <= whole < SIZE:
        np.testing.assert_array_equal(mx.nd.gather_nd(mx.nd.array(TABLE), ids.reshape((1, 2))).asnumpy(), TABLE[[1, whole]])
    else:
        refused(RowIndexError, "", lambda: mx.nd.gather_nd(mx.nd.array(TABLE), ids.reshape((1, 2))))


def test_clipping_that_nobody_asked_for_is_told_with_the_line():
    table, ids = mx.nd.array(TABLE), mx.nd.array([1, 7])
    unasked = [lambda: mx.nd.Embedding(ids, table, input_dim=SIZE, output_dim=4), lambda: mx.nd.take(table, ids),
               lambda: mx.nd.pick(table[:2], ids), lambda: mx.nd.batch_take(table[:2], ids)]
    for act in unasked:
        with pytest.warns(IndexWarning, match=r"test_positions\.py:\d+: .* 7 is outside the \d entries"):
            act()
        with mx.config.set(indices="error"), pytest.raises(RowIndexError, match="7 is outside"):
            act()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.nd.take(table, ids, mode="clip")
        mx.nd.pick(table[:2], ids, mode="clip")
        with mx.config.set(indices="allow"):
            [act() for act in unasked]


def test_a_hybridized_embedding_tells_too():
    net = initialized(mx.gluon.nn.Embedding(SIZE, 4), hybrid=True)
    net(mx.nd.array([1, 2]))
    with pytest.warns(IndexWarning, match="7 is outside the 5 entries"):
        net(mx.nd.array([1, 7]))


class Converts:
    """A processor that makes 0, or the largest integer, of what an integer does not hold."""

    device, xp = "cpu", np

    def __init__(self):
        self.asked = []

    def outside(self, values, size):
        self.asked.append(values.dtype)
        return for_device("cpu").outside(values, size)


def test_positions_are_checked_before_they_are_converted():
    """Processors convert what an integer does not hold in different ways."""
    for number in NUMBERS:
        k, wanted, ids = Converts(), expected(number, "clip"), np.array([1.0, number])
        with np.errstate(invalid="ignore"):
            if wanted is RowIndexError:
                refused(RowIndexError, "", positions.inside, k, ids, SIZE, "clip", "x")
            else:
                assert positions.inside(k, ids, SIZE, "clip", "x").tolist() == [1, wanted]
        assert k.asked == [np.dtype(np.float64)]


def test_an_empty_axis_has_no_entries():
    refused(RowIndexError, "the axis must have at least one entry", lambda: mx.nd.take(mx.nd.zeros((0, 3)), mx.nd.array([0])))
    assert mx.nd.take(mx.nd.zeros((0, 3)), mx.nd.zeros((0,))).shape == (0, 3)
    assert mx.nd.Embedding(mx.nd.zeros((0, 3)), mx.nd.ones((4, 2)), input_dim=4, output_dim=2).shape == (0, 3, 2)


def test_integers_that_change_in_a_float_array_are_told():
    ids = np.array([3, 2**24 + 1])
    with pytest.warns(IndexWarning, match=r"int64 becomes float32 by default, and 1 .* 16777217 becomes 16777216"):
        mx.nd.array(ids)
    with mx.config.set(indices="error"), pytest.raises(mx.DTypeError, match="16777217"):
        mx.nd.array(ids)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.nd.array(ids, dtype="int64")
        mx.nd.array(ids, dtype="float32")
        mx.nd.array(np.array([2**24, -(2**24), 2**25]))
