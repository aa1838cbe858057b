"""What variables and operators are declared with: shapes, types and attributes, as MXNet 1.9.1 takes them, and nonsense."""

import random
import string
import warnings

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import refused

S = mx.sym
CPU = mx.cpu()


@pytest.mark.parametrize(("shape", "wanted"), [
    (1, (1,)), (np.int64(3), (3,)), ((np.int64(2), 3), (2, 3)), ([2, 3], (2, 3)), (np.array([2, 3]), (2, 3)), ("(2,3)", (2, 3)),
    ("[2, 3]", (2, 3)), ("2", (2,)), ((0, 3), (0, 3)), ((-1, 3), (0, 3))])
def test_shapes_of_variables(shape, wanted):
    declared = S.Variable("a", shape=shape)
    assert declared.infer_shape_partial()[0] == [wanted]
    assert S.load_json((declared * 1).tojson()).infer_shape_partial()[0] == [wanted]


@pytest.mark.parametrize("shape", ["(2,", "", "a", (2.0, 3), True, range(2, 4), [[2]], np.ones((2, 2)), np.array([2.0])])
def test_what_is_no_shape_of_a_variable(shape):
    refused(mx.ShapeError, "", S.Variable, "a", shape=shape)


def test_shapes_may_be_given_as_numpy_arrays():
    net = S.Variable("a") * 1
    assert net.infer_shape(a=np.array([2, 3]))[1] == [(2, 3)]
    assert net.simple_bind(CPU, a=np.array([2, 3])).arg_arrays[0].shape == (2, 3)


@pytest.mark.parametrize(("shape", "wanted"), [(None, (4,)), ((4,), (4,)), ((0,), (4,)), ((4, 1), (4, 1)), ((0, 1), (4, 1)),
                                               ((0, 0), (4, 1))])
def test_a_bias_is_a_vector_or_a_column(shape, wanted):
    bias = S.Variable("bias", shape=shape)
    net = S.FullyConnected(S.Variable("data"), S.Variable("weight"), bias, num_hidden=4)
    assert net.infer_shape(data=(2, 3)) == ([(2, 3), (4, 3), wanted], [(2, 4)], [])
    bound = net.simple_bind(CPU, data=(2, 3))
    bound.arg_dict["bias"][:] = 2
    bound.forward(is_train=True)
    bound.backward(mx.nd.ones((2, 4)))
    assert bound.outputs[0].asnumpy().tolist() == [[2] * 4] * 2
    assert bound.grad_dict["bias"].shape == wanted
    assert bound.grad_dict["bias"].asnumpy().ravel().tolist() == [2] * 4


def test_a_bias_of_three_axes_is_refused():
    net = S.FullyConnected(S.Variable("data"), S.Variable("weight"), S.Variable("bias", shape=(4, 1, 1)), num_hidden=4)
    refused(mx.ShapeError, "bias has shape", net.infer_shape, data=(2, 3))


def test_a_shape_given_takes_the_place_of_the_one_declared():
    net = S.Variable("a", shape=(2, 3)) * 1
    assert net.infer_shape()[1] == [(2, 3)]
    assert net.infer_shape(a=(4, 5))[1] == [(4, 5)]
    assert net.simple_bind(CPU, a=(4, 5)).forward()[0].shape == (4, 5)
    assert net.bind(CPU, [mx.nd.ones((4, 5))]).forward()[0].shape == (4, 5)
    assert net.infer_shape_partial(a=(0, 3))[1] == [(2, 3)]  # which says less than the declaration


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.5"), (2, "2"), (np.float32(0.25), "0.25"), (True, "True"), ("0.5", "0.5"),
                                             ((1, 2), "(1, 2)"), (None, "None")])
def test_attributes_of_operators_are_kept_as_text(value, text):
    data = S.Variable("data")
    for made in (S.FullyConnected(data, num_hidden=3, name="fc", lr_mult=value),
                 S.FullyConnected(data, num_hidden=3, name="fc", attr={"lr_mult": value}),
                 S.FullyConnected(data, num_hidden=3, name="fc", __lr_mult__=value)):
        found = made.attr_dict()
        assert {found[name]["lr_mult"] for name in ("fc", "fc_weight", "fc_bias")} == {text}
    assert S.Variable("w", __own__=value).attr("__own__") == text
    assert (S.Variable("w", wd_mult=value).attr("wd_mult")) == (None if value is None else text)
    for refuse in (lambda: S.Variable("w", attr={"own": value}), lambda: mx.AttrScope(lr_mult=value),
                   lambda: S.Variable("w")._set_attr(lr_mult=value)):
        if not isinstance(value, str):  # MXNet refuses them there, too
            refused(mx.DTypeError, "", refuse)


def test_factors_on_an_operator_reach_the_optimizer():
    net = S.FullyConnected(S.Variable("data"), num_hidden=3, name="fc", lr_mult=0.5, wd_mult=2)
    optimizer = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, sym=net, param_idx2name={0: "fc_weight", 1: "fc_bias"})
    assert optimizer._get_lrs([0, 1]) == [0.5, 0.5]
    assert optimizer._get_wds([0, 1]) == [2.0, 2.0]


