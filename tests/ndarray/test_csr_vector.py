"""Products of a csr matrix and a vector, from either side, and their gradients: numpy's, and the csr never becomes dense."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, nd
from tests.calls import differentiated, variable

DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0]], "float32")
WAYS = {"csr · v": (False, False), "csrᵀ · v": (False, True), "v · csr": (True, False), "v · csrᵀ": (True, True)}


def product(matrix, vector, way, **more):
    first, turn = WAYS[way]
    if first:
        return nd.dot(vector, matrix, transpose_b=turn, **more)
    return nd.dot(matrix, vector, transpose_a=turn, **more)


def meant(way):
    """The matrix that the vector is multiplied with from its right."""
    first, turn = WAYS[way]
    return DENSE.T if first != turn else DENSE


@pytest.mark.parametrize("hint", [None, "default"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("way", WAYS)
def test_value_and_gradient(way, stype, hint, monkeypatch):
    monkeypatch.setattr(mx.config, "densify", "error")
    matrix = meant(way)
    values = np.arange(1, matrix.shape[1] + 1, dtype="float32")
    vector = variable(nd.array(values), stype=stype)
    with autograd.record():
        out = product(nd.array(DENSE).tostype("csr"), vector, way, forward_stype=hint)
    head = np.arange(2, matrix.shape[0] + 2, dtype="float32")
    out.backward(nd.array(head))
    assert out.stype == ("row_sparse" if way == "csrᵀ · v" and hint is None else "default")
    assert vector.grad.stype == stype
    np.testing.assert_array_equal(out.asnumpy(), matrix @ values)
    np.testing.assert_array_equal(vector.grad.asnumpy(), matrix.T @ head)


@pytest.mark.parametrize("way", WAYS)
def test_gradient_of_the_stored_values(way):
    csr = nd.array(DENSE).tostype("csr")
    stored = variable(csr.data.copy())
    vector = nd.array(np.arange(1, meant(way).shape[1] + 1))
    with autograd.record():
        built = nd.sparse.csr_matrix((stored, csr.indices, csr.indptr), shape=csr.shape)
        out = product(built, vector, way, forward_stype="default")
    head = nd.array(np.arange(2, out.size + 2))
    out.backward(head)
    outer = np.outer(head.asnumpy(), vector.asnumpy())
    expected = outer if meant(way) is DENSE else outer.T
    np.testing.assert_array_equal(stored.grad.asnumpy(), expected[DENSE.nonzero()])


def test_ten_million_weights():
    """Dense, the matrix would have 40 TB."""
    size = 10_000_000
    csr = nd.sparse.csr_matrix((np.ones(3, "float32"), ([0, 5, 5], [1, 7, size - 1])), shape=(1_000_000, size))
    weight = variable(nd.ones((size,)), stype="row_sparse")
    differentiated(nd.dot, csr, weight)
    assert weight.grad.indices.asnumpy().tolist() == [1, 7, size - 1]
