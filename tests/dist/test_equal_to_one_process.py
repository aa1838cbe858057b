"""Servers make of the pushes of several workers what one process makes of the same gradients, to the bit."""

import itertools

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist.messages import Pull, Request
from sparsekit.dist.shard import Shard
from sparsekit.optimizer.optimizer import registry
from sparsekit.optimizer.states import described, encoded_settings

from .simple import Keys, equal, full, gradient, one_process, several

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


CASES = [(name, stype, lazy, half)
         for name, stype, lazy, half in itertools.product(NAMES, ("default", "row_sparse"), (True, False), (False, True))
         if lazy or takes_lazy(name)]


@pytest.mark.parametrize(("name", "stype", "lazy", "half"), CASES,
                         ids=["-".join([name, stype, "lazy" if lazy else "all rows", "float16" if half else "float32"])
                              for name, stype, lazy, half in CASES])
def test_every_optimizer(name, stype, lazy, half):
    for workers, shards in ((2, 3), (3, 2)):
        values, gradients = scene(stype, "float16" if half else "float32", workers, len(name) + workers)
        mx.random.seed(5)
        wanted = one_process(values, gradients, create(name, half, lazy))
        mx.random.seed(5)
        optimizer = create(name, half, lazy)
        found = several(lambda index, shards=shards, workers=workers: Shard(None, index, shards, workers),
                        Keys(values, shards, optimizer), gradients, workers, optimizer,
                        order=lambda step, workers=workers: np.random.default_rng(step).permutation(workers))
        for step in range(STEPS):
            assert equal(found[step], wanted[step]), f"{workers} workers, {shards} servers, step {step + 1}"


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", ["sgd", "adam", "nadam", "lars"])
def test_schedules_and_settings_that_travel(name, stype, shards):
    values, gradients = scene(stype, "float32", 2, 11)
    changed = {1: {"rescale_grad": 0.25, "wd": 0.05}, 2: {"rescale_grad": 0.125, "wd": 0.05}}
    wanted = one_process(values, gradients, create(name, scheduled=True), changed)
    optimizer = create(name, scheduled=True)
    texts = {step: encoded_settings(one) for step, one in {0: {"rescale_grad": 0.5, "wd": 0.1}, **changed}.items()}
    found = several(lambda index: Shard(None, index, shards, 2), Keys(values, shards, optimizer), gradients, 2, optimizer, texts,
                    lambda step: [1, 0] if step % 2 else [0, 1])
    assert all(equal(*pair) for pair in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", ["adam", "sgd", "nadam"])
def test_keys_that_are_pushed_unequally_often_have_the_rates_of_one_process(name):
    """A schedule counts the updates of all keys; servers that hold some of them are told by the clock of a push."""
    values, steps = scene("default", "float32", 1, 4, {"a": (4, 2), "b": (3, 2), "c": (2, 2), "d": (6, 2)})
    random = np.random.default_rng(8)
    gradients = [{key: arrays for key, arrays in one.items() if random.random() < 0.5 or key == "a"} for one in steps * 3]
    wanted = one_process(values, gradients, create(name, scheduled=True))
    optimizer = create(name, scheduled=True)
    keys = Keys(values, 3, optimizer)
    shards = [Shard(None, index, 3, 1) for index in range(3)]
    keys.init(shards)
    for shard in shards:
        shard.optimizer(0, 0, 1, described(optimizer))
    made, versions = 0, dict.fromkeys(values, 0)
    for step, pushed in enumerate(gradients):
        for key in pushed:
            versions[key] += 1
            for index in keys.partitions[key].holders:
                shards[index].exchange(Request(0, 0, 0, keys.pushes({key: pushed[key]}, 0, versions[key], index, made)))
            made = max(made, versions[key])
        found = {}
        for key in values:
            index = keys.partitions[key].holders[0]
            found[key] = shards[index].exchange(Request(0, 0, 0, (), (Pull(key, versions[key]),))).values[0]
        assert equal(found, wanted[step])


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam", "ftrl", "groupadagrad", "lamb", "signum"])
def test_lazy_steps_copy_the_rows_they_touch_alone(name):
    """The undo step of a large row_sparse key is as small as the push."""
    values, _ = scene("row_sparse", "float32", 1, 0, {"w": (20_000, 4)})
    optimizer = create(name, lazy=True)
    keys = Keys(values, 1, optimizer)
    shard = Shard(None, 0, 1, 1)
    keys.init([shard])
    shard.optimizer(0, 0, 1, described(optimizer))
    array = gradient(np.random.default_rng(0), (20_000, 4), "row_sparse", rows=np.arange(0, 1000, 10))
    shard.exchange(Request(0, 0, 0, keys.pushes({"w": [array]}, 0, 1, 0)))
    assert shard.keys["w"].undo.old.shape == (100, 4)
