"""What programs written for MXNet rely on, kind by kind; expected values are those of MXNet 1.9.1."""

import json
import os
import re
import threading

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import nd, sym
from tests.calls import differentiated, initialized, refused, variable


@pytest.mark.parametrize(("shape", "settings", "expected"), [
    ((2, 3), {"target_shape": (3, 2)}, (3, 2)),
    ((2, 3), {"target_shape": (0, 6)}, (1, 6)),
    ((2, 3, 4), {"target_shape": (2, 0), "keep_highest": True}, (2, 12)),
    ((2, 3, 4), {"target_shape": (9, 0, 3), "keep_highest": True}, (2, 4, 3)),
    ((2, 3), {"shape": (6,), "target_shape": (3, 2)}, (6,)),
])
def test_reshape_as_programs_of_2015_call_it(shape, settings, expected):
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    np.testing.assert_array_equal(nd.Reshape(nd.array(values), **settings).asnumpy(), values.reshape(expected))
    made = sym.Reshape(sym.var("a"), **settings)
    assert sym.load_json(made.tojson()).infer_shape(a=shape)[1] == [expected]
    executor = made.simple_bind(mx.cpu(), a=shape)
    executor.forward(is_train=True, a=nd.array(values))
    executor.backward(nd.ones(expected))
    np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), np.ones(shape))


def test_reshape_needs_one_of_its_shapes():
    refused(mx.MXNetError, "needs the argument 'shape'", nd.Reshape, nd.ones((2,)))


@pytest.mark.parametrize(("make", "shape", "factor"), [
    (lambda a: sym.repeat(a, repeats=2, axis=1), (2, 6), 2), (lambda a: sym.tile(a, reps=(2, 3)), (4, 9), 6),
    (lambda a: 3 * a, (2, 3), 3), (lambda a: sym.flip(a, axis=0), (2, 3), 1)])
def test_backward_of_a_bound_graph_makes_the_forward_pass_itself(make, shape, factor):
    executor = make(sym.var("a")).simple_bind(mx.cpu(), a=(2, 3))
    executor.backward([nd.ones(shape)])
    np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), np.full((2, 3), factor))


def test_numbers_of_device_types():
    found = {name: mx.Context(name, 1).device_typeid for name in ("cpu", "gpu", "cpu_pinned", "cpu_shared")}
    assert found == {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}


@pytest.mark.parametrize("places", [(3, 0), (-4, 0), (0, 5), ([0, 0], [0, 1]), ([0, 1], [1, 1]), ([0, 1], [-2, 1]), (0, [0, 1])])
def test_moveaxis_refuses_places_that_do_not_fit(places):
    refused(mx.MXNetError, "", nd.moveaxis, nd.ones((1, 2, 3)), *places)


@pytest.mark.parametrize(("written_in", "read_in", "declared", "shown"), [
    (False, False, (8, 0), "(8, 0)"), (False, True, (8, 0), "(8, -1)"), (True, True, (8, -1), "(8, -1)"),
    (True, False, (8, -1), "(8, -1)"), (True, True, (8, 0), "(8, 0)")])
def test_symbols_keep_sizes_that_are_not_known(written_in, read_in, declared, shown):
    with mx.util.np_shape(written_in):
        made = sym.FullyConnected(sym.var("data"), sym.var("weight", shape=declared), no_bias=True, num_hidden=8)
        text = made.tojson()
    assert ('"is_np_shape": ["int", 1]' in text) is written_in
    with mx.util.np_shape(read_in):
        read = sym.load_json(text)
        assert read.attr_dict()["weight"]["__shape__"] == shown
        if shown != "(8, 0)" or not read_in:
            assert read.infer_shape(data=(2, 5)) == ([(2, 5), (8, 5)], [(2, 8)], [])


