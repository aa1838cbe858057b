"""Assignment to parts of sparse arrays, held to numpy's on the same values."""

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit import autograd, nd

rng = np.random.default_rng(11)
VALUES = np.where(rng.random((7, 9)) < 0.3, rng.integers(1, 9, (7, 9)), 0).astype(np.float32)
VALUES[3] = 0
MASK = rng.random((7, 9)) < 0.2
ROW, COLUMN = np.arange(9, dtype=np.float32) % 3, np.arange(7, dtype=np.float32)[:, None] % 2

#: Key and value; of numbers along an axis, numpy's result is that of a list of one.
CASES = {
    "row": (3, ROW), "row of zeros": (0, 0), "row of ones": (-1, 1), "rows by slice": (slice(1, 6, 2), 2.5),
    "rows backwards": (slice(None, None, -1), np.tile(ROW, (7, 1)) + COLUMN), "rows by list": ([5, 0], np.stack([ROW, ROW + 1])),
    "rows that repeat": ([2, 4, 2], np.stack([ROW, ROW + 1, ROW * 0])), "rows by mask": (VALUES[:, 0] > 0, ROW),
    "no rows": ([], 1), "column": ((slice(None), 2), COLUMN), "columns": ((slice(None), [8, 1]), 4),
    "columns by step": ((slice(None), slice(None, None, 4)), COLUMN), "block": ((slice(2, 5), slice(3, 7)), np.eye(3, 4)),
    "part of a row": ((6, slice(2, 5)), [7, 0, 8]), "element": ((1, 4), 6), "element to zero": ((0, int(VALUES[0].argmax())), 0),
    "elements": (([0, 6, 3], [8, 0, 3]), [1, 2, 3]), "elements that repeat": (([1, 1, 1], [2, 2, 2]), [5, 6, 0]),
    "elements of one row": ((4, [8, 0, 2]), [0, 9, 1]), "mask": (MASK, 3), "mask of values": (MASK, np.arange(MASK.sum())),
    "nan": ((2, 2), np.nan), "list of lists": (slice(0, 2), [[1] * 9, [0] * 9]),
}


def expected(key, value):
    """What numpy has after the assignment."""
    whole = VALUES.copy()
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, slice) for part in parts) or len(parts) == 1:  # a number keeps its axis
        parts = tuple([part] if isinstance(part, int) else part for part in parts)
        parts = np.ix_(*(np.arange(size)[part] for part, size in zip(parts, VALUES.shape, strict=False))) if len(
            parts) == 2 else parts
    whole[parts if len(parts) > 1 else parts[0]] = value
    return whole


def array(stype, index_dtype="int64"):
    make = nd.sparse.csr_matrix if stype == "csr" else nd.sparse.row_sparse_array
    return make(VALUES, index_dtype=index_dtype)


@pytest.mark.parametrize("index_dtype", ["int64", "int32"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("name", CASES)
def test_parts_are_assigned_as_numpy_does(name, stype, index_dtype, no_fallback):
    key, value = CASES[name]
    x = array(stype, index_dtype)
    x[key] = value
    np.testing.assert_array_equal(x.asnumpy(), expected(key, value))
    x.check_format()
    assert (x.stype, x.dtype, x.indices.dtype) == (stype, np.float32, np.dtype(index_dtype))
    if stype == "csr" and not np.isnan(x.data.asnumpy()).any():
        assert x.nnz == np.count_nonzero(expected(key, value))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("make", [
    nd.sparse.csr_matrix, nd.sparse.row_sparse_array, nd.array, scipy.sparse.csr_matrix, scipy.sparse.coo_array, np.asarray])
def test_values_of_every_kind(make, stype):
    block = np.eye(2, 9, dtype=np.float32)
    x = array(stype)
    x[[6, 1]] = make(block)
    np.testing.assert_array_equal(x.asnumpy(), expected([6, 1], block))


def test_row_sparse_arrays_of_three_axes():
    whole = np.zeros((5, 2, 3), np.float32)
    x = nd.sparse.zeros("row_sparse", (5, 2, 3))
    for key, value in ((3, np.ones((2, 3))), ((slice(None), 1, slice(None)), 4), ((2, 0, slice(1, 3)), 0), (3, 0)):
        x[key] = value
        whole[key] = value
        np.testing.assert_array_equal(x.asnumpy(), whole)
    assert x.indices.asnumpy().tolist() == [0, 1, 2, 4]


def test_nothing_of_the_array_becomes_dense(no_fallback):
    x = nd.sparse.csr_matrix(([1.0, 2], [0, 2**40], [0, 1] + [2] * 10**5), shape=(10**5 + 1, 2**41))
    x[7] = nd.sparse.csr_matrix(([5.0, 6], [3, 2**39], [0, 2]), shape=(1, 2**41))
    x[1] = 0
    x[99, 2**41 - 1] = 3
    x[[2, 3], [4, 5]] = [8, 9]
    assert x.data.asnumpy().tolist() == [1, 8, 9, 5, 6, 3]
    assert x.indices.asnumpy().tolist() == [0, 4, 5, 3, 2**39, 2**41 - 1]
    x.check_format()
    y = nd.sparse.zeros("row_sparse", (2**40, 4))
    y[2**39] = [1, 2, 0, 0]
    y[:] = y
    y[:, 1] = 0
    assert (y.indices.asnumpy().tolist(), y.data.asnumpy().tolist()) == ([2**39], [[1, 0, 0, 0]])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize(("key", "value", "kind"), [
    (7, 1, mx.MXNetError), ((0, 9), 1, mx.MXNetError), (0, [1, 2], mx.ShapeError), ((0, 1), [1, 2], mx.ShapeError),
    (([0, 1, 2], [0, 1]), 1, mx.ShapeError), (np.ones((2, 2), bool), 1, mx.ShapeError), ("x", 1, mx.MXNetError),
    (0, "x", mx.DTypeError), (0, None, mx.DTypeError), (0, nd.sparse.zeros("csr", (2, 9)), mx.ShapeError),
    (slice(0, 2), np.ones((3, 9)), mx.ShapeError), (0, np.zeros(4), mx.ShapeError), (([0], [1]), [0, 0], mx.ShapeError),
])
def test_what_does_not_fit_is_named_and_changes_nothing(key, value, kind, stype):
    x = array(stype)
    with pytest.raises(kind, match="Hint:"):
        x[key] = value
    np.testing.assert_array_equal(x.asnumpy(), VALUES)


def test_too_much_for_a_part_is_refused(monkeypatch):
    monkeypatch.setattr(mx.config, "densify_limit", 1000)
    x = nd.sparse.zeros("csr", (100, 100))
    with pytest.raises(mx.base.errors.DensificationError):
        x[:50] = 1
    x[:50] = 0
    x[3] = 1
    assert x.nnz == 100


def test_recorded_arrays_are_refused():
    x, w = array("csr"), nd.ones((1, 9))
    for variable in (x, w):
        variable.attach_grad()
    with autograd.record():
        y = x * 2
        with pytest.raises(mx.MXNetError, match="recorded array"):
            y[0] = 1
        other = array("csr")
        with pytest.raises(mx.MXNetError, match="another one would be lost"):
            other[0] = w * 2
    y[0] = 1
    assert y[0].asnumpy().tolist() == [[1] * 9]
