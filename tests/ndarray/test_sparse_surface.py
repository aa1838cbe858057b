"""Sparse arrays in reductions, pairs, shapes and joins: every element type, odd shapes, nothing made dense; by numpy."""

import itertools

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd
from sparsekit.base.errors import DensificationError, ShapeError
from sparsekit.storage import CSR, RowSparse, convert
from tests.calls import differentiated, refused, variable

nd, wrap = mx.nd, mx.nd.wrap
SPARSE = ("csr", "row_sparse")
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), pytest.mark.usefixtures("no_fallback")]


def values(rows=5, columns=4, dtype="float32", seed=0, full_row=True):
    """Small whole numbers, about half zeros, with an empty row and column, and a full row unless told otherwise."""
    rng = np.random.default_rng(seed)
    made = rng.integers(0 if dtype == "uint8" else -3, 4, (rows, columns))
    made[rng.random(made.shape) < 0.4] = 0
    made[1:2] = 0
    made[:, 2:3] = 0
    if full_row and rows > 3:
        made[3] = 2
    return made.astype(dtype)


def sparse(array, stype, index="int64"):
    store = convert(np.ascontiguousarray(array), stype)
    if isinstance(store, CSR):
        store = CSR(store.data, store.indices.astype(index), store.indptr.astype(index), store.shape)
    elif isinstance(store, RowSparse):
        store = RowSparse(store.data, store.indices.astype(index), store.shape)
    return wrap(store, mx.cpu())


def check(made, expected, stype=None, exact=True):
    assert stype is None or made.stype == stype
    assert made.shape == (expected.shape or (1,))
    store = made._store
    if isinstance(store, CSR):
        CSR(store.data, store.indices, store.indptr, store.shape)
    elif isinstance(store, RowSparse):
        RowSparse(store.data, store.indices, store.shape)
    got = made.tostype("default").asnumpy()
    if exact:
        np.testing.assert_array_equal(got, expected.reshape(got.shape))
    else:
        np.testing.assert_allclose(got, expected.reshape(got.shape), rtol=2e-3 if made.dtype == np.float16 else 1e-5)


REDUCTIONS = ("sum", "mean", "max", "min", "prod", "nansum", "norm")
AXES = (None, 0, 1, -1, -2, (0, 1), (1, 0), (-1,), ())


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("stype", SPARSE)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_narrow_indices(name, stype, dtype):
    """As the operator does it for the dense array, on every axis; ``core/test_references.py`` has wide ones of all types."""
    array = values(dtype=dtype)
    for axis, keepdims in itertools.product(AXES, (False, True)):
        plain = getattr(nd, name)(nd.array(array, dtype=dtype), axis=axis, keepdims=keepdims)
        made = getattr(nd, name)(sparse(array, stype, "int32"), axis=axis, keepdims=keepdims)
        assert made.dtype == plain.dtype
        check(made, plain.asnumpy(), "default", exact=False)


@pytest.mark.parametrize("stype", SPARSE)
def test_nan_and_infinity_are_kept(stype):
    array = np.array([[np.nan, 0, 2], [np.inf, 1, -1], [0, 0, 0]], np.float32)
    for name, axis in itertools.product(("sum", "max", "min", "prod", "mean"), (None, 0, 1)):
        with np.errstate(invalid="ignore"):
            expected = np.asarray(getattr(np, name)(array, axis=axis))
            check(getattr(nd, name)(sparse(array, stype), axis=axis), expected, exact=False)
    check(nd.nansum(sparse(array, stype), axis=0), np.nansum(array, axis=0))
    check(nd.nanprod(sparse(array, stype), axis=1), np.nanprod(array, axis=1))


@pytest.mark.parametrize("stype", SPARSE)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_empty_arrays(stype, shape):
    x = sparse(np.zeros(shape, np.float32), stype)
    for axis in (None, 0, 1):
        check(x.sum(axis=axis), np.zeros(shape).sum(axis=axis))
        check(x.prod(axis=axis), np.zeros(shape).prod(axis=axis))
        count = np.prod(shape) if axis is None else shape[axis]
        if count:
            check(x.max(axis=axis), np.zeros(shape).max(axis=axis))
        elif axis is None or shape[1 - axis]:
            refused(ShapeError, "no element to choose", x.max, axis=axis)
    check(x + x, np.zeros(shape), stype)
    check(x.T, np.zeros(shape[::-1]))
    check(x[:, ::-1], np.zeros(shape), stype)
    check(nd.concat(x, x, dim=0), np.zeros((2 * shape[0], shape[1])), stype)
    check(nd.concat(x, x, dim=1), np.zeros((shape[0], 2 * shape[1])), stype)
    check(nd.maximum(x, x), np.zeros(shape), stype)


