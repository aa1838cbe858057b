"""Executors: passes, gradients of every kind of request, states, reshaping, monitors; beside the same on arrays."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, ParameterError, ShapeError, StorageTypeError, UnknownNameError, UnsupportedError
from sparsekit.core import hooks
from tests.calls import refused, variable

CPU = mx.cpu()


def classifier():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def bound(grad_req="write", seed=0):
    rng = np.random.default_rng(seed)
    executor = classifier().simple_bind(CPU, grad_req, data=(5, 6))
    for name, array in executor.arg_dict.items():
        array[:] = mx.nd.array(rng.standard_normal(array.shape) if name != "softmax_label" else np.arange(5) % 3)
    return executor


def test_a_pass_is_that_of_arrays():
    executor = bound()
    values = {name: array.copy() for name, array in executor.arg_dict.items()}
    for array in values.values():
        array.attach_grad()
    with mx.autograd.record():
        hidden = mx.nd.FullyConnected(values["data"], values["fc1_weight"], values["fc1_bias"], num_hidden=4)
        scores = mx.nd.FullyConnected(mx.nd.relu(hidden), values["fc2_weight"], values["fc2_bias"], num_hidden=3)
        out = mx.nd.SoftmaxOutput(scores, values["softmax_label"])
    out.backward()
    made = executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_array_equal(made[0].asnumpy(), out.asnumpy())
    for name, array in values.items():
        np.testing.assert_array_equal(executor.grad_dict[name].asnumpy(), array.grad.asnumpy())


@pytest.mark.parametrize("request_form", ["str", "list", "dict"])
def test_requests(request_form):
    names = classifier().list_arguments()
    wanted = {"fc1_weight": "add", "fc2_weight": "write"}
    grad_req = {"str": "add", "list": [wanted.get(name, "null") for name in names], "dict": wanted}[request_form]
    executor, once = bound(grad_req), bound("write")
    once.forward(is_train=True)
    once.backward()
    executor.forward(is_train=True)
    executor.backward()
    executor.backward()
    for name in names:
        request = "add" if request_form == "str" else wanted.get(name, "null")
        if request == "null":
            assert executor.grad_dict[name] is None
        else:
            np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), once.grad_dict[name].asnumpy() * (
                2 if request == "add" else 1), rtol=1e-6)
    assert executor.grad_arrays == [executor.grad_dict[name] for name in names]


def test_head_gradients():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = mx.sym.Group([a * b, a + b]).bind(CPU, [mx.nd.array([2, 3]), mx.nd.array([5, 7])],
                                                  [mx.nd.zeros(2), mx.nd.zeros(2)])
    executor.forward(is_train=True)
    executor.backward([mx.nd.array([1, 10]), mx.nd.array([100, 1000])])
    assert executor.grad_arrays[0].asnumpy().tolist() == [105, 1070]
    executor.backward({"_plus0_output" if "_plus0_output" in executor.output_dict else list(executor.output_dict)[1]:
                       mx.nd.array([2, 2])})
    assert executor.grad_arrays[0].asnumpy().tolist() == [7, 9]  # ones where none is given
    executor.backward([mx.nd.array([1, 10]), mx.nd.array([100, 1000]), mx.nd.ones(5)])  # MXNet ignores the third
    assert executor.grad_arrays[0].asnumpy().tolist() == [105, 1070]
    refused(ShapeError, "1 head gradients were given for 2 outputs", executor.backward, mx.nd.ones(2))
    refused(ShapeError, "", executor.backward, [mx.nd.ones(3), mx.nd.ones(3)])
    refused(DTypeError, "inputs must be NDArray", executor.backward, ["x", "y"])
    refused(UnknownNameError, "", executor.backward, {"z": mx.nd.ones(2)})


def test_outputs_are_arrays_of_their_own():
    executor = mx.sym.Group([mx.sym.Variable("a"), mx.sym.Variable("a2") * 1]).bind(
        CPU, {"a": mx.nd.array([1, 2]), "a2": mx.nd.array([3, 4])})
    first = executor.forward()
    first[0][:] = 9
    assert executor.arg_dict["a"].asnumpy().tolist() == [1, 2]
    executor.forward(a2=mx.nd.array([5, 6]))
    assert first[1].asnumpy().tolist() == [3, 4]


def test_outputs_before_a_forward_pass_are_those_of_the_arguments_at_hand():
    executor = (mx.sym.Variable("a") * 2).simple_bind(CPU, a=(2,))
    assert executor.outputs[0].asnumpy().tolist() == [0, 0]
    executor.arg_dict["a"][:] = 3
    assert executor.outputs[0].asnumpy().tolist() == [6, 6]
    executor.forward()
    executor.arg_dict["a"][:] = 4
    assert executor.outputs[0].asnumpy().tolist() == [6, 6]
    assert list(executor.output_dict) == executor._heads[0][0].output_names()


def test_sparse_gradients_and_buffers_of_other_types():
    data, weight = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("weight", stype="row_sparse")
    out = mx.sym.sparse.dot(data, weight)
    x = mx.nd.sparse.csr_matrix(np.eye(3, 8))
    w = mx.nd.array(np.ones((8, 2))).tostype("row_sparse")
    found = {}
    for stype in ("row_sparse", "default"):
        executor = out.bind(CPU, {"data": x, "weight": w}, {"weight": mx.nd.zeros((8, 2), stype=stype)})
        executor.forward(is_train=True)
        executor.backward()
        assert executor.grad_dict["weight"].stype == stype
        assert executor.grad_dict["data"] is None
        found[stype] = executor.grad_dict["weight"].asnumpy()
    np.testing.assert_array_equal(found["row_sparse"], found["default"])


def test_a_gradient_that_nothing_reaches_is_zero():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = mx.sym.Group([a * 2, mx.sym.BlockGrad(b)]).bind(
        CPU, {"a": mx.nd.ones(2), "b": mx.nd.ones(2)}, {"a": mx.nd.ones(2) * 7, "b": mx.nd.ones(2) * 7})
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_dict["a"].asnumpy().tolist() == [2, 2]
    assert executor.grad_dict["b"].asnumpy().tolist() == [0, 0]


def test_backward_after_a_pass_of_prediction_has_its_gradients_and_warns_once():
    executor, other = bound(), bound()
    executor.forward(is_train=False)
    with pytest.warns(UserWarning, match="layers as in prediction"):
        executor.backward()
    other.forward(is_train=True)
    other.backward()
    for found, wanted in zip(executor.grad_arrays, other.grad_arrays, strict=True):
        assert found is wanted is None or found.asnumpy().tolist() == wanted.asnumpy().tolist()
    executor.forward(is_train=False)
    executor.backward()  # says nothing more: warnings are errors here


def test_a_pass_of_prediction_drops_nothing_and_moves_no_average():
    """MXNet 1.9.1 gives these numbers for Dropout; averages stay as they were."""
    net = mx.sym.BatchNorm(mx.sym.Dropout(mx.sym.Variable("data"), p=0.5), name="bn", fix_gamma=False)
    executor = net.simple_bind(CPU, data=(4, 3))
    executor.arg_dict["data"][:] = mx.nd.arange(12).reshape((4, 3))
    executor.arg_dict["bn_gamma"][:] = 2
    executor.aux_dict["bn_moving_var"][:] = 4
    executor.forward(is_train=False)
    with pytest.warns(UserWarning, match="layers as in prediction"):
        executor.backward(mx.nd.ones((4, 3)), is_train=False)
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), np.full((4, 3), 2 / np.sqrt(4 + 1e-3)), rtol=1e-5)
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [0, 0, 0]


def test_recording_outside_is_left_alone():
    x = variable(mx.nd.ones(2))
    executor = (mx.sym.Variable("a") * 2).bind(CPU, {"a": x})
    with mx.autograd.record():
        executor.forward()
        y = x * 3
    assert mx.autograd.is_recording() is False
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3]


def test_feeding():
    executor = bound()
    refused(UnknownNameError, "dta", executor.forward, dta=mx.nd.ones((5, 6)))
    refused(DTypeError, "NDArrays and numpy", executor.forward, data=3)
    refused(ShapeError, r"need: \(5, 6\), received: \(4, 6\)", executor.forward, data=mx.nd.ones((4, 6)))
    refused(StorageTypeError, "bound to a default array", lambda: executor.forward(data=mx.nd.ones((5, 6)).tostype("csr")))
    executor.forward(data=np.ones((5, 6)))
    assert executor.arg_dict["data"].asnumpy().max() == 1
    sparse = mx.sym.sparse.negative(mx.sym.Variable("s", stype="csr")).simple_bind(CPU, s=(2, 2))
    assert sparse.forward(s=mx.nd.array([[0, 1], [0, 0]]))[0].stype == "csr"


def test_parameters_are_copied_all_or_none():
    executor = bound()
    before = executor.arg_dict["fc1_weight"].asnumpy()
    with pytest.raises(UnknownNameError, match='"nobody" that is not in the arguments'):
        executor.copy_params_from({"fc1_weight": mx.nd.zeros((4, 6)), "nobody": mx.nd.ones(2)})
    refused(ShapeError, "fc1_bias", executor.copy_params_from, {"fc1_weight": mx.nd.zeros((4, 6)), "fc1_bias": mx.nd.ones(2)})
    np.testing.assert_array_equal(executor.arg_dict["fc1_weight"].asnumpy(), before)
    executor.copy_params_from({"fc1_weight": mx.nd.zeros((4, 6)), "nobody": mx.nd.ones(2)}, allow_extra_params=True)
    assert executor.arg_dict["fc1_weight"].asnumpy().max() == 0


def test_reshaping_shares_what_keeps_its_shape():
    executor = bound()
    smaller = executor.reshape(data=(2, 6), partial_shaping=True)
    assert smaller.arg_dict["fc1_weight"] is executor.arg_dict["fc1_weight"]
    assert smaller.grad_dict["fc1_weight"] is executor.grad_dict["fc1_weight"]
    assert smaller.forward()[0].shape == (2, 3)
    smaller.arg_dict["data"][:] = 7
    assert (executor.arg_dict["data"].asnumpy() == 7).all(axis=1).tolist() == [True, True, False, False, False]
    both = executor.reshape(data=(2, 6), softmax_label=(2,))
    assert both.forward()[0].shape == (2, 3)
    refused(ShapeError, r"unspecified argument softmax_label would change from \(5,\) to \(2,\)", executor.reshape, data=(2, 6))
    refused(ShapeError, "allow_up_sizing", executor.reshape, data=(50, 6), softmax_label=(50,))
    larger = executor.reshape(data=(50, 6), softmax_label=(50,), allow_up_sizing=True)
    larger.arg_dict["data"][:] = 8
    assert larger.forward()[0].shape == (50, 3)
    assert not (executor.arg_dict["data"].asnumpy() == 8).any()
    refused(UnknownNameError, "", executor.reshape, nobody=(2,))


def test_a_monitored_pass_is_recorded_and_warns_of_no_values():
    x = mx.sym.Variable("x")
    executor = (mx.sym.log(x) * 2).bind(mx.cpu(), {"x": mx.nd.array([-1.0, 2.0])})
    shown = []
    executor.set_monitor_callback(lambda name, array: shown.append(name))
    with warnings.catch_warnings(), mx.Profiler() as profile:
        warnings.simplefilter("error")
        executor.forward()
    assert len(shown) == 2
    assert [record["name"] for record in profile.records if record["kind"] == "op"] == ["log", "_mul_scalar"]


def test_monitors_see_what_mxnet_shows():
    """The names are those that MXNet 1.9.1 gives, but for the outputs that no caller gets."""
    symbol = mx.sym.Group([mx.sym.FullyConnected(mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn"), num_hidden=2, name="fc"),
                           mx.sym.split(mx.sym.Variable("x2"), num_outputs=2, name="sp")])
    executor = symbol.simple_bind(CPU, x=(2, 3), x2=(2, 4))
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    executor.forward(is_train=True)
    assert seen == [("bn_output", (2, 3)), ("fc_output", (2, 2)), ("sp_output0", (2, 2)), ("sp_output1", (2, 2))]
    seen.clear()
    executor.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    executor.forward()
    assert seen == ["x", "bn_data", "bn_gamma", "bn_gamma", "bn_beta", "bn_beta", "bn_moving_mean", "bn_moving_mean",
                    "bn_moving_var", "bn_moving_var", "bn_output", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias",
                    "fc_output", "x2", "sp_data", "sp_output0", "sp_output1"]
    seen.clear()
    executor.set_monitor_callback(None)
    executor.forward()
    assert not seen
    refused(DTypeError, "", executor.set_monitor_callback, 3)


def test_a_profile_names_the_symbols():
    executor = bound()
    with mx.Profiler() as profiler:
        executor.forward(is_train=True)
        executor.backward()
    layers = {record["layer"] for record in profiler.records if record["lane"] == "forward"}
    assert layers - {""} == {"fc1", "fc2", "relu1", "softmax"}  # ones, the head's gradient, belong to no layer


def test_shared_arrays():
    first = bound()
    second = classifier().simple_bind(CPU, data=(3, 6), shared_exec=first)
    assert second.arg_dict["fc1_weight"] is first.arg_dict["fc1_weight"]
    assert second.grad_dict["fc1_weight"] is first.grad_dict["fc1_weight"]
    assert second.arg_dict["data"].shape == (3, 6)
    third = classifier().simple_bind(CPU, data=(5, 6), shared_exec=first, shared_arg_names=["fc1_weight"])
    assert third.arg_dict["fc1_weight"] is first.arg_dict["fc1_weight"]
    assert third.arg_dict["fc2_weight"] is not first.arg_dict["fc2_weight"]
    pool: dict = {}
    made = classifier().simple_bind(CPU, data=(5, 6), shared_buffer=pool)
    assert pool["data"] is made.arg_dict["data"]
    assert classifier().simple_bind(CPU, data=(5, 6), shared_buffer=pool).arg_dict["data"] is pool["data"]


def test_sizes_left_open_follow_from_their_use():
    """As recurrent cells begin: zeros of an unknown batch."""
    begin = mx.sym.zeros((0, 4), name="begin")
    out = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="i2h") + begin
    assert out.simple_bind(CPU, x=(3, 2)).forward()[0].shape == (3, 4)
    assert out.eval(x=mx.nd.ones((5, 2)), i2h_weight=mx.nd.ones((4, 2)), i2h_bias=mx.nd.ones(4))[0].shape == (5, 4)


def test_types_and_storage_types_of_arguments():
    a, b = mx.sym.Variable("a", dtype="float64"), mx.sym.Variable("b")
    executor = (a + b).simple_bind(CPU, a=(2,), b=(2,))
    assert executor.arg_dict["b"].dtype == np.float64
    executor = mx.sym.elemwise_add(mx.sym.Variable("c"), b).simple_bind(
        CPU, type_dict={"c": "float16"}, stype_dict={"c": "row_sparse", "b": "row_sparse"}, c=(2, 2))
    assert [(array.stype, array.dtype.name) for array in executor.arg_arrays] == [("row_sparse", "float16")] * 2
    assert executor.outputs[0].stype == "row_sparse"


def test_debug_text_and_repr():
    executor = bound()
    text = executor.debug_str()
    assert "Variable:data default (5, 6)" in text
    assert "Op:FullyConnected, Name=fc1, Inputs: data=data(0), weight=fc1_weight(0), bias=fc1_bias(0)" in text
    assert repr(executor) == "<Executor of softmax_output @cpu(0)>"


def test_duplicate_names_have_no_dictionary():
    twice = mx.sym.Variable("a") + mx.sym.Variable("a")
    refused(ParameterError, "Several variables are named 'a'", twice.simple_bind, CPU, a=(2,))
    executor = twice.bind(CPU, [mx.nd.ones(2), mx.nd.ones(2) * 2])
    assert executor.forward()[0].asnumpy().tolist() == [3, 3]
    with pytest.raises(ParameterError, match="Duplicate names detected"):
        _ = executor.arg_dict


def test_roles_are_told_to_the_profiler():
    executor = bound({"fc1_weight": "write"})
    roles = {owner: role for _, role, owner in hooks.owned.values() if owner in executor._arg_dict}
    assert roles["data"] == "input"
    assert hooks.owned[id(executor.arg_dict["fc1_weight"])][1] == "parameter"
    assert hooks.owned[id(executor.grad_dict["fc1_weight"])][1] == "gradient"


# group2ctx: parts of a graph on contexts of CPUs, which compute what they compute without


GROUPS = {"one": mx.cpu(1), "two": mx.cpu(2)}


def network():
    with mx.AttrScope(ctx_group="one"):
        data = mx.sym.Variable("data", stype="csr")
        hidden = mx.sym.dot(data, mx.sym.Variable("weight", stype="row_sparse", shape=(5, 4)))
    with mx.AttrScope(ctx_group="two"):
        return mx.sym.FullyConnected(hidden * mx.sym.Variable("scale"), num_hidden=2, name="fc")


def filled(group2ctx):
    executor = network().simple_bind(mx.cpu(), data=(3, 5), group2ctx=group2ctx)
    for number, array in enumerate(executor.arg_arrays, 1):
        values = np.arange(array.size).reshape(array.shape) % 3 * number
        array[:] = mx.nd.array(values).tostype(array.stype)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    return executor


def test_arrays_are_where_their_group_is_and_results_stay():
    split, whole = filled(GROUPS), filled(None)
    where = {name: array.context for name, array in split.arg_dict.items()}
    assert where == {"data": mx.cpu(1), "weight": mx.cpu(1), "scale": mx.cpu(2), "fc_weight": mx.cpu(2), "fc_bias": mx.cpu(2)}
    assert {name: array.context for name, array in split.grad_dict.items() if array is not None}.items() <= where.items()
    assert all(array.context == mx.cpu() for array in whole.arg_arrays)
    np.testing.assert_array_equal(split.outputs[0].asnumpy(), whole.outputs[0].asnumpy())
    assert split.outputs[0].asnumpy().any()
    for name, gradient in whole.grad_dict.items():
        np.testing.assert_array_equal(split.grad_dict[name].asnumpy(), gradient.asnumpy(), err_msg=name)


def test_bind_takes_arrays_of_the_groups_alone():
    total = mx.sym.Variable("a") + mx.sym.Variable("b")
    arrays = [mx.nd.ones((2,), ctx=mx.cpu(1)), mx.nd.ones((2,), ctx=mx.cpu(2))]
    assert total.bind(mx.cpu(), arrays, group2ctx=GROUPS).forward()[0].asnumpy().tolist() == [2, 2]
    refused(ParameterError, r"b is on cpu\(2\)", total.bind, mx.cpu(), arrays, group2ctx={"one": mx.cpu(1)})


@pytest.mark.parametrize(("group2ctx", "error"), [({"one": mx.gpu(0)}, UnsupportedError), ({"one": "cpu"}, DTypeError),
                                                  ([mx.cpu()], DTypeError)])
def test_what_is_no_group_of_the_same_memory_is_refused(group2ctx, error):
    refused(error, "group2ctx", lambda: network().simple_bind(mx.cpu(), data=(3, 5), group2ctx=group2ctx))


@pytest.mark.parametrize("group2ctxs", [
    {"one": mx.cpu(4), "two": [mx.cpu(5)]}, {"one": mx.cpu(4), "two": [mx.cpu(5), mx.cpu(5)]},
    [{"one": mx.cpu(4), "two": mx.cpu(5)}] * 2,
])
def test_modules_give_each_of_their_contexts_its_groups(group2ctxs):
    module = mx.mod.Module(network(), label_names=None, context=[mx.cpu(0), mx.cpu(1)], group2ctxs=group2ctxs)
    module.bind([("data", (6, 5))], for_training=False)
    for executor in module._exec_group.execs:
        assert (executor.arg_dict["weight"].context, executor.arg_dict["scale"].context) == (mx.cpu(4), mx.cpu(5))


@pytest.mark.parametrize(("group2ctxs", "what"), [([GROUPS] * 3, "3 group2ctxs for 2 contexts"),
                                                  ({"one": [mx.cpu()] * 3}, "one has 3 contexts, and the module has 2")])
def test_modules_refuse_other_numbers_of_contexts(group2ctxs, what):
    with pytest.raises(ParameterError, match=what):
        mx.mod.Module(network(), label_names=None, context=[mx.cpu(0), mx.cpu(1)], group2ctxs=group2ctxs)
