"""Places of extremes, softmax, transposes and stacks of sparse arrays; arrays that move between contexts."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DensificationError, DTypeError, StorageFallbackWarning
from sparsekit.core import dispatch, hooks
from sparsekit.storage import CSR, RowSparse

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
    with pytest.raises(DTypeError, match="exactly"):
        wide.argmax(axis=1)
    assert wide.astype("float64").argmax(axis=1).asnumpy().tolist() == [0, 0]


def test_places_in_row_sparse_arrays_of_more_axes():
    array = np.zeros((4, 2, 3), np.float32)
    array[2] = [[-1, 2, 2], [0, -3, 1]]
    x = nd.array(array).tostype("row_sparse")
    for axis in (None, 0, 1, 2):
        np.testing.assert_array_equal(x.argmax(axis=axis).asnumpy(), nd.array(array).argmax(axis=axis).asnumpy())


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("stype", SPARSE)
def test_a_softmax_is_dense_by_nature(stype, name):
    array, stores = held(5, 4, 1)
    x = wrap(stores[stype], mx.cpu())
    hooks.ledger.clear()  # it is bounded, and may be full
    made = getattr(nd, name)(x)
    assert [(record.op, record.kind, record.bytes_after) for record in hooks.ledger] == [(name, "dense by nature", 80)]
    with mx.config.set(densify="error"), pytest.raises(DensificationError, match=f"{name} gives a dense result"):
        getattr(nd, name)(x)
    np.testing.assert_array_equal(made.asnumpy(), getattr(nd, name)(nd.array(array)).asnumpy())
    with mx.config.set(densify_limit=10), pytest.raises(DensificationError, match=name):
        getattr(nd, name)(x)


def test_a_softmax_of_sparse_data_has_a_gradient():
    array, stores = held(5, 4, 1)
    grads = []
    for x in (nd.array(array), wrap(stores["csr"], mx.cpu())):
        x.attach_grad(stype="default")
        with mx.autograd.record():
            y = nd.softmax(x) * nd.array(array + 1)
        y.backward()
        grads.append(x.grad.asnumpy())
    np.testing.assert_array_equal(*grads)


def test_a_row_sparse_matrix_turned_is_csr():
    array, stores = held(5, 4, 2)
    x = wrap(stores["row_sparse"], mx.cpu())
    with mx.config.set(densify="error"):
        for made in (x.T, x.transpose(), x.transpose(1, 0), nd.transpose(x), nd.transpose(x, axes=(-1, 0)), np.transpose(x)):
            assert made.stype == "csr"
            made.check_format()
            np.testing.assert_array_equal(made.asnumpy(), array.T)
    x.attach_grad()
    with mx.autograd.record():
        y = x.T * nd.array(array.T)
    y.backward()
    assert x.grad.stype == "row_sparse"
    tall = nd.sparse.row_sparse_array((np.array([[1.0, 0.0]], np.float32), [2**40]), shape=(2**41, 2))
    assert tall.T.indices.asnumpy().tolist() == [2**40]
    assert tall.T.indptr.asnumpy().tolist() == [0, 1, 1]


def noted(act):
    """What a call gives, the warning it has, and how many densifications were noted."""
    dispatch._warned.clear()
    hooks.ledger.clear()  # it is bounded, and may be full
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made = act()
    said = [str(one.message) for one in seen if issubclass(one.category, StorageFallbackWarning)]
    return made, said, len(hooks.ledger)


def test_what_becomes_dense_without_need_is_said_and_noted():
    array, stores = held(6, 4, 3)
    csr, rows = (wrap(stores[stype], mx.cpu()) for stype in SPARSE)
    cube = rows.reshape((6, 2, 2))
    for act, expected, name in ((lambda: nd.stack(csr, csr), np.stack([array] * 2), "stack"),
                                (lambda: nd.stack(rows, rows, axis=0), np.stack([array] * 2), "stack"),
                                (lambda: nd.stack(csr, rows, axis=2), np.stack([array] * 2, axis=2), "stack"),
                                (lambda: cube.T, array.reshape(6, 2, 2).T, "transpose")):
        made, said, count = noted(act)
        assert made.stype == "default"
        np.testing.assert_array_equal(made.asnumpy(), expected)
        assert said
        assert name in said[0]
        assert count
    assert noted(lambda: nd.stack(rows, rows, axis=1))[1:] == ([], 0)


@pytest.mark.parametrize("move", [lambda x: x.as_in_context(mx.cpu(1)), lambda x: x.copyto(mx.cpu(1)),
                                  lambda x: x.as_in_ctx(mx.cpu(1)).as_in_context(mx.cpu(2))])
@pytest.mark.parametrize("stype", ["default", *SPARSE])
def test_gradients_come_back_from_another_context(stype, move):
    x = nd.array([[1.0, 0.0], [3.0, 4.0]]).tostype(stype)
    x.attach_grad()
    with mx.autograd.record():
        moved = move(x)
        y = nd.square(moved)
    y.backward()
    assert moved.context != x.context == x.grad.context
    assert x.grad.stype == stype
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * x.asnumpy())


def test_gradients_of_gradients_through_contexts():
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x.as_in_context(mx.cpu(1)) ** 3
        first = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
    first.backward()
    assert x.grad.asnumpy().tolist() == [6.0, 12.0]


def test_moving_without_recording_keeps_no_graph():
    x = nd.ones((2,))
    x.attach_grad()
    assert x.as_in_context(mx.cpu(1))._entry is None