def test_reductions_of_other_dimensions():
    cube = np.zeros((5, 3, 4), np.float32)
    cube[[1, 4]] = np.arange(-6, 18).reshape(2, 3, 4)
    x = sparse(cube, "row_sparse")
    for axis in (None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2)):
        for name in ("sum", "max", "min", "prod"):
            check(getattr(nd, name)(x, axis=axis), np.asarray(getattr(np, name)(cube, axis=axis)), "default")
    line = sparse(np.array([0, 3, 0, -4], np.float32), "row_sparse")
    assert [line.sum().asscalar(), line.max().asscalar(), line.min().asscalar(), line.norm().asscalar()] == [-1, 3, -4, 5]


SHAPED = [(4, 5), (2, 10), (10, 2), (20, 1), (1, 20), (-1, 4), (5, -1)]


@pytest.mark.parametrize("shape", SHAPED, ids=str)
@pytest.mark.parametrize("stype", SPARSE)
def test_reshape(stype, shape):
    check(sparse(values(), stype).reshape(shape), values().reshape(shape), stype)


def test_reshape_of_row_sparse_to_other_dimensions():
    array = values(6, 4, full_row=False)
    x = sparse(array, "row_sparse")
    for shape in ((24,), (6, 2, 2), (3, 8), (2, 3, 4), (8, 3), (5, 0, 1)):
        if np.prod(shape):
            check(x.reshape(shape), array.reshape(shape), "row_sparse")
    check(x.flatten(), array, "row_sparse")
    check(nd.expand_dims(x, axis=1), array[:, None], "row_sparse")
    check(nd.transpose(x.reshape((6, 2, 2)), axes=(0, 2, 1)), array.reshape(6, 2, 2).transpose(0, 2, 1), "row_sparse")
    with mx.config.set(densify="allow"):
        made = nd.transpose(x.reshape((6, 2, 2)), axes=(1, 2, 0))
    check(made, array.reshape(6, 2, 2).transpose(1, 2, 0), "default")


def test_layers_take_sparse_data_and_weights():
    data, weight, bias = values(5, 4), values(3, 4, seed=5), np.arange(3, dtype=np.float32)
    for kinds in itertools.product(("default", *SPARSE), repeat=2):
        made = nd.FullyConnected(sparse(data, kinds[0]), sparse(weight, kinds[1]), nd.array(bias), num_hidden=3)
        check(made, data @ weight.T + bias, "default")
    data = values(6, 4).reshape(2, 3, 4)
    for stype in SPARSE:
        made = nd.FullyConnected(nd.array(data), sparse(weight, stype), nd.array(bias), num_hidden=3, flatten=False)
        check(made, data @ weight.T + bias, "default")
        wide = values(5, 12, seed=6)
        check(nd.FullyConnected(nd.array(data), sparse(wide, stype), no_bias=True, num_hidden=5), data.reshape(2, 12) @ wide.T,
              "default")
    data = values(5, 4)
    ids = nd.array([[0, 4], [1, 9]])
    for stype in SPARSE:
        with mx.config.set(indices="allow"):  # 9 is clipped to the last row
            made = nd.Embedding(ids, sparse(data, stype), input_dim=5, output_dim=4)
        check(made, data[[[0, 4], [1, 4]]], "default")


def huge():
    return (nd.sparse.row_sparse_array((np.full((2, 2), 3, np.float32), [7, 2**40]), shape=(2**41, 2)),
            nd.sparse.csr_matrix((np.array([1, 2, -3], np.float32), [5, 2**44, 9], [0, 2, 3]), shape=(2, 2**45)))


def test_huge_shapes_work_where_the_result_is_small():
    tall, wide = huge()
    assert tall.size == 2**42
    assert tall.sum().asscalar() == 12
    assert tall.max(axis=0).asnumpy().tolist() == [3, 3]
    assert tall.min(axis=0).asnumpy().tolist() == [0, 0]
    assert nd.mean(tall, axis=0).asnumpy() == pytest.approx([6 / 2**41] * 2)
    assert wide.sum(axis=1).asnumpy().tolist() == [3, -3]
    assert wide.max(axis=1).asnumpy().tolist() == [2, 0]
    assert wide.norm().asscalar() == pytest.approx(14**0.5)
    assert nd._contrib_getnnz(wide, axis=1).asnumpy().tolist() == [2, 1]
    assert (wide + wide).data.asnumpy().tolist() == [2, 4, -6]
    assert (tall * 2 - tall).nnz == 4
    assert nd.concat(wide, wide, dim=1).shape == (2, 2**46)
    assert nd.concat(tall, tall, dim=0).indices.asnumpy().tolist() == [7, 2**40, 2**41 + 7, 2**41 + 2**40]
    assert wide.reshape((2**20, -1)).nnz == 3
    assert tall.reshape((2**40, 4)).indices.asnumpy().tolist() == [3, 2**39]
    assert nd.maximum(wide, -wide).data.asnumpy().tolist() == [1, 2, 3]
    assert (wide > 0).nnz == 3


