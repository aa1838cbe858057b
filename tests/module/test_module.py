"""Modules where MXNet has no answer, a wrong one or a crash: refusals that change nothing, copies that do not lag behind."""

import itertools
import logging
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError
from sparsekit.core import hooks
from tests.calls import refused

TWO = [mx.cpu(0), mx.cpu(1)]


def regression(features=6, stype="row_sparse", outputs=1):
    data, label = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("label")
    weight = mx.sym.Variable("weight", stype=stype, shape=(features, outputs))
    net = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), mx.sym.Variable("bias", shape=(outputs,)))
    return mx.sym.LinearRegressionOutput(net, label, name="lro")


def classifier(hidden=3):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def rows(count=8, features=6, batch_size=4, seed=0):
    state = np.random.RandomState(seed)
    values = state.uniform(-1, 1, (count, features)).astype("float32") * (state.uniform(size=(count, features)) < 0.5)
    return mx.io.NDArrayIter(mx.nd.array(values).tostype("csr"), state.uniform(size=(count, 1)), batch_size, label_name="label",
                             last_batch_handle="discard")


def bound(symbol=None, shape=(4, 6), context=None, labels=("softmax_label",), **how):
    mod = mx.mod.Module(symbol or classifier(), label_names=list(labels), context=context or mx.cpu())
    mod.bind([("data", shape)], [(labels[0], (shape[0],) if labels[0] == "softmax_label" else (shape[0], 1))], **how)
    mod.init_params(mx.init.One())
    return mod


def batch(count=4, features=6):
    return mx.io.DataBatch([mx.nd.ones((count, features))], [mx.nd.zeros(count)])


def numbers(mod):
    return {name: array.asnumpy().copy() for name, array in mod.get_params()[0].items()}


# refusals


@pytest.mark.parametrize("call", [
    lambda mod: mod.forward(batch()), lambda mod: mod.init_params(), lambda mod: mod.data_shapes, lambda mod: mod.get_params(),
    lambda mod: mod.init_optimizer(), lambda mod: mod.update(), lambda mod: mod.get_outputs(), lambda mod: mod.predict(rows()),
    lambda mod: mod.score(rows(), "acc"), lambda mod: mod.save_checkpoint("x", 1), lambda mod: mod.borrow_optimizer(mod),
    lambda mod: mod.install_monitor(None), lambda mod: mod.reshape([("data", (2, 6))]), lambda mod: mod.prepare(None),
    lambda mod: next(mod.iter_predict(rows())), lambda mod: mod.set_states(value=1), lambda mod: mod.backward(),
    lambda mod: mod.save_optimizer_states("x"), lambda mod: mod.set_params({}, {}, allow_missing=True),
])
def test_what_comes_too_early_is_named(call):
    with pytest.raises(mx.ModuleStateError, match=r"The Module (is not bound|has no (parameters|optimizer) yet)"):
        call(mx.mod.Module(classifier()))


@pytest.mark.parametrize(("make", "error", "said"), [
    (lambda: mx.mod.Module("net"), mx.DTypeError, "Symbol"),
    (lambda: mx.mod.Module(classifier(), ["x"]), mx.ParameterError, "'x' is not found"),
    (lambda: mx.mod.Module(classifier(), fixed_param_names=["fc2"]), mx.ParameterError, "'fc2' is not found"),
    (lambda: mx.mod.Module(classifier(), context=TWO, work_load_list=[1]), mx.ParameterError, "1 work loads for 2"),
    (lambda: bound(shape=(1, 6), context=TWO), mx.ShapeError, "Some splits are empty: a batch of 1"),
    (lambda: mx.mod.BucketingModule(lambda key: None), mx.ParameterError, "default_bucket_key"),
    (lambda: mx.mod.BucketingModule(lambda key: None, 3), mx.DTypeError, r"sym_gen\(3\)"),
    (lambda: mx.mod.SequentialModule().add(mx.mod.Module(classifier()), take_label=True), mx.ParameterNameError, "a typo"),
    (lambda: mx.mod.SequentialModule().bind([("data", (4, 6))]), mx.ParameterError, "empty"),
    (lambda: mx.mod.PythonLossModule(data_names=["a", "b"]), mx.ParameterError, "one input"),
    (lambda: mx.mon.Monitor(0), mx.ParameterError, "interval"),
    (lambda: mx.mon.Monitor(1, pattern="("), mx.ParameterError, "regular expression"),
    (lambda: mx.mod.BaseModule().forward(None), mx.UnsupportedError, "does not define forward"),
])
def test_what_cannot_be_made(make, error, said):
    refused(error, said, make)