def test_types_are_inferred_behind_a_cast():
    layer = sym.FullyConnected(sym.Cast(sym.var("data"), dtype="float64"), name="fc", num_hidden=3)
    assert layer.infer_type_partial() == ([None, np.float64, np.float64], [np.float64], [])


def test_a_weight_has_no_shape_before_its_data_has_one():
    layer = sym.FullyConnected(sym.var("data"), name="fc", num_hidden=3)
    assert layer.infer_shape_partial() == ([(), (), ()], [()], [])
    assert layer.infer_shape_partial(data=(0, 5)) == ([(0, 5), (3, 5), (3,)], [(0, 3)], [])


def test_an_identity_gives_one_input_the_shape_of_the_other():
    same = sym._internal._identity_with_attr_like_rhs(sym.broadcast_add(sym.var("a"), sym.var("b", shape=(1,))), sym.var("c"))
    assert same.infer_shape(a=(2, 3))[0] == [(2, 3), (1,), (2, 3)]
    executor = same.simple_bind(mx.cpu(), a=(2, 3))
    executor.forward(is_train=True, a=nd.ones((2, 3)))
    executor.backward(nd.full((2, 3), 5))
    assert [float(one.sum().asscalar()) for one in executor.grad_arrays] == [30, 30, 0]


@pytest.mark.parametrize(("make", "nodes"), [
    (lambda a, b: (a + b) * (a + b), 4), (lambda a, b: (a + 1) + (a + 2), 4), (lambda a, b: sym.Group([a * b, a * b]), 4),
    (lambda a, b: sym.Group([a * b + a, a * b + a]), 5), (lambda a, b: sym.Dropout(a) + sym.Dropout(a), 4),
    (lambda a, b: sym.make_loss(a) + sym.make_loss(a), 4)])
def test_what_a_graph_computes_twice_is_computed_once(make, nodes, monkeypatch):
    made = make(sym.var("a"), sym.var("b"))
    results = []
    for on in ("1", "0"):
        monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", on)
        executor = made.simple_bind(mx.cpu(), **dict.fromkeys(made.list_arguments(), (2, 2)))
        for place, array in enumerate(executor.arg_arrays):
            array[:] = place + 2
        mx.random.seed(1)
        executor.forward(is_train=True)
        executor.backward()
        results.append([array.asnumpy().tolist() for array in (*executor.outputs, *executor.grad_arrays)])
        if on == "1":
            assert len(executor.get_optimized_symbol().get_internals().list_outputs()) == nodes
        else:
            assert executor.get_optimized_symbol().tojson() == made.tojson()
    assert results[0] == results[1]


def _megabytes(executor):
    return int(re.search(r"Total (\d+) MB allocated", executor.debug_str()).group(1))


def test_the_memory_of_a_bound_graph_is_what_its_backward_pass_reads():
    data = sym.var("data")
    for _ in range(4):
        data = data * data
    shape = (1024, 1024)  # 4 MiB
    assert _megabytes(data.simple_bind(mx.cpu(), data=shape)) == 16
    assert _megabytes(data.simple_bind(mx.cpu(), data=shape, grad_req="null")) == 4
    assert _megabytes(sym.stop_gradient(data).simple_bind(mx.cpu(), data=shape)) == 4


@pytest.mark.parametrize(("kind", "name", "make", "shown"), [
    (mx.AttrScope, "current", lambda: mx.AttrScope(x="own"), lambda scope: scope.get(None)),
    (mx.name.NameManager, "current", mx.name.NameManager, id), (mx.Context, "default_ctx", lambda: mx.cpu(3), str)])
def test_the_current_scope_may_be_set_and_belongs_to_its_thread(kind, name, make, shown):
    before, own, seen = getattr(kind, name), make(), []
    setattr(kind, name, own)
    try:
        assert getattr(kind, name) is own
        thread = threading.Thread(target=lambda: seen.append(getattr(kind, name)))
        thread.start()
        thread.join()
        assert shown(seen[0]) != shown(own)
        with make():
            assert getattr(kind, name) is not None
        assert getattr(kind, name) is own
        refused(mx.MXNetError, name, setattr, kind, name, 3)
    finally:
        setattr(kind, name, before)


