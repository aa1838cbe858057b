"""Operators on a GPU context give what they give on a CPU, and so do their gradients, of which none is added by atomics.

One sample of every operator in every combination of storage types that a row of its own takes, on cupy's stand-in.
"""

from __future__ import annotations

import fake_cupy
import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.storage import CSR, RowSparse, convert, densify, stype_of
from tests.sweeping import OPS, STYPES, combinations, listed, stores

#: Not the current device, so that work which was not placed on it shows.
GPU = mx.gpu(1)

#: Operators that give other values each time: that they run, and where their results lie, is what is checked.
RANDOM = {"Dropout", "_shuffle", "sgld_update", *(
    name for name in OPS if name.startswith(("_random_", "_sample_")) and "_pdf_" not in name)}

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture(autouse=True)
def no_warnings_of_densification():
    with mx.config.set(densify="allow"):
        yield


def cases(op):
    """The first sample's arrays in all storage types that a row takes."""
    arrays, attrs = op.sample()[0]
    complete = {**op.attrs, **attrs}
    for stypes in combinations(arrays):
        if op.find_rule(stypes, complete) is not None:
            yield arrays, attrs, stypes


def mapped(store, function):
    if isinstance(store, CSR):
        return CSR(function(store.data), function(store.indices), function(store.indptr), store.shape, check=False)
    if isinstance(store, RowSparse):
        return RowSparse(function(store.data), function(store.indices), store.shape, check=False)
    return function(store)


def host(part, number=GPU.device_id):
    assert isinstance(part, fake_cupy.ndarray), "a component lies in ordinary memory"
    assert part.number == number, "a component lies on another device"
    return part.get()


def assert_alike(here, there):
    assert (here.stype, here.dtype, here.shape) == (there.stype, there.dtype, there.shape)
    np.testing.assert_allclose(densify(mapped(there._store, host)).astype(float), densify(here._store).astype(float),
                               rtol=1e-4, atol=1e-5)


def run(op, attrs, inputs, ctx, recording):
    """Results, and gradients of the inputs that are floating-point."""
    if not recording:
        return listed(invoke(op.bind(attrs), inputs, None, ctx)), []
    for array in inputs:
        array.attach_grad()
    with autograd.record(train_mode=False):
        made = listed(invoke(op.bind(attrs), inputs, None, ctx))
    autograd.backward([made[0]], [mx.nd.ones(made[0].shape, ctx=ctx, dtype=made[0].dtype)])
    return made, [array.grad for array in inputs]


def differentiable(op, attrs, arrays):
    return (op.gradient_function is not None and not list(op.written(op.bind(attrs).attrs)) and op.bind(attrs).visible == 1
            and bool(arrays) and all(array.dtype.kind == "f" for array in arrays))


@pytest.mark.parametrize("name", sorted(OPS))
def test_an_operator(name):
    op = OPS[name]
    for arrays, attrs, stypes in cases(op):
        recording = differentiable(op, attrs, arrays) and set(stypes) <= {"default"} and name not in RANDOM
        made = stores(op, arrays, attrs, stypes)
        here = tuple(wrap(store, mx.cpu()) for store in stores(op, arrays, attrs, stypes))
        with fake_cupy.Device(1):
            there = tuple(wrap(mapped(store, lambda part: fake_cupy.ndarray(part.copy())), GPU) for store in made)
        fake_cupy.counts["atomic"] = 0
        found, gradients = run(op, attrs, there, GPU, recording)
        assert fake_cupy.counts["atomic"] == 0, "values are added by atomics, in any order"
        for array in found:
            mapped(array._store, host)
        if name not in RANDOM:
            wanted, slopes = run(op, attrs, here, mx.cpu(), recording)
            for left, right in zip((*wanted, *here, *slopes), (*found, *there, *gradients), strict=True):
                assert_alike(left, right)


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in STYPES for target in STYPES])
def test_conversions(source, target):
    array = np.where(np.arange(20).reshape(5, 4) % 3, 0, np.arange(20).reshape(5, 4)).astype(np.float32)
    store = mapped(convert(array, source), lambda part: fake_cupy.ndarray(part.copy()))
    made = wrap(store, mx.gpu(0)).tostype(target)
    assert stype_of(made._store) == target
    np.testing.assert_array_equal(densify(mapped(made._store, lambda part: host(part, 0))), array)
