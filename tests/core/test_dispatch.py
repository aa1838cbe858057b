"""The fallback with its ledger and policy, ``out=``, and the plan's checks."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import dispatch, hooks
from tests.calls import refused


@pytest.fixture(autouse=True)
def fresh():
    dispatch._warned.clear()
    hooks.ledger.clear()


def sparse():
    return mx.nd.array([[0, 1], [2, 0]]).tostype("csr")


def test_a_fallback_warns_once_at_the_users_line_and_is_in_the_ledger_each_time():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            mx.nd.cos(sparse())
    assert [str(warning.message).partition(" for ")[0] for warning in seen] == ["cos has no kernel"]
    assert seen[0].filename == __file__
    assert len(hooks.ledger) == 3
    record = hooks.ledger[0]
    assert (record.op, record.source, record.target, record.bytes_after) == ("cos", "csr", "default", 16)
    assert record.line.startswith("test_dispatch.py:")


def test_policy_error_and_allow():
    with mx.config.set(densify="error"), pytest.raises(mx.DensificationError, match="'error'"):
        mx.nd.cos(sparse())
    with mx.config.set(densify="allow"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mx.nd.cos(sparse()).stype == "default"


def test_the_limit_stops_before_anything_is_allocated():
    huge = mx.nd.sparse.csr_matrix(([1.0], [0], [0] + [1] * 10**6), shape=(10**6, 10**6))
    refused(mx.DensificationError, "4,000,000,000,000 bytes", mx.nd.cos, huge)


def test_settings_are_checked():
    with pytest.raises(mx.UnknownNameError, match="did you mean 'error'"):
        mx.config.densify = "eror"
    with pytest.raises(mx.UnknownNameError, match="densify_limit"):
        mx.config.densify_limit = "1 GB"


def test_out_keeps_its_own_types():
    target = mx.nd.sparse.zeros("csr", (2, 2), dtype="float64")
    result = mx.nd.dot(mx.nd.ones((2, 2)), mx.nd.ones((2, 2)), out=target)
    assert result is target
    assert (target.stype, target.dtype, target.asnumpy().tolist()) == ("csr", "float64", [[2, 2], [2, 2]])


def test_out_may_be_an_input():
    x = mx.nd.array([[1, 2], [3, 4]])
    mx.nd.dot(x, x, out=x)
    assert x.asnumpy().tolist() == [[7, 10], [15, 22]]


def test_shapes_are_checked_for_each_new_shape():
    mx.nd.dot(sparse(), mx.nd.ones((2, 3)))
    refused(mx.ShapeError, "dot", lambda: mx.nd.dot(sparse(), mx.nd.ones((3, 3))))


def test_a_signature_is_the_operators():
    import inspect

    expected = "(lhs, rhs, transpose_a=False, transpose_b=False, forward_stype=None, *, out=None)"
    assert str(inspect.signature(mx.nd.dot)) == expected
    assert "csr, default -> row_sparse, transpose_a=True" in mx.nd.dot.__doc__


def flags():
    return mx.nd.array([1, 0], dtype="bool")


def pair(dtype="float32"):
    return mx.nd.ones((2,), dtype=dtype)


#: What numpy refuses inside a kernel: the named error, and numpy's kind of error, which it is too.
REFUSED = {
    "no such memory": (lambda: mx.nd.tile(pair(), reps=(1 << 50,)), mx.InsufficientMemoryError, MemoryError, "tile"),
    "scalar beyond the type": (lambda: pair("int8") + 1000, mx.DTypeError, TypeError, "1000 out of bounds for int8"),
    "scalar beyond any type": (lambda: 2**70 - pair("int64"), mx.DTypeError, TypeError, r"1180591620717411303424 - data cannot"),
    "value beyond the type": (lambda: mx.nd.full((2,), 300, dtype="uint8"), mx.DTypeError, TypeError, "300"),
    "negative of bool": (lambda: -flags(), mx.DTypeError, TypeError, "negative"),
    "difference of bool": (lambda: flags() - flags(), mx.DTypeError, TypeError, "elemwise_sub.. cannot be computed on bool"),
    "no number": (lambda: mx.nd.clip(pair(), "a", 1), mx.ShapeError, ValueError, "clip.a_min='a'"),
    "nan of integers": (lambda: mx.nd.clip(pair("int32"), float("nan"), 1), mx.ShapeError, ValueError, "NaN"),
    "index outside": (lambda: mx.nd.gather_nd(pair(), mx.nd.array([[5]])), mx.RowIndexError, IndexError, "Index 5"),
    "out is not an array": (lambda: mx.nd.exp(pair(), out="x"), mx.DTypeError, TypeError, "out is a str"),
    "out holds no arrays": (lambda: mx.nd.split(pair(), 2, axis=0, out=[1, 2]), mx.DTypeError, TypeError, "out is a int"),
    "out of too few": (lambda: mx.nd.split(pair(), 2, axis=0, out=[pair()]), mx.SparsekitError, RuntimeError, "gives 2 arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_a_named_error(name):
    act, kind, builtin, message = REFUSED[name]
    for _ in range(2):  # the first call of its kind, and one whose plan is ready
        with pytest.raises(kind, match=message) as caught:
            act()
        assert isinstance(caught.value, builtin)
        assert "Hint:" in str(caught.value)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_clip_and_mean_of_types_that_do_not_hold_the_bounds(dtype, stype):
    values = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)
    x = mx.nd.array(values, dtype=dtype).tostype(stype)
    clipped = mx.nd.clip(x, -1e9, 1e30)
    assert (clipped.stype, clipped.dtype) == (stype, values.dtype)
    np.testing.assert_array_equal(clipped.asnumpy(), values)
    mean = mx.nd.mean(x, axis=0)
    assert mean.dtype == values.dtype
    np.testing.assert_array_equal(mean.asnumpy(), values.any(axis=0) if dtype == "bool" else values.sum(axis=0) // 2)


def test_topk_counts_places_in_a_bool():
    x = mx.nd.array([[0, 1]], dtype="bool")
    refused(mx.DTypeError, "cannot hold the places", lambda: mx.nd.topk(mx.nd.ones((1, 5)), k=1, dtype="bool"))
    np.testing.assert_array_equal(mx.nd.topk(x, k=1, dtype="int32").asnumpy(), [[1]])
