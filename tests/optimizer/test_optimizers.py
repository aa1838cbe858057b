"""Optimizers as objects: their registry, multipliers and counts, states as bytes, lists, precision, and what a profile says."""


import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DTypeError, SparsekitError, UnknownNameError
from sparsekit.base.naming import settings
from sparsekit.core import hooks
from sparsekit.core.op import registry as OPERATORS
from sparsekit.optimizer.optimizer import registry
from tests.calls import alike, initialized, refused

NAMES = sorted(set(registry) - {"ccsgd"})
SETTINGS = {
    "sgd": {"momentum": 0.9, "wd": 0.1}, "nag": {"momentum": 0.9, "wd": 0.1}, "dcasgd": {"momentum": 0.9, "wd": 0.1},
    "rmsprop": {"centered": True, "wd": 0.1}, "groupadagrad": {}, "lars": {"momentum": 0.9, "eta": 0.5, "wd": 0.1},
    "lbsgd": {"momentum": 0.9, "batch_scale": 2, "wd": 0.1},
}


def arrays(stype="default", seed=0, shape=(6, 3), dtype="float32"):
    """A weight and a gradient of which two rows are zero."""
    random = np.random.default_rng(seed)
    weight, gradient = random.uniform(0.5, 1.5, shape), random.uniform(0.5, 1.5, shape)
    gradient[[1, 4]] = 0
    return mx.nd.array(weight, dtype=dtype), mx.nd.array(gradient, dtype=dtype).tostype(stype)


def create(name, **settings):
    return mx.optimizer.create(name, **{"learning_rate": 0.1, **SETTINGS.get(name, {"wd": 0.1}), **settings})


def train(updater, weight, gradients, index=0):
    for gradient in gradients:
        updater(index, gradient, weight)
    return weight.asnumpy()


def test_row_sparse_states_and_names_as_indices_survive():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    weight, gradient = arrays("row_sparse")
    weight = weight.tostype("row_sparse")
    train(updater, weight, [gradient], index="embedding")
    other = mx.optimizer.get_updater(mx.optimizer.Adam())
    other.set_states(updater.get_states())
    assert [state.stype for state in other.states["embedding"]] == ["row_sparse"] * 2
    np.testing.assert_array_equal(other.states["embedding"][1].asnumpy(), updater.states["embedding"][1].asnumpy())


def test_saved_states_are_a_file_of_arrays(tmp_path):
    (tmp_path / "states").write_bytes(saved())
    arrays = mx.nd.load(str(tmp_path / "states"))
    assert sorted(arrays) == ["0", "1", "header"]
    assert b'"adam"' in arrays["header"].asnumpy().tobytes()


def saved():
    updater = mx.optimizer.get_updater(create("adam"))
    weight, gradient = arrays("row_sparse")
    train(updater, weight, [gradient])
    return updater.get_states(dump_optimizer=True)


def test_no_damage_to_saved_states_goes_unnoticed_or_crashes():
    data = saved()
    random = np.random.default_rng(0)
    for length in [*range(0, len(data) - 1, 7), len(data) - 1]:
        with pytest.raises(SparsekitError):
            mx.optimizer.get_updater(create("adam")).set_states(data[:length])
    with pytest.raises(SparsekitError, match="The optimizer states cannot be read"):
        mx.optimizer.get_updater(create("adam")).set_states(data + b"0")
    for _ in range(300):
        broken = bytearray(data)
        broken[random.integers(len(data))] = random.integers(256)
        try:
            mx.optimizer.get_updater(create("adam")).set_states(bytes(broken))
        except SparsekitError:
            continue


@pytest.mark.parametrize("wrong", [b"", b"\x80\x04}.", "text", None])
def test_what_is_no_state_is_refused(wrong):
    with pytest.raises(SparsekitError, match="The optimizer states cannot be read"):
        mx.optimizer.get_updater(create("sgd")).set_states(wrong)


def test_a_setting_that_json_has_no_word_for_is_refused():
    optimizer = create("sgd")
    optimizer.thing = object()
    updater = mx.optimizer.get_updater(optimizer)
    assert updater.get_states()
    refused(SparsekitError, r"The setting thing holds a value of type object", updater.get_states, dump_optimizer=True)


