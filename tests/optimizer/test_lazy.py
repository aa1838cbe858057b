"""Of every optimizer, ``lazy_update=True`` touches the rows alone that a gradient stores, and ``lazy_update=False`` is dense."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.optimizer.optimizer import registry
from sparsekit.optimizer.states import arrays_of
from tests.calls import alike

#: Every optimizer that is registered, also one that is new, but for a second name.
NAMES = sorted(name for name, cls in registry.items() if cls.__name__.lower() == name and cls.__module__.startswith("sparsekit."))
#: Settings; an optimizer leaves out those that it does not have.
OPTIONS = [{}, {"wd": 0.1}, {"momentum": 0.9, "wd": 0.1}, {"centered": True, "clip_weights": 1.2},
           {"clip_gradient": 0.3, "rescale_grad": 0.5}, {"multi_precision": True, "momentum": 0.9, "wd": 0.1}]
ROWS, STORED = 7, [1, 4]


def arguments(name):
    """The arguments of an optimizer's class and its bases."""
    return {one for cls in registry[name].__mro__[:-1] for one in inspect.signature(cls.__init__).parameters}


def settings(name, option, lazy):
    known = arguments(name)
    found = {key: value for key, value in {**option, "lazy_update": lazy, "learning_rate": 0.1}.items() if key in known}
    if name == "groupadagrad":
        found.pop("wd", None)
    return found


def values(seed):
    return np.random.default_rng(seed).uniform(0.5, 1.5, (ROWS, 3))


def weight_of(stype, option):
    dtype = "float16" if option.get("multi_precision") else "float32"
    return mx.nd.array(values(0), dtype=dtype).tostype(stype)


def gradient_of(seed, weight, stored, stype="row_sparse"):
    found = np.zeros((ROWS, 3))
    found[stored] = values(seed)[stored] - 1
    return mx.nd.array(found, dtype=weight.dtype).tostype(stype)


def by_update(optimizer, weight):
    """Steps by the optimizer itself."""
    state = optimizer.create_state_multi_precision(0, weight)

    def step(gradient):
        optimizer.update_multi_precision(0, weight, gradient, state)
    return step, lambda: [weight, *arrays_of(state)]


def by_updater(optimizer, weight):
    updater = mx.optimizer.get_updater(optimizer)
    return lambda gradient: updater(0, gradient, weight), lambda: [weight, *arrays_of(updater.states[0])]


def by_kvstore(optimizer, weight):
    store = mx.kv.create("local")
    store.init("w", weight)
    store.set_optimizer(optimizer)

    def found():
        if weight.stype == "default":
            store.pull("w", out=weight)
        else:
            store.row_sparse_pull("w", out=weight, row_ids=mx.nd.arange(ROWS))
        return [weight, *arrays_of(store._updater.states["w"])]
    return lambda gradient: store.push("w", gradient), found


def by_trainer(optimizer, weight):
    """Enough steps make it a table."""
    parameter = mx.gluon.Parameter("w", shape=weight.shape, dtype=weight.dtype, stype=weight.stype, grad_stype="row_sparse")
    parameter.initialize()
    parameter.set_data(weight)
    trainer = mx.gluon.Trainer([parameter], optimizer)

    def step(gradient):
        held, = parameter._arrays.values()
        rows = gradient.indices
        with mx.autograd.record():
            made = (mx.nd.Embedding(rows, held, input_dim=ROWS, output_dim=3, sparse_grad=True, dtype=weight.dtype)
                    * gradient.data).sum()
        made.backward()
        trainer.step(1)
    return step, lambda: [*parameter._arrays.values(), *arrays_of(trainer._updaters[0].states[0])]


WAYS = {"update": by_update, "updater": by_updater, "kvstore": by_kvstore, "trainer": by_trainer}


def bits(arrays):
    return [array.asnumpy() for array in arrays if array.shape[0] == ROWS]


@pytest.mark.filterwarnings("ignore:Accumulating in float16")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", [name for name in NAMES if "lazy_update" in arguments(name) or name == "groupadagrad"])
def test_lazy_updates_touch_stored_rows_alone(name, stype, way):
    """The weight and each state, to the bit, after steps that have given every row a state."""
    for option in OPTIONS:
        weight = weight_of(stype, option)
        step, arrays = WAYS[way](mx.optimizer.create(name, **settings(name, option, True)), weight)
        for seed in (1, 2):
            step(gradient_of(seed, weight, slice(None)))
        before = bits(arrays())
        for seed in (3, 4, 5):
            step(gradient_of(seed, weight, STORED))
        absent = np.setdiff1d(np.arange(ROWS), STORED)
        after = bits(arrays())
        for ours, wanted in zip(after, before, strict=True):
            assert ours[absent].tobytes() == wanted[absent].tobytes(), option
        assert (after[0][STORED] != before[0][STORED]).any(axis=1).all(), option


@pytest.mark.filterwarnings("ignore:Accumulating in float16")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "sgld"])
def test_without_lazy_updates_it_is_the_dense_run(name, way):
    for option in OPTIONS:
        found = []
        for stype, kind in (("default", "default"), ("default", "row_sparse"), ("row_sparse", "row_sparse")):
            weight = weight_of(stype, option)
            optimizer = mx.optimizer.create(name, **settings(name, option, False))
            step, arrays = WAYS["updater" if kind == "default" else way](optimizer, weight)
            for seed, stored in zip((1, 2, 3, 4), (slice(None), STORED, [0, 2], STORED), strict=True):
                step(gradient_of(seed, weight, stored, kind))
            found.append(bits(arrays()))
        dense, *others = found
        half = option.get("multi_precision")
        for other in others:
            alike(other, dense, rtol=2e-3 if half else 2e-5, atol=2e-3 if half else 1e-5)


@pytest.mark.parametrize("way", ["updater", "kvstore", "trainer"])
@pytest.mark.parametrize("name", [name for name in NAMES if "lazy_update" in arguments(name) and name != "sgld"])
def test_states_that_were_made_for_dense_updates_serve_lazy_ones(name, way):
    """The setting is changed between steps, and states come from a file."""
    weight = weight_of("row_sparse", {})
    optimizer = mx.optimizer.create(name, **settings(name, {"momentum": 0.9, "wd": 0.1}, False))
    step, arrays = WAYS[way](optimizer, weight)
    for seed in (1, 2, 3, 4):
        step(gradient_of(seed, weight, slice(None)))
    optimizer.lazy_update = True
    before = [array.copy() for array in bits(arrays())]
    step(gradient_of(5, weight, STORED))
    absent = np.setdiff1d(np.arange(ROWS), STORED)
    for ours, wanted in zip(bits(arrays()), before, strict=True):
        assert ours[absent].tobytes() == wanted[absent].tobytes()


@pytest.mark.thorough  # what each kernel of numpy does with rows is in kernels/test_numpy_kernels.py
def test_kernels_in_numpy_are_as_lazy():
    if os.environ.get("SPARSEKIT_KERNELS") == "numpy":
        pytest.skip("these are they")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "(alone or dense_run) and updater"],
        env={**os.environ, "SPARSEKIT_KERNELS": "numpy"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
