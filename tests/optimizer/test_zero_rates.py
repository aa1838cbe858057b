"""At a learning rate of 0 no gradient moves a weight, with every optimizer; other rates that are none are refused."""

import inspect

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import LearningRateError, ShapeError, SparsekitError
from sparsekit.optimizer.optimizer import registry
from sparsekit.optimizer.states import arrays_of
from tests.calls import differentiated, refused

NAMES = sorted(name for name, cls in registry.items() if cls.__name__.lower() == name and cls.__module__.startswith("sparsekit.")
               and name != "test")  # which takes no rate
OPTIONS = [{}, {"wd": 0.1, "clip_weights": 0.7}, {"momentum": 0.9, "wd": 0.1, "centered": True},
           {"multi_precision": True, "momentum": 0.9, "wd": 0.1}]
KINDS = [("default", "default", True), ("default", "row_sparse", True), ("default", "row_sparse", False),
         ("row_sparse", "row_sparse", True), ("row_sparse", "row_sparse", False)]
#: How a rate comes to be 0, by what is done to an optimizer, and undone.
WAYS = {
    "learning_rate": (lambda optimizer: optimizer.set_learning_rate(0.0), lambda optimizer: optimizer.set_learning_rate(0.1)),
    "whole number": (lambda optimizer: optimizer.set_learning_rate(0), lambda optimizer: optimizer.set_learning_rate(0.1)),
    "lr_mult": (lambda optimizer: optimizer.set_lr_mult({0: 0.0}), lambda optimizer: optimizer.set_lr_mult({})),
    "underflow": (lambda optimizer: optimizer.set_learning_rate(1e-60), lambda optimizer: optimizer.set_learning_rate(0.1)),
    "schedule": (lambda optimizer: ended(optimizer), lambda optimizer: setattr(optimizer, "lr_scheduler", None)),
}


def ended(optimizer):
    """Give an optimizer a schedule that is at its end."""
    optimizer.num_update, optimizer.lr_scheduler = 1, mx.lr_scheduler.PolyScheduler(1, base_lr=0.1)


def settings(name, option, lazy):
    known = {one for cls in registry[name].__mro__[:-1] for one in inspect.signature(cls.__init__).parameters}
    found = {key: value for key, value in {**option, "lazy_update": lazy, "learning_rate": 0.1}.items() if key in known}
    return {key: value for key, value in found.items() if name != "groupadagrad" or key != "wd"}


def coasts(optimizer):
    """Whether an optimizer has a velocity, which moves a weight on without a gradient."""
    return bool(getattr(optimizer, "momentum", 0) and not isinstance(optimizer, mx.optimizer.Signum)) or (
        getattr(optimizer, "centered", False))


@pytest.mark.parametrize("name", ["sgd", "nag", "dcasgd", "rmsprop"])
def test_momentum_that_is_left_moves_a_weight_on(name):
    """As the formulas of MXNet say: ``mom = momentum * mom; weight += mom``."""
    optimizer = mx.optimizer.create(name, **settings(name, OPTIONS[2], True))
    updater, held = mx.optimizer.get_updater(optimizer), mx.nd.ones((5, 3))
    for number in range(2):
        updater(0, gradient(number, "float32", "default"), held)
    velocity = [*arrays_of(updater.states[0])][0 if name == "dcasgd" else -1].asnumpy()
    before = held.asnumpy()
    optimizer.set_learning_rate(0.0)
    updater(0, gradient(2, "float32", "default"), held)
    assert np.allclose(held.asnumpy() - before, velocity * (0.81 if name == "nag" else 0.9), atol=1e-6)
    assert np.abs(velocity).max() > 1e-3


def gradient(number, dtype, stype):
    values = np.random.default_rng(number).normal(size=(5, 3))
    values[[1, 3]] = 0
    return mx.nd.array(values, dtype=dtype).tostype(stype)


@pytest.mark.filterwarnings("ignore:Accumulating in float16")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("begin", [0, 2], ids=["at once", "after some steps"])
@pytest.mark.parametrize("name", NAMES)
def test_a_weight_stays_as_it_is(name, begin, way):
    """Unless momentum is left or a bound says otherwise; it goes on with finite numbers, in the rows of the gradients."""
    stop, go_on = WAYS[way]
    for option in OPTIONS:
        for stype, kind, lazy in KINDS if way == "learning_rate" else KINDS[:1]:  # a rate is 0 however it came to be
            dtype = "float16" if option.get("multi_precision") else "float32"
            mx.random.seed(1)
            optimizer = mx.optimizer.create(name, **settings(name, option, lazy))
            updater = mx.optimizer.get_updater(optimizer)
            held = mx.nd.array(np.random.default_rng(9).normal(size=(5, 3)), dtype=dtype).tostype(stype)
            for number in range(begin):
                updater(0, gradient(number, dtype, kind), held)
            before = held.asnumpy()
            stop(optimizer)
            for number in range(3):
                updater(0, gradient(number + 10, dtype, kind), held)
                if not (begin and coasts(optimizer)) and not getattr(optimizer, "clip_weights", None):
                    assert held.asnumpy().tobytes() == before.tobytes(), (option, stype, kind, lazy)
                assert np.isfinite(held.asnumpy()).all(), (option, stype, kind, lazy)
                assert all(np.isfinite(array.asnumpy()).all() for array in arrays_of(updater.states[0])), (option, stype, kind)
            go_on(optimizer)
            for number in range(3):
                updater(0, gradient(number + 20, dtype, kind), held)
            assert np.isfinite(held.asnumpy()).all(), (option, stype, kind, lazy)
            assert (held.asnumpy() != before)[[0, 2, 4]].any(), (option, stype, kind, lazy)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("lars", "sgld")])
