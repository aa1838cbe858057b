"""Trainers: stale gradients, several contexts, stores, states, schedules and profiles."""

import pickle

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon, nd
from sparsekit.base.errors import NoClusterError
from sparsekit.demo.variants import FullyConnectedSparse
from sparsekit.gluon import Parameter, Trainer, nn
from sparsekit.storage import RowSparse
from tests.calls import alike, differentiated, initialized, refused

TWO = [mx.cpu(0), mx.cpu(1)]


def weights(*names, ctx=None, **arguments):
    made = [Parameter(name, shape=(4, 2), init="ones", **arguments) for name in names]
    for parameter in made:
        parameter.initialize(ctx=ctx)
    return made


def backward(*parameters, factor=1.0):
    """A gradient of ``factor`` times 1, 2 … on each context."""
    heads = []
    with mx.autograd.record():
        for parameter in parameters:
            heads += [(values * (factor * (place + 1))).sum() for place, values in enumerate(parameter.list_data())]
    mx.autograd.backward(heads)


def test_stale_gradients_stop_the_step_before_anything_changes():
    one, two = weights("one", "two")
    trainer = Trainer([one, two], "sgd", {"learning_rate": 1.0})
    backward(one)
    refused(mx.StaleGradientError, r"Parameter `two` on context cpu\(0\)", trainer.step, 1)
    assert one.data().asnumpy().min() == 1
    trainer.step(1, ignore_stale_grad=True)
    assert (one.data().asnumpy().max(), two.data().asnumpy().min()) == (0, 1)
    trainer.step(1, ignore_stale_grad=True)
    assert one.data().asnumpy().max() == 0
    refused(UserWarning, "", trainer.step, 1)
    backward(one, two)
    trainer.step(2)
    assert two.data().asnumpy().max() == 0.5


@pytest.mark.parametrize("update_on_kvstore", [None, True, False])
@pytest.mark.parametrize("grad_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_gradients_of_two_contexts_are_added(stype, grad_stype, update_on_kvstore):
    weight, = weights("w", ctx=TWO, stype=stype, grad_stype=grad_stype)
    trainer = Trainer({"w": weight}, "sgd", {"learning_rate": 1.0, "momentum": 0.5}, update_on_kvstore=update_on_kvstore)
    for _ in range(2):
        backward(weight)
        trainer.step(2)
    # gradients 1 and 2 of a batch of 2: 1.5, then 1.5 and half of the first step
    for values in weight.list_data():
        assert values.stype == stype
        np.testing.assert_allclose(values.asnumpy(), 1 - 1.5 - 2.25)


#: Who makes the step: the context alone, contexts by themselves, contexts after a sum, the store.
WAYS = {"one context": (None, {}), "no store": (TWO, {"kvstore": None}), "after a sum": (TWO, {"update_on_kvstore": False}),
        "store": (TWO, {"update_on_kvstore": True}), "store on one": ([mx.cpu()], {"kvstore": mx.kv.create("local")})}


@pytest.mark.parametrize("way", WAYS)
def test_a_second_step_without_a_backward_pass_is_refused(way):
    ctx, options = WAYS[way]
    one, two = weights("one", "two", ctx=ctx)
    trainer = Trainer([one, two], "sgd", {"learning_rate": 1.0, "momentum": 0.5}, **options)
    backward(one, two)
    trainer.step(1)
    before = [values.asnumpy().copy() for one_of in (one, two) for values in one_of.list_data()]
    refused(mx.StaleGradientError, "Parameter `one`", trainer.step, 1)
    trainer.step(1, ignore_stale_grad=True)
    alike([values for one_of in (one, two) for values in one_of.list_data()], before)
    backward(two)
    trainer.step(1, ignore_stale_grad=True)
    np.testing.assert_array_equal(one.list_data()[0].asnumpy(), before[0])
    assert (two.list_data()[0].asnumpy() != before[-1]).all()
    refused(mx.StaleGradientError, "Parameter `one`", trainer.step, 1)


@pytest.mark.parametrize("way", WAYS)
def test_the_events_of_a_step_bear_the_names_of_the_parameters(way):
    ctx, options = WAYS[way]
    one, two = weights("one", "two", ctx=ctx)
    trainer = Trainer([one, two], "sgd", {"learning_rate": 1.0}, **options)
    backward(one, two)
    with mx.Profiler() as prof:
        trainer.step(1)
    steps = [event for event in prof.records if event["kind"] == "op" and event["name"] == "sgd_update"]
    assert {(event["layer"], event["lane"]) for event in steps} == {("one", "update"), ("two", "update")}
    assert {event["layer"] for event in prof.records if event["lane"] == "update"} <= {"one", "two"}


def test_without_a_store_each_context_goes_its_own_way():
    weight, = weights("w", ctx=TWO)
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0}, kvstore=None)
    backward(weight)
    trainer.step(1)
    assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [0, -1]


