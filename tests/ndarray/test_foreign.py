"""Sparse arrays of other libraries: JAX where it is installed, stand-ins of PyTorch's and JAX's protocols everywhere."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit import nd
from tests.calls import refused

VALUES = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 0, 3]], np.float32)


class Tensor:
    """What is read of a tensor of PyTorch, with the facts that PyTorch 2.13 gives for ``VALUES``."""

    def __init__(self, layout, shape, **parts):
        self.layout, self.shape, self.parts = layout, shape, parts
        self.device, self.requires_grad = types.SimpleNamespace(type="cpu"), False

    def __getattr__(self, name):
        if name == "parts" or name not in self.parts:
            raise AttributeError(name)
        return lambda: self.parts[name]


class Part(np.ndarray):
    """A dense tensor."""

    def detach(self):
        return self

    def numpy(self):
        return self.view(np.ndarray)


@pytest.fixture
def torch(monkeypatch):
    module = types.SimpleNamespace(Tensor=Tensor, strided="torch.strided")
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def part(values, dtype):
    return np.array(values, dtype).view(Part)


def csr():
    return Tensor("torch.sparse_csr", (3, 4), values=part([2, 1, 5, 3], np.float32), col_indices=part([1, 3, 0, 3], np.int64),
                  crow_indices=part([0, 2, 2, 4], np.int64))


def coo(sparse, indices, values):
    return Tensor("torch.sparse_coo", (3, 4), sparse_dim=sparse, dense_dim=2 - sparse, _indices=part(indices, np.int64),
                  _values=part(values, np.float32))


def test_tensors_are_read_by_their_protocol(torch):
    rows = coo(1, [[2, 0]], VALUES[[2, 0]])
    places = coo(2, [[2, 0, 2, 0, 2], [3, 1, 0, 3, 3]], [1, 2, 5, 1, 2])
    for source, stype in ((csr(), "csr"), (rows, "row_sparse"), (places, "csr")):
        for copy in (True, None):
            x = nd.sparse.array(source, copy=copy)
            assert x.stype == stype
            np.testing.assert_array_equal(x.asnumpy(), VALUES)
            x.check_format()


def test_values_and_indices_are_shared_as_asked(torch):
    source = csr()
    for copy, shared in ((True, (False, False, False)), (None, (True, False, False)), (False, (True, True, True))):
        store = nd.sparse.csr_matrix(source, copy=copy)._store
        parts = source.parts["values"], source.parts["col_indices"], source.parts["crow_indices"]
        found = [np.shares_memory(one, getattr(store, name)) for one, name in zip(parts, store.components, strict=True)]
        assert tuple(found) == shared


def test_tensors_that_do_not_fit_are_named(torch):
    source = csr()
    source.requires_grad = True
    refused(mx.MXNetError, "detach", nd.sparse.array, source)
    source = csr()
    source.device.type = "cuda"
    refused(mx.MXNetError, r"cpu\(\)", nd.sparse.array, source)
    source = csr()
    source.shape = (2, 3, 4)
    refused(mx.ShapeError, "one matrix", nd.sparse.array, source)
    with pytest.raises(mx.MXNetError, match="copy=False: the source is row_sparse, not csr"):
        nd.sparse.csr_matrix(coo(1, [[0, 2]], VALUES[[0, 2]]), copy=False)
    refused(mx.DTypeError, "takes arrays and numbers", lambda: nd.ones((3, 4)) + csr())


def test_neither_library_is_imported_for_arrays_of_others():
    program = ("import sys, numpy, scipy.sparse, sparsekit as mx\n"
               "mx.nd.sparse.array(scipy.sparse.eye(3, format='csr')).asscipy(); mx.nd.array([1]) + 1\n"
               "assert not {'torch', 'jax'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=400)


# scipy and numpy


def test_scipys_components_are_shared_as_asked():
    matrix = scipy.sparse.csr_array(VALUES)
    for copy, values, indices in ((True, False, False), (None, True, False), (False, True, True)):
        x = nd.sparse.csr_matrix(matrix, copy=copy)
        assert np.shares_memory(x._store.data, matrix.data) == values
        assert np.shares_memory(x._store.indices, matrix.indices) == np.shares_memory(x._store.indptr, matrix.indptr) == indices
        np.testing.assert_array_equal(x.asnumpy(), VALUES)
    assert x.indices.dtype == matrix.indices.dtype == np.int32
    matrix.data[:] = 9
    assert set(x.data.asnumpy()) == {9}
    parts = np.ones(2, np.float32), np.array([1, 0]), np.array([0, 1, 2])
    assert np.shares_memory(nd.sparse.csr_matrix(parts, shape=(2, 2), copy=False)._store.indices, parts[1])
    rows = np.ones((2, 3), np.float32), np.array([0, 4])
    assert np.shares_memory(nd.sparse.row_sparse_array(rows, shape=(5, 3), copy=False)._store.data, rows[0])


def test_copy_false_names_what_has_to_be_copied():
    matrix = scipy.sparse.csr_array(VALUES)
    unsorted = scipy.sparse.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    read_only = np.ones(2, np.float32)
    read_only.flags.writeable = False
    for call, text in (
            (lambda: nd.sparse.csr_matrix(matrix.tocoo(), copy=False), "coo_array is not csr"),
            (lambda: nd.sparse.csr_matrix(unsorted, copy=False), "out of order"),
            (lambda: nd.sparse.csr_matrix(matrix, dtype="float64", copy=False), "float64 is asked for"),
            (lambda: nd.sparse.csr_matrix(matrix, index_dtype="int64", copy=False), "int64 is asked for"),
            (lambda: nd.sparse.csr_matrix(VALUES, copy=False), "is dense"),
            (lambda: nd.sparse.csr_matrix(([1.0], [0], [0, 1]), shape=(1, 2), copy=False), "list cannot be shared"),
            (lambda: nd.sparse.csr_matrix((read_only, np.arange(2), np.array([0, 2])), shape=(1, 2), copy=False), "read-only"),
            (lambda: nd.sparse.csr_matrix((np.ones(1), np.array([0]), np.array([0, 1], np.int32)), shape=(1, 2), copy=False),
             "indices hold int64 and indptr int32"),
            (lambda: nd.sparse.zeros("row_sparse", (2, 2)).asscipy(copy=False), "no such components")):
        refused(mx.base.errors.ConversionError, rf"copy=False: .*{text}", call)
    for odd in ("yes", 1, []):
        refused(mx.MXNetError, "True, False or None", nd.sparse.csr_matrix, matrix, copy=odd)
        with pytest.raises(mx.MXNetError, match="True, False or None"):
            nd.sparse.csr_matrix(matrix).asscipy(copy=odd)


def _damaged(form, part, place, value):
    made = scipy.sparse.random(50, 30, 0.2, "csr", random_state=0)
    made = made.tobsr((5, 5)) if form == "bsr" else made.asformat(form)
    for name in ("row", "col", "indices", "indptr", "offsets"):
        if hasattr(made, name):
            setattr(made, name, getattr(made, name).copy())
    if form == "dia":
        made.offsets = made.offsets.astype(np.int64)
    if place is None:
        setattr(made, part, value(getattr(made, part)))
    else:
        getattr(made, part)[place] = value(getattr(made, part)[place]) if callable(value) else value
    if hasattr(made, "indptr"):
        made.has_canonical_format = made.has_sorted_indices = False
    return made


DAMAGES = {
    **{f"{form}: {part}[{place}] = {value}": (form, part, place, value) for form in ("csr", "csc", "bsr")
       for part, place, value in (("indices", 3, -5_000_000), ("indices", 3, 50_000_000), ("indptr", 2, 9_999_999),
                                  ("indptr", 2, -9_999_999), ("indptr", 0, -1), ("indptr", -1, 10**7))},
    **{f"{form}: {name}": (form, part, None, value) for form in ("csr", "csc", "bsr")
       for name, part, value in (("fewer values", "data", lambda a: a[:-3]), ("fewer pointers", "indptr", lambda a: a[:-4]),
                                 ("fractions", "indices", lambda a: a + 0.5), ("flat", "indices", lambda a: a.reshape(-1, 1)))},
    **{f"coo: {part}[3] = {value}": ("coo", part, 3, value) for part in ("row", "col") for value in (-5_000_000, 50_000_000)},
    "coo: fewer values": ("coo", "data", None, lambda a: a[:-3]),
    "lil: fewer values": ("lil", "data", 3, [1.0]), "lil: more columns": ("lil", "rows", 3, [*range(30)]),
    "lil: fewer rows": ("lil", "rows", None, lambda a: a[:-3]),
    "lil: a column far away": ("lil", "rows", 3, lambda row: [*row[:-1], 99]),
    "dia: fewer diagonals": ("dia", "data", None, lambda a: a[:-3]),
    "dia: fewer offsets": ("dia", "offsets", None, lambda a: a[:-3]),
    "dia: a diagonal far away": ("dia", "offsets", 3, 2**40),
    "dia: fractions": ("dia", "offsets", None, lambda a: a + 0.5), "dia: flat": ("dia", "data", None, lambda a: a.reshape(-1)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_matrices_of_scipy_are_refused_before_scipy_reads_them(damage, tmp_path):
    """scipy's own conversions read and write outside their arrays then, which ends the process."""
    x = nd.zeros((50, 30), stype="csr")
    for use in (nd.sparse.csr_matrix, nd.sparse.row_sparse_array, nd.array, lambda m: x.__setitem__(slice(None), m),
                lambda m: mx.io.save_libsvm(tmp_path / "rows.svm", m, np.zeros(50))):
        with pytest.raises(mx.SparseFormatError):
            use(_damaged(*damage))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_sound_matrices_of_scipy_with_spare_room_and_repeated_columns_are_read(form):
    sound = scipy.sparse.csr_matrix(VALUES).tobsr((3, 2)) if form == "bsr" else scipy.sparse.csr_matrix(VALUES).asformat(form)
    if form == "coo":
        sound.row, sound.col, sound.data = (np.tile(part, 2) for part in (sound.row, sound.col, sound.data / 2))
    else:
        spare = np.full(2, 10**6, sound.indices.dtype)
        sound.indices, sound.data = np.append(sound.indices, spare), np.concatenate([sound.data, sound.data[:2]])
    np.testing.assert_array_equal(nd.sparse.csr_matrix(sound).asnumpy(), VALUES)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_asscipy_gives_either_class_in_the_memory_of_the_array(index_dtype):
    x = nd.sparse.csr_matrix(VALUES, index_dtype=index_dtype)
    assert isinstance(x.asscipy(), scipy.sparse.csr_array)
    assert isinstance(x.asscipy(spmatrix=True), scipy.sparse.csr_matrix)
    assert isinstance(x.tocoo(), scipy.sparse.coo_array)
    for copy, shared in ((True, (False, False, False)), (None, (True, False, False)), (False, (True, True, True))):
        made = x.asscipy(copy=copy)
        assert tuple(np.shares_memory(getattr(made, name), getattr(x._store, name)) for name in x._store.components) == shared
        np.testing.assert_array_equal(made.toarray(), VALUES)
    assert np.shares_memory(x.tocoo().data, x._store.data)
    x.tocoo().coords[1][:] = 99
    x.check_format()
    np.testing.assert_array_equal(x.toarray(), VALUES)
    assert x.device == x.context == mx.cpu()
    refused(mx.ShapeError, "two dimensions", nd.zeros((2, 2, 2), stype="row_sparse").asscipy)


