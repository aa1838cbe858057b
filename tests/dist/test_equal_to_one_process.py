"""Servers make of the pushes of several workers what one process makes of the same gradients, to the bit."""

import itertools

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.optimizer.optimizer import registry

from .simple import equal, full, gradient, one_process, several

NAMES = sorted(set(registry) - {"ccsgd"})
#: Settings that use every term of a step.
SETTINGS = {
    "sgd": {"momentum": 0.9, "wd": 0.1}, "nag": {"momentum": 0.9, "wd": 0.1}, "dcasgd": {"momentum": 0.9, "wd": 0.1},
    "rmsprop": {"centered": True, "wd": 0.1, "clip_weights": 3.0}, "groupadagrad": {},
    "lars": {"momentum": 0.9, "eta": 0.5, "wd": 0.1}, "lbsgd": {"momentum": 0.9, "batch_scale": 2, "wd": 0.1},
}
STEPS = 3


def create(name, multi_precision=False, lazy=None, scheduled=False):
    settings = dict(SETTINGS.get(name, {"wd": 0.1}))
    if lazy is not None and takes_lazy(name):
        settings["lazy_update"] = lazy
    rate = ({"lr_scheduler": mx.lr_scheduler.FactorScheduler(step=1, factor=0.7, base_lr=0.1), "learning_rate": 0.1} if scheduled
            else {"learning_rate": 0.1})
    return mx.optimizer.create(name, multi_precision=multi_precision, clip_gradient=0.8, rescale_grad=0.5, **rate, **settings)


def takes_lazy(name):
    return name not in ("test", "groupadagrad")


def scene(stype, dtype, workers, seed=0, keys=None):
    """Values of some keys, and gradients of each step, key and rank."""
    random = np.random.default_rng(seed)
    shapes = keys or {"w": (1100, 3), 7: (5, 2)}
    values = {key: full(mx.nd.array(random.uniform(0.5, 1.5, shape), dtype=dtype).tostype(stype))
              for key, shape in shapes.items()}
    steps = [{key: [gradient(random, shape, stype if rank or step else "row_sparse", dtype) for rank in range(workers)]
              for key, shape in shapes.items()} for step in range(STEPS)]
    return values, steps


#: Of two that follow each other one has two workers and the other has three, so that each optimizer has both.
CASES = [(name, stype, lazy, half)
         for name, stype, lazy, half in itertools.product(NAMES, ("default", "row_sparse"), (True, False), (False, True))
         if lazy or takes_lazy(name)]


@pytest.mark.parametrize(("name", "stype", "lazy", "half"), CASES,
                         ids=["-".join([name, stype, "lazy" if lazy else "all rows", "float16" if half else "float32"])
                              for name, stype, lazy, half in CASES])
def test_every_optimizer(name, stype, lazy, half):
    workers, shards = ((2, 3), (3, 2))[CASES.index((name, stype, lazy, half)) % 2]
    values, gradients = scene(stype, "float16" if half else "float32", workers, len(name) + workers)
    mx.random.seed(5)
    wanted = one_process(values, gradients, create(name, half, lazy))
    mx.random.seed(5)
    found = several(values, gradients, workers, shards, lambda: create(name, half, lazy))
    for step in range(STEPS):
        assert equal(found[step], wanted[step]), f"{workers} workers, {shards} servers, step {step + 1}"


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", ["sgd", "adam", "nadam", "lars"])
def test_schedules_and_settings_that_travel(name, stype, shards):
    values, gradients = scene(stype, "float32", 2, 11)
    changed = {0: {"rescale_grad": 0.5, "wd": 0.1}, 1: {"rescale_grad": 0.25, "wd": 0.05}, 2: {"rescale_grad": 0.125, "wd": 0.05}}
    wanted = one_process(values, gradients, create(name, scheduled=True), changed)
    found = several(values, gradients, 2, shards, lambda: create(name, scheduled=True), changed, late=True)
    assert all(equal(*pair) for pair in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", ["adam", "sgd", "nadam"])
def test_keys_that_are_pushed_unequally_often_have_the_rates_of_one_process(name):
    """A schedule counts the updates of all keys; servers that hold some of them are told by the clock of a push."""
    values, steps = scene("default", "float32", 1, 4, {"a": (4, 2), "b": (3, 2), "c": (2, 2), "d": (6, 2)})
    random = np.random.default_rng(8)
    gradients = [{key: arrays for key, arrays in one.items() if random.random() < 0.5 or key == "a"} for one in steps * 3]
    wanted = one_process(values, gradients, create(name, scheduled=True))
    found = several(values, gradients, 1, 3, lambda: create(name, scheduled=True))
    assert all(equal(*pair) for pair in zip(found, wanted, strict=True))
