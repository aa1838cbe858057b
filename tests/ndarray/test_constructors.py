"""Making, copying and converting arrays, beyond what is compared with MXNet's: from sources that are odd or huge."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.base.errors import (
    DTypeError,
    GPUNotFound,
    InsufficientMemoryError,
    ShapeError,
    SparseFormatError,
    UnknownNameError,
)
from tests.calls import refused

nd, sparse = mx.nd, mx.nd.sparse
TYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")


# copies


def sources():
    data, indices, indptr = np.array([1.0, 2]), np.array([1, 3]), np.array([0, 1, 2])
    matrix = scipy.sparse.csr_matrix(np.eye(3))
    dense, numbers = nd.array(np.eye(3), dtype="float64"), np.eye(3)
    rows = np.ones((2, 3))
    return {
        "components": (lambda: sparse.csr_matrix((data, indices, indptr), shape=(2, 5)), (data, indices, indptr)),
        "places": (lambda: sparse.csr_matrix((data, (indices, indices)), shape=(5, 5)), (data, indices)),
        "scipy": (lambda: sparse.csr_matrix(matrix), (matrix.data, matrix.indices, matrix.indptr)),
        "scipy array": (lambda: nd.array(matrix), (matrix.data, matrix.indices, matrix.indptr)),
        "dense csr": (lambda: sparse.csr_matrix(dense), (dense._store,)),
        "dense": (lambda: nd.array(dense), (dense._store,)),
        "numpy": (lambda: nd.array(numbers, dtype="float64"), (numbers,)),
        "rows": (lambda: sparse.row_sparse_array((rows, indices), shape=(9, 3)), (rows, indices)),
        "rows of numpy": (lambda: sparse.row_sparse_array(numbers), (numbers,)),
        "components of NDArray": (lambda: sparse.csr_matrix((dense[0], nd.array([0, 1, 2]), nd.array([0, 3])), shape=(1, 3)),
                                  (dense._store,)),
    }


@pytest.mark.parametrize("name", sources())
def test_an_array_shares_no_memory_with_its_source(name):
    make, parts = sources()[name]
    made = make()
    before = made.asnumpy()
    for part in parts:
        part[...] = 7
    np.testing.assert_array_equal(made.asnumpy(), before)


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_conversions_to_the_same_type_copy(stype):
    x = nd.array(np.eye(3)).tostype(stype)
    for made in (x.tostype(stype), x.copy(), x.astype("float32"), nd.array(x), x.copyto(mx.cpu())):
        assert made is not x
        assert made.stype == stype
        made[:] = 0
        assert float(x.sum().asscalar()) == 3
    assert x.astype("float32", copy=False) is x
    assert x.as_in_context(mx.cpu()) is x


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_an_array_on_another_context_is_another_array(stype):
    x = nd.array(np.eye(3)).tostype(stype)
    for made in (x.as_in_context(mx.cpu(1)), x.copyto(mx.cpu(1)), nd.array(x, ctx=mx.cpu(1))):
        assert (made.context, made.stype) == (mx.cpu(1), stype)
        made[:] = 0
        assert float(x.sum().asscalar()) == 3


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_copyto_between_all_types(source, target):
    values = np.array([[0, 1], [0, 0], [1, 0]])
    for from_stype in ("default", "csr", "row_sparse"):
        x = nd.array(values, dtype=source).tostype(from_stype)
        assert x.astype(target).asnumpy().tolist() == values.astype(target).tolist()
        for to_stype in ("default", "csr", "row_sparse"):
            y = nd.zeros((3, 2), dtype=target).tostype(to_stype)
            assert x.copyto(y) is y
            assert (y.stype, y.dtype.name) == (to_stype, target)
            assert y.asnumpy().tolist() == values.astype(target).tolist()
            assert x.as_in_context(mx.cpu(1)).copyto(y).context == mx.cpu()


# sources that are odd


def odd_sources():
    base = np.arange(24, dtype="float64").reshape(4, 6)
    locked = base.copy()
    locked.flags.writeable = False
    return {"fortran": np.asfortranarray(base), "strided": base[::2, ::-3], "transposed": base.T, "read-only": locked,
            "big-endian": base.astype(">f8"), "big-endian int": base.astype(">i4"), "bool": base > 3, "no rows": base[:0],
            "no columns": base[:, :0], "float16": base.astype("f2"), "unsigned": base.astype("u1"),
            "infinite": np.where(base % 5, base, np.inf), "nan": np.where(base % 5, base, np.nan)}


@pytest.mark.parametrize("name", odd_sources())
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.row_sparse_array, nd.array], ids=["csr", "row_sparse", "dense"])
def test_odd_sources(name, make):
    source = odd_sources()[name]
    made = make(source, dtype=source.dtype.newbyteorder("="))
    np.testing.assert_array_equal(made.asnumpy(), np.asarray(source))
    assert made.dtype.isnative
    if made.stype != "default":
        made.check_format()
    made[:] = 0  # its memory can be written to


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "dok_matrix", "dia_matrix",
                                  "bsr_matrix", "csr_array", "csc_array", "coo_array"])
def test_every_format_of_scipy(kind):
    values = np.array([[0, 1.5, 0, 0], [0, 0, 0, 0], [2, 0, -3, 0]])
    matrix = getattr(scipy.sparse, kind)(values)
    for made in (nd.array(matrix), sparse.array(matrix), sparse.csr_matrix(matrix), sparse.row_sparse_array(matrix)):
        np.testing.assert_array_equal(made.asnumpy(), values)
        assert made.dtype == np.float64
        made.check_format()
    assert nd.array(matrix, dtype="float32").dtype == np.float32
    target = sparse.zeros("csr", (3, 4), dtype="float64")
    target[:] = matrix
    np.testing.assert_array_equal(target.asnumpy(), values)


def test_columns_out_of_order_are_put_in_order_and_the_source_is_left_alone():
    data, indices, indptr = np.array([1.0, 2, 3, 4]), np.array([3, 0, 2, 1]), np.array([0, 2, 2, 4])
    made = sparse.csr_matrix((data, indices, indptr), shape=(3, 4))
    assert made.indices.asnumpy().tolist() == [0, 3, 1, 2]
    assert made.data.asnumpy().tolist() == [2, 1, 4, 3]
    assert indices.tolist() == [3, 0, 2, 1]
    messy = scipy.sparse.csr_matrix((data, indices, indptr), shape=(3, 4))
    np.testing.assert_array_equal(nd.array(messy).asnumpy(), made.asnumpy())
    assert messy.indices.tolist() == [3, 0, 2, 1]


WRONG = {
    "complex": (lambda: nd.array(np.ones(2, complex)), DTypeError, "complex128"),
    "complex list": (lambda: sparse.csr_matrix([[1j]]), DTypeError, "complex"),
    "text": (lambda: nd.array(np.array(["1", "a"])), DTypeError, "texts that are not numbers"),
    "numbers as text": (lambda: nd.array([["1"], ["2 or 3"]]), DTypeError, "texts that are not numbers"),
    "text as objects": (lambda: nd.array(np.array(["1", 2], object)), DTypeError, "holds a str"),
    "dates": (lambda: sparse.csr_matrix(np.array([["2020-01-01"]], "datetime64[D]")), DTypeError, "datetime64"),
    "fields": (lambda: nd.array(np.zeros(2, [("a", "f4")])), DTypeError, "a"),
    "wide floats": (lambda: sparse.csr_matrix(np.ones((1, 1), np.longdouble)), DTypeError, "float32"),
    "a type that arrays have not": (lambda: nd.zeros((2,), dtype="uint32"), DTypeError, "uint32"),
    "a dict": (lambda: nd.array({"a": 1}), DTypeError, "dict"),
    "nan as an integer": (lambda: nd.array([np.nan], dtype="int32"), DTypeError, "nan"),
    "too large for the type": (lambda: nd.array([300], dtype="uint8"), DTypeError, "0 to 255"),
    "a number too many": (lambda: nd.array([2**70], dtype="int64"), DTypeError, "list"),
    "scipy of complex": (lambda: nd.array(scipy.sparse.csr_matrix([[1j]])), DTypeError, "complex"),
    "scipy of one dimension": (lambda: nd.array(scipy.sparse.coo_array(np.ones(3))), ShapeError, "two dimensions"),
    "three dimensions": (lambda: sparse.csr_matrix(np.ones((2, 2, 2))), ShapeError, "two dimensions"),
    "a number": (lambda: sparse.row_sparse_array(5.0), ShapeError, "single number"),
    "ragged": (lambda: sparse.csr_matrix([[1, 2], [3]]), DTypeError, "list"),
    "ragged indices": (lambda: sparse.csr_matrix(([1], [[1], [1, 2]], [0, 1]), shape=(1, 3)), SparseFormatError, "indices"),
    "no shape": (lambda: sparse.csr_matrix(([], [], [0, 0])), ShapeError, "inferred from an empty list of indices"),
    "nan index": (lambda: sparse.csr_matrix(([1], [np.nan], [0, 1]), shape=(1, 3)),
                  SparseFormatError, "must hold integers of 64 bits"),
    "infinite index": (lambda: sparse.row_sparse_array(([[1]], [np.inf]), shape=(3, 1)),
                       SparseFormatError, "must hold integers of 64 bits"),
    "index beyond 64 bits": (lambda: sparse.row_sparse_array(([[1]], [2**63]), shape=(3, 1)), SparseFormatError, "64 bits"),
    "index of text": (lambda: sparse.csr_matrix(([1], ["0"], [0, 1]), shape=(1, 3)),
                      SparseFormatError, "must hold integers of 64 bits"),
    "twice in a row": (lambda: sparse.csr_matrix(([1, 2], [1, 1], [0, 2]), shape=(1, 3)), SparseFormatError, "repeats"),
    "twice, out of order": (lambda: sparse.csr_matrix(([1, 2, 3], [2, 1, 2], [0, 3])), SparseFormatError, "repeats"),
    "negative shape": (lambda: nd.zeros((2, -1)),
                       ShapeError, "shape must be a tuple of at most 32 integers that are not negative, got "),
    "shape of text": (lambda: nd.ones("ab"),
                      ShapeError, "shape must be a tuple of at most 32 integers that are not negative, got "),
    "stype": (lambda: nd.empty((2, 2), stype="coo"), UnknownNameError, "csr"),
    "no GPU": (lambda: sparse.csr_matrix([[1.0]], ctx=mx.gpu(99)), GPUNotFound, "mx.cpu"),
    "sparse of dense": (lambda: sparse.array(np.eye(2)), DTypeError, "not sparse"),
    "shared list": (lambda: nd.from_numpy([1.0]), DTypeError, "numpy array"),
    "shared transpose": (lambda: nd.from_numpy(np.ones((2, 3)).T), ShapeError, "not C-contiguous"),
    "shared read-only": (lambda: nd.from_numpy(odd_sources()["read-only"]), ShapeError, "read-only"),
    "shared bytes of others": (lambda: nd.from_numpy(np.ones(2, ">f4")), DTypeError, "byte order"),
}


@pytest.mark.parametrize("name", WRONG)
def test_named_errors(name):
    make, kind, message = WRONG[name]
    refused(kind, message, make)


# huge shapes


def test_shapes_beyond_32_bits():
    rows, columns = 2**40, 2**33
    empty = nd.zeros((rows, columns), stype="row_sparse")
    assert (empty.shape, empty.nnz, empty.size) == ((rows, columns), 0, rows * columns)
    tall = sparse.row_sparse_array(([[1.0, 2], [3, 4]], [7, rows - 1]), shape=(rows, 2))
    wide = sparse.csr_matrix(([1.0, 2], [5, rows - 1], [0, 1, 2]), shape=(2, rows))
    assert wide.asscipy().shape == (2, rows)
    assert wide.asscipy()[1, rows - 1] == 2
    assert wide[1].indices.asnumpy().tolist() == [rows - 1]
    assert tall[7:8].asnumpy().tolist() == [[1, 2]]
    assert nd.array(wide).indptr.dtype == np.int64
    for x in (empty, tall, wide):
        assert x.copy().shape == x.astype("float64").shape == x.shape
        x.check_format()
    places = sparse.csr_matrix((np.ones(2), ([0, 1], [2**40, 3])))
    assert places.shape == (2, 2**40 + 1)
    narrow = sparse.csr_matrix(([1.0], [2], np.r_[np.zeros(1000, int), 1]), shape=(1000, 3))
    assert narrow.tostype("row_sparse").tostype("csr").indices.asnumpy().tolist() == [2]


@pytest.mark.parametrize("act", [
    lambda: nd.zeros((2**40, 2**33), stype="row_sparse").asnumpy(),
    lambda: nd.zeros((2**40, 2**20), stype="row_sparse").tostype("default"),
    lambda: nd.zeros((2**40, 2), stype="row_sparse").tostype("csr"),
    lambda: nd.zeros((2**40, 2), stype="row_sparse").asscipy(),
    lambda: sparse.csr_matrix(nd.zeros((2**40, 2), stype="row_sparse")),
    lambda: sparse.csr_matrix(([1.0], [5], [0, 1]), shape=(1, 2**45)).tostype("row_sparse"),
    lambda: sparse.csr_matrix(([1.0], [5], [0, 1]), shape=(1, 2**45)).tostype("default"),
    lambda: sparse.csr_matrix(([1.0], [5], [0, 1]), shape=(1, 2**61)).asnumpy(),
    lambda: nd.cast_storage(nd.zeros((2**40, 2**20), stype="row_sparse"), stype="default"),
    lambda: sparse.csr_matrix((2**45, 3)),
    lambda: sparse.zeros("csr", (2**45, 3)),
    lambda: sparse.csr_matrix(([1.0], ([2**45], [3]))),
    lambda: nd.zeros((2**45,)),
    lambda: nd.full((2**30, 2**30), 1.0),
], ids=range(14))
def test_what_no_memory_holds_is_refused_by_name(act):
    refused(InsufficientMemoryError, r"would take|cannot be converted to", act)


def test_sizes_that_numpy_cannot_name():
    for make in (lambda: nd.zeros((0, 2**62)), lambda: sparse.zeros("row_sparse", (3, 2**62)), lambda: nd.zeros((1,) * 40)):
        refused(ShapeError, "shape", make)


def test_from_numpy_shares_memory():
    values = np.arange(6, dtype="float32").reshape(2, 3)
    x = nd.from_numpy(values)
    x[0, 0] = 9
    assert values[0, 0] == 9
    with pytest.raises(ValueError, match="read-only"):  # as in MXNet
        values[1, 1] = -1
    again = nd.from_numpy(values)
    again[1, 1] = -1
    assert x.asnumpy()[1, 1] == -1
    assert nd.from_numpy(np.array(2.5)).shape == ()
    copied = nd.from_numpy(values.T, zero_copy=False)
    copied[:] = 0
    assert values[0, 0] == 9


def test_creation_on_another_context():
    for x in (nd.ones((2,), ctx=mx.cpu(1)), sparse.zeros("csr", (2, 2), ctx=mx.cpu(1)), nd.array([1], ctx=mx.cpu(1)),
              sparse.csr_matrix([[1.0]], ctx=mx.cpu(1)), nd.arange(3, ctx=mx.cpu(1)), nd.eye(2, ctx=mx.cpu(1))):
        assert x.context == mx.cpu(1)
    with mx.Context("cpu", 2):
        assert nd.array([1]).context == sparse.csr_matrix([[1.0]]).context == mx.cpu(2)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_the_type_of_indices_is_chosen_and_stays(kind):
    dense, sparse = np.array([[0, 1, 0], [2, 0, 3]], np.float32), mx.nd.sparse
    made = [sparse.csr_matrix(dense, index_dtype=kind), sparse.row_sparse_array(dense, index_dtype=kind),
            sparse.csr_matrix(scipy.sparse.csr_matrix(dense), index_dtype=kind), sparse.zeros("csr", (2, 3), index_dtype=kind),
            sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 3]), index_dtype=kind), sparse.csr_matrix((2, 3), index_dtype=kind),
            sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2), index_dtype=kind),
            sparse.empty("row_sparse", (2,), index_dtype=kind)]
    for x in made:
        others = [x, x.copy(), x.astype("float64"), x.tostype(x.stype), sparse.array(x), x * 2, -x, mx.nd.sqrt(x), x[0:1],
                  x.as_in_context(mx.cpu(1)), mx.nd.zeros_like(x), pickle.loads(pickle.dumps(x))]
        if x.ndim == 2:
            others += [x.tostype("csr"), x.tostype("row_sparse"), x.tostype("csr").tostype("row_sparse")]
        if x.stype == "csr":
            others += [x[[1, 0]], x[::-1], x[:, [2, 0]], x[:, 1:], x[:, ::2], x.T, mx.nd.concat(x, x, dim=0), x + x]
        for other in others:
            assert other.indices.dtype == kind
            if other.stype == "csr":
                assert other.indptr.dtype == kind
    for x, stype in itertools.product(made[:2], ("csr", "row_sparse")):
        np.testing.assert_array_equal(x.tostype(stype).asnumpy(), dense)


def test_indices_are_int64_unless_asked_otherwise():
    dense, sparse = np.eye(3), mx.nd.sparse
    for x in (sparse.csr_matrix(dense), sparse.row_sparse_array(dense), sparse.csr_matrix(scipy.sparse.csr_matrix(dense)),
              sparse.zeros("csr", (2, 2)), mx.nd.array(dense).tostype("csr")):
        assert x.indices.dtype == np.int64
    assert sparse.csr_matrix(sparse.csr_matrix(dense, index_dtype="int32"), index_dtype="int64").indices.dtype == np.int64


def test_indices_that_do_not_fit_are_refused():
    for call in (lambda: mx.nd.sparse.csr_matrix((2, 2**31), index_dtype="int32"),
                 lambda: mx.nd.sparse.zeros("row_sparse", (2**31, 2), index_dtype="int32"),
                 lambda: mx.nd.sparse.csr_matrix(np.eye(2), index_dtype="uint8"),
                 lambda: mx.nd.sparse.csr_matrix(np.eye(2), index_dtype="float32")):
        refused(mx.DTypeError, "index_dtype", call)
    assert mx.nd.sparse.zeros("row_sparse", (2, 2**31), index_dtype="int32").indices.dtype == np.int32


def test_scipy_says_how_a_sparse_array_becomes_one_of_its_own():
    x = mx.nd.array(np.eye(2)).tostype("csr")
    caught = refused(ValueError, "unrecognized", scipy.sparse.csr_matrix, x)
    assert "asscipy()" in str(caught.__cause__)  # which the traceback shows above scipy's own
    for act in (lambda: scipy.sparse.coo_matrix(x), lambda: x + scipy.sparse.csr_matrix((2, 2))):
        refused(mx.MXNetError, r"asscipy|csr_matrix", act)


# csr matrices from coordinates in any order: as scipy's, with the values at one place summed


#: Narrow ones are sorted by one number for each place, wide ones by columns, then by rows, and the widest by numpy's lexsort.
SHAPES = [(1, 1), (300, 7), (7, 300), (40, 1 << 45), (1 << 10, 1 << 60)]


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", [0, 1, 500, 20_000])
def test_any_order_and_repeated_places(count, shape, kind):
    draw = np.random.default_rng(count)
    row, column = (draw.integers(0, min(size, 1 << 31) if kind == "int32" else size, count).astype(kind) for size in shape)
    row[count // 2:], column[count // 2:] = row[:count - count // 2], column[:count - count // 2]
    data = draw.integers(-9, 9, count).astype("float32")  # sums are exact
    mixed = draw.permutation(count)
    found = nd.sparse.csr_matrix((data[mixed], (row[mixed], column[mixed])), shape=shape)
    expected = scipy.sparse.coo_matrix((data, (row, column)), shape=shape).tocsr()
    expected.sum_duplicates()
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name).asnumpy(), getattr(expected, name))
    assert found.indices.dtype == "int64"
