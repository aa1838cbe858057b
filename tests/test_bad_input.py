"""What a user can get wrong: each a named error that says what, why, and a hint."""

from __future__ import annotations

import pytest

import sparsekit as mx

CSR = mx.nd.sparse.csr_matrix
ROWS = mx.nd.sparse.row_sparse_array

MALFORMED = {
    "indptr too short": (lambda: CSR(([1], [0], [0, 1]), shape=(3, 2)), "indptr has 2 entries, but 3 rows need 4"),
    "indptr falls": (lambda: CSR(([1, 2], [0, 1], [0, 2, 1, 2]), shape=(3, 2)),
                     r"indptr\[2\] = 1 is less than indptr\[1\] = 2\."),
    "indptr beyond": (lambda: CSR(([1], [0], [0, 5]), shape=(1, 2)), "runs from 0 to 5, but must run from 0 to 1"),
    "column beyond": (lambda: CSR(([1, 2], [0, 9], [0, 2]), shape=(1, 3)), r"indices\[1\] is 9, outside the 3 columns"),
    "column negative": (lambda: CSR(([1], [-1], [0, 1]), shape=(1, 3)), r"indices\[0\] is -1"),
    "columns repeat": (lambda: CSR(([1, 2, 3, 4], [2, 1, 1, 2], [0, 1, 4]), shape=(2, 3)),
                       r"indices\[2\] = 1 in row 1 repeats indices\[1\] = 1\."),
    "lengths differ": (lambda: CSR(([1, 2, 3], [0, 1], [0, 2]), shape=(1, 3)), "indices has 2 entries"),
    "row beyond": (lambda: CSR(([1.0], ([5], [0])), shape=(2, 2)), r"row\[0\] is 5"),
    "fractional index": (lambda: CSR(([1], [0.5], [0, 1]), shape=(1, 3)), "indices must hold integers of 64 bits"),
    "rows beyond": (lambda: ROWS(([[1, 2]], [7]), shape=(4, 2)), r"indices\[0\] is 7, outside the 4 rows"),
    "rows repeat": (lambda: ROWS(([[1], [2], [3]], [0, 1, 1]), shape=(4, 1)),
                    r"indices\[2\] = 1 does not exceed indices\[1\] = 1\."),
    "rows of another width": (lambda: ROWS(([[1, 2]], [0]), shape=(4, 3)), "data has shape"),
    "parts missing": (lambda: CSR(([1], [0], [0, 1], [3]), shape=(1, 1)), "tuple of 4 parts"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_components(name):
    make, message = MALFORMED[name]
    with pytest.raises(mx.SparseFormatError, match=message) as caught:
        make()
    assert "Hint:" in str(caught.value)


def network():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    return net


WRONG = {
    "dot of shapes that do not fit": (lambda: mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3))), mx.ShapeError, "dot: shapes"),
    "sum of shapes that do not broadcast": (lambda: mx.nd.ones((2, 3)) + mx.nd.ones((4,)), mx.ShapeError, "do not broadcast"),
    "layer of another width": (lambda: network()(mx.nd.ones((4, 5))), mx.ShapeError, "FullyConnected"),
    "sparse input of another width": (lambda: network()(mx.nd.ones((4, 5)).tostype("csr")), mx.ShapeError, "FullyConnected"),
    "unknown optimizer": (lambda: mx.gluon.Trainer(network().collect_params(), "sgdd"), mx.UnknownNameError, "'sgd'"),
    "unknown loss": (lambda: mx.gluon.loss.L3Loss(), mx.UnknownNameError, "L2Loss"),
    "unknown activation": (lambda: mx.gluon.nn.Activation("sigmoit"), mx.UnknownNameError, "sigmoid"),
    "unknown storage type": (lambda: mx.nd.ones((2, 2)).tostype("coo"), mx.UnknownNameError, "csr"),
    "unknown stype of zeros": (lambda: mx.nd.sparse.zeros("csc", (2, 2)), mx.UnknownNameError, "csr"),
    "unknown argument": (lambda: mx.nd.dot(mx.nd.ones((2, 2)), mx.nd.ones((2, 2)), transpose=True), mx.UnknownNameError, "_a"),
    "an argument missing": (lambda: mx.nd.clip(mx.nd.ones((2,)), 0), mx.SparsekitError, "a_max"),
    "no array": (lambda: mx.nd.dot([1, 2], mx.nd.ones((2, 2))), mx.DTypeError, "lhs is a list"),
    "no GPU for zeros": (lambda: mx.nd.zeros((2,), ctx=mx.gpu(99)), mx.GPUNotFound, "usable"),
    "backward outside a recording": (lambda: mx.nd.ones((1,)).backward(), mx.GradientError, "record"),
    "row beyond the end": (lambda: mx.nd.ones((3, 2)).tostype("csr")[3], mx.RowIndexError, "3 rows"),
    "element beyond the end": (lambda: mx.nd.ones((3,))[5], mx.RowIndexError, "5"),
    "scalar of several": (lambda: mx.nd.ones((3,)).asscalar(), mx.ShapeError, "not a scalar"),
    "truth of several": (lambda: bool(mx.nd.ones((3,))), mx.ShapeError, "ambiguous"),
    "complex numbers": (lambda: mx.nd.zeros((2,), dtype="complex64"), mx.DTypeError, "real"),
    "csr of three dimensions": (lambda: mx.nd.ones((2, 2, 2)).tostype("csr"), mx.ShapeError, "two dimensions"),
    "batch of no samples": (lambda: mx.gluon.Trainer(network().collect_params(), "sgd").step(0), mx.SparsekitError, "batch_size"),
    "missing file": (lambda: mx.io.LibSVMIter(data_libsvm="nowhere.libsvm", data_shape=(3,), batch_size=1),
                     mx.DataFileError, "nowhere"),
    "unknown operator": (lambda: getattr(mx.nd, "dott")(1), AttributeError, "dott"),  # noqa: B009 - a name that is not there
}


