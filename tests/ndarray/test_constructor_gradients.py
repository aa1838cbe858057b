"""Gradients through the constructors of arrays, held to those of the same matrix made dense by hand.

MXNet 1.9.1 passes gradients through ``nd.array``, ``csr_matrix`` and ``row_sparse_array`` of an array, and has none for
``csr_matrix((data, indices, indptr))``; PyTorch's ``sparse_csr_tensor`` and ``sparse_coo_tensor`` pass them to the values.
"""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, nd
from tests.calls import differentiated

ROWS, COLUMNS = np.array([0, 0, 1, 3, 3]), np.array([2, 4, 0, 1, 4])
SHAPE = (4, 5)
WEIGHT = np.random.default_rng(3).normal(size=(5, 3)).astype(np.float32)
OTHER = np.random.default_rng(4).normal(size=(4, 3)).astype(np.float32)

MADE = {
    "components": lambda d: nd.sparse.csr_matrix((d, COLUMNS, [0, 2, 3, 3, 5]), shape=SHAPE),
    "columns out of order": lambda d: nd.sparse.csr_matrix((d, COLUMNS[[1, 0, 2, 4, 3]], [0, 2, 3, 3, 5]), shape=SHAPE),
    "places": lambda d: nd.sparse.csr_matrix((d, (ROWS, COLUMNS)), shape=SHAPE),
    "places in any order": lambda d: nd.sparse.csr_matrix((d, (ROWS[::-1].copy(), COLUMNS[::-1].copy())), shape=SHAPE),
    "places that repeat": lambda d: nd.sparse.csr_matrix((d, ([0, 0, 1, 0, 3], [2, 4, 0, 2, 4])), shape=SHAPE),
    "places as arrays": lambda d: nd.sparse.csr_matrix((d, (nd.array(ROWS), nd.array(COLUMNS))), shape=SHAPE),
}
PLACES = {"columns out of order": (ROWS, COLUMNS[[1, 0, 2, 4, 3]]), "places in any order": (ROWS[::-1], COLUMNS[::-1]),
          "places that repeat": ([0, 0, 1, 0, 3], [2, 4, 0, 2, 4])}

USES = {
    "dot": lambda x: (nd.dot(x, nd.array(WEIGHT)) * nd.array(OTHER)).sum(),
    "dot with a turned weight": lambda x: (nd.dot(x, nd.array(WEIGHT.T), transpose_b=True) * nd.array(OTHER)).sum(),
    "turned": lambda x: (nd.dot(x, nd.array(OTHER), transpose_a=True) * nd.array(WEIGHT)).sum(),
    "from the right": lambda x: (nd.dot(nd.array(OTHER.T), x) * nd.array(WEIGHT.T)).sum(),
    "from the right, turned": lambda x: (nd.dot(nd.array(WEIGHT.T), x, transpose_b=True) * nd.array(OTHER.T)).sum(),
    "fully connected": lambda x: (nd.FullyConnected(x, nd.array(WEIGHT.T), no_bias=True, num_hidden=3) * nd.array(OTHER)).sum(),
    "used twice": lambda x: (nd.dot(x, nd.array(WEIGHT)) * nd.array(OTHER)).sum() + (x * x).sum(),
    "elementwise": lambda x: (x * x * 3).sum(), "sum": lambda x: x.sum(), "row": lambda x: (x[0] * 2).sum(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", MADE)
def test_the_values_of_a_csr_array_have_a_gradient(name, use, no_fallback):
    values = np.array([1.0, -2, 3, 4, 0.5], np.float32)
    d, dense = nd.array(values), nd.zeros(SHAPE)
    for variable in (d, dense):
        variable.attach_grad()
    np.add.at(dense._store, PLACES.get(name, (ROWS, COLUMNS)), values)
    with autograd.record():
        loss = USES[use](MADE[name](d))
        same = USES[use](dense)
    loss.backward()
    same.backward()
    np.testing.assert_allclose(loss.asnumpy(), same.asnumpy(), rtol=1e-5)
    expected = dense.grad.asnumpy()[PLACES.get(name, (ROWS, COLUMNS))]
    np.testing.assert_allclose(d.grad.asnumpy(), expected, rtol=1e-5)


def test_the_gradient_of_a_large_matrix_takes_memory_for_its_values(no_fallback):
    d = nd.array([1.0, 2, 3])
    d.attach_grad()
    w = nd.ones((10**6, 2))
    with mx.Profiler() as profile:
        with autograd.record():
            x = nd.sparse.csr_matrix((d * 2, [7, 999_999, 5], [0, 2] + [3] * 99_999), shape=(100_000, 10**6))
            loss = nd.dot(x, w).sum()
        loss.backward()
    assert d.grad.asnumpy().tolist() == [4, 4, 4]
    assert profile.memory["peak_bytes"] < 50e6  # of 400 GB


def test_gradients_of_gradients():
    d = nd.array([1.0, 2, 3])
    d.attach_grad()
    with autograd.record():
        x = nd.sparse.csr_matrix((d, [0, 2, 1], [0, 2, 3]), shape=(2, 3))
        y = (nd.dot(x * x, nd.array([[1.0], [2], [3]]))).sum()
        first = autograd.grad(y, d, create_graph=True)[0]
    first.backward()
    assert d.grad.asnumpy().tolist() == [2, 6, 4]


#: Ways to make an array of an array, which keep its gradient.
COPIES = {
    "nd.array": nd.array, "nd.array of another type": lambda x: nd.array(x, dtype="float64"), "csr_matrix": nd.sparse.csr_matrix,
    "row_sparse_array": nd.sparse.row_sparse_array, "csr_matrix of csr": lambda x: nd.sparse.csr_matrix(x.tostype("csr")),
    "sparse.array": lambda x: nd.sparse.array(x.tostype("row_sparse")),
    "shared": lambda x: nd.sparse.csr_matrix(x.tostype("csr"), copy=False),
    "rows": lambda x: nd.sparse.row_sparse_array((x, [1, 4]), shape=(6, 3)),
    "rows in any order": lambda x: nd.sparse.row_sparse_array((x, [4, 1]), shape=(6, 3)),
}


@pytest.mark.parametrize("name", COPIES)
def test_arrays_of_arrays_keep_the_gradient(name):
    x = nd.array([[1.0, 0, 2], [0, 3, 0]])
    x.attach_grad()
    differentiated(lambda: (COPIES[name](x * 2) * 3).sum())
    assert x.grad.asnumpy().tolist() == [[6] * 3] * 2
    assert x.grad.dtype == np.float32
    assert not hasattr(COPIES[name](x)._entry, "grad")
    assert COPIES[name](x).grad is None  # a copy that is not recorded