def test_the_state_goes_on_as_the_formula_says_or_stays(name):
    """A step at a rate of 0 leaves what a step at a tiny rate does, or nothing."""
    found = []
    for rate in (1e-12, 0.0, None):
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings(name, {"wd": 0.1}, False)))
        held = mx.nd.array(np.random.default_rng(9).normal(size=(5, 3)))
        for number in range(3):
            updater(0, gradient(number, "float32", "default"), held)
        if rate is not None:
            updater.optimizer.set_learning_rate(rate)
            updater(0, gradient(7, "float32", "default"), held)
        found.append([array.asnumpy() for array in arrays_of(updater.states[0])])
    tiny, zero, before = found
    went_on = all(np.allclose(one, other, rtol=1e-5, atol=1e-6) for one, other in zip(zero, tiny, strict=True))
    stayed = all(one.tobytes() == other.tobytes() for one, other in zip(zero, before, strict=True))
    assert stayed if name in ("ftrl", "ftml", "adadelta") else went_on


@pytest.mark.parametrize("name", ["ftrl_update", "ftml_update"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_operators_that_divide_by_the_rate_change_nothing_without_one(name, stype):
    held = [mx.nd.ones((3, 2)) * (number + 1) for number in range(5 if name == "ftml_update" else 4)]
    held[1] = held[1].tostype(stype)
    before = [array.asnumpy() for array in held]
    made = getattr(mx.nd, name)(*held, out=held[0], lr=0.0, **({"t": 2} if name == "ftml_update" else {}))
    assert made is held[0]
    for array, wanted in zip(held, before, strict=True):
        assert array.asnumpy().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("rate", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_a_rate_that_is_no_number_is_refused_before_anything_changes(name, rate):
    parameters = [mx.gluon.Parameter(f"p{number}_weight", shape=(3, 2)) for number in range(2)]
    for parameter in parameters:
        parameter.initialize()
    trainer = mx.gluon.Trainer(parameters, name, settings(name, {}, True))

    def step():
        differentiated(lambda: sum((parameter.data() ** 2).sum() for parameter in parameters))
        trainer.step(1)

    for begin in (0, 4):
        for _ in range(begin):
            step()
        before = [parameter.data().asnumpy() for parameter in parameters]
        parameters[1].lr_mult = rate
        refused(LearningRateError, "learning rate of weight 1 is", step)
        assert [parameter.data().asnumpy().tobytes() for parameter in parameters] == [one.tobytes() for one in before]
        parameters[1].lr_mult = 1.0


def test_an_error_of_one_weight_leaves_all_as_they_are():
    """A shape that an optimizer does not take, and a decay that it does not have."""
    def trained(shapes, change):
        parameters = [mx.gluon.Parameter(f"p{number}_weight", shape=shape) for number, shape in enumerate(shapes)]
        for parameter in parameters:
            parameter.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(parameters, "groupadagrad", {"wd": 0.0})
        change(trainer.optimizer, parameters)
        differentiated(lambda: sum((parameter.data() ** 2).sum() for parameter in parameters))
        return trainer, parameters

    def decayed(optimizer, parameters):
        optimizer.wd, parameters[0].wd_mult = 0.1, 0.0

    for shapes, change, error in (([(3, 2), (3,)], lambda *_: None, ShapeError), ([(3, 2), (3, 2)], decayed, SparsekitError)):
        trainer, parameters = trained(shapes, change)
        refused(error, "GroupAdaGrad", trainer.step, 1)
        assert all((parameter.data().asnumpy() == 1).all() for parameter in parameters)
    updater = mx.optimizer.get_updater(mx.optimizer.GroupAdaGrad())
    weights = [mx.nd.ones((3, 2)), mx.nd.ones((3,))]
    refused(ShapeError, "GroupAdaGrad", updater, [0, 1], [mx.nd.ones((3, 2)), mx.nd.ones((3,))], weights)
    assert all((one.asnumpy() == 1).all() for one in weights)


def test_langevin_noise_has_no_negative_rate():
    with pytest.raises(LearningRateError, match="root"):
        mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=-0.1))(0, mx.nd.ones((3, 2)), mx.nd.ones((3, 2)))