def test_a_multiplier_of_a_symbol_that_is_no_number_is_refused():
    symbol = mx.sym.var("a", attr={"__lr_mult__": "high"}) + mx.sym.var("b", lr_mult=0.5)
    refused(DTypeError, r"lr_mult of a must be a number, got 'high'", create, "sgd", sym=symbol)
    assert create("sgd", sym=mx.sym.var("a") + mx.sym.var("b", lr_mult=0.5)).lr_mult == {"b": 0.5}


def test_an_updater_says_whether_lists_are_taken():
    sgd, adam = (mx.optimizer.get_updater(create(name)) for name in ("sgd", "adam"))
    assert (sgd.aggregate_updates, adam.aggregate_updates) == (True, False)


def test_a_state_that_is_no_array_is_refused():
    updater = mx.optimizer.get_updater(create("sgd", momentum=0.5))
    updater.states[0] = (mx.nd.ones((1,)), {1, 2})
    refused(SparsekitError, "state holds a value of type set, which cannot be saved", updater.get_states)


def test_a_state_of_arrays_and_plain_data_comes_back_as_it_was():
    updater, other = (mx.optimizer.get_updater(create("sgd", momentum=0.5)) for _ in range(2))
    rows = mx.nd.array([[0, 0], [1, 2]]).tostype("row_sparse")
    updater.states[0] = (rows, [mx.nd.ones((1,), dtype="float64"), None], {"steps": 3, "kind": "a"})
    other.set_states(updater.get_states())
    (first, (second, third), fourth), = other.states.values()
    assert (first.stype, first.indices.asnumpy().tolist(), first.data.asnumpy().tolist()) == ("row_sparse", [1], [[1, 2]])
    assert (second.dtype, second.asnumpy().tolist(), third, fourth) == (np.float64, [1], None, {"steps": 3, "kind": "a"})


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("sgld", "groupadagrad")])
def test_lists_of_weights(name):
    one, several = (mx.optimizer.get_updater(create(name)) for _ in range(2))
    weights = [arrays(seed=seed)[0] for seed in range(3)]
    gradients = [arrays(stype, seed=seed)[1] for seed, stype in enumerate(["default", "row_sparse", "default"])]
    expected = [train(one, weight.copy(), [gradient] * 2, index) for index, (weight, gradient) in
                enumerate(zip(weights, gradients, strict=True))]
    for _ in range(2):
        several([0, 1, 2], gradients, weights)
    alike(weights, expected, rtol=1e-6)
    optimizer = create(name)
    states = [optimizer.create_state(index, weight) for index, weight in enumerate(weights)]
    optimizer.update([0, 1, 2], weights, gradients, states)
    assert optimizer.num_update == (0 if name == "test" else 1)


@pytest.mark.parametrize("multi_precision", [False, True])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "sgld"])
def test_an_optimizer_itself_takes_lists_of_weights(name, multi_precision):
    alone, listed = (create(name, multi_precision=multi_precision) for _ in range(2))
    step = "update_multi_precision" if multi_precision else "update"
    made = "create_state_multi_precision" if multi_precision else "create_state"
    weights, gradients = ([arrays(seed=seed)[place] for seed in range(3)] for place in range(2))
    expected = [weight.copy() for weight in weights]
    for index, (weight, gradient) in enumerate(zip(expected, gradients, strict=True)):
        getattr(alone, step)(index, weight, gradient, getattr(alone, made)(index, weight))
    before = [gradient.asnumpy() for gradient in gradients]
    getattr(listed, step)([0, 1, 2], weights, gradients, [getattr(listed, made)(*one) for one in enumerate(weights)])
    for weight, wanted, gradient, kept in zip(weights, expected, gradients, before, strict=True):
        np.testing.assert_allclose(weight.asnumpy(), wanted.asnumpy(), rtol=1e-6)
        assert (gradient.asnumpy() == kept).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("sgld", "test")])
def test_multi_precision_changes_nothing_for_float32(name):
    weight, gradient = arrays()
    found = [train(mx.optimizer.get_updater(create(name, multi_precision=many)), weight.copy(), [gradient] * 2)
             for many in (False, True)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("sgld", "test")])