def test_symbols_take_the_attributes_of_the_current_scope():
    before = mx.AttrScope.current
    mx.AttrScope.current = mx.AttrScope(__lr_mult__="0.5")
    try:
        assert sym.var("x").attr("__lr_mult__") == "0.5"
    finally:
        mx.AttrScope.current = before


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_arrays_of_two_contexts_of_the_cpu_meet_on_the_first(stype):
    left, right = nd.array([[1, 2], [0, 4]], ctx=mx.cpu(1)), nd.array([[5, 0], [7, 8]])
    left.attach_grad()
    right.attach_grad()
    product = differentiated(lambda: left.tostype(stype) * right)
    assert product.context == left.grad.context == mx.cpu(1)
    assert right.grad.context == (right + left).context == mx.cpu(0)
    np.testing.assert_array_equal(product.asnumpy(), [[5, 0], [0, 32]])
    np.testing.assert_array_equal(left.grad.asnumpy(), [[5, 0], [7, 8]])
    np.testing.assert_array_equal(right.grad.asnumpy(), [[1, 2], [0, 4]])
    assert nd.take(left, nd.array([1])).context == nd.concat(left, right, dim=0).context == mx.cpu(1)


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_in_pinned_memory_go_with_parameters_on_the_cpu(workers):
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(np.ones((4, 3), "float32"), np.zeros(4, "float32")), 2,
                                      pin_memory=True, pin_device_id=1, num_workers=workers, thread_pool=True)
    batches = list(loader)
    assert [array.context for batch in batches for array in batch] == [mx.cpu_pinned(1)] * 4
    x = batches[0][0]
    assert (x + nd.ones((2, 3))).context == (nd.ones((2, 3)) + x).context == mx.cpu(0)
    assert (x + nd.ones((2, 3), ctx=mx.cpu(1)) + nd.ones((2, 3))).context == mx.cpu(1)
    net = initialized(mx.gluon.nn.Dense(2, in_units=3), mx.init.One(), ctx=mx.cpu(1))
    for active in (False, True):
        net.hybridize(active)
        y = differentiated(net, x)
        assert y.asnumpy().tolist() == [[3, 3], [3, 3]]
        assert net.weight.grad().asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("value", [nd.array([1, 2]), np.array([1, 2])])
def test_the_text_of_an_initializer_holds_the_numbers_of_its_array(value):
    made = mx.init.Constant(value)
    assert json.loads(made.dumps()) == ["constant", {"value": [1, 2]}]
    assert json.dumps(["constant", made._kwargs]) == made.dumps()


@pytest.mark.parametrize("what", ["stype", "grad_stype"])
def test_an_unknown_storage_type_of_a_parameter_fails_an_assertion(what):
    refused(AssertionError, "weight", mx.gluon.Parameter, "weight", shape=(2, 2), **{what: "sparse"})


def test_names_are_text_whichever_way_they_arrive():
    assert mx.base.py_str(b"fc1") == mx.base.py_str("fc1") == "fc1"


def test_helpers_of_base_that_programs_import(monkeypatch):
    from sparsekit.base import _as_list
    from sparsekit.ndarray.ndarray import _STORAGE_TYPE_STR_TO_ID, py_slice

    made = sym.var("weight", stype="row_sparse")
    assert made.attr("__storage_type__") == str(_STORAGE_TYPE_STR_TO_ID["row_sparse"])
    assert [nd.zeros((2, 2)).tostype(stype)._num_aux for stype in ("row_sparse", "csr")] == [1, 2]
    assert [_as_list(one) for one in ([1], (1, 2), 3, None)] == [[1], (1, 2), [3], [None]]
    assert py_slice is slice
    monkeypatch.setenv("MXNET_HOME", "models")
    assert mx.base.data_dir() == "models"
    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setenv("HOME", os.path.join("home", "one"))
    assert mx.base.data_dir() == os.path.join("home", "one", ".mxnet")


