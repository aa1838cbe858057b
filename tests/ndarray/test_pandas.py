"""Data frames and series of pandas as sources: sparse columns never become dense together."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit import nd
from tests.calls import refused

MATRIX = scipy.sparse.random(60, 12, 0.2, format="csc", random_state=np.random.default_rng(4))


def sparse_frame():
    return pd.DataFrame.sparse.from_spmatrix(MATRIX, columns=list("abcdefghijkk"))  # names may repeat


def frames():
    mixed = sparse_frame()
    mixed["n"] = np.arange(60)
    mixed["flag"] = np.arange(60) % 3 == 0
    return {
        "sparse": sparse_frame(), "with dense columns": mixed, "rows by name": sparse_frame().set_axis(np.arange(60)[::-1]),
        "absent is NaN": pd.DataFrame({"a": pd.arrays.SparseArray([1.0, np.nan, 0.0, 2.0]), "b": [0, 1, 0, 1]}),
        "absent is one": pd.DataFrame({"a": pd.arrays.SparseArray([1, 1, 0, 2], fill_value=1), "b": [0.5, 1, 0, 1]}),
        "no rows": sparse_frame().iloc[:0], "integers": pd.DataFrame({"a": pd.arrays.SparseArray([0, 3, 0, -5])}),
    }


@pytest.mark.parametrize("name", frames())
def test_a_frame_with_sparse_columns_gives_csr(name):
    frame = frames()[name]
    expected = np.column_stack([np.asarray(column, np.float32) for _, column in frame.items()])
    for made in (nd.sparse.csr_matrix(frame), nd.array(frame), nd.sparse.array(frame)):
        assert (made.stype, made.dtype, made.shape) == ("csr", np.float32, frame.shape)
        np.testing.assert_array_equal(made.asnumpy(), expected)
        made.check_format()
    rows = nd.sparse.row_sparse_array(frame, dtype="float64")
    assert (rows.stype, rows.dtype) == ("row_sparse", np.float64)
    np.testing.assert_allclose(rows.asnumpy(), expected, rtol=1e-6)
    if not np.isnan(expected).any():
        np.testing.assert_array_equal(nd.sparse.csr_matrix(frame, dtype="int32").asnumpy(), expected.astype(np.int32))


def test_a_frame_stores_what_is_not_zero_and_nothing_else():
    assert nd.sparse.csr_matrix(sparse_frame()).nnz == MATRIX.nnz


def test_a_sparse_series_gives_one_axis():
    series = pd.Series(pd.arrays.SparseArray([0, 2.0, 0, 3.0], fill_value=0))
    for made in (nd.array(series), nd.sparse.row_sparse_array(series), nd.sparse.array(series)):
        assert (made.stype, made.shape, made.indices.asnumpy().tolist()) == ("row_sparse", (4,), [1, 3])
        assert made.asnumpy().tolist() == [0, 2, 0, 3]
    refused(mx.ShapeError, "to_frame", nd.sparse.csr_matrix, series)


def test_dense_frames_and_series_give_dense_arrays():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 0]})
    assert nd.array(frame).asnumpy().tolist() == [[1, 0.5], [2, 0]]
    assert nd.sparse.csr_matrix(frame).nnz == 3
    assert nd.array(frame["a"]).asnumpy().tolist() == [1, 2]
    refused(mx.DTypeError, "is not sparse", nd.sparse.array, frame)


def test_a_frame_of_others_than_numbers_is_refused():
    for column in (pd.arrays.SparseArray(["x", "y"]), pd.arrays.SparseArray([1 + 1j, 0])):
        with pytest.raises(mx.DTypeError, match="Hint:"):
            nd.sparse.csr_matrix(pd.DataFrame({"a": column}))


class Compressed:
    """As the arrays of pydata/sparse in formats that scipy has under another name."""

    shape, dtype = MATRIX.shape, MATRIX.dtype

    def to_scipy_sparse(self):
        return MATRIX

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("made dense")


def test_arrays_that_become_scipys_are_not_made_dense():
    for make in (nd.array, nd.sparse.csr_matrix, nd.sparse.array, nd.sparse.row_sparse_array):
        np.testing.assert_allclose(make(Compressed()).asnumpy(), MATRIX.toarray())
    for source in (Compressed(), sparse_frame()):
        with pytest.raises(mx.DTypeError, match=r"cannot be combined|takes arrays and numbers"):
            nd.ones((60, 12)) + source