def test_precision_of_float16_weights(name, stype):
    exact, half, rough = (mx.optimizer.get_updater(create(name, multi_precision=many, learning_rate=1e-3))
                          for many in (False, True, False))
    weight, _ = arrays()
    narrow, plain = weight.astype("float16"), weight.astype("float16")
    wide = narrow.astype("float32")
    gradients = [arrays(stype, seed, dtype="float16")[1] for seed in range(20)]
    train(exact, wide, [gradient.astype("float32") for gradient in gradients])
    train(half, narrow, gradients)
    np.testing.assert_array_equal(narrow.asnumpy(), wide.asnumpy().astype(np.float16))
    with pytest.warns(UserWarning, match="multi_precision"):
        train(rough, plain, gradients)
    assert np.isfinite(plain.asnumpy()).all()


def test_multipliers_by_parameter_index_and_name():
    optimizer = mx.optimizer.SGD(learning_rate=1.0, wd=0.5, param_idx2name={0: "a_weight", 1: "a_bias", 2: "a_gamma"})
    optimizer.set_lr_mult({"a_weight": 0.1, 2: 3.0})
    assert optimizer._get_lrs([0, 1, 2]) == [0.1, 1.0, 3.0]
    assert optimizer._get_wds([0, 1, 2]) == [0.5, 0.0, 0.5]
    parameter = mx.gluon.Parameter("p", shape=(2,), lr_mult=2.0, wd_mult=4.0)
    optimizer.param_dict = {1: parameter}
    assert (optimizer._get_lr(1), optimizer._get_wd(1)) == (2.0, 2.0)


def test_rates_by_schedule():
    optimizer = mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.MultiFactorScheduler([2], factor=0.5, base_lr=1.0))
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.zeros((1,))
    seen = [train(updater, weight, [mx.nd.ones((1,))])[0] for _ in range(4)]
    assert seen == [-1.0, -2.0, -2.5, -3.0]
    assert optimizer.learning_rate == 0.5
    refused(SparsekitError, "lr_scheduler", optimizer.set_learning_rate, 1.0)
    parameter = initialized(mx.gluon.Parameter("w", shape=(1,)))
    trainer = mx.gluon.Trainer([parameter], optimizer)
    for holder in (optimizer, trainer):  # MXNet raises a UserWarning, and programs expect one
        refused(UserWarning, "lr_scheduler", holder.set_learning_rate, 1.0)


def test_each_device_counts_its_own_updates():
    optimizer = mx.optimizer.Adam(learning_rate=0.1)
    first, second = (mx.optimizer.get_updater(optimizer) for _ in range(2))
    made = []
    for device, updater in enumerate((first, second)):
        weight, gradient = (array.as_in_context(mx.cpu(device)) for array in arrays())
        made.append(train(updater, weight, [gradient] * 2))
    np.testing.assert_array_equal(*made)
    assert optimizer.num_update == 2


def test_begin_num_update_counts():
    optimizer = mx.optimizer.Adam(begin_num_update=10)
    optimizer._update_count([3, "a"])
    assert (optimizer.num_update, optimizer._index_update_count) == (11, {3: 11, "a": 11})


def test_names_and_arguments_that_are_unknown():
    refused(UnknownNameError, "adamax", mx.optimizer.create, "adamaxx")
    refused(UnknownNameError, "beta1", mx.optimizer.create, "adam", beta=1)
    refused(SparsekitError, "override update", lambda: mx.optimizer.Optimizer().update(0, None, None, None))
    refused(UnknownNameError, "linear", mx.optimizer.create, "lbsgd", warmup_strategy="lineer")
    for name, value in (("learning_rate", "0.1"), ("wd", [0.1]), ("rescale_grad", None), ("lr_scheduler", 3)):
        refused(DTypeError, f"{name} must be a ", mx.optimizer.create, "sgd", **{name: value})


@pytest.mark.parametrize("params", [[1], 5, "ab", {1: 2}, [("wd", 0.1, 1)]], ids=str)
def test_arguments_of_an_optimizer_are_a_dict_or_pairs(params):
    weight = mx.gluon.Parameter("weight", shape=(2,))
    weight.initialize()
    refused(mx.ParameterError, "optimizer_params must be a dict", mx.gluon.Trainer, [weight], "sgd", params)
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params()
    refused(mx.ParameterError, "optimizer_params must be a dict", module.init_optimizer, optimizer_params=params)