@pytest.mark.parametrize("name", WRONG)
def test_named_errors(name):
    act, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        act()
    assert "Hint:" in str(caught.value) or kind is AttributeError


@pytest.mark.parametrize("component", ["indices", "indptr"])
def test_the_indices_of_a_sparse_array_cannot_be_written_to(component):
    matrix = mx.nd.sparse.csr_matrix([[7.0, 0, 8], [0, 9, 0]])
    part = getattr(matrix, component)
    for write in (lambda: part.__setitem__(0, 99), lambda: part.__iadd__(99), lambda: part.__setitem__(slice(None), 99),
                  lambda: mx.nd.elemwise_add(part, part, out=part), lambda: (part * 2).copyto(part)):
        with pytest.raises(mx.UnsupportedError, match="cannot be written"):
            write()
    changed = part.copy()
    changed[0] = 2
    matrix.check_format()
    assert matrix.asnumpy().tolist() == [[7.0, 0, 8], [0, 9, 0]]


@pytest.mark.parametrize("call", [
    lambda long: mx.nd.ones((3,))[long],
    lambda long: mx.init.create(f"[{long}"),
    lambda long: mx.nd.load(long),
    lambda long: mx.nd.ones((3,)).reshape(list(range(len(long)))),
    lambda long: mx.sym.var("x", shape=list(range(len(long)))),
    lambda long: mx.io.CSVIter([long], data_shape=(1,), batch_size=1),
], ids=["index", "initializer", "file", "shape", "shape of a variable", "line"])
def test_a_message_is_short_however_long_the_input_is(call):
    with pytest.raises(mx.SparsekitError) as caught:
        call("a" * 1_000_000)
    assert len(str(caught.value)) < 11_000
    assert "Hint:" in str(caught.value)


def endless():
    """A list that holds itself, a list in lists, and tuples so deep in one another that to hash them ends the interpreter."""
    inside: list = []
    inside.append(inside)
    deep: tuple = ()
    lists: list = []
    for _ in range(1_000_000):
        deep = (deep,)
    for _ in range(5_000):
        lists = [lists]
    return inside, lists, deep


@pytest.mark.parametrize("call", [
    lambda nested: mx.nd.sum(mx.nd.ones((2, 3)), axis=nested),
    lambda nested: mx.nd.reshape(mx.nd.ones((2, 3)), shape=nested),
    lambda nested: mx.sym.sum(mx.sym.var("x"), axis=nested),
    lambda nested: mx.nd.ones((2, 3))[nested],
    lambda nested: mx.nd.ones((2, 3)).tostype("csr")[nested],
    lambda nested: network()(nested),
    lambda nested: mx.gluon.loss.L2Loss()(mx.nd.ones((2, 3)), nested),
], ids=["sum", "reshape", "symbol", "index", "sparse index", "layer", "loss"])
def test_what_is_nested_without_end_is_named(call):
    for nested in endless():
        with pytest.raises(mx.SparsekitError) as caught:
            call(nested)
        assert "Hint:" in str(caught.value)
