"""What a step of an element depends on is declared by each optimizer, and the declaration is right."""

import itertools
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError
from sparsekit.optimizer.optimizer import registry
from sparsekit.optimizer.states import applied_settings, described, encoded_settings, random_of, restored
from tests.calls import refused

NAMES = sorted(set(registry) - {"ccsgd"})
#: Settings under which steps look at what they can.
SETTINGS = {
    "sgd": {"momentum": 0.9, "wd": 0.1}, "nag": {"momentum": 0.9, "wd": 0.1}, "dcasgd": {"momentum": 0.9, "wd": 0.1},
    "rmsprop": {"centered": True, "wd": 0.1}, "groupadagrad": {}, "lars": {"momentum": 0.9, "eta": 0.5, "wd": 0.1},
    "lbsgd": {"momentum": 0.9, "warmup_strategy": "lars"},
}
SHAPE = (12, 4)


def create(name, **more):
    return mx.optimizer.create(name, learning_rate=0.1, clip_gradient=0.7, **{**SETTINGS.get(name, {"wd": 0.1}), **more})


def rows(array, some):
    """Some rows of an array, as an array of its own in the same storage type."""
    values = mx.nd.array(array.asnumpy()[some], dtype=array.dtype)
    if array.stype == "default":
        return values
    stored = np.flatnonzero(np.isin(np.arange(SHAPE[0])[some], array.indices.asnumpy()))
    return mx.nd.sparse.row_sparse_array((mx.nd.array(values.asnumpy()[stored], dtype=array.dtype), stored), shape=values.shape)


def trained(optimizer, parts, stype, grad_stype, dtype):
    """The weight after some steps of each of its parts, put together."""
    updater = mx.optimizer.get_updater(optimizer)
    random = np.random.default_rng(0)
    weight = mx.nd.array(random.normal(size=SHAPE), dtype=dtype).tostype(stype)
    weights = [rows(weight, part) for part in parts]
    for _ in range(3):
        values = random.normal(size=SHAPE)
        values[[1, 5, 6, 11]] = 0
        gradient = mx.nd.array(values, dtype=dtype).tostype(grad_stype)
        for place, part in enumerate(parts):
            updater(place, rows(gradient, part), weights[place])
    return np.concatenate([one.asnumpy() for one in weights])


CASES = [("default", "default"), ("default", "row_sparse"), ("row_sparse", "row_sparse")]


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_halves_are_halves_of_steps_where_it_is_declared(name):
    """To the bit, for every kind of weight and gradient; where the whole weight is declared, some step differs."""
    equal = []
    for (stype, grad_stype), half, lazy in itertools.product(CASES, (False, True), (False, True)):
        more = {} if name in ("test", "groupadagrad") else {"lazy_update": lazy}
        made = []
        for parts in ([slice(None)], [slice(0, 5), slice(5, None)]):
            mx.random.seed(3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.append(trained(create(name, multi_precision=half, **more), parts, stype, grad_stype,
                                    "float16" if half else "float32"))
        equal.append(made[0].tobytes() == made[1].tobytes())
    if name != "sgld":  # whose random numbers are drawn for one part after the other
        assert all(equal) == (registry[name].sums_over != "weight")


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_elements_alone_are_those_of_columns_too(name):
    """What looks at elements alone may be cut anywhere, what looks at rows may not."""
    random = np.random.default_rng(1)
    weight, gradient = random.normal(size=SHAPE).astype(np.float32), random.normal(size=SHAPE).astype(np.float32)
    made = []
    for parts in ([slice(None)], [slice(0, 1), slice(1, None)]):
        updater = mx.optimizer.get_updater(create(name))
        weights = [mx.nd.array(weight[:, part]) for part in parts]
        mx.random.seed(3)
        for place, part in enumerate(parts):
            updater(place, mx.nd.array(gradient[:, part]), weights[place])
        made.append(np.concatenate([one.asnumpy() for one in weights], axis=1))
    if name != "sgld":
        assert (made[0].tobytes() == made[1].tobytes()) == (registry[name].sums_over == "element")


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_one_weight_leave_those_of_others_alone_where_it_is_declared(name):
    """With a schedule all weights share the number of updates, which servers are told; whatever else is shared is declared."""
    def steps(keys):
        mx.random.seed(3)
        schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.1)
        settings = {**SETTINGS.get(name, {"wd": 0.1})}
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, lr_scheduler=schedule, **settings))
        weights = {key: mx.nd.ones((3, 2)) * (key + 1) for key in keys}
        for step in range(1, 4):
            for key in keys:
                updater(key, mx.nd.ones((3, 2)) * step * (0.5 + key), weights[key])
        return weights[1].asnumpy().tobytes()

    assert (steps([0, 1]) == steps([1])) == (not registry[name].in_order)