@pytest.mark.parametrize("grad_stype", ["default", "row_sparse"])
def test_sums_can_be_clipped_before_the_update(grad_stype):
    weight, = weights("w", ctx=TWO, grad_stype=grad_stype)
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0}, update_on_kvstore=False)
    backward(weight)
    trainer.allreduce_grads()
    assert [gradient.asnumpy()[0, 0] for gradient in weight.list_grad()] == [3, 3]
    assert {gradient.stype for gradient in weight.list_grad()} == {grad_stype}
    for gradient in weight.list_grad():
        assert mx.gluon.utils.clip_global_norm([gradient], np.sqrt(8)) == pytest.approx(3 * np.sqrt(8))
    trainer.update(1)
    for values in weight.list_data():
        np.testing.assert_allclose(values.asnumpy(), 0, atol=1e-6)


def test_a_store_that_makes_the_step_makes_all_of_it():
    weight, = weights("w", ctx=TWO)
    trainer = Trainer([weight], "sgd", update_on_kvstore=True)
    for name in ("allreduce_grads", "update"):
        with pytest.raises(mx.UnsupportedError, match="update_on_kvstore=False") as caught:
            getattr(trainer, name)(*([1] if name == "update" else []))
        assert isinstance(caught.value, AssertionError)  # as in MXNet
    backward(weight)
    refused(mx.SparsekitError, "batch_size must be above 0, got 0", trainer.step, 0)


def test_a_trainer_of_no_parameters_makes_steps_that_change_nothing():
    trainer = Trainer([], "sgd", {"learning_rate": 0.5})
    trainer.step(1)
    trainer.allreduce_grads()
    trainer.update(1)
    assert trainer.learning_rate == 0.5


def test_values_and_contexts_may_change_between_steps():
    weight, = weights("w", ctx=TWO)
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0})
    backward(weight)
    trainer.step(1)
    weight.set_data(mx.nd.zeros((4, 2)))
    backward(weight)
    trainer.step(1)
    assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [-3, -3]
    weight.initialize("ones", ctx=TWO, force_reinit=True)
    backward(weight)
    trainer.step(1)
    assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [-2, -2]
    weight.reset_ctx([mx.cpu(0), mx.cpu(1), mx.cpu(2)])
    backward(weight)
    trainer.step(1)
    assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [-8] * 3


@pytest.mark.parametrize(("calls", "values", "gradients"), [
    (["step"], [-2, -2], [1, 2]), (["allreduce_grads"], [1, 1], [3, 3]), (["update"], [0, -1], [1, 2])])
def test_each_call_finds_the_parameters_on_new_contexts(calls, values, gradients):
    weight, = weights("w")
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0}, update_on_kvstore=None if calls == ["step"] else False)
    weight.reset_ctx(TWO)
    backward(weight)
    for name in calls:
        getattr(trainer, name)(*([] if name == "allreduce_grads" else [1]))
    assert [array.asnumpy()[0, 0] for array in weight.list_data()] == values
    if calls != ["step"]:
        assert [array.asnumpy()[0, 0] for array in weight.list_grad()] == gradients


def test_no_gradient_is_summed_if_one_is_stale():
    one, two = weights("one", "two", ctx=TWO)
    trainer = Trainer([one, two], "sgd", update_on_kvstore=False)
    backward(one)
    refused(mx.StaleGradientError, "two", trainer.step, 1)
    assert [array.asnumpy()[0, 0] for array in one.list_grad()] == [1, 2]


def test_two_trainers_may_share_a_dense_parameter():
    weight, = weights("w", ctx=TWO, grad_stype="row_sparse")
    trainers = [Trainer([weight], "sgd", {"learning_rate": 1.0}) for _ in range(2)]
    for trainer in trainers:
        backward(weight)
        trainer.step(1)
    assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [-5, -5]
    assert weight._trainer is trainers[1]


def test_a_sparse_parameter_has_one_trainer_at_a_time():
    weight, = weights("w", stype="row_sparse", grad_stype="row_sparse")
    trainer = Trainer([weight], "sgd")
    assert weight._trainer is trainer
    refused(mx.UnsupportedError, "w.*was already set", Trainer, [weight], "sgd")
    weight._set_trainer(None)
    assert weight._trainer is None
    other = Trainer([weight], "sgd", {"learning_rate": 1.0})
    assert weight._trainer is other
    del trainer, other
    refused(mx.UnknownNameError, "no_such", Trainer, [weight], "no_such")
    last = Trainer([weight], "sgd", {"learning_rate": 1.0})
    backward(weight)
    last.step(1)
    copied = pickle.loads(pickle.dumps(weight))
    assert copied._trainer is None
    assert copied.data().asnumpy()[0, 0] == weight.data().asnumpy()[0, 0] == 0


