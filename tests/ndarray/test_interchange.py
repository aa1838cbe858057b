"""Arrays among those of other libraries: numpy's functions, scipy, DLPack, binsparse, pickles; nothing made dense in silence."""

import copy
import itertools
import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.base.errors import (
    ConversionError,
    DTypeError,
    GradientError,
    ShapeError,
    SparseFormatError,
    StorageFallbackWarning,
)
from sparsekit.ndarray.numpy_protocol import FUNCTIONS, UFUNCS
from tests.calls import refused, variable

nd, sparse = mx.nd, mx.nd.sparse
STYPES = ("default", "csr", "row_sparse")
TYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
VALUES = np.array([[1, 0, 2, 0.5], [0, 0, 0, 0], [0.25, 0, 0, 1]], "float32")


def array(stype="default", values=VALUES):
    return nd.array(values).tostype(stype)


# numpy: universal functions


def kinds_of_operand():
    row = np.array([2, 3, 4, 5], "float32")
    return {"array": np.full((3, 4), 2, "float32"), "row": row, "number": 3, "float": 0.5, "scalar": np.float32(2),
            "wide": np.float64(2), "integers": np.arange(1, 5), "0 axes": np.array(2.0),
            "column": np.ones((3, 1), "float32"), "booleans": row > 3}


@pytest.mark.parametrize("name", kinds_of_operand())
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less, np.greater_equal, np.equal])
def test_binary_functions_with_numpy_on_either_side(ufunc, name):
    other = kinds_of_operand()[name]
    if ufunc is np.subtract and name == "booleans":
        other = other.astype("float32")
    for stype, swapped in itertools.product(STYPES, (False, True)):
        inputs = (other, array(stype)) if swapped else (array(stype), other)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            made = ufunc(*inputs)
        assert isinstance(made, nd.NDArray)
        plain = [VALUES if item is not other else other for item in inputs]
        np.testing.assert_allclose(made.asnumpy(), ufunc(*plain), rtol=1e-6)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_stays_sparse_with_numpy(stype, no_fallback):
    x = array(stype)
    full, row = np.full((3, 4), 2, "float32"), np.array([2, 3, 4, 5], "float32")
    for made, expected in ((np.float32(2) * x, VALUES * 2), (x * np.float64(2), VALUES * 2), (full * x, VALUES * 2),
                           (x * row, VALUES * row), (row * x, VALUES * row), (x / np.float32(2), VALUES / 2),
                           (np.multiply(x, x), VALUES**2), (np.add(x, x), VALUES * 2), (np.sin(x), np.sin(VALUES)),
                           (np.sqrt(x), np.sqrt(VALUES)), (np.negative(x), -VALUES), (np.abs(x), VALUES),
                           (np.square(x), VALUES**2)):
        assert made.stype == stype
        np.testing.assert_allclose(made.asnumpy(), expected, rtol=1e-6)


def test_dense_functions_of_sparse_arrays_go_through_the_fallback():
    with mx.config.set(densify="error"), pytest.raises(mx.DensificationError, match="exp"):
        np.exp(array("csr"))


@pytest.mark.parametrize("name", sorted(set(UFUNCS) - {"rad2deg", "deg2rad"}))
def test_every_function_in_the_table_is_numpys(name):
    ufunc = getattr(np, name)
    values = np.array([[0.25, 0.5], [0.75, 1.0]], "float64") + (1 if name == "arccosh" else 0)
    values = values - 0.5 if name in ("arctanh",) else values
    made = ufunc(*[nd.array(values, dtype="float64")] * ufunc.nin)
    assert isinstance(made, nd.NDArray)
    np.testing.assert_allclose(made.asnumpy(), ufunc(*[values] * ufunc.nin), rtol=1e-12)