def test_a_loop_of_a_program_may_ask_which_gradients_are_new():
    x, y = nd.ones((2,)), nd.ones((2,))
    for one in (x, y):
        one.attach_grad()
    assert (x._fresh_grad, nd.ones((2,))._fresh_grad) == (False, False)
    with mx.autograd.record():
        (x + y).sum().backward()
    assert (x._fresh_grad, y._fresh_grad) == (True, True)
    x._fresh_grad = False
    assert (x._fresh_grad, y._fresh_grad) == (False, True)


def test_a_trainer_says_what_loops_of_programs_ask_before_a_step():
    parameter = initialized(mx.gluon.Parameter("x", shape=(3,)), "zeros", ctx=mx.cpu())
    trainer = mx.gluon.Trainer([parameter], "sgd")
    assert (trainer._kv_initialized, list(trainer._params_to_init), trainer._update_on_kvstore) == (True, [], None)


@pytest.mark.parametrize("on_store", [False, True])
def test_a_module_has_the_states_of_its_optimizer_under_the_names_that_programs_use(on_store):
    module = mx.mod.Module(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), label_names=None,
                           context=[mx.cpu(number) for number in range(1 + on_store)])
    module.bind([("data", (4, 3))], grad_req="add")
    assert (module._grad_req, module._updater) == ("add", None)
    module.init_params()
    module.init_optimizer(optimizer_params={"momentum": 0.9})
    module.update()
    updater = module._kvstore._updater if on_store else module._updater
    assert len(updater.states) == 2
    assert (module._updater is None) == on_store


def test_star_import_of_autograd_has_its_functions():
    names: dict[str, object] = {}
    exec("from sparsekit.autograd import *", names)
    assert names["get_symbol"] is mx.autograd.get_symbol
    assert names["NDArray"] is nd.NDArray


def test_a_layer_may_drop_everything():
    layer = mx.gluon.nn.Dropout(1)
    x = variable(nd.ones((3, 4)))
    assert layer(x).asnumpy().tolist() == x.asnumpy().tolist()
    y = differentiated(layer, x)
    assert y.sum().asscalar() == x.grad.sum().asscalar() == 0


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 3), (2, 1), (2, 3, 4)])
def test_slopes_for_the_places_of_the_first_axes(shape):
    x, gamma = nd.random.normal(shape=(2, 3, 4)), nd.random.uniform(shape=shape)
    gamma.attach_grad()
    y = differentiated(lambda: nd.LeakyReLU(x, gamma, act_type="prelu"))
    values, slopes = x.asnumpy(), gamma.asnumpy()
    slopes = slopes.reshape((1, 3, 1) if shape == (3,) else shape + (1,) * (3 - len(shape)))
    np.testing.assert_allclose(y.asnumpy(), np.where(values > 0, values, values * slopes), rtol=1e-6)
    axes = tuple(axis for axis in range(3) if slopes.shape[axis] == 1)
    np.testing.assert_allclose(gamma.grad.asnumpy().ravel(), np.minimum(values, 0).sum(axes).ravel(), rtol=1e-5)


class Named(mx.gluon.HybridBlock):
    """Uses control flow with names, as blocks do that run on symbols too."""

    def hybrid_forward(self, F, x):
        made, _ = F.contrib.foreach(lambda item, state: (item + state, state + 1), x, F.zeros((1,)), name="each")
        made, _ = F.contrib.while_loop(lambda i: i < 2, lambda i: (made[0] * i, i + 1), F.ones((1,)), 3, name="loop")
        made = made[0] if isinstance(made, list) else made
        return F.contrib.cond(F.sum(made) > 0, lambda: made, lambda: -made, name="choice")