def test_a_parameter_that_waits_for_its_shape_joins_when_it_has_one():
    net = initialized(nn.Dense(1, use_bias=False), mx.init.One(), ctx=TWO)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    refused(mx.gluon.DeferredInitializationError, "", trainer.step, 1)
    with mx.autograd.record():
        heads = [net(mx.nd.ones((1, 3), ctx)) for ctx in TWO]
    mx.autograd.backward(heads)
    trainer.step(1)
    assert net.weight.data(mx.cpu(1)).asnumpy().tolist() == [[-1, -1, -1]]


@pytest.mark.parametrize("update_on_kvstore", [True, False])
@pytest.mark.parametrize("ctx", [TWO, [mx.cpu(0)]])
def test_states_are_saved_and_go_on(tmp_path, ctx, update_on_kvstore):
    options = {"learning_rate": 0.1, "wd": 0.01}

    def trained(parameter, trainer, steps):
        for _ in range(steps):
            backward(parameter)
            trainer.step(2)
        return parameter.list_data()[-1].asnumpy()

    whole, = weights("w", ctx=ctx)
    expected = trained(whole, Trainer([whole], "adam", options, update_on_kvstore=update_on_kvstore), 4)
    weight, = weights("w", ctx=ctx)
    first = Trainer([weight], "adam", options, update_on_kvstore=update_on_kvstore)
    trained(weight, first, 2)
    first.save_states(tmp_path / "states")
    second = Trainer([weight], "adam", {"learning_rate": 99.0}, update_on_kvstore=update_on_kvstore)
    second.load_states(tmp_path / "states")
    assert second.learning_rate == second.optimizer.lr == 0.1
    assert second.optimizer.param_dict == {0: weight}
    np.testing.assert_array_equal(trained(weight, second, 2), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["states"]


@pytest.mark.parametrize("update_on_kvstore", [True, False])
@pytest.mark.parametrize("ctx", [TWO, [mx.cpu(0)]])
def test_a_trainer_begins_anew_with_another_optimizer(ctx, update_on_kvstore):
    weight, = weights("w", ctx=ctx)
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0, "momentum": 0.5}, update_on_kvstore=update_on_kvstore)
    gradient = sum(range(1, len(ctx) + 1))
    expected = 1.0 - gradient
    backward(weight)
    trainer.step(1)
    for rate in (0.5, 0.25):
        trainer._init_optimizer("sgd", {"learning_rate": rate, "momentum": 0})
        backward(weight)
        trainer.step(1)
        expected -= rate * gradient
        assert trainer.learning_rate == rate
    assert trainer.optimizer.param_dict == {0: weight}
    assert [values.asnumpy().tolist() for values in weight.list_data()] == [[[expected] * 2] * 4] * len(ctx)
    with pytest.raises(mx.SparsekitError, match="optimizer_params must be None"):
        trainer._init_optimizer(mx.optimizer.SGD(), {"learning_rate": 1.0})


def test_states_that_are_not_there(tmp_path):
    weight, = weights("w")
    trainer = Trainer([weight], "adam")
    refused(mx.DataFileError, "cannot be read", trainer.load_states, tmp_path / "none")
    for name in ("", "a\0b", "\ud800"):
        refused(mx.DataFileError, "The file name must be", trainer.load_states, name)
    for name in (None, 3, ["a"]):
        refused(mx.DTypeError, "The file name must be a str or a path", trainer.load_states, name)
    (tmp_path / "other").write_bytes(b"\x80\x04}.")
    refused(mx.SparsekitError, "The optimizer states cannot be read", trainer.load_states, tmp_path / "other")
    refused(mx.DataFileError, "cannot be written", trainer.save_states, tmp_path / "no" / "folder")
    trainer.save_states(tmp_path / "before the first step")
    trainer.load_states(tmp_path / "before the first step")


def test_rates_multipliers_and_schedules():
    one, two, fixed = weights("one", "two", "zero")
    two.lr_mult, fixed.grad_req = 0.5, "null"
    schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1.0)
    trainer = Trainer([one, two, fixed], "sgd", {"lr_scheduler": schedule})
    assert trainer.learning_rate == 1
    for _ in range(2):
        backward(one, two)
        trainer.step(1)
    assert one.data().asnumpy()[0, 0] == 1 - 1 - 0.5
    assert two.data().asnumpy()[0, 0] == 1 - 0.5 - 0.25
    assert fixed.data().asnumpy()[0, 0] == 1
    refused(mx.SparsekitError, "lr_scheduler", trainer.set_learning_rate, 3)
    plain = Trainer([one], "sgd")
    plain.set_learning_rate(3)
    assert plain.learning_rate == 3