@pytest.mark.parametrize("text", ["(2, 3)", "[2,3]"])
def test_attributes_of_operators_may_be_text(text):
    """MXNet's are text, so that what reads a file may pass them on."""
    six = mx.nd.arange(6)
    assert mx.nd.reshape(six, shape=text).shape == mx.nd.zeros(text).shape == mx.nd.random.uniform(shape=text).shape == (2, 3)
    assert S.reshape(S.Variable("a"), shape=text).infer_shape(a=(6,))[1] == [(2, 3)]
    assert S.zeros(text).infer_shape()[1] == S.random.uniform(shape=text).infer_shape()[1] == [(2, 3)]
    assert mx.nd.sum(mx.nd.ones((2, 3)), axis="(0,)", keepdims="True").shape == (1, 3)
    assert mx.nd.FullyConnected(mx.nd.ones((2, 3)), mx.nd.ones((4, 3)), num_hidden="4", no_bias="true").shape == (2, 4)
    assert mx.nd.ones((1, 3)).broadcast_to(np.array([2, 3])).shape == (2, 3)
    assert mx.nd.clip(six, a_min="1.5", a_max="3").asnumpy().tolist() == [1.5, 1.5, 2, 3, 3, 3]


def test_nonsense_is_refused_by_name():
    draw = random.Random(0)
    letters = "ifuOSVMm(),[]0123<>=|{}:" + string.ascii_letters
    texts = ["(2,", "f8,", "i4,f4", "{", "[]", "", "O", "V8", "M8[s]", "complex64", "float128", "99",
             "\0", "(2)f4", "4,", "a" * 70_000,
             *("".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(150))]
    x = S.Variable("x")
    for text in texts:
        for make in (
                lambda text=text: (S.Variable("x", attr={"__dtype__": text}) * 1).infer_type(),
                lambda text=text: S.Variable("x", attr={"__dtype__": text}).simple_bind(CPU, x=(2,)),
                lambda text=text: S.Variable("x", dtype=text), lambda text=text: (x * 1).infer_type(x=text),
                lambda text=text: (x * 1).simple_bind(CPU, x=(2,), type_dict={"x": text}),
                lambda text=text: S.Cast(x, dtype=text).infer_type(x="float32"),
                lambda text=text: S.zeros((2,), dtype=text).infer_type(),
                lambda text=text: S.Embedding(x, input_dim=2, output_dim=2, dtype=text).infer_type(),
                lambda text=text: S.random.uniform(shape=(2,), dtype=text).infer_type(),
                lambda text=text: (x * 1).graph(x=text),
                lambda text=text: S.Variable("x", attr={"__shape__": text}).infer_shape_partial(),
                lambda text=text: S.Variable("x", attr={"__storage_type__": text}).infer_storage_type(),
                lambda text=text: mx.optimizer.SGD(sym=S.Variable("x", attr={"__lr_mult__": text}))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                try:
                    make()
                except mx.SparsekitError as error:
                    assert error.hint  # noqa: PT017 - either way is right


def test_partial_shapes_go_both_ways():
    """As in MXNet's own tests of inference."""
    parts = S.SliceChannel(S.Variable("a", shape=(0, 10)), num_outputs=10, axis=1, squeeze_axis=True)
    assert (parts[1] + S.Variable("c", shape=(5,))).infer_shape()[0] == [(5, 10), (5,)]
    parts = S.SliceChannel(S.Variable("a", shape=(0, 15, 0)), num_outputs=3)
    assert (parts[1] + S.Variable("c", shape=(3, 5, 2))).infer_shape()[0] == [(3, 15, 2), (3, 5, 2)]
    assert S.SliceChannel(S.Variable("a"), num_outputs=3).infer_shape_partial(a=(0, 15))[1] == [(0, 5)] * 3
    shaped = S.Reshape(S.Variable("a", shape=(0, 10)), shape=(-1, 5)) + S.Variable("c", shape=(6, 5))
    assert shaped.infer_shape()[0] == [(3, 10), (6, 5)]
    assert S.Reshape(S.Variable("a"), shape=(0, -1)).infer_shape_partial(a=(0, 3, 4))[1] == [(0, 12)]
    for make, wanted in ((lambda a: S.expand_dims(a, axis=1), (2, 4)), (lambda a: S.SwapAxis(a, dim1=0, dim2=2), (4, 1, 2)),
                         (lambda a: S.transpose(a, axes=(1, 2, 0)), (4, 2, 1))):
        assert (make(S.Variable("a")) + S.Variable("c", shape=(2, 1, 4))).infer_shape()[0][0] == wanted


def test_a_slice_of_an_unknown_axis_may_be_shorter():
    """``end`` lies beyond an axis that is short; the size of 5 that was said refused data of 3 rows."""
    rows = S.slice(S.Variable("a", shape=(0, 20)), begin=(None, 3), end=(5, 10))
    assert rows.infer_shape_partial()[1] == [(0, 7)]
    assert S.slice(S.Variable("a", shape=(0,)), begin=(-3,), end=(None,)).infer_shape_partial()[1] == [(0,)]
    assert S.topk(S.Variable("a"), axis=0, k=3).infer_shape_partial(a=(0, 4))[1] == [(3, 4)]  # which are never fewer
    assert (rows + S.Variable("c")).infer_shape_partial(c=(3, 7))[:2] == ([(0, 20), (3, 7)], [(3, 7)])
