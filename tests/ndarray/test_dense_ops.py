"""Dense operators beyond the recorded expressions: indexing as numpy has it, named errors, methods, groups of operators."""

import inspect
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sparsekit as mx
from tests.calls import differentiated, refused, variable

#: What dir(mxnet.nd.NDArray) has in 1.9.1, without Python's own names, the C handle and the conversions of another test.
NAMES = json.loads((Path(__file__).parents[1] / "golden" / "names.json").read_text(encoding="utf-8"))["classes"]["nd.NDArray"]
METHODS = [name for name in NAMES if name not in ("handle", "to_dlpack_for_read", "to_dlpack_for_write")]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_mxnet_is_there(name):
    found = inspect.getattr_static(mx.nd.NDArray, name, None)
    assert found is not None
    if callable(getattr(mx.nd.NDArray, name)):
        assert inspect.signature(getattr(mx.nd.NDArray, name))
        assert getattr(mx.nd.NDArray, name).__doc__


def test_methods_are_functions_with_signature_and_documentation():
    array = mx.nd.array([[1, 2], [3, 4]])
    assert list(inspect.signature(array.topk).parameters)[:3] == ["axis", "k", "ret_typ"]
    assert next(iter(inspect.signature(mx.nd.NDArray.topk).parameters)) == "data"
    assert "largest" in array.topk.__doc__
    assert mx.nd.NDArray.topk is mx.nd.NDArray.__dict__["topk"]
    assert mx.nd.sparse.csr_matrix([[0, 1]]).abs().stype == "csr"


def test_groups_hold_operators_by_prefix():
    assert "gemm2" in dir(mx.nd.linalg)
    assert "boolean_mask" in dir(mx.nd.contrib)
    assert mx.nd.linalg.gemm2.__doc__ == mx.nd.linalg_gemm2.__doc__
    assert mx.nd.contrib is mx.nd.contrib
    assert mx.nd.op.relu(mx.nd.array([-1, 2])).asnumpy().tolist() == [0, 2]
    with pytest.raises(AttributeError, match="potato"):
        _ = mx.nd.linalg.potato


ARRAYS = [np.arange(5.0, dtype=np.float32), np.arange(12.0, dtype=np.float32).reshape(3, 4),
          np.arange(24.0, dtype=np.float32).reshape(2, 3, 4), np.zeros((0, 3), np.float32), np.zeros((2, 0, 3), np.float32),
          np.arange(9).reshape(3, 3), np.arange(12, dtype=np.uint8).reshape(3, 4), np.eye(3, 4) > 0]


@st.composite
def arrays_and_keys(draw):
    array = draw(st.sampled_from(ARRAYS))
    basic = hnp.basic_indices(array.shape, allow_newaxis=True, allow_ellipsis=True)
    advanced = hnp.integer_array_indices(array.shape, result_shape=hnp.array_shapes(max_dims=2, min_side=1, max_side=3))
    masks = hnp.arrays(bool, array.shape)
    rows = st.lists(st.integers(-3, 3), max_size=4)
    choices = [basic, masks, rows, st.integers(-6, 6)] + ([advanced] if array.size else [])
    return array, draw(st.one_of(*choices))


@settings(max_examples=200, deadline=None)
@given(arrays_and_keys())
def test_indexing_is_numpys(case):
    array, key = case
    ours, numpy_key = mx.nd.array(array, dtype=array.dtype), np.asarray(key, np.int64) if isinstance(key, list) else key
    try:
        expected = np.asarray(array[numpy_key])
    except IndexError:
        with pytest.raises(IndexError) as caught:
            ours[key]
        assert isinstance(caught.value, mx.MXNetError)
        return
    got = ours[key]
    assert (got.shape, got.dtype) == (expected.shape or (1,), array.dtype)
    np.testing.assert_array_equal(got.asnumpy(), expected.reshape(got.shape))
    for value in (1, expected[::-1] if expected.ndim else expected):
        changed, wanted = ours.copy(), array.copy()
        changed[key] = value
        wanted[numpy_key] = value
        np.testing.assert_array_equal(changed.asnumpy(), wanted)