class _Mean(mx.kvstore.KVStoreBase):
    """A store of somebody else: sums, keeps nothing, cannot update parameters."""

    def broadcast(self, key, value, out, priority=0):
        for array in out:
            value.copyto(array)

    def pushpull(self, key, value, out=None, priority=0):
        total = sum((array.as_in_context(mx.cpu(0)) for array in value[1:]), value[0].as_in_context(mx.cpu(0)))
        for array in value if out is None else out:
            (total / len(value)).copyto(array)


def test_a_store_of_somebody_else():
    mx.kvstore.KVStoreBase.register(_Mean)
    try:
        for kvstore in ("_mean", _Mean()):
            weight, = weights("w", ctx=TWO)
            trainer = Trainer([weight], "sgd", {"learning_rate": 1.0}, kvstore=kvstore)
            backward(weight)
            trainer.step(1)
            assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [-0.5, -0.5]
        with pytest.raises(mx.UnsupportedError, match="cannot update parameters"):
            Trainer([weight], "sgd", kvstore=_Mean(), update_on_kvstore=True)
        with pytest.warns(UserWarning, match="overriding"):
            mx.kvstore.KVStoreBase.register(_Mean)
    finally:
        del mx.kvstore.KVStoreBase.kv_registry["_mean"]


def test_a_store_of_somebody_else_is_given_each_parameter_once():
    weight, = weights("w", ctx=TWO)
    weight.list_data()[1][:] = 5
    store, told = _Mean(), []
    store.broadcast = lambda key, value, out, priority=0: (told.append(key), [value.copyto(array) for array in out])
    trainer = Trainer([weight], "sgd", {"learning_rate": 1.0}, kvstore=store)
    for _ in range(2):
        backward(weight)
        trainer.step(1)
        assert told == [0]
    assert [values.asnumpy()[0, 0] for values in weight.list_data()] == [-2, -2]  # both began at the first one's 1


def test_what_is_refused():
    one, other = weights("a"), weights("b", ctx=TWO)
    bare = Parameter("c", shape=(1,))
    wrong = {
        "dist_sync": (lambda: Trainer(one, "sgd", kvstore="dist_sync"), NoClusterError, "sparsekit launch"),
        "unknown": (lambda: Trainer(one, "sgd", kvstore="devise"), mx.UnknownNameError, "'device'"),
        "kind": (lambda: Trainer(one, "sgd", kvstore=3), mx.DTypeError,
                 "kvstore must be 'device', 'local', None or a KVStore, got int"),
        "compression": (lambda: Trainer(one, "sgd", compression_params={"type": "2bit"}), mx.UnsupportedError, "compression"),
        "contexts": (lambda: Trainer([*one, *other], "sgd"), mx.InitializationError, "same set of contexts"),
        "no values": (lambda: Trainer([bare], "sgd"), mx.InitializationError, "'c' has not been initialized"),
        "both": (lambda: Trainer(one, mx.optimizer.SGD(), {"wd": 1.0}), mx.SparsekitError, "optimizer_params must be None"),
        "list": (lambda: Trainer(3, "sgd"), mx.DTypeError, "got int"),
        "items": (lambda: Trainer([3], "sgd"), mx.DTypeError, "got list of int"),
    }
    for act, error, text in wrong.values():
        refused(error, text, act)


def test_a_step_that_fails_does_not_stay_in_the_lane_of_updates():
    one, = weights("one", ctx=TWO)
    broken = Trainer([one], mx.optimizer.Optimizer(), kvstore=None)
    backward(one)
    refused(mx.SparsekitError, "override update", broken.step, 1)
    assert mx.core.hooks.state.lane == "forward"


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("hybrid", [False, True])
def test_no_row_sparse_gradient_is_copied(monkeypatch, hybrid, tables):
    copies, copy = [], RowSparse.copy
    monkeypatch.setattr(RowSparse, "copy", lambda store: copies.append(store.shape) or copy(store))
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, 100, (10, 10)) + np.arange(10) * 100).reshape(-1)
    data = nd.sparse.csr_matrix((rng.random(100, np.float32), indices, np.arange(0, 101, 10)), shape=(10, 1000))
    net = initialized(FullyConnectedSparse(1000, 8, "row_sparse"), hybrid=hybrid)
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with mx.config.set(tables=tables):
        for _ in range(6):
            differentiated(lambda: net(data).sum())
            trainer.step(10)
    np.testing.assert_array_equal(net.weight.grad().indices.asnumpy(), np.unique(indices))
    assert copies == []