@pytest.mark.parametrize("stype", STYPES)
def test_matrix_products(stype):
    x, other = array(stype), np.arange(8, dtype="float32").reshape(4, 2)
    for made in (x @ other, np.matmul(x, other), np.dot(x, other)):
        assert isinstance(made, nd.NDArray)
        np.testing.assert_allclose(made.asnumpy(), VALUES @ other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        np.testing.assert_allclose((other.T @ x.T).asnumpy(), other.T @ VALUES.T)
    cube = np.arange(24, dtype="float32").reshape(2, 3, 4)
    turned = cube.transpose(0, 2, 1)
    np.testing.assert_allclose(np.matmul(nd.array(cube), nd.array(turned)).asnumpy(), cube @ turned)
    refused(ShapeError, r"matmul of shapes .* is not supported", np.matmul, nd.array(cube), other)


def test_results_can_be_written_into_arrays():
    x, target = array(), nd.zeros((3, 4))
    assert np.multiply(x, 2, out=target) is target
    np.testing.assert_array_equal(target.asnumpy(), VALUES * 2)


REFUSED = {
    "reduce": lambda x: np.add.reduce(x),
    "accumulate": lambda x: np.add.accumulate(x),
    "outer": lambda x: np.multiply.outer(x, x),
    "at": lambda x: np.add.at(x, [0], 1),
    "out of numpy": lambda x: np.add(x, x, out=np.zeros((3, 4))),
    "in place on numpy": lambda x: np.zeros((3, 4)).__iadd__(x),
    "no operator": lambda x: np.arctan2(x, x),
    "where": lambda x: np.add(x, x, where=np.ones((3, 4), bool), out=nd.zeros((3, 4))),
    "dtype": lambda x: np.add(x, x, dtype="float64"),
    "complex": lambda x: np.ones((3, 4), complex) + x,
    "text": lambda x: np.add(np.full((3, 4), "a"), x),
    "scipy": lambda x: np.add(scipy.sparse.csr_array(VALUES), x),
}


@pytest.mark.parametrize("stype", STYPES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_operator_is_a_type_error_with_a_hint(name, stype):
    caught = refused(TypeError, "Hint:", lambda: REFUSED[name](array(stype)))
    assert isinstance(caught, mx.SparsekitError)


def test_recorded():
    x = variable(array())
    with mx.autograd.record():
        y = np.sum(np.square(x) * np.float32(3))
        refused(GradientError, r"np\.std", np.std, x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * VALUES)


# numpy: other functions

CALLS = {
    "sum": lambda x: np.sum(x), "sum 0": lambda x: np.sum(x, axis=0),
    "sum keepdims": lambda x: np.sum(x, axis=1, keepdims=True), "mean": lambda x: np.mean(x, axis=0),
    "max": lambda x: np.max(x, axis=1), "min": lambda x: np.amin(x), "prod": lambda x: np.prod(x), "amax": lambda x: np.amax(x),
    "least": lambda x: np.min(x, axis=0), "nanprod": lambda x: np.nanprod(x), "nansum": lambda x: np.nansum(x, axis=0),
    "norm": lambda x: np.linalg.norm(x), "norm 1": lambda x: np.linalg.norm(x, axis=1), "shape": lambda x: np.shape(x),
    "ndim": lambda x: np.ndim(x), "size": lambda x: np.size(x), "size 0": lambda x: np.size(x, 0), "copy": lambda x: np.copy(x),
    "transpose": lambda x: np.transpose(x), "transpose axes": lambda x: np.transpose(x, (1, 0)),
    "reshape": lambda x: np.reshape(x, (2, 6)), "reshape -1": lambda x: np.reshape(x, (6, -1)),
    "clip": lambda x: np.clip(x, 0, 1), "concatenate": lambda x: np.concatenate([x, x]),
    "concatenate 1": lambda x: np.concatenate((x, x), axis=1), "stack": lambda x: np.stack([x, x], axis=1),
    "zeros_like": lambda x: np.zeros_like(x), "dot": lambda x: np.dot(x, np.transpose(x)), "where": lambda x: np.where(x, x, x),
    "fix": lambda x: np.fix(x), "argmax": lambda x: np.argmax(x, axis=1), "argmin": lambda x: np.argmin(x, axis=0),
}
DENSE_CALLS = {
    "ravel": lambda x: np.ravel(x), "squeeze": lambda x: np.squeeze(np.expand_dims(x, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1), "tile": lambda x: np.tile(x, (2, 1)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)), "ones_like": lambda x: np.ones_like(x),
    "concatenate mixed": lambda x: np.concatenate([x, VALUES]), "where mixed": lambda x: np.where(x, VALUES, x),
}


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # since numpy 2.5, which has it all the same
@pytest.mark.parametrize(("name", "stype"), [*itertools.product(CALLS, STYPES), *itertools.product(DENSE_CALLS, ["default"])])
def test_functions_run_operators(name, stype):
    call = {**CALLS, **DENSE_CALLS}[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        made = call(array(stype))
    expected = call(VALUES)
    if isinstance(expected, (int, tuple)):
        assert made == expected
        return
    assert isinstance(made, nd.NDArray)
    np.testing.assert_allclose(made.asnumpy().reshape(np.shape(expected)), expected, rtol=1e-6)
    if name in ("copy", "concatenate", "zeros_like"):
        assert made.stype == stype


def test_every_function_in_the_table_is_called():
    called = {name for call in (*CALLS.values(), *DENSE_CALLS.values()) for name in call.__code__.co_names}
    assert {name.removeprefix("linalg.") for name in FUNCTIONS} - called == set()


def test_what_rounds_otherwise_is_not_numpys():
    refused(ConversionError, "rint", lambda: np.rint(array()))
    assert np.round(nd.array([0.5, 1.5])).tolist() == [0, 2]
    assert np.mean(nd.array([1, 2], dtype="int32")) == 1.5


def test_other_functions_take_dense_arrays_as_their_own():
    x = array()
    assert np.allclose(x, VALUES)
    assert np.array_equal(x, x)
    assert np.std(x) == np.std(VALUES)
    assert np.sum(x, dtype="float64") == 4.75
    assert [part.tolist() for part in np.where(x)] == [part.tolist() for part in np.where(VALUES)]
    assert np.reshape(x, (4, 3), order="F").tolist() == np.reshape(VALUES, (4, 3), order="F").tolist()
    assert np.concatenate([x, x], axis=None).shape == (24,)
    np.testing.assert_array_equal(x, VALUES)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("call", [
    np.asarray, np.array, np.ascontiguousarray, lambda x: np.asarray(x, dtype="float64"), lambda x: np.array([x, x]),
    lambda x: np.allclose(x, x), np.std, np.where, lambda x: np.array(x, dtype=object), lambda x: np.sum(x, dtype="float64"),
    lambda x: np.concatenate([x, x], axis=None), lambda x: np.testing.assert_array_equal(x, x), np.cumsum, np.sort,
    lambda x: scipy.sparse.csr_matrix(VALUES) * x, lambda x: scipy.sparse.csr_array(VALUES) + x,
    lambda x: x * scipy.sparse.csr_array(VALUES),
], ids=range(17))
def test_a_sparse_array_never_becomes_dense_in_silence(stype, call):
    refused(TypeError, "Hint:", lambda: call(array(stype)))


def test_copies_that_numpy_asks_for():
    x = array()
    assert not np.shares_memory(np.asarray(x), x._store)
    assert np.shares_memory(x.__array__(copy=False), x._store)
    assert np.asarray(x, dtype="float64").dtype == np.float64
    refused(DTypeError, "without a copy", x.__array__, dtype="float64", copy=False)


# scipy


# DLPack


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_shares_memory_both_ways(dtype):
    x = nd.array([[0, 1, 1], [1, 0, 0]], dtype=dtype)
    out = np.from_dlpack(x)
    assert np.shares_memory(out, x._store)
    assert (out.dtype, out.shape) == (x.dtype, x.shape)
    back = nd.from_dlpack(out)
    back[0, 0] = 1
    assert x.asnumpy()[0, 0] == 1
    for capsule in (x.to_dlpack_for_read(), nd.to_dlpack_for_write(x), nd.to_dlpack_for_read(x), x.to_dlpack_for_write()):
        again = nd.from_dlpack(capsule)
        again[1, 2] = 1
        assert x.asnumpy()[1, 2] == 1
        x[1, 2] = 0
    assert x.__dlpack_device__() == (1, 0)


def test_dlpack_outlives_its_source():
    made = nd.from_dlpack(nd.arange(1000).to_dlpack_for_read())
    assert float(made.sum().asscalar()) == 499500
    shared = np.from_dlpack(nd.arange(1000) + 1)
    assert shared.sum() == 500500


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_dlpack_of_a_sparse_array_is_that_of_its_components(stype):
    x = array(stype)
    for call in (np.from_dlpack, nd.from_dlpack, nd.to_dlpack_for_read, lambda x: x.__dlpack__(), type(x).__dlpack_device__):
        refused(ConversionError, r"x\.indices", call, x)
    for name in x._store.components:  # those who take indices need not respect that they are read-only
        taken, own = np.from_dlpack(getattr(x, name)), getattr(x._store, name)
        np.testing.assert_array_equal(taken, own)
        assert np.shares_memory(taken, own) == (name == "data")
    refused(ConversionError, "not shared", x.indices.__dlpack__, copy=False)


@pytest.mark.parametrize(("source", "kind"), [
    (np.ones((3, 2)).T, ConversionError), (np.ones(2, complex), DTypeError), ([1.0], ConversionError),
    (np.ones(2, "uint16"), DTypeError), (np.broadcast_to(np.ones(1), (3,)), ConversionError)])
def test_what_dlpack_cannot_share(source, kind):
    refused(kind, "Hint:", nd.from_dlpack, source)


def test_the_components_of_odd_arrays_have_dlpack():
    for x in (nd.array(3.0), nd.array([]), nd.zeros((0, 3))):
        assert np.from_dlpack(x).shape == x.shape


# binsparse


class Foreign:
    """An object of another library."""

    def __init__(self, name, shape, parts, **more):
        self.described = {"version": "0.1", "format": name, "shape": list(shape),
                          "data_types": {key: str(np.asarray(part).dtype) for key, part in parts.items()}, **more}
        self.parts = {key: np.asarray(part) for key, part in parts.items()}

    def __binsparse_descriptor__(self):
        return {"binsparse": self.described}

    def __binsparse__(self, *, descriptor=None):
        return self.parts


@pytest.mark.parametrize("stype", STYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_binsparse_out_and_in(stype, dtype):
    x = nd.array(VALUES.astype(dtype), dtype=dtype).tostype(stype)
    described = json.loads(json.dumps(x.__binsparse_descriptor__()))["binsparse"]
    parts = x.__binsparse__()
    assert set(described["data_types"]) == set(parts)
    assert described["data_types"]["values"] == ("bint8" if dtype == "bool" else dtype)
    assert all(isinstance(part, nd.NDArray) and part.ndim == 1 for part in parts.values())
    assert np.shares_memory(parts["values"]._store, x._store if stype == "default" else x._store.data)
    again = sparse.from_binsparse(x)
    assert (again.stype, again.dtype, again.shape) == (x.stype, x.dtype, x.shape)
    np.testing.assert_array_equal(again.asnumpy(), x.asnumpy())
    again[:] = 0
    assert x.asnumpy().any()


def foreign():
    csr, csc, coo = (scipy.sparse.csr_array(VALUES).asformat(name) for name in ("csr", "csc", "coo"))
    places = {"indices_0": coo.row, "indices_1": coo.col, "values": coo.data}
    by_row, by_column = ({"indices_1": one.indices, "values": one.data} for one in (csr, csc))
    return {
        "CSR": Foreign("CSR", (3, 4), {"pointers_to_1": csr.indptr, **by_row}),
        "CSC": Foreign("CSC", (3, 4), {"pointers_to_1": csc.indptr, **by_column}),
        "COO": Foreign("COO", (3, 4), places), "COOR": Foreign("COOR", (3, 4), places),
        "DCSR": Foreign("DCSR", (3, 4), {"indices_0": [0, 2], "pointers_to_1": [0, 3, 5], **by_row}),
        "DCSC": Foreign("DCSC", (3, 4), {"indices_0": [0, 2, 3], "pointers_to_1": [0, 2, 3, 5], **by_column}),
        "DMAT": Foreign("DMAT", (3, 4), {"values": VALUES.ravel()}),
        "DMATC": Foreign("DMATC", (3, 4), {"values": VALUES.T.ravel()}),
    }


@pytest.mark.parametrize("name", foreign())
def test_binsparse_of_others(name):
    made = sparse.from_binsparse(foreign()[name])
    assert made.stype == ("default" if name.startswith("DM") else "csr")
    np.testing.assert_array_equal(made.asnumpy(), VALUES)


def test_binsparse_of_one_value_everywhere_and_of_unsigned_indices():
    indices = {"pointers_to_1": np.array([0, 2, 3], "uint64"), "indices_1": np.array([0, 3, 1], "uint64")}
    made = sparse.from_binsparse(Foreign("CSR", (2, 4), {**indices, "values": np.array([2.5])}, number_of_stored_values=3))
    assert made.asnumpy().tolist() == [[2.5, 0, 0, 2.5], [0, 2.5, 0, 0]]


@pytest.mark.parametrize(("source", "kind", "message"), [
    (np.eye(2), ConversionError, "does not support binsparse"),
    (Foreign("CSR", (2, 2), {"values": [1.0]}), ConversionError, "needs the array 'pointers_to_1'"),
    (Foreign("BSR", (2, 2), {"values": [1.0]}), ConversionError, "'BSR'"),
    (Foreign({"custom": {}}, (2, 2), {"values": [1.0]}), ConversionError, "not supported"),
    (Foreign("CSR", (2, 2), {}), ConversionError, "values"),
    (Foreign("DMAT", (2, 2), {"values": [1.0]}), ShapeError, "fill"),
    (Foreign("CSR", (1, 2), {"values": [1.0], "pointers_to_1": [0, 1], "indices_1": [9]}), SparseFormatError, "9"),
    (Foreign("CSR", (5, 2), {"values": [1.0], "pointers_to_1": [0, 1], "indices_1": [0]}, fill=True), ConversionError, "fill"),
    (Foreign("DVEC", (1,), {"values": [1j]}), DTypeError, "complex"),
])
def test_binsparse_that_is_not_read(source, kind, message):
    refused(kind, message, sparse.from_binsparse, source)


def test_binsparse_that_is_not_given():
    refused(ConversionError, "CSC", lambda: array("csr").__binsparse__(descriptor={"binsparse": {"format": "CSC"}}))
    refused(ConversionError, "no default arrays", nd.zeros((2, 2, 2)).__binsparse_descriptor__)
    refused(ConversionError, "copied", lambda: sparse.from_binsparse(array("csr"), copy=False))


# pickles and copies


def samples():
    return {
        **{f"{stype} {dtype}": nd.array(VALUES.astype(dtype), dtype=dtype).tostype(stype)
           for stype, dtype in itertools.product(STYPES, TYPES)},
        "scalar": nd.array(3.0), "no rows": nd.zeros((0, 3)), "view": nd.arange(6).reshape((2, 3))[1],
        "on another": array().as_in_context(mx.cpu(3)), "int32 indices": sparse.csr_matrix(VALUES, index_dtype="int32"),
        "tall": sparse.row_sparse_array(([[1.0]], [2**40]), shape=(2**41, 1)),
    }


def ways():
    protocols = {f"protocol {number}": lambda x, number=number: pickle.loads(pickle.dumps(x, number)) for number in range(2, 6)}
    return {**protocols, "out of band": out_of_band, "copy": copy.copy, "deepcopy": copy.deepcopy}


def out_of_band(x):
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])


@pytest.mark.parametrize("way", ways())
@pytest.mark.parametrize("name", samples())
def test_pickled_and_copied(name, way):
    x = variable(samples()[name])
    y = ways()[way](x)
    assert type(y) is type(x)
    assert (y.dtype, y.shape, y.context) == (x.dtype, x.shape, x.context)
    assert y.grad is None
    for part in getattr(x._store, "components", ()):
        assert getattr(y._store, part).dtype == getattr(x._store, part).dtype
        assert np.array_equal(getattr(y._store, part), getattr(x._store, part))
    if x.stype == "default":
        assert np.array_equal(x.asnumpy(), y.asnumpy())
        if x.size:
            assert not np.shares_memory(x._store, y._store)
            y[...] = 1  # its memory can be written to


def test_a_pickle_is_checked_like_any_input():
    x = sparse.csr_matrix(([1.0, 2], [1, 3], [0, 1, 2]), shape=(2, 5))
    function, (stype, parts, _, ctx) = x.__reduce__()
    refused(SparseFormatError, "outside the 2 columns", function, stype, parts, (2, 2), ctx)
    refused(DTypeError, "complex", function, "default", (np.ones(2, complex),), (2,), ctx)


@pytest.mark.parametrize("spmatrix", [False, True])
def test_indices_for_scipy_are_int32_where_that_suffices(spmatrix):
    """scikit-learn takes no others."""
    narrow = mx.nd.sparse.csr_matrix(([1.0, 2.0], [0, 4], [0, 1, 2]), shape=(2, 5)).asscipy(spmatrix=spmatrix)
    assert narrow.indices.dtype == narrow.indptr.dtype == np.int32
    wide = mx.nd.sparse.csr_matrix(([1.0], [2**31], [0, 1]), shape=(1, 2**31 + 1)).asscipy(spmatrix=spmatrix)
    assert wide.indices.dtype == np.int64
    assert wide.indices[0] == 2**31