@pytest.mark.parametrize("make", [
    lambda: mx.lr_scheduler.FactorScheduler(0), lambda: mx.lr_scheduler.FactorScheduler(1, factor=2),
    lambda: mx.lr_scheduler.MultiFactorScheduler([]), lambda: mx.lr_scheduler.MultiFactorScheduler([3, 2]),
    lambda: mx.lr_scheduler.PolyScheduler(0), lambda: mx.lr_scheduler.CosineScheduler(5, warmup_steps=5),
    lambda: mx.lr_scheduler.CosineScheduler(5, warmup_begin_lr=1.0), lambda: mx.lr_scheduler.LRScheduler()(1),
    lambda: mx.lr_scheduler.PolyScheduler(5, warmup_mode="slow"), lambda: mx.lr_scheduler.PolyScheduler(5, warmup_steps=-1),
])
def test_schedules_that_are_refused(make):
    refused(SparsekitError, "", make)


def test_own_optimizers_register_and_use_what_the_base_has():
    @mx.optimizer.register
    class Halving(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            self._update_count(index)
            weight *= 1 - self._get_lr(index) * 0 - 0.5

    try:
        weight = mx.nd.ones((2,))
        updater = mx.optimizer.get_updater(mx.optimizer.create("halving"))
        assert train(updater, weight, [weight] * 2).tolist() == [0.25, 0.25]
        other = mx.optimizer.get_updater(create("sgd"))
        other.set_states(updater.get_states(dump_optimizer=True))
        assert type(other.optimizer) is Halving
    finally:
        del registry["halving"]


def test_a_profile_shows_each_step_with_the_rate_it_had():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    weight, gradient = arrays("row_sparse")
    train(updater, weight, [gradient])
    with mx.Profiler() as prof:
        train(updater, weight, [gradient] * 3)
    train(updater, weight, [gradient] * 2)
    rates = [record["attrs"]["lr"] for record in prof.records if record["name"] == "adam_update"]
    expected = [0.1 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count) for count in (2, 3, 4)]
    assert rates == pytest.approx(expected)
    steps = [record for record in prof.records if record["name"] == "adam_update"]
    assert {record["lane"] for record in steps} == {"update"}
    mx.expect(prof).no_densify().calls("adam_update", 3)


def test_steps_need_no_new_plans():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    weight, gradient = arrays()
    train(updater, weight, [gradient] * 3)
    call, = updater.optimizer._calls.values()
    assert len(call.plans) == 1
    ready = dict(call.ready)
    train(updater, weight, [gradient] * 3)
    assert call.ready == ready
    assert len(ready) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_repr_has_the_rate_and_every_setting_that_is_not_the_default(name):
    cls = registry[name]
    plain = cls()
    assert repr(plain) == f"{cls.__name__}(learning_rate={plain.lr!r})"
    for setting, default in settings(cls).items():
        if setting in ("param_idx2name", "sym", "param_dict", "learning_rate", "lr_scheduler", "warmup_strategy"):
            continue
        value = not default if isinstance(default, bool) else 0.125 if default is None else default + 1
        assert repr(cls(**{setting: value})) == f"{cls.__name__}(learning_rate={plain.lr!r}, {setting}={value!r})"


def test_the_repr_of_a_schedule():
    schedule = mx.lr_scheduler.PolyScheduler(10, pwr=3, warmup_steps=2)
    assert repr(schedule) == "PolyScheduler(max_update=10, pwr=3, warmup_steps=2)"
    assert repr(mx.optimizer.SGD(momentum=0.9, lr_scheduler=mx.lr_scheduler.MultiFactorScheduler([1, 2], 0.5))) == (
        "SGD(lr_scheduler=MultiFactorScheduler(step=[1, 2], factor=0.5), momentum=0.9)")


#: Names of parameters as networks have them, and whether weight decay applies: (most optimizers, LARS), as in MXNet 1.9.1.
DECAYED = {"fc_weight": (True, True), "bn_gamma": (True, False), "fc_bias": (False, False), "bn_beta": (False, False),
           "embed_weight": (True, True), "scale": (False, False)}


@pytest.mark.parametrize("name", NAMES)
def test_decay_goes_by_the_names_of_parameters(name):
    optimizer = create(name, wd=0.5, param_idx2name=dict(enumerate(DECAYED)))
    wanted = [0.5 if decays[name == "lars"] else 0.0 for decays in DECAYED.values()]
    assert optimizer._get_wds(range(len(DECAYED))) == wanted


