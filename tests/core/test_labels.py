"""Errors name what users wrote: signs, methods and functions, never an operator's private name."""

import re

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core.op import Call, find, label_of, registry

nd = mx.nd


@pytest.mark.parametrize("name", sorted({op.name for op in registry.values()}))
def test_no_label_is_private(name):
    shown = find(name).label
    assert shown == label_of(name)
    assert shown
    assert not shown.startswith("_")
    assert "_scalar" not in shown.removeprefix("slice_assign_scalar")
    assert "_backward" not in shown


@pytest.mark.parametrize(("name", "expected"), [
    ("_plus_scalar", "data + 2"), ("_rminus_scalar", "2 - data"), ("_rdiv_scalar", "2 / data"), ("_rpower_scalar", "2 ** data"),
    ("_lesser_equal_scalar", "data <= 2"), ("_scatter_minus_scalar", "data - 2"), ("_maximum_scalar", "maximum(scalar=2)"),
    ("_contrib_quadratic", "contrib.quadratic(scalar=2)"), ("_random_normal", "random.normal(scalar=2)"),
    ("_relu_backward", "the gradient of relu(scalar=2)"), ("dot", "dot(scalar=2)"),
])
def test_an_operator_is_described_as_it_was_written(name, expected):
    assert repr(Call(find(name), {"scalar": 2})) == expected


def message(call):
    with pytest.raises(mx.MXNetError) as caught:
        call()
    return str(caught.value)


def test_errors_say_what_was_written():
    x = nd.ones((2, 3))
    rows = x.tostype("row_sparse")
    large = nd.sparse.csr_matrix((10**6, 10**6))
    shown = [message(lambda: large + 1), message(lambda: 2 ** large), message(lambda: x.reshape((5, 7))),
             message(lambda: nd.sparse.retain(np.ones(3), nd.array([0]))), message(lambda: nd.contrib.quadratic("x")),
             message(lambda: rows.retain(["a"])), message(lambda: x.astype("uint8") + 10**9)]
    for text in shown:
        assert not re.search(r"(^|[\s'\"`(])_[a-z]", text), text
    assert shown[0].startswith("+")
    assert shown[6].startswith("data + 1000000000")


def test_a_missing_gradient_names_the_operator_as_written():
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.contrib.index_array(x)
    assert "_contrib" not in message(y.backward)


@pytest.mark.parametrize("rows", [[0, 2], (2, 0), np.array([0, 2]), np.array([0.0, 2.0], np.float32), nd.array([0, 2]), {0, 2}])
def test_retain_takes_numbers_of_any_kind(rows):
    array = nd.array([[1, 2], [5, 5], [3, 4]]).tostype("row_sparse")
    if isinstance(rows, set):
        assert "scipy" not in message(lambda: array.retain(rows))
        return
    for made in (array.retain(rows), nd.sparse.retain(array, rows)):
        assert made.stype == "row_sparse"
        assert made.indices.asnumpy().tolist() == [0, 2]
    assert array.retain(1).indices.asnumpy().tolist() == [1]
    assert array.retain([]).indices.asnumpy().tolist() == []


def test_retain_does_not_fold_large_numbers_onto_rows():
    store = mx.storage.RowSparse(np.ones((1, 2), np.float32), np.array([0], np.int32), (3, 2))
    assert nd.wrap(store, mx.cpu()).retain([2**32]).indices.asnumpy().tolist() == []