def test_a_frame_of_pandas_comes_out_of_a_matrix():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.sparse.from_spmatrix(nd.sparse.csr_matrix(VALUES).asscipy())
    np.testing.assert_array_equal(nd.sparse.csr_matrix(frame).asnumpy(), VALUES)


# JAX


@pytest.fixture
def jax():
    module = pytest.importorskip("jax")
    pytest.importorskip("jax.experimental.sparse")
    return module


def jaxs(jax):
    """Arrays of JAX, those with padding and repeated places among them."""
    sparse, jnp = jax.experimental.sparse, jax.numpy
    return {
        "BCSR": sparse.BCSR.fromdense(VALUES), "BCOO": sparse.BCOO.fromdense(VALUES),
        "padded": sparse.BCOO.fromdense(VALUES, nse=9),
        "padded rows": sparse.BCSR.fromdense(VALUES, nse=9), "of rows": sparse.BCOO.fromdense(VALUES, n_dense=1),
        "repeated": sparse.BCOO((jnp.array([1.0, 2, 3]), jnp.array([[1, 1], [0, 0], [1, 1]])), shape=(2, 2)),
        "out of order": sparse.BCSR((jnp.array([7.0, 8, 9]), jnp.array([2, 0, 2]), jnp.array([0, 3, 3, 3])), shape=(3, 4)),
        "rows out of order": sparse.BCOO((jnp.ones((3, 2)), jnp.array([[3], [7], [3]])), shape=(5, 2)),
        "empty": sparse.BCOO((jnp.ones(0), jnp.zeros((0, 2), int)), shape=(5, 2)),
        "one axis": sparse.BCOO((jnp.ones(2), jnp.array([[1], [3]])), shape=(5,)),
    }