@pytest.mark.parametrize(("data", "labels", "error", "said"), [
    ([("x", (4, 6))], [("softmax_label", (4,))], mx.ParameterError, "don't match names specified by data_names"),
    ([("data", (4, 6))], [("label", (4,))], mx.ParameterError, "The labels are named"),
    ([("data", (4, 6))], [("softmax_label", (3,))], mx.ShapeError, "softmax_label has shape"),
    ([("data", (4, 6))], [("softmax_label", (4, 9))], mx.ShapeError, "softmax"),
    ([3], None, mx.DTypeError, "Each description in data_shapes must be a name and a shape, got "),
    ("data", None, mx.DTypeError, "Each description in data_shapes must be a name and a shape, got "),
    ([mx.io.DataDesc("data", (4,), layout="TN")], None, mx.ShapeError, "layout TN"),
])
@pytest.mark.filterwarnings("ignore:Data provided by label_shapes")
def test_shapes_that_do_not_fit(data, labels, error, said):
    mod = mx.mod.Module(classifier())
    refused(error, said, mod.bind, data, labels)
    assert not mod.binded


@pytest.mark.parametrize("kinds", [*itertools.product((mx.io.DataDesc, lambda *pair: pair), repeat=2)],
                         ids=["descriptions", "a description first", "a pair first", "pairs"])
def test_each_of_several_inputs_may_be_a_pair_or_a_description(kinds):
    mod = mx.mod.Module(mx.sym.Variable("a") + mx.sym.Variable("b"), ["a", "b"], None)
    mod.bind([kind(name, (4, 6)) for kind, name in zip(kinds, "ab", strict=True)])
    assert [(one.name, one.shape) for one in mod.data_shapes] == [("a", (4, 6)), ("b", (4, 6))]


@pytest.mark.parametrize(("given", "error", "said"), [
    (mx.io.DataBatch([mx.nd.ones((4, 6)), mx.nd.ones((4, 6))]), mx.ParameterError, "2 arrays of data, but 1 are bound"),
    (mx.io.DataBatch([mx.nd.ones((4, 7))], [mx.nd.zeros(4)]), mx.ShapeError, "fc1"),
    (mx.io.DataBatch([mx.nd.ones((4, 6))], [mx.nd.zeros(3)]), mx.ShapeError, "softmax_label of a batch"),
    ([mx.io.DataBatch([mx.nd.ones((4, 6))])] * 2, mx.ParameterError, "A list of 2 batches was passed for 1 contexts"),
])
def test_batches_that_do_not_fit(given, error, said):
    mod = bound()
    refused(error, said, mod.forward, given)
    mod.forward(batch())  # as if nothing had been
    assert mod.get_outputs()[0].shape == (4, 3)


def test_a_backward_pass_wants_labels():
    mod = bound()
    mod.forward(batch(), is_train=True)
    mod.backward()
    mod.forward(mx.io.DataBatch([mx.nd.ones((4, 6))]), is_train=True)
    refused(mx.ParameterError, "softmax_label", mod.backward)
    with pytest.raises(mx.ParameterError, match="needs labels, but the batch has none"):
        mod.score(mx.io.NDArrayIter(mx.nd.ones((4, 6)), batch_size=4), "acc")


def test_a_module_for_predicting_has_no_backward_pass():
    mod = bound(for_training=False)
    mod.forward(batch())
    refused(mx.ModuleStateError, "for prediction only", mod.backward)
    refused(mx.ModuleStateError, "gradients of its data", mod.get_input_grads)


def test_training_wants_epochs_and_batches():
    refused(mx.ParameterError, "number of epochs", lambda: mx.mod.Module(classifier()).fit(rows()))
    iterator = rows()
    mod = mx.mod.Module(regression(), label_names=["label"])
    list(iterator)
    refused(mx.DataFileError, "train_data must have at least one batch", mod.fit, iterator, eval_metric="mse", num_epoch=1)


