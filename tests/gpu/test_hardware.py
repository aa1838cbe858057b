"""The same checks on a real GPU, where there is one: every row of storage types, training, graphs and the profiler.

Without one a few of them run on the stand-in, which shows that the checks themselves work and nothing about hardware.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_contexts import train
from test_graphs import run_sparse, trained
from test_rows import TOLERANCE, typed, ways
from test_sweep import OPS, RANDOM, listed, stores

import sparsekit as mx
from sparsekit import nd
from sparsekit.core.dispatch import invoke, wrap
from sparsekit.gluon.hybrid import explain

REAL = mx.num_gpus() > 0
NAMES = sorted(OPS) if REAL else sorted(OPS)[::25]
TYPES = [("float32", "int64"), ("float32", "int32"), ("float64", "int32"), ("float16", "int64")][: None if REAL else 1]


@pytest.fixture
def gpu(request):
    """The context of the GPU that is here, or of the stand-in's."""
    if not REAL:
        request.getfixturevalue("stand_in")
    with mx.config.set(densify="allow"):
        yield mx.gpu(0)


@pytest.mark.parametrize(("value", "index"), TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_row_gives_what_a_cpu_gives(gpu, name, value, index):
    op, tolerance = OPS[name], {**TOLERANCE, "float32": 1e-4}[value]
    for arrays, attrs, stypes in ways(op).values():
        here = tuple(wrap(typed(store, value, index), mx.cpu()) for store in stores(op, arrays, attrs, stypes))
        there, call = tuple(array.as_in_context(gpu) for array in here), op.bind(attrs)
        try:
            wanted = listed(invoke(call, here, None, mx.cpu()))
        except mx.SparsekitError as error:
            with pytest.raises(type(error)):
                invoke(call, there, None, gpu)
            continue
        found = listed(invoke(call, there, None, gpu))
        for left, right in zip((*wanted, *here), (*found, *there), strict=True):
            assert (left.stype, left.dtype, left.shape, right.context) == (right.stype, right.dtype, right.shape, gpu)
            if name not in RANDOM:
                np.testing.assert_allclose(right.asnumpy().astype(float), left.asnumpy().astype(float), tolerance, tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_gives_the_same_bits_twice(gpu, name):
    op = OPS[name]
    if name in RANDOM:
        return
    for arrays, attrs, stypes in ways(op).values():
        made = []
        for _ in range(2):
            given = tuple(wrap(store, mx.cpu()).as_in_context(gpu) for store in stores(op, arrays, attrs, stypes))
            made.append([array.asnumpy().tobytes() for array in listed(invoke(op.bind(attrs), given, None, gpu))])
        assert made[0] == made[1]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "ftrl"])
def test_training_gives_the_weights_of_a_cpu(gpu, optimizer, hybrid):
    here, losses, *_ = train(mx.cpu(), optimizer, hybrid)
    there, found, *gradients = train(gpu, optimizer, hybrid)
    np.testing.assert_allclose(found, losses, rtol=1e-3)
    for left, right in zip(here, there, strict=True):
        np.testing.assert_allclose(right.asnumpy(), left.asnumpy(), rtol=2e-3, atol=1e-5)
    assert all(gradient.stype == "row_sparse" for gradient in gradients)


def test_captured_graphs_give_the_weights_of_a_cpu(gpu):
    _, losses, weights = trained(mx.cpu(), "adam")
    net, found, there = trained(gpu, "adam")
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for left, right in zip(there, weights, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-5)
    assert any(row["reason"] == "" for row in explain(net)), explain(net)


@pytest.mark.parametrize("sizes", [(3, 3, 3, 3), (3, 3, 5, 2, 4, 3)])
def test_captured_graphs_with_sparse_batches(gpu, sizes):
    net, found = run_sparse(gpu, sizes)
    for left, right in zip(found, run_sparse(mx.cpu(), sizes)[1], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5)
    assert any(row["reason"] == "" for row in explain(net)), explain(net)


def test_the_profiler_has_times_and_memory_of_the_device(gpu):
    x = nd.ones((64, 64), ctx=gpu)
    with mx.Profiler() as profile:
        nd.dot(x, x).wait_to_read()
    assert any(row["op"] == "dot" and row["milliseconds"] > 0 for row in profile.device_times())
    assert profile.memory["devices"][str(gpu)]["held"] >= profile.memory["devices"][str(gpu)]["used"] > 0