@pytest.mark.others
def test_arrays_of_jax_are_read(jax):
    for name, source in jaxs(jax).items():
        for copy in (True, None):
            x = nd.sparse.array(source, copy=copy)
            assert x.stype == ("row_sparse" if "rows out" in name or name in ("of rows", "one axis") else "csr"), name
            np.testing.assert_array_equal(x.asnumpy(), np.asarray(source.todense()), err_msg=name)
            x.check_format()
    source = jaxs(jax)["BCSR"]
    x = nd.sparse.csr_matrix(source, copy=None)
    assert x._store.indices.ctypes.data == source.indices.unsafe_buffer_pointer()
    assert x._store.data.ctypes.data != source.data.unsafe_buffer_pointer()  # that of JAX is constant
    refused(mx.MXNetError, "read-only", nd.sparse.csr_matrix, source, copy=False)


@pytest.mark.others
def test_arrays_of_jax_that_do_not_fit_are_named(jax):
    sparse, jnp = jax.experimental.sparse, jax.numpy
    source = jaxs(jax)["BCSR"]
    for call, text in (
            (lambda: nd.sparse.array(sparse.BCOO.fromdense(jnp.ones((2, 3, 3)), n_batch=1)), "batch"),
            (lambda: nd.sparse.array(sparse.BCOO.fromdense(jnp.ones((2, 3, 3)), n_dense=1)), "1 dense"),
            (lambda: nd.sparse.array(sparse.BCOO((jnp.ones(1), jnp.array([[-1, 0]])), shape=(2, 2))), "outside"),
            (lambda: nd.sparse.array(sparse.BCOO.fromdense(jnp.ones((2, 3), jnp.bfloat16))), "bfloat16"),
            (lambda: jax.jit(lambda a: nd.sparse.array(a).sum())(source), "jit, grad and vmap")):
        refused(mx.MXNetError, text, call)