@pytest.mark.parametrize(("given", "error"), [
    ({"fc1_weight": mx.nd.zeros((3, 6))}, mx.ParameterNameError),
    ({"fc1_weight": mx.nd.zeros((3, 6)), "fc1_bias": mx.nd.zeros(9)}, mx.ShapeError),
    ({"fc1_weight": mx.nd.zeros((3, 6)), "fc1_bias": 3}, mx.DTypeError),
    ([mx.nd.zeros(3)], mx.DTypeError),
])
@pytest.mark.parametrize("method", ["init_params", "set_params"])
def test_values_that_do_not_fit_change_nothing(given, error, method):
    mod = bound()
    before = numbers(mod)
    refused(error, "", lambda: getattr(mod, method)(arg_params=given, aux_params={}, force_init=True))
    for name, values in numbers(mod).items():
        assert (values == before[name]).all()
    assert (mod._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy() == 1).all()


# checkpoints


def test_damaged_checkpoints_are_not_applied(tmp_path):
    mod = bound()
    mod.init_optimizer(optimizer_params={"momentum": 0.9})
    mod.forward_backward(batch())
    mod.update()
    prefix = str(tmp_path / "model")
    mod.save_checkpoint(prefix, 1, save_optimizer_states=True)
    before = numbers(mod)
    for name in ("model-0001.params", "model-symbol.json", "model-0001.states"):
        whole = (tmp_path / name).read_bytes()
        for data in (whole[:len(whole) // 2], b"", b"\x00" * 50, whole[:-1]):
            (tmp_path / name).write_bytes(data)
            if name.endswith("states"):
                refused(mx.MXNetError, "", mod.load_optimizer_states, tmp_path / name)
            else:
                refused(mx.DataFileError, "", mx.mod.Module.load, prefix, 1)
            if name.endswith("params"):
                refused(mx.DataFileError, "", mod.load_params, tmp_path / name)
        (tmp_path / name).write_bytes(whole)
    for name, values in numbers(mod).items():
        assert (values == before[name]).all()
    assert (numbers(mx.mod.Module.load(prefix, 1))["fc1_weight"] == before["fc1_weight"]).all()


def test_a_missing_states_file_leaves_no_optimizer(tmp_path):
    bound().save_checkpoint(str(tmp_path / "m"), 1)
    mod = mx.mod.Module.load(str(tmp_path / "m"), 1, load_optimizer_states=True)
    mod.bind([("data", (4, 6))], [("softmax_label", (4,))])
    refused(mx.DataFileError, r"m-0001\.states", mod.init_optimizer)
    assert not mod.optimizer_initialized


def test_a_checkpoint_that_lacks_a_parameter_is_no_network_of_zeros(tmp_path):
    mx.model.save_checkpoint(str(tmp_path / "m"), 1, classifier(), {"fc1_weight": mx.nd.ones((3, 6))}, {})
    mod = mx.mod.Module.load(str(tmp_path / "m"), 1)
    refused(mx.ParameterNameError, "fc1_bias", mod.bind, [("data", (4, 6))], [("softmax_label", (4,))])
    assert not mod.binded


@pytest.mark.parametrize("arrays", [{"weight": mx.nd.ones(2)}, {"foo:weight": mx.nd.ones(2)}, [mx.nd.ones(2)]])
def test_files_of_other_arrays_are_no_parameters(arrays, tmp_path):
    mx.nd.save(str(tmp_path / "a-0001.params"), arrays)
    refused(mx.ParameterError, "Invalid param file", mx.model.load_params, str(tmp_path / "a"), 1)


def test_an_empty_file_of_parameters_is_told(tmp_path, caplog):
    mx.nd.save(str(tmp_path / "a-0001.params"), {})
    assert mx.model.load_params(str(tmp_path / "a"), 1) == ({}, {})
    assert "is empty" in caplog.text


# storage types


@pytest.mark.parametrize("context", [mx.cpu(), TWO], ids=["one", "two"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "ftrl"])
def test_row_sparse_weights_stay_so(context, optimizer, monkeypatch):
    monkeypatch.setattr(mx.config, "densify", "error")
    before = len(hooks.ledger)
    mod = mx.mod.Module(regression(), label_names=["label"], context=context)
    mod.fit(rows(), eval_metric="mse", optimizer=optimizer, num_epoch=2, eval_data=rows())
    for executor in mod._exec_group.execs:
        assert (executor.arg_dict["data"].stype, executor.arg_dict["weight"].stype, executor.grad_dict["weight"].stype) == (
            "csr", "row_sparse", "row_sparse")
    assert mod.get_params()[0]["weight"].stype == "row_sparse"
    assert len(hooks.ledger) == before


def test_an_update_touches_the_rows_of_its_batch_alone():
    iterator = rows(features=50)
    mod = mx.mod.Module(regression(50), label_names=["label"])
    mod.bind(iterator.provide_data, iterator.provide_label)
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
    one = iterator.next()
    mod.forward_backward(one)
    mod.update()
    changed = np.flatnonzero(numbers(mod)["weight"].ravel() != 1)
    assert set(changed) <= set(one.data[0].indices.asnumpy().tolist())
    assert mod._exec_group.grad_arrays[mod._param_names.index("weight")][0].indices.size < 50


# copies on several contexts


@pytest.mark.parametrize("prepared", [False, True])
def test_sparse_weights_of_two_contexts_do_not_lag_behind(prepared):
    """With rows asked for or without, two contexts train as one does; MXNet without computes with old weights."""
    one, two = (mx.mod.Module(regression(), label_names=["label"], context=context) for context in (mx.cpu(), TWO))
    for mod in (one, two):
        iterator = rows(16)
        mod.bind(iterator.provide_data, iterator.provide_label)
        mod.init_params(mx.init.One())
        mod.init_optimizer(optimizer_params={"learning_rate": 0.3})
        for _ in range(2):
            iterator.reset()
            for each in iterator:
                if prepared and mod is two:
                    mod.prepare(each, lambda batch: {"weight": batch.data[0].indices})
                    assert mod._exec_group.execs[0].arg_dict["weight"].indices.size <= 6
                mod.forward_backward(each)
                mod.update()
    for name, values in numbers(one).items():
        np.testing.assert_allclose(numbers(two)[name], values, rtol=1e-5)
    np.testing.assert_allclose(two.predict(rows()).asnumpy(), one.predict(rows()).asnumpy(), rtol=1e-5)


def test_new_values_reach_the_store():
    """MXNet's next step would bring the old ones back."""
    mod = bound(context=TWO)
    mod.init_optimizer(optimizer_params={"learning_rate": 0.0})
    mod.set_params({"fc1_weight": mx.nd.full((3, 6), 5), "fc1_bias": mx.nd.zeros(3)}, {})
    mod.forward_backward(batch())
    mod.update()
    assert (numbers(mod)["fc1_weight"] == 5).all()


def test_binding_again_keeps_what_was_learnt():
    mod = bound()
    mod.init_optimizer()
    mod.forward_backward(batch())
    mod.update()
    learnt = mod._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy().copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mod.bind([("data", (2, 6))], for_training=False, force_rebind=True)
    assert not (learnt == 1).all()
    assert (mod._exec_group.execs[0].arg_dict["fc1_weight"].asnumpy() == learnt).all()


def test_predicting_other_sizes_needs_no_labels():
    mod = bound()
    for count in (4, 2, 9, 2, 4):
        assert mod.predict(mx.nd.ones((count, 6))).shape == (count, 3)
    assert mod.output_shapes == [("softmax_output", (4, 3))]


def test_executors_of_many_batch_sizes_are_not_all_kept():
    mod = bound()
    for count in range(1, 40):
        mod.predict(mx.nd.ones((count, 6)))
    assert len(mod._exec_group._kept) <= 8


def test_batches_given_for_each_context():
    mod = bound(context=TWO)
    mod.init_optimizer()
    parts = [mx.io.DataBatch([mx.nd.ones((2, 6)) * scale], [mx.nd.zeros(2)]) for scale in (1, 2)]
    mod.forward_backward(parts)
    mod.update()
    metric = mx.metric.create("ce")
    mod.update_metric(metric, [part.label for part in parts], pre_sliced=True)
    assert metric.num_inst == 4
    assert [block.shape for block in mod.get_outputs(merge_multi_context=False)[0]] == [(2, 3), (2, 3)]


# what is said


def test_log_lines_go_to_the_logger_given(caplog):
    logger = logging.getLogger("mine")
    mod = mx.mod.Module(regression(), label_names=["label"], logger=logger)
    with caplog.at_level(logging.INFO):
        mod.fit(rows(), eval_metric="mse", num_epoch=1)
    assert {record.name for record in caplog.records} == {"mine"}


def test_the_profile_has_lanes_and_names():
    mod = mx.mod.Module(regression(), label_names=["label"])
    iterator = rows()
    mod.bind(iterator.provide_data, iterator.provide_label)
    mod.init_params()
    mod.init_optimizer()
    with mx.Profiler() as prof:
        mod.forward_backward(iterator.next())
        mod.update()
    mx.expect(prof).no_densify().calls("sgd_update", 2, lane="update").calls("dot", 1, lane="forward")
    assert {record["layer"] for record in prof.records if record["lane"] == "update"} == {"weight", "bias"}


def test_reprs_have_no_addresses():
    mod = mx.mod.Module(classifier())
    assert repr(mod) == "<Module of softmax_output: not bound>"
    assert repr(bound()) == "<Module of softmax_output: bound, initialized>"
    assert repr(mx.mod.SequentialModule()) == "<SequentialModule: not bound>"
    assert repr(mx.mon.Monitor(3, pattern="fc.*")) == "Monitor(3, pattern='fc.*')"


# together with other parts


@mx.kv.KVStoreBase.register
class Summing(mx.kv.KVStoreBase):
    """A store of one's own, which sums and makes no steps."""

    def broadcast(self, key, value, out, priority=0):
        for array in out:
            value.copyto(array)

    def pushpull(self, key, value, out=None, priority=0):
        total = sum((array.as_in_context(mx.cpu(0)) for array in value[1:]), value[0])
        for array in out or value:
            total.copyto(array)


@pytest.mark.parametrize("store", [Summing(), "device", None, mx.kv.create("local")], ids=["own", "device", "none", "local"])
def test_stores_of_any_kind(store, monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0" if store == "device" else "1")
    found = {}
    for name, context in (("one", mx.cpu()), ("two", TWO)):
        mod = bound(context=context)
        mod.init_optimizer(store, optimizer_params={"learning_rate": 0.1})
        mod.forward_backward(batch())
        mod.update()
        found[name] = numbers(mod)
    if store is not None:  # without a store each context goes its own way, and the mean is taken
        for name, values in found["one"].items():
            np.testing.assert_allclose(found["two"][name], values, rtol=1e-6)
    refused(mx.DTypeError, "kvstore must be", mod.init_optimizer, 3, force_init=True)


def test_averages_of_batch_normalization_are_parameters_too(tmp_path):
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", momentum=0.5, fix_gamma=False)
    mod = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="fc1"), name="softmax"))
    x = np.random.RandomState(0).uniform(1, 3, (16, 6)).astype("float32")
    mod.fit(mx.io.NDArrayIter(x, np.zeros(16), 8), num_epoch=1)
    _, states = mod.get_params()
    half = x[:8].mean(axis=0) * 0.25 + x[8:].mean(axis=0) * 0.5
    np.testing.assert_allclose(states["bn_moving_mean"].asnumpy(), half, rtol=1e-5)
    mod.save_checkpoint(str(tmp_path / "bn"), 1)
    assert sorted(mx.model.load_params(str(tmp_path / "bn"), 1)[1]) == ["bn_moving_mean", "bn_moving_var"]