@settings(max_examples=100, deadline=None)
@given(arrays_and_keys())
def test_gradient_of_indexing_counts_how_often_each_element_was_taken(case):
    array, key = case
    numpy_key = np.asarray(key, np.int64) if isinstance(key, list) else key
    try:
        places = np.arange(array.size).reshape(array.shape)[numpy_key]
    except IndexError:
        return
    ours = variable(mx.nd.array(array, dtype="float32"))
    differentiated(lambda: ours[key])
    counts = np.bincount(np.asarray(places).reshape(-1), minlength=array.size)[: array.size]
    np.testing.assert_array_equal(ours.grad.asnumpy().reshape(-1), counts)


@pytest.mark.parametrize("key", [True, (0, True), 1.5, "a", {}, slice(0.5, 2), slice(None, None, 0), [[0], [0, 1]], [0.5, "b"],
                                 object(), (0, 0, 0), (..., ...), np.array(["a"]), [None]])
def test_what_is_no_index_is_refused_by_name(key):
    array = mx.nd.ones((2, 3))
    refused(mx.MXNetError, "", lambda: array[key])
    with pytest.raises(mx.MXNetError):
        array[key] = 1


@pytest.mark.parametrize("value", ["a", "3.5", None, object(), [1, "b"], 1j, {"a": 1}])
def test_what_is_no_number_is_not_assigned(value):
    array = mx.nd.ones((2, 3))
    with pytest.raises(mx.MXNetError):
        array[0] = value
    assert array.asnumpy().tolist() == [[1, 1, 1], [1, 1, 1]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-5, 7), max_size=5), st.booleans())
def test_reshape_gives_the_elements_or_a_named_error(codes, reverse):
    array = mx.nd.array(np.arange(24).reshape(2, 3, 4))
    try:
        made = array.reshape(tuple(codes), reverse=reverse)
    except mx.MXNetError:
        return
    assert made.asnumpy().reshape(-1).tolist() == list(range(24))
    assert made.shape == mx.nd.reshape(array, shape=tuple(codes), reverse=reverse).shape


BAD = [
    lambda x: mx.nd.topk(x, k=9),
    lambda x: mx.nd.argmax(mx.nd.zeros((0, 3)), axis=0),
    lambda x: mx.nd.max(mx.nd.zeros((0,))),
    lambda x: mx.nd.argsort(x, axis=2),
    lambda x: mx.nd.tile(x, reps=(-1,)),
    lambda x: mx.nd.repeat(x, repeats=-2),
    lambda x: mx.nd.pad(x, mode="edge", pad_width=(1, 1)),
    lambda x: mx.nd.pad(x, mode="edge", pad_width=(-1, 1, 0, 0)),
    lambda x: mx.nd.split(x, num_outputs=0),
    lambda x: mx.nd.split_v2(x, (2, 1)),
    lambda x: mx.nd.diag(x, axis1=1, axis2=1),
    lambda x: mx.nd.gather_nd(x, mx.nd.array([[5], [0]])),
    lambda x: mx.nd.scatter_nd(x[0], mx.nd.array([[9, 0, 1]]), shape=(4,)),
    lambda x: mx.nd.ravel_multi_index(mx.nd.array([[1]]), shape=(2, 3)),
    lambda x: mx.nd.moveaxis(x, 0, 5),
    lambda x: mx.nd.concatenate([]),
    lambda x: mx.nd.linalg.potrf(x),
    lambda x: mx.nd.linalg.inverse(mx.nd.zeros((2, 2))),
    lambda x: mx.nd.linalg.det(mx.nd.ones((2, 2), dtype="int32")),
    lambda x: mx.nd.linalg.trsm(mx.nd.zeros((2, 2)), x),
    lambda x: mx.nd.contrib.boolean_mask(x, mx.nd.array([1])),
    lambda x: mx.nd.broadcast_to(x, shape=(2,)),
    lambda x: mx.nd.batch_take(x, mx.nd.array([0])),
    lambda x: mx.nd.contrib.index_copy(x, mx.nd.array([7]), mx.nd.ones((1, 3))),
    lambda x: mx.nd.fill_element_0index(x, mx.nd.ones(2), mx.nd.array([0, 3])),
    lambda x: mx.nd.SequenceLast(mx.nd.zeros((0, 2))),
    lambda x: mx.nd.SequenceMask(x, axis=2),
    lambda x: mx.nd.arange(0, 5, 0),
    lambda x: mx.nd.histogram(x, bins=0),
    lambda x: mx.nd.histogram(x, bins=mx.nd.array([1])),
    lambda x: x.reshape((5, 2)),
    lambda x: x.reshape((6,), shape=(6,)),
    lambda x: x.transpose(0, 0),
    lambda x: x.reshape(6, potato=1),
    lambda x: x[mx.nd.array([0, 1]), mx.nd.array([0, 1, 2])],
    lambda x: mx.nd.khatri_rao(x, mx.nd.ones((2, 2))),
    lambda x: x.squeeze(axis=0),
    lambda x: x.flip(axis=4),
    lambda x: x.as_np_ndarray(),
    lambda x: mx.nd.norm(x, ord="fro"),
    lambda x: mx.nd.contrib.while_loop(lambda a: a > 0, lambda a: (a, a), x),
    lambda x: mx.nd.contrib.foreach(lambda a, s: (a, s), mx.nd.zeros((0, 2)), x),
    lambda x: mx.nd.slice_like(x, mx.nd.ones((2, 3)), axes=(4,)),
]