@pytest.mark.parametrize("active", [False, True])
def test_a_block_may_forget_what_was_traced(active):
    """As ``set_nms`` and ``reset_class`` of GluonCV's models do: no attribute is set, so no change is noticed."""
    factors = [1]

    class Scaled(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x * factors[0]

    net = initialized(Scaled())
    net.hybridize(active)
    assert net(nd.ones((1,))).asscalar() == 1
    factors[0] = 2
    net._clear_cached_op()
    assert net(nd.ones((1,))).asscalar() == 2


@pytest.mark.parametrize("active", [False, True])
def test_control_flow_of_blocks_may_have_names(active):
    block = Named()
    block.hybridize(active)
    assert block(nd.array([[1], [2]])).asnumpy().tolist() == [[1], [0], [0]]


@pytest.mark.parametrize(("label", "settings", "expected"), [
    ([[2, 1, 2, 2], [3, 2, 2, 2]], {"blank_label": "last", "label_lengths": [2, 3]}, [5.924208, 7.908652]),
    ([[3, 3, -1, -1], [1, 3, 2, -1]], {"blank_label": "last"}, [4.071215, 9.651812]),
    ([[0, 1, 2, 2], [3, 0, 2, 2]], {"blank_label": "first", "label_lengths": [2, 3]}, [5.965668, 7.345427])])
def test_labels_may_name_the_blank(label, settings, expected):
    data = nd.array(np.random.RandomState(0).normal(size=(6, 2, 4)))
    if "label_lengths" in settings:
        settings = {**settings, "use_label_lengths": True, "label_lengths": nd.array(settings["label_lengths"])}
    np.testing.assert_allclose(nd.CTCLoss(data, nd.array(label), **settings).asnumpy(), expected, rtol=1e-6)
    refused(mx.MXNetError, "from 0 to 3", nd.CTCLoss, data, nd.array([[4], [1]]))


def test_parameters_say_whether_they_have_values_and_gradients():
    weight = mx.gluon.Parameter("weight", shape=(2,))
    assert weight._data is None
    assert weight._grad is None
    weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    assert [array.context for array in weight._data] == [array.context for array in weight._grad] == [mx.cpu(0), mx.cpu(1)]
    weight.grad_req = "null"
    assert weight._grad is None


class _Nothing:
    """Subclasses without the method that they have to define."""

    class Block(mx.gluon.Block):
        pass

    class HybridBlock(mx.gluon.HybridBlock):
        pass

    class Metric(mx.metric.EvalMetric):
        pass

    class Optimizer(mx.optimizer.Optimizer):
        pass

    class Initializer(mx.init.Initializer):
        pass


@pytest.mark.parametrize(("raised", "call"), [
    (NotImplementedError, lambda: _Nothing.Block()(nd.ones((1,)))),
    (NotImplementedError, lambda: _Nothing.HybridBlock()(nd.ones((1,)))),
    (NotImplementedError, lambda: _Nothing.Metric("none").update([nd.ones((1,))], [nd.ones((1,))])),
    (NotImplementedError, lambda: _Nothing.Optimizer().update(0, nd.ones((1,)), nd.ones((1,)), None)),
    (NotImplementedError, lambda: _Nothing.Initializer()(mx.init.InitDesc("fc_weight"), nd.ones((1,)))),
    (NotImplementedError, lambda: mx.lr_scheduler.LRScheduler()(3)),
    (ValueError, lambda: mx.lr_scheduler.FactorScheduler(0)),
    (ValueError, lambda: mx.lr_scheduler.FactorScheduler(1, 2)),
    (ValueError, lambda: mx.lr_scheduler.MultiFactorScheduler([3, 2])),
    (AssertionError, lambda: mx.lr_scheduler.MultiFactorScheduler(3)),
    (ValueError, lambda: mx.gluon.Trainer(mx.gluon.nn.Dense(2), "sgd")),
    (ValueError, lambda: mx.gluon.Trainer([1, 2], "sgd")),
    (AssertionError, lambda: mx.gluon.Trainer({}, mx.optimizer.SGD(), {"learning_rate": 1})),
    (TypeError, lambda: mx.gluon.Trainer({}, "sgd", {"rate": 1})),
    (ValueError, lambda: mx.gluon.Parameter("w", shape=(0, 3)).initialize()),
    (ValueError, lambda: mx.gluon.nn.HybridSequential().add(5)),
    (ValueError, lambda: mx.gluon.nn.Dense(2)(3)),
    (ValueError, lambda: nd.save("unused", 5)),
    (ValueError, lambda: mx.AttrScope(a=1)),
    (AssertionError, lambda: mx.metric.create("unknown")),
    (AssertionError, lambda: mx.gluon.data.ArrayDataset(np.ones(3), np.ones(4))),
    (AssertionError, lambda: mx.init.Load({"w": nd.ones((2,))})(mx.init.InitDesc("w"), nd.zeros((3,)))),
    (AssertionError, lambda: mx.init.Load({"w": nd.ones((2,))})(mx.init.InitDesc("v"), nd.zeros((3,)))),
    (AssertionError, lambda: nd.exp(3)),
    (AssertionError, lambda: mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.RNNCell(2)).base_cell.begin_state(1)),
])
def test_errors_are_also_of_the_classes_of_the_errors_of_mxnet(raised, call):
    caught = refused(mx.MXNetError, "", call)
    assert isinstance(caught, raised)


