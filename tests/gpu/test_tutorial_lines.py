"""What MXNet's tutorials say of GPUs, as they say it: on the stand-in, and on a machine without a GPU."""

from __future__ import annotations

import fake_cupy
import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon, nd


def chosen():
    return mx.gpu() if mx.test_utils.list_gpus() else mx.cpu()


def batch():
    """Ten rows of a million columns, each with ten values."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, 100_000, (10, 10)) + np.arange(10) * 100_000).reshape(-1)
    return nd.sparse.csr_matrix((rng.random(100, np.float32), indices, np.arange(0, 101, 10)), shape=(10, 1_000_000))


def on_ctx(data, ctx):
    data_on_ctx = data.as_in_context(ctx)
    data_on_ctx.wait_to_read()
    return data_on_ctx


def test_the_gluon_tutorial_moves_a_sparse_batch_to_the_gpu(stand_in):
    ctx, data = chosen(), batch()
    assert ctx == mx.gpu(0)
    there = on_ctx(data, ctx)
    assert (there.context, there.stype) == (ctx, "csr")
    assert there.nbytes == data.nbytes < 2000
    dense = data.tostype("default")
    assert dense.nbytes == 40_000_000
    np.testing.assert_array_equal(on_ctx(dense, ctx)[3].asnumpy(), dense[3].asnumpy())


def test_the_gluon_tutorial_falls_back_to_the_cpu():
    if mx.num_gpus():
        pytest.skip("there is a GPU here")
    ctx, data = chosen(), batch()
    assert ctx == mx.cpu()
    assert on_ctx(data, ctx) is data


def test_the_row_sparse_tutorial_makes_zeros_on_the_gpu(stand_in):
    gpu_device = mx.gpu()
    a = mx.nd.sparse.zeros("row_sparse", (100, 100), ctx=gpu_device)
    assert repr(a).endswith("<RowSparseNDArray 100x100 @gpu(0)>")
    assert (a.stype, a.context, a.asnumpy().sum()) == ("row_sparse", gpu_device, 0)


@pytest.mark.parametrize("make", [
    lambda: mx.nd.sparse.zeros("row_sparse", (100, 100), ctx=mx.gpu()), lambda: batch().as_in_context(mx.gpu()),
    lambda: nd.ones((2,)).copyto(mx.gpu(1)), lambda: gluon.nn.Dense(2, in_units=2).initialize(ctx=mx.gpu()),
])
def test_without_a_gpu_the_error_says_what_to_do(make):
    if mx.num_gpus():
        pytest.skip("there is a GPU here")
    with pytest.raises(mx.GPUNotFound) as caught:
        make()
    assert "mx.cpu()" in str(caught.value)
    assert "cupy" in str(caught.value)


def steps(optimizer, stand_in_counts, hybrid):
    """Train an embedding and a sparse layer, and give what a step after the first ones waits for."""
    ctx = mx.gpu(1)
    embedding = gluon.nn.Embedding(50, 4, sparse_grad=True)
    layer = gluon.Parameter("weight", shape=(60, 4), grad_stype="row_sparse")
    embedding.initialize(ctx=ctx)
    layer.initialize(ctx=ctx)
    out = gluon.nn.Dense(1, in_units=4)
    out.initialize(ctx=ctx)
    if hybrid:
        embedding.hybridize()
        out.hybridize()
    trainer = gluon.Trainer({"weight": layer, **embedding.collect_params(), **out.collect_params()}, optimizer)
    rng = np.random.default_rng(0)
    words, label = nd.array(rng.integers(0, 50, (6,)), ctx=ctx), nd.ones((6, 1), ctx=ctx)
    x = nd.array(rng.random((6, 60)) * (rng.random((6, 60)) < 0.1), ctx=mx.cpu()).tostype("csr").as_in_context(ctx)
    loss = gluon.loss.L2Loss()
    for _ in range(4):
        for name in stand_in_counts:
            stand_in_counts[name] = 0
        with autograd.record():
            found = loss(out(embedding(words) + nd.sparse.dot(x, layer.data(ctx))), label)
        found.backward()
        trainer.step(6)
    return dict(stand_in_counts)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "ftrl"])
def test_a_step_with_row_sparse_gradients_waits_for_two_sizes_and_nothing_else(stand_in, optimizer, hybrid):
    found = steps(optimizer, fake_cupy.counts, hybrid)
    assert found["get"] == found["atomic"] == 0
    assert found["size"] + found["synchronize"] == 2  # how many columns of the batch, and how many words, are distinct