@pytest.mark.parametrize("call", BAD, ids=lambda call: str(BAD.index(call)))
def test_bad_calls_raise_a_named_error_with_a_hint(call):
    refused(mx.MXNetError, "Hint:", call, mx.nd.array([[1, 2, 3], [4, 5, 6]]))


@pytest.mark.parametrize(("call", "said"), [
    (lambda F, x: F.slice(x, begin=(0.5,), end=(2,)), "begin, end and step must hold integers or None, got"),
    (lambda F, x: F.slice(x, begin=(0,), end=(2,), step=("two",)), "begin, end and step must hold integers or None, got"),
    (lambda F, x: F.slice(x, begin=(0,), end=(2,), step=(0,)), "step must not contain 0, got"),
    (lambda F, x: F.ravel_multi_index(x, shape=(2, 3, 4)), "do not have 3 rows, one per axis"),
], ids=["fraction", "text", "no step", "rows"])
def test_arrays_and_symbols_refuse_arguments_in_the_same_words(call, said):
    refused(mx.ShapeError, said, call, mx.nd, mx.nd.array([[1, 2, 3], [4, 5, 6]]))
    refused(mx.ShapeError, said, lambda: call(mx.sym, mx.sym.Variable("x")).infer_shape(x=(2, 3)))


def test_float_places_that_would_be_rounded_are_refused():
    many = mx.nd.zeros((2**24 + 2,), dtype="int8")
    for call in (lambda: mx.nd.argsort(many), lambda: mx.nd.topk(many, k=1)):
        refused(mx.base.DTypeError, "int64", call)
    refused(mx.base.DTypeError, "", mx.nd.argmax, mx.nd.zeros((3000,), dtype="float16"))
    assert int(mx.nd.topk(many, k=1, dtype="int64").asscalar()) == 0


def test_sorting_keeps_the_order_of_equal_elements_either_way():
    values = mx.nd.array(np.random.default_rng(0).integers(0, 4, 200))
    for up, axis in itertools.product((True, False), (0, None)):
        places = mx.nd.argsort(values, axis=axis, is_ascend=up, dtype="int64").asnumpy()
        pairs = [(value if up else -value, place) for value, place in zip(values.asnumpy()[places], places, strict=True)]
        assert pairs == sorted(pairs)


def test_arrays_without_elements_go_through():
    empty = mx.nd.zeros((0, 3))
    assert mx.nd.sum(empty).asscalar() == 0
    cases = [
        (mx.nd.tile(empty, reps=2), (0, 6)), (mx.nd.flip(empty, axis=0), (0, 3)), (mx.nd.sort(empty, axis=0), (0, 3)),
        (mx.nd.one_hot(mx.nd.zeros((0,)), 3), (0, 3)), (empty.T, (3, 0)), (empty.reshape((0, 3, 1)), (0, 3, 1)),
        (mx.nd.cumsum(empty), (0,)), (mx.nd.where(empty, empty, empty), (0, 3)), (mx.nd.repeat(empty, repeats=2), (0,)),
    ]
    for made, shape in cases:
        assert made.shape == shape