def test_classes_of_users_are_taken_to_look_at_everything_unless_they_say_otherwise():
    class Plain(mx.optimizer.SGD):
        pass

    class Declared(mx.optimizer.SGD):
        sums_over, in_order = "row", False

    assert (mx.optimizer.SGD()._looks_at, mx.optimizer.SGD()._keeps_order) == ("element", False)
    assert (Plain()._looks_at, Plain()._keeps_order) == ("weight", True)
    assert (Declared()._looks_at, Declared()._keeps_order) == ("row", False)


@pytest.mark.parametrize("name", NAMES)
def test_an_optimizer_travels_as_text(name):
    optimizer = create(name, param_idx2name={0: "a_weight", 1: "b_bias"}, begin_num_update=3)
    optimizer.set_lr_mult({"a_weight": 0.5})
    twin = restored(described(optimizer))
    assert type(twin) is type(optimizer)
    assert described(twin) == described(optimizer)
    for index in (0, 1, "other"):
        assert (twin._get_lr(index), twin._get_wd(index)) == (optimizer._get_lr(index), optimizer._get_wd(index))


def test_the_rates_of_parameters_travel_without_the_parameters():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.weight.lr_mult, net.bias.wd_mult = 0.25, 0.0
    optimizer = mx.optimizer.SGD(learning_rate=0.5, wd=0.1, param_dict={0: net.weight, 1: net.bias})
    twin = restored(described(optimizer))
    assert [twin._get_lr(0), twin._get_lr(1), twin._get_wd(0), twin._get_wd(1)] == [0.125, 0.5, 0.1, 0.0]
    assert twin.param_dict == {}


def test_random_numbers_go_on_where_they_were():
    mx.random.seed(9)
    text = described(mx.optimizer.SGLD())
    here = mx.random.generator().normal(size=4)
    assert np.array_equal(random_of(text).normal(size=4), here)
    assert random_of(described(mx.optimizer.SGD())) is None


def test_settings_travel_as_text():
    optimizer = mx.optimizer.SGD(learning_rate=0.5)
    text = encoded_settings({"wd": 0.1, "rescale_grad": np.float32(0.5), "lr_mult": {0: 2.0, "w": 3.0}})
    assert text == encoded_settings({"lr_mult": {0: 2.0, "w": 3.0}, "rescale_grad": np.float32(0.5), "wd": 0.1})
    applied_settings(optimizer, text)
    assert (optimizer.wd, optimizer.rescale_grad, optimizer.lr_mult) == (0.1, 0.5, {0: 2.0, "w": 3.0})
    assert type(optimizer.rescale_grad) is np.float32
    for wrong in ('{"unheard_of": 1}', '{"param_dict": 1}', "[1]", "{"):
        refused(SparsekitError, "", applied_settings, optimizer, wrong)
    refused(SparsekitError, "", lambda: encoded_settings({"wd": object()}))


@pytest.mark.parametrize("text", ["", "{}", '{"name": "unheard_of", "settings": {}}', "[]", '{"name": "sgd"}'])
def test_what_describes_no_optimizer_is_refused(text):
    refused(SparsekitError, "cannot be made", restored, text)