@pytest.mark.others
def test_arrays_go_to_jax(jax):
    for stype, layouts in (("csr", ("bcsr", "bcoo", None)), ("row_sparse", ("bcoo", None))):
        x = nd.array(VALUES).tostype(stype)
        for layout in layouts:
            for copy in (True, None):
                np.testing.assert_array_equal(np.asarray(x.asjax(layout, copy=copy).todense()), VALUES)
    for call, text in ((lambda: x.asjax("bcsr"), "bcoo"), (lambda: x.astype("float64").asjax(), "jax_enable_x64"),
                       (lambda: nd.sparse.csr_matrix(VALUES).asjax(copy=False), "int32"),
                       (lambda: nd.sparse.zeros("row_sparse", (2**40, 2)).asjax(), "32 bits")):
        refused(mx.MXNetError, text, call)


def on_a_line(values, dtype):
    """A copy that begins at a cache line, which JAX needs to share it."""
    values = np.asarray(values, dtype)
    raw = np.empty(values.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    made = raw[start : start + values.nbytes].view(dtype).reshape(values.shape)
    made[...] = values
    return made


@pytest.mark.others
def test_memory_is_shared_with_jax(jax):
    """Of int32 indices from a cache line on: all of it with ``copy=False``, and with ``copy=None`` what is constant."""
    parts = on_a_line([2, 1, 5, 3], "float32"), on_a_line([1, 3, 0, 3], "int32"), on_a_line([0, 2, 2, 4], "int32")
    rows = on_a_line(VALUES[[0, 2]], "float32"), on_a_line([0, 2], "int32")
    x = nd.sparse.csr_matrix(parts, shape=(3, 4), copy=False)
    y = nd.sparse.row_sparse_array(rows, shape=(3, 4), copy=False)
    for array, layout in ((x, "bcsr"), (y, "bcoo")):
        for copy, values, indices in ((True, False, False), (None, False, True), (False, True, True)):
            made = array.asjax(layout, copy=copy)
            np.testing.assert_array_equal(np.asarray(made.todense()), VALUES)
            assert (made.data.unsafe_buffer_pointer() == array._store.data.ctypes.data) == values
            assert (made.indices.unsafe_buffer_pointer() == array._store.indices.ctypes.data) == indices
    for layout, copied in (("bcsr", x.data.size * 4), ("bcoo", x._store.nbytes)):
        with mx.Profiler() as prof:
            x.asjax(layout)
        assert sum(event["bytes"] for event in prof.records) == copied
    back = nd.sparse.csr_matrix(x.asjax("bcsr", copy=False), copy=None)
    assert [back._store.indices.ctypes.data, back._store.indptr.ctypes.data] == [part.ctypes.data for part in parts[1:]]