@pytest.mark.parametrize("context", [mx.cpu(), TWO], ids=["one", "two"])
def test_head_gradients_are_those_of_an_executor(context):
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    mod = mx.mod.Module(mx.sym.Group([mx.sym.sin(hidden, name="sin"), mx.sym.square(hidden, name="square")]), label_names=None,
                        context=context)
    mod.bind([("data", (4, 2))], inputs_need_grad=True)
    mod.init_params(mx.init.One())
    mod.forward(mx.io.DataBatch([mx.nd.ones((4, 2))]), is_train=True)
    heads, twos = np.arange(12).reshape(4, 3), mx.nd.ones((4, 3)) * 2
    for first, given in ((np.ones((4, 3)), [None, twos]), (heads, [mx.nd.array(heads), twos]),
                         (np.ones((4, 3)), {"square_output": twos}), (heads, [mx.nd.array(heads), twos, twos])):
        mod.backward(given)
        wanted = first.sum(axis=1, keepdims=True) * np.cos(2) + 3 * 4 * 2
        np.testing.assert_allclose(mod.get_input_grads()[0].asnumpy(), wanted.repeat(2, axis=1), rtol=1e-5)
    refused(DTypeError, "inputs must be NDArray", mod.backward, [twos, np.ones((4, 3))])
    refused(mx.ShapeError, "1 head gradients", mod.backward, [twos])