def test_a_monitor_shows_gradients_after_a_backward_pass_alone():
    executor = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc").simple_bind(mx.cpu(), data=(1, 2))
    monitor = mx.mon.Monitor(1, stat_func=lambda x: x.sum())
    monitor.install(executor)
    parameters = ["data", "fc_weight", "fc_bias"]
    for backward in (False, True, False):
        monitor.tic()
        executor.forward(is_train=True, fc_bias=nd.array([0.1, 0.2]))
        if backward:
            executor.backward(nd.ones((1, 2)))
        found = monitor.toc()
        gradients = [f"fc_backward_output{number}" for number in range(3)] if backward else []
        assert [name for _, name, _ in found] == ["fc_output", *gradients, *parameters]
        assert found[0][2] == "0.3\t", "with the digits of float32"


def monitored(symbol, heads=None, **arrays):
    """What a monitor is shown of a training pass, by name, and the executor."""
    executor = symbol.simple_bind(mx.cpu(), **{name: array.shape for name, array in arrays.items()},
                                  grad_req={name: "null" if name in ("data", "label") else "write"
                                            for name in symbol.list_arguments()})
    shown = {}
    executor.set_monitor_callback(lambda name, array: shown.__setitem__(name, array.asnumpy()))
    executor.forward(is_train=True, **arrays)
    executor.backward(heads)
    return shown, executor


def test_a_monitor_is_shown_what_each_operator_sends_back():
    """The names are those of MXNet 1.9.1, in its order but for the label; there, data and label have what memory held before."""
    net = sym.Activation(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), act_type="sigmoid", name="act")
    net = sym.LinearRegressionOutput(net, sym.var("label"), name="out")
    data, weight, bias = nd.array([[1.0, 2.0]]), nd.array([[0.5, -0.25], [1.0, 0.0]]), nd.array([0.0, 0.5])
    shown, executor = monitored(net, data=data, label=nd.array([[0.0, 1.0]]), fc_weight=weight, fc_bias=bias)
    assert list(shown) == ["fc_output", "act_output", "out_output", "out_backward_output0", "out_backward_output1",
                           "act_backward_output", "fc_backward_output0", "fc_backward_output1", "fc_backward_output2"]
    activated = 1 / (1 + np.exp(-np.array([[0.0, 1.5]])))
    at_act = (activated - [[0.0, 1.0]]) / 2
    at_fc = at_act * activated * (1 - activated)
    expected = {"out_backward_output0": at_act, "out_backward_output1": np.zeros((1, 2)), "act_backward_output": at_fc,
                "fc_backward_output0": at_fc @ weight.asnumpy(), "fc_backward_output1": at_fc.T @ data.asnumpy(),
                "fc_backward_output2": at_fc[0]}
    for name, values in expected.items():
        np.testing.assert_allclose(shown[name], values, rtol=1e-5, err_msg=name)
    np.testing.assert_array_equal(executor.grad_dict["fc_weight"].asnumpy(), shown["fc_backward_output1"])


