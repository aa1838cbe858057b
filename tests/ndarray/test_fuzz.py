"""Constructors, conversions and files fed with anything: the result is scipy's or numpy's, or the error is one of ours."""

import contextlib
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sparsekit as mx
from sparsekit.base.errors import SparsekitError

nd, sparse = mx.nd, mx.nd.sparse
STYPES = ("default", "csr", "row_sparse")
TYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
fuzz = settings(deadline=None, max_examples=60, database=None, print_blob=False,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

ODD_TYPES = ("complex64", "uint16", "uint64", "datetime64[s]", "S3", "U2", "object", "longdouble", ">f4", ">i8", "<f8")
sizes = st.integers(0, 5)
#: Index entries: mostly what fits, sometimes what no array has.
entries = st.one_of(st.integers(0, 4), st.integers(-3, 8), st.sampled_from([2**44, 2**63 - 1, -(2**63)]))
odd_entries = st.one_of(entries, st.sampled_from([0.5, float("nan"), float("inf"), -0.0, 2.0, 2**64, "1", None, True]))
index_lists = st.one_of(st.lists(st.integers(0, 4), max_size=6), st.lists(entries, max_size=6), st.lists(odd_entries, max_size=4))
index_types = st.sampled_from(["int64", "int32", "uint8", "uint64", "float32", "float64", ">i4", None])


@contextlib.contextmanager
def ours_only():
    """Let through what is one of our errors, with something to do about it."""
    try:
        yield
    except SparsekitError as error:
        if not (error.message and error.hint):
            raise AssertionError(f"{error!r} does not say what to do") from error


def laid_out(array, layout):
    """The same values in another layout of memory."""
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "strided" and array.ndim:
        return np.repeat(array, 2, axis=0)[::2]
    if layout == "read-only":
        array = array.copy()
        array.flags.writeable = False
    return array


layouts = st.sampled_from(["plain", "fortran", "strided", "read-only"])


@st.composite
def values(draw, ndim=2, types=TYPES):
    """A numpy array of few, small, special numbers."""
    dtype = np.dtype(draw(st.sampled_from(types)))
    shape = tuple(draw(sizes) for _ in range(draw(st.integers(0, 3)) if ndim is None else ndim))
    plain = st.sampled_from([0, 0, 0, 1, 2, 5]) if dtype.kind != "b" else st.booleans()
    special = st.sampled_from([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf]) if dtype.kind == "f" else plain
    made = draw(arrays.arrays(dtype, shape, elements=st.one_of(plain, special).map(dtype.type), fill=st.just(dtype.type(0))))
    return laid_out(made, draw(layouts))


@st.composite
def index_arrays(draw):
    """A list of indices, or a numpy array of them in some type and layout."""
    made, dtype = draw(index_lists), draw(index_types)
    if dtype is None:
        return made
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return laid_out(np.array(made, dtype), draw(layouts))
    return made


def same(made, expected):
    assert made.shape == expected.shape
    np.testing.assert_array_equal(made.asnumpy(), expected)
    if made.stype != "default":
        made.check_format()
        assert made.indices.dtype in (np.int64, np.int32)


# constructors


@fuzz
@given(values(ndim=None), st.sampled_from([nd.array, sparse.csr_matrix, sparse.row_sparse_array]), st.booleans())
def test_from_dense(array, make, as_list):
    with ours_only():
        source = array.tolist() if as_list else array
        made = make(source, dtype=array.dtype)
        same(made, np.asarray(source, array.dtype))
        assert made.dtype == array.dtype


@fuzz
@given(st.sampled_from(ODD_TYPES), values(types=("int8", "float32")),
       st.sampled_from([nd.array, sparse.csr_matrix, nd.from_numpy]))
def test_from_types_that_arrays_do_not_have(dtype, array, make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.nan_to_num(array, posinf=1, neginf=1).astype(dtype)
    with ours_only():
        made = make(array)
        same(made, array.astype(made.dtype))
        assert array.dtype.kind in "iufOUS"


@st.composite
def components(draw):
    """Parts of a csr matrix: valid ones about half of the time, then with one thing changed."""
    rows, columns = draw(sizes), draw(st.integers(1, 5))
    counts = [draw(st.integers(0, columns)) for _ in range(rows)]
    indices = [draw(st.permutations(range(columns)))[:count] for count in counts]
    parts = [np.arange(1.0, sum(counts) + 1), np.array(list(itertools.chain(*indices)), "int64"), np.cumsum([0, *counts])]
    shape = (rows, columns)
    change = draw(st.sampled_from(["nothing", "nothing", "nothing", "data", "indices", "indptr", "shape", "no shape", "entry"]))
    if change == "data":
        parts[0] = draw(values(ndim=draw(st.integers(0, 2))))
    elif change in ("indices", "indptr"):
        parts[1 if change == "indices" else 2] = draw(index_arrays())
    elif change == "shape":
        shape = draw(st.one_of(st.tuples(entries, entries), st.tuples(sizes), st.just("ab"), st.integers(-2, 3)))
    elif change == "no shape":
        shape = None
    elif change == "entry":
        part = parts[draw(st.integers(1, 2))]
        if part.size:
            part[draw(st.integers(0, part.size - 1))] = draw(entries)
    return tuple(parts), shape


@fuzz
@given(components())
def test_from_components(given_parts):
    parts, shape = given_parts
    with ours_only():
        made = sparse.csr_matrix(parts, shape=shape)
        data, indices, indptr = (np.asarray(part) for part in parts)
        expected = scipy.sparse.csr_array((np.asarray(data, "float64"), indices.astype("int64"), indptr.astype("int64")),
                                          shape=made.shape)
        same(made, expected.toarray().astype(made.dtype))
        assert np.unique(np.stack([np.repeat(np.arange(made.shape[0]), np.diff(expected.indptr)), expected.indices]), axis=1
                         ).shape[1] == made.nnz


@fuzz
@given(values(ndim=1, types=("float32", "float64", "int32")), index_arrays(), index_arrays(),
       st.one_of(st.none(), st.tuples(sizes, sizes), st.just((5, 5)), st.tuples(entries, entries)))
def test_from_places(data, row, column, shape):
    count = min(len(data), len(row), len(column))
    if len(data) < 5:
        data, row, column = data[:count], row[:count], column[:count]
    with ours_only():
        made = sparse.csr_matrix((data, (row, column)), shape=shape)
        places = np.asarray(row, float).astype("int64"), np.asarray(column, float).astype("int64")
        expected = scipy.sparse.coo_array((data, places), shape=made.shape).tocsr()
        assert made.nnz == expected.nnz
        if made.shape[1] < 100:
            np.testing.assert_allclose(made.asnumpy(), expected.toarray(), rtol=1e-5)
        made.check_format()


@fuzz
@given(values(ndim=2), st.one_of(index_arrays(), st.permutations(range(8))), st.one_of(st.none(), sizes, entries), st.booleans())
def test_from_rows(data, indices, rows, fitting):
    if fitting:
        indices, rows = indices[:len(data)], rows if rows is None else max(rows, 8)
    shape = None if rows is None else (rows, *data.shape[1:])
    with ours_only():
        made = sparse.row_sparse_array((data, indices), shape=shape)
        places = np.asarray(indices, float).astype("int64")
        assert len(set(places.tolist())) == len(places)
        assert made.dtype == data.dtype
        if made.shape[0] < 100:
            expected = np.zeros(made.shape, data.dtype)
            expected[places] = data
            same(made, expected)


# conversions


@fuzz
@given(values(ndim=None), st.sampled_from(STYPES))
def test_to_a_storage_type_from_any_number_of_axes(array, stype):
    x = nd.array(array, dtype=array.dtype)
    with ours_only():
        same(x.tostype(stype), array)
        assert stype == "default" or array.ndim == 2 or (stype == "row_sparse" and array.ndim > 0)


# files


def saved(data, path):
    mx.nd.save(path, data)
    return path.read_bytes()


@fuzz
@given(st.dictionaries(st.text(max_size=5).filter(lambda name: name.isprintable()),
                       st.tuples(values(ndim=None), st.sampled_from(STYPES)), max_size=3))
def test_files_give_back_what_they_were_given(tmp_path_factory, contents):
    given_arrays = {}
    for name, (array, stype) in contents.items():
        with ours_only():
            given_arrays[name] = nd.array(array, dtype=array.dtype).tostype(stype)
    found = mx.nd.load_frombuffer(saved(given_arrays, tmp_path_factory.getbasetemp() / "fuzz.params"))
    assert list(found) == list(given_arrays)
    for name, array in given_arrays.items():
        assert (found[name].stype, found[name].dtype) == (array.stype, array.dtype)
        same(found[name], array.asnumpy())