@pytest.mark.parametrize("call", [
    lambda tall, wide: tall.sum(axis=1), lambda tall, wide: wide.sum(axis=0), lambda tall, wide: wide + 1,
    lambda tall, wide: tall == 0,
    lambda tall, wide: wide.T, lambda tall, wide: nd.maximum(tall, 1), lambda tall, wide: nd.ones_like(wide),
    lambda tall, wide: wide == wide, lambda tall, wide: nd.softmax(tall)])
def test_a_dense_result_of_a_huge_array_is_refused_by_name(call):
    with mx.config.set(densify="warn"), pytest.raises(DensificationError, match=r"bytes, above\s+config.densify_limit"):
        call(*huge())


def test_index_types_mix_without_loss():
    """A result of int32 and int64 indices holds both, and one whose indices outgrow int32 is int64."""
    narrow = wrap(CSR(np.ones(1, np.float32), np.array([5], np.int32), np.array([0, 1], np.int32), (1, 2**40)), mx.cpu())
    far = wrap(CSR(np.ones(1, np.float32), np.array([2**39]), np.array([0, 1]), (1, 2**40)), mx.cpu())
    for made in (narrow + far, nd.maximum(narrow, far), nd.concat(narrow, far, dim=0)):
        assert made.indices.asnumpy().tolist() == [5, 2**39]
    assert (narrow * far).nnz == 0
    assert nd.concat(narrow, narrow, dim=1).indices.asnumpy().tolist() == [5, 5 + 2**40]
    assert narrow[:, ::-1].indices.asnumpy().tolist() == [2**40 - 6]
    last = wrap(RowSparse(np.ones((1, 2), np.float32), np.array([2**31 - 2], np.int32), (2**31 - 1, 2)), mx.cpu())
    assert nd.concat(last, last, dim=0).indices.asnumpy().tolist() == [2**31 - 2, 2**32 - 3]
    assert last.reshape((-1, 1)).indices.asnumpy().tolist() == [2**32 - 4, 2**32 - 3]
    assert (last + wrap(RowSparse(np.ones((1, 2)), np.array([3]), (2**31 - 1, 2)), mx.cpu())).nnz == 4


def test_dot_of_row_sparse_arrays_that_are_no_matrices():
    left, right = np.zeros((4, 2, 3), np.float32), values(3, 5).reshape(3, 5)
    left[[0, 2]] = values(4, 3, seed=3).reshape(2, 2, 3)
    many = values(3, 10, seed=4).reshape(3, 2, 5)
    check(nd.dot(sparse(left, "row_sparse"), nd.array(right)), np.tensordot(left, right, 1), None)
    check(nd.dot(sparse(left[:, 0], "row_sparse"), nd.array(many)), np.tensordot(left[:, 0], many, 1), None)


def test_csr_times_csr_like_scipy():
    rng = np.random.default_rng(0)
    for shape, other in (((30, 200), (200, 300)), ((3, 50), (50, 3)), ((1, 4), (4, 1)), ((4, 0), (0, 3)), ((0, 4), (4, 5))):
        left, right = (np.where(rng.random(size) < 0.3, rng.integers(-4, 5, size), 0.0) for size in (shape, other))
        check(nd.dot(sparse(left, "csr"), sparse(right, "csr", "int32")), left @ right, "csr")


def test_csr_times_csr_where_every_axis_is_huge():
    left = nd.sparse.csr_matrix((np.array([2.0, 3.0]), [2**40, 7], [0, 1, 2]), shape=(2, 2**41))
    right = nd.sparse.csr_matrix((np.array([5.0, 11.0]), [7, 9], [0, 1, 2]), shape=(2, 2**41))
    assert nd.dot(left, right, transpose_b=True).asnumpy().tolist() == [[0, 0], [15, 0]]
    narrow = nd.sparse.csr_matrix((np.array([5.0, 11.0]), [0, 1], [0, 1, 2]), shape=(2, 2))
    assert nd.dot(narrow, left).indices.asnumpy().tolist() == [2**40, 7]
    assert nd.dot(narrow, left, transpose_a=True).data.asnumpy().tolist() == [10, 33]


def test_long_rows_come_out_sorted():
    """The ways that are taken for long rows only."""
    rng = np.random.default_rng(1)
    array = np.where(rng.random((3, 900)) < 0.4, rng.integers(1, 9, (3, 900)), 0).astype(np.float32)
    order = rng.permutation(900)
    check(sparse(array, "csr")[:, order], array[:, order], "csr")
    check(sparse(array, "csr")[:, order[:100]], array[:, order[:100]], "csr")
    for axis in (0, 1, None):
        check(sparse(array, "csr").sum(axis=axis), array.sum(axis=axis))
    left = np.where(rng.random((40, 300)) < 0.1, 1.0, 0)
    right = np.where(rng.random((300, 6000)) < 0.01, rng.integers(1, 5, (300, 6000)), 0).astype(np.float64)
    check(nd.dot(sparse(left, "csr"), sparse(right, "csr")), left @ right, "csr")


# products of a csr matrix and a vector, from either side, and their gradients: the csr never becomes dense


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
