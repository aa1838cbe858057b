"""Places of extremes, softmax, transposes and stacks of sparse arrays; arrays that move between contexts."""

import itertools

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError
from sparsekit.storage import CSR, RowSparse
from tests.calls import differentiated, refused, variable

nd, wrap = mx.nd, mx.nd.wrap
SPARSE = ("csr", "row_sparse")


def held(rows, columns, seed, choices=(-2, -1, 0, 1, 2), explicit=True):
    """A matrix of few values, so that many are equal, as csr and row_sparse that store some zeros."""
    rng = np.random.default_rng(seed)
    array = rng.choice(np.array(choices, np.float32), (rows, columns))
    mask = rng.random(array.shape) < 0.5
    array[~mask] = 0
    array[rng.random(rows) < 0.4] = 0
    stored = mask if explicit else array != 0
    row, column = np.nonzero(stored & (array.any(axis=1, keepdims=True)))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    occupied = np.flatnonzero(array.any(axis=1))
    return array, {"csr": CSR(array[row, column], column, indptr, array.shape),
                   "row_sparse": RowSparse(array[occupied], occupied, array.shape)}


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("stype", SPARSE)
def test_places_of_extremes(stype, axis, name):
    with mx.config.set(densify="error"):
        for seed, choices in itertools.product(range(8), [(-2, -1), (1, 2), (-2, -1, 0, 1, 2), (0, np.nan, 1), (0,)]):
            array, stores = held(*[(5, 4), (1, 6), (6, 1), (3, 3)][seed % 4], seed, choices)
            for keepdims in (False, True):
                made = getattr(nd, name)(wrap(stores[stype], mx.cpu()), axis=axis, keepdims=keepdims)
                expected = getattr(nd, name)(nd.array(array), axis=axis, keepdims=keepdims)
                assert made.stype == "default"
                assert made.dtype == expected.dtype == np.float32
                np.testing.assert_array_equal(made.asnumpy(), expected.asnumpy(), f"{array}, seed {seed}")


@pytest.mark.parametrize("stype", SPARSE)
def test_places_of_other_types_and_shapes(stype):
    array = np.array([[0, 3, 1], [0, 0, 0], [7, 0, 7]])
    for dtype in ("uint8", "int32", "float16", "float64"):
        x = nd.array(array, dtype=dtype).tostype(stype)
        assert x.argmax(axis=1).asnumpy().tolist() == [1, 0, 0]
        assert x.argmin(axis=0).asnumpy().tolist() == [0, 1, 1]
        assert nd.argmax_channel(x).asnumpy().tolist() == [1, 0, 0]
    wide = nd.sparse.zeros(stype, (2, 2**26))
    refused(DTypeError, "exactly", wide.argmax, axis=1)
    assert wide.astype("float64").argmax(axis=1).asnumpy().tolist() == [0, 0]


def test_places_in_row_sparse_arrays_of_more_axes():
    array = np.zeros((4, 2, 3), np.float32)
    array[2] = [[-1, 2, 2], [0, -3, 1]]
    x = nd.array(array).tostype("row_sparse")
    for axis in (None, 0, 1, 2):
        np.testing.assert_array_equal(x.argmax(axis=axis).asnumpy(), nd.array(array).argmax(axis=axis).asnumpy())


def test_a_row_sparse_matrix_turned_is_csr():
    array, stores = held(5, 4, 2)
    x = wrap(stores["row_sparse"], mx.cpu())
    with mx.config.set(densify="error"):
        for made in (x.T, x.transpose(), x.transpose(1, 0), nd.transpose(x), nd.transpose(x, axes=(-1, 0)), np.transpose(x)):
            assert made.stype == "csr"
            made.check_format()
            np.testing.assert_array_equal(made.asnumpy(), array.T)
    x.attach_grad()
    differentiated(lambda: x.T * nd.array(array.T))
    assert x.grad.stype == "row_sparse"
    tall = nd.sparse.row_sparse_array((np.array([[1.0, 0.0]], np.float32), [2**40]), shape=(2**41, 2))
    assert tall.T.indices.asnumpy().tolist() == [2**40]
    assert tall.T.indptr.asnumpy().tolist() == [0, 1, 1]


@pytest.mark.parametrize("move", [lambda x: x.as_in_context(mx.cpu(1)), lambda x: x.copyto(mx.cpu(1)),
                                  lambda x: x.as_in_ctx(mx.cpu(1)).as_in_context(mx.cpu(2))])
@pytest.mark.parametrize("stype", ["default", *SPARSE])
def test_gradients_come_back_from_another_context(stype, move):
    x = variable(nd.array([[1.0, 0.0], [3.0, 4.0]]).tostype(stype))
    with mx.autograd.record():
        moved = move(x)
        y = nd.square(moved)
    y.backward()
    assert moved.context != x.context == x.grad.context
    assert x.grad.stype == stype
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * x.asnumpy())


def test_gradients_of_gradients_through_contexts():
    x = variable(nd.array([1.0, 2.0]))
    with mx.autograd.record():
        y = x.as_in_context(mx.cpu(1)) ** 3
        first = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
    first.backward()
    assert x.grad.asnumpy().tolist() == [6.0, 12.0]


def test_moving_without_recording_keeps_no_graph():
    x = variable(nd.ones((2,)))
    assert x.as_in_context(mx.cpu(1))._entry is None