def test_a_monitor_is_shown_the_part_of_each_reader():
    x = sym.square(sym.var("x"), name="x2")
    shown, executor = monitored(sym.broadcast_mul(sym.exp(x, name="e"), x, name="m"), nd.ones((2,)), x=nd.array([0.5, 1.0]))
    square, exponential = np.array([0.25, 1.0]), np.exp([0.25, 1.0])
    np.testing.assert_allclose(shown["e_backward_output"], square * exponential, rtol=1e-6)
    np.testing.assert_allclose(shown["m_backward_output1"], exponential, rtol=1e-6)
    whole = 2 * np.array([0.5, 1.0]) * exponential * (1 + square)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), whole, rtol=1e-6)


def test_a_monitor_changes_nothing():
    net = sym.BatchNorm(sym.dot(sym.var("data", stype="csr"), sym.var("w", stype="row_sparse"), name="fc"), name="bn")
    net = sym.SoftmaxOutput(sym.Dropout(net, p=0.5, name="drop"), sym.var("label"), name="out")
    rows = nd.array(np.random.default_rng(0).random((6, 5)) > 0.5).tostype("csr")
    outcomes, names = [], set()
    for callback in (None, lambda name, array: names.add(name)):
        mx.random.seed(3)
        executor = net.simple_bind(mx.cpu(), data=(6, 5), label=(6,), w=(5, 4), grad_req={
            "data": "null", "label": "null", "w": "write", "bn_gamma": "add", "bn_beta": "write"})
        executor.arg_dict["w"][:] = 0.1 * nd.arange(20).reshape((5, 4))
        executor.arg_dict["bn_gamma"][:] = 1
        executor.set_monitor_callback(callback)
        for _ in range(2):
            executor.forward(is_train=True, data=rows, label=nd.array([0, 1, 2, 3, 0, 1]))
            executor.backward()
        outcomes.append([*executor.outputs, *executor.grad_dict.values(), *executor.aux_arrays])
    assert executor.grad_dict["w"].stype == "row_sparse"
    for ours, expected in zip(*outcomes, strict=True):
        assert (ours is None) == (expected is None)
        if ours is not None:
            np.testing.assert_array_equal(ours.asnumpy(), expected.asnumpy())
    assert "fc_backward_output0" not in names, "a dense gradient of sparse data was computed"
    assert {"fc_backward_output1", "bn_backward_output0", "bn_backward_output1", "drop_backward_output"} < names


@pytest.mark.parametrize(("kind", "labels"), [("SigmoidBCELoss", [1, 0]), ("LogisticLoss", [1, -1])])
def test_gradients_of_losses_of_two_classes_are_exact_at_zero(kind, labels):
    prediction, label = nd.zeros((2,)), nd.array(labels)
    prediction.attach_grad()
    differentiated(lambda: getattr(mx.gluon.loss, kind)()(prediction.reshape((2, 1)), label))
    np.testing.assert_allclose(prediction.grad.asnumpy(), [-0.5, 0.5])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_number_comes_first_where_it_is_the_first_operand(stype):
    x = nd.array([[2, 0]]).tostype(stype)
    np.testing.assert_array_equal(nd.sparse.subtract(1, x).asnumpy(), [[-1, 1]])
    np.testing.assert_array_equal(nd.sparse.divide(1, x).asnumpy(), [[0.5, np.inf]])