@pytest.mark.parametrize("parameter", sorted(DECAYED))
def test_a_step_of_lars_decays_weights_alone(parameter):
    """The rate is scaled too, but for gamma, beta and bias: from the formula, by numpy."""
    weight, gradient = np.array([3.0, 4.0], np.float32), np.array([0.6, 0.8], np.float32)
    optimizer = create("lars", momentum=0.0, eta=0.5, wd=0.1, learning_rate=2.0, param_idx2name={0: parameter})
    held = mx.nd.array(weight)
    mx.optimizer.get_updater(optimizer)(0, mx.nd.array(gradient), held)
    decay = 0.1 if DECAYED[parameter][1] else 0.0
    rate = 2.0 if parameter.endswith(("gamma", "beta", "bias")) else 2.0 * 0.5 * 5.0 / (1.0 + decay * 5.0)
    np.testing.assert_allclose(held.asnumpy(), weight - rate * (gradient + decay * weight), rtol=1e-5)


@pytest.mark.parametrize(("owners", "wanted"), [
    ({"param_dict": {0: mx.gluon.Parameter("own_name", shape=(2,))}, "idx2name": {0: "other"}}, "own_name"),
    ({"idx2name": {0: "by_index"}}, "by_index"), ({"idx2name": {1: "of_another"}}, "0"), ({}, "0")])
def test_a_profile_is_told_whose_each_array_of_a_state_is(monkeypatch, owners, wanted):
    optimizer = mx.optimizer.Adam()
    for name, value in owners.items():
        setattr(optimizer, name, value)
    updater, told = mx.optimizer.get_updater(optimizer), []
    monkeypatch.setattr(hooks, "assign", lambda array, role, owner: told.append((array, role, owner)))
    updater(0, mx.nd.ones(2), mx.nd.ones(2))
    assert [(role, owner) for _, role, owner in told] == [("optimizer state", wanted)] * 2
    assert all(array is state for (array, _, _), state in zip(told, updater.states[0], strict=True))


@pytest.mark.parametrize("name", sorted(name for name in OPERATORS if name.startswith(("multi_", "preloaded_multi_")) and (
    "sgd" in name)))
def test_results_of_many_steps_have_the_types_of_their_weights(name):
    """Inferred and computed; with a float32 copy of the weight, gradients may have another type."""
    op = OPERATORS[name]
    kinds = {"weight": ["float16", "float32"], "grad": ["float32", "float64"], "mom": ["float32", "float32"],
             "weight32": ["float32", "float32"]}
    names = ["weight", "grad", *(["mom"] if "mom" in name else []), *(["weight32"] if "mp_" in name else [])]
    if "mp_" not in name:
        kinds["weight"] = ["float32", "float64"]
        kinds["grad"] = kinds["mom"] = kinds["weight"]
    arrays = [mx.nd.ones((2,), dtype=kinds[key][place]) for place in range(2) for key in names]
    rates = {"lrs": (0.5, 0.5), "wds": (0.0, 0.0)}
    if name.startswith("preloaded"):
        arrays, rates = [*arrays, mx.nd.array([0.5, 0.5]), mx.nd.array([0.0, 0.0])], {}
    attrs = {**rates, "num_weights": 2}
    inferred = op.dtype([array.dtype for array in arrays], op.bind(attrs).attrs)
    assert [np.dtype(kind).name for kind in inferred] == kinds["weight"]
    made = getattr(mx.nd, name)(*arrays, **attrs)
    assert [one.dtype.name for one in made] == kinds["weight"]
    assert [one.asnumpy().tolist() for one in made] == [[0.5, 0.5]] * 2


def test_a_profile_shows_the_numbers_of_a_step_with_mxnets_mark_for_no_clipping():
    step = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, wd=0.01))
    with mx.Profiler() as prof:
        step(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
    assert next(record["attrs"] for record in prof.records if record["name"] == "sgd_mom_update") == {
        "lr": 0.1, "momentum": 0.9, "wd": 0.01, "rescale_grad": 1.0, "clip_gradient": -1.0, "lazy_update": True}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_noise_of_sgld_is_that_of_random_normal(dtype):
    weight = mx.nd.zeros((3, 4), dtype=dtype)
    mx.random.seed(5)
    expected = mx.random.normal(0, 0.5, shape=(3, 4), dtype=dtype)
    mx.random.seed(5)
    mx.optimizer.SGLD(learning_rate=0.25).update(0, weight, mx.nd.zeros((3, 4), dtype=dtype), None)
    np.testing.assert_array_equal(weight.asnumpy(), expected.asnumpy())
