"""Arrays, gradients and training on GPU contexts, on a stand-in that refuses what cupy refuses."""

from __future__ import annotations

import copy
import pickle

import fake_cupy
import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon, nd
from sparsekit.core import device, hooks

GPU = mx.gpu(0)
pytestmark = pytest.mark.usefixtures("stand_in")


def parts(array):
    return [array._store] if array.stype == "default" else [getattr(array._store, name) for name in array._store.components]


def on_gpu(array, number=0):
    assert array.context == mx.gpu(number)
    assert all(isinstance(part, fake_cupy.ndarray) and part.number == number for part in parts(array))
    return array


def csr(ctx=GPU):
    return nd.sparse.csr_matrix(([1.0, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4), ctx=ctx)


def test_gpus_are_listed():
    assert list(mx.test_utils.list_gpus()) == [0, 1]
    assert mx.num_gpus() == mx.context.num_gpus() == 2
    assert mx.context.gpu_memory_info(1) == (3 << 30, 4 << 30)
    assert device.memory_info(GPU) == {"free": 3 << 30, "total": 4 << 30, "used": 1 << 20, "held": 2 << 20, "graphs": 0}
    with pytest.raises(mx.GPUNotFound, match=r"gpu\(2\)"):
        mx.nd.zeros((2,), ctx=mx.gpu(2))
    with pytest.raises(mx.GPUNotFound, match=r"gpu\(7\)"):
        mx.context.gpu_memory_info(7)


@pytest.mark.parametrize("make", [
    lambda: nd.zeros((2, 3), ctx=GPU), lambda: nd.ones((2, 3), ctx=GPU), lambda: nd.full((2,), 3, ctx=GPU),
    lambda: nd.arange(5, ctx=GPU), lambda: nd.eye(3, ctx=GPU), lambda: nd.array([[1, 2]], ctx=GPU),
    lambda: nd.linspace(0, 1, 5, ctx=GPU), lambda: nd.random.uniform(shape=(3, 2), ctx=GPU),
    lambda: nd.random.normal(shape=(3, 2), ctx=GPU), lambda: nd.random.randint(0, 9, (3,), ctx=GPU),
    lambda: nd.sparse.zeros("row_sparse", (4, 2), ctx=GPU), lambda: nd.sparse.zeros("csr", (4, 2), ctx=GPU),
    lambda: nd.zeros((4, 2), ctx=GPU, stype="row_sparse"), csr,
    lambda: nd.sparse.row_sparse_array(([[1, 2]], [3]), shape=(5, 2), ctx=GPU),
    lambda: mx.test_utils.rand_ndarray((5, 4), "csr", ctx=GPU),
    lambda: nd.empty((2,), ctx=GPU), lambda: nd.zeros((2,), ctx=GPU).copy(), lambda: csr().tostype("row_sparse"),
    lambda: csr().copy(), lambda: copy.deepcopy(csr()), lambda: pickle.loads(pickle.dumps(csr())),
])
def test_arrays_are_made_there(make):
    on_gpu(make())


def test_a_with_block_chooses_the_device():
    with mx.gpu(1):
        on_gpu(nd.ones((2,)) + 1, 1)
        assert nd.sparse.zeros("csr", (2, 2)).context == mx.gpu(1)


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_copies_both_ways(stype):
    here = nd.array([[0, 1.5], [0, 0], [2, 0]]).tostype(stype)
    there = on_gpu(here.as_in_context(GPU))
    assert there.as_in_context(GPU) is there
    on_gpu(there.copyto(mx.gpu(1)), 1)
    np.testing.assert_array_equal(there.asnumpy(), here.asnumpy())
    np.testing.assert_array_equal(there.as_in_context(mx.cpu()).asnumpy(), here.asnumpy())
    assert repr(there) == repr(here).replace("cpu(0)", "gpu(0)")
    target = nd.zeros((3, 2))
    there.copyto(target)
    np.testing.assert_array_equal(target.asnumpy(), here.asnumpy())


def test_arrays_on_two_devices_do_not_mix():
    with pytest.raises(mx.SparsekitError, match="different contexts"):
        nd.ones((2,), ctx=GPU) + nd.ones((2,))


def test_indexing_and_assignment():
    x = nd.array(np.arange(12).reshape(3, 4), ctx=GPU)
    np.testing.assert_array_equal(on_gpu(x[1]).asnumpy(), [4, 5, 6, 7])
    np.testing.assert_array_equal(x[:, 1:3].asnumpy(), np.arange(12).reshape(3, 4)[:, 1:3])
    np.testing.assert_array_equal(x[nd.array([2, 0], ctx=GPU)].asnumpy(), np.arange(12).reshape(3, 4)[[2, 0]])
    x[1] = 5
    x[0:1, 2] = nd.array([7.0], ctx=GPU)
    x[[2]] = [[1, 2, 3, 4]]
    np.testing.assert_array_equal(x.asnumpy(), [[0, 1, 7, 3], [5, 5, 5, 5], [1, 2, 3, 4]])
    for bad in (lambda: x[3], lambda: x[[4]], lambda: x.__setitem__([3], 1), lambda: x.__setitem__(nd.array([9], ctx=GPU), 1)):
        with pytest.raises(mx.RowIndexError):
            bad()
    np.testing.assert_array_equal(csr()[1:3].asnumpy(), csr().asnumpy()[1:3])
    assert float(x[2, 3].asscalar()) == 4
    assert bool(x[2, 3] > 3)


def train(ctx, optimizer, hybrid=False, stype="csr"):
    """Weights after some steps of a small network on sparse data and an embedding."""
    mx.random.seed(0)
    rng = np.random.default_rng(0)
    data = nd.array(rng.random((6, 8)) * (rng.random((6, 8)) < 0.3)).tostype(stype).as_in_context(ctx)
    words, label = nd.array(rng.integers(0, 9, (6,)), ctx=ctx), nd.array(rng.random((6, 3)), ctx=ctx)
    weight = gluon.Parameter("weight", shape=(8, 3), grad_stype="row_sparse")
    embedding = gluon.nn.Embedding(9, 3, sparse_grad=True)
    dense = gluon.nn.Dense(3, in_units=3)
    weight.initialize(mx.init.Constant(0.1), ctx=ctx)
    embedding.initialize(mx.init.Constant(0.2), ctx=ctx)
    dense.initialize(mx.init.Constant(0.3), ctx=ctx)
    if hybrid:
        dense.hybridize()
    held = {"weight": weight, **embedding.collect_params(), **dense.collect_params()}
    trainer = gluon.Trainer(held, optimizer, {"learning_rate": 0.1, "wd": 0.01})
    losses = []
    for _ in range(3):
        with autograd.record():
            out = dense(nd.sparse.dot(data, weight.data(ctx)) + embedding(words))
            loss = gluon.loss.L2Loss()(out, label)
        loss.backward()
        trainer.step(6)
        losses.append(loss.mean().asscalar())
    return [parameter.data(ctx) for parameter in held.values()], losses, weight.grad(ctx), embedding.weight.grad(ctx)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "ftrl", "rmsprop", "nag", "lamb"])
def test_training_gives_the_same_weights_as_on_a_cpu(optimizer, hybrid):
    here, losses, *_ = train(mx.cpu(), optimizer, hybrid)
    second = mx.gpu(1)  # not the current device, so that work which was not placed on it shows
    there, losses_there, *gradients = train(second, optimizer, hybrid)
    np.testing.assert_allclose(losses_there, losses, rtol=1e-4)
    for left, right in zip(here, there, strict=True):
        np.testing.assert_allclose(on_gpu(right, 1).asnumpy(), left.asnumpy(), rtol=1e-3, atol=1e-5)
    for gradient in gradients:
        assert on_gpu(gradient, 1).stype == "row_sparse"


def test_sparse_arrays_are_indexed_and_assigned():
    x, values = csr(mx.gpu(1)), csr().asnumpy()
    np.testing.assert_array_equal(on_gpu(x[[2, 0]], 1).asnumpy(), values[[2, 0]])
    np.testing.assert_array_equal(x[[0, 2], [2, 1]].asnumpy(), values[[0, 2], [2, 1]])
    np.testing.assert_array_equal(x[nd.array([2, 0, 1])].asnumpy(), values[[2, 0, 1]])
    x[:] = 0
    assert on_gpu(x, 1).asnumpy().sum() == 0
    x[:] = csr().asscipy()
    np.testing.assert_array_equal(on_gpu(x, 1).asnumpy(), values)
    x[:] = values * 2
    np.testing.assert_array_equal(on_gpu(x, 1).asnumpy(), values * 2)


def test_parameters_of_row_sparse_weights():
    weight = gluon.Parameter("weight", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    weight.initialize(mx.init.Xavier(), ctx=[mx.gpu(0), mx.gpu(1)])
    rows = weight.row_sparse_data(nd.array([0, 3], ctx=mx.gpu(1)))
    assert on_gpu(rows, 1).indices.asnumpy().tolist() == [0, 3]
    weight.set_data(nd.ones((4, 2)))
    weight.zero_grad()
    for number in (0, 1):
        everything = nd.arange(4, ctx=mx.gpu(number))
        np.testing.assert_array_equal(on_gpu(weight.row_sparse_data(everything), number).asnumpy(), np.ones((4, 2)))
        on_gpu(weight.grad(mx.gpu(number)), number)
    for array in (nd.zeros((3, 2), ctx=mx.gpu(1)), nd.sparse.zeros("row_sparse", (3, 2), ctx=mx.gpu(1))):
        mx.init.One()(mx.init.InitDesc("weight"), array)
        np.testing.assert_array_equal(on_gpu(array, 1).asnumpy(), np.ones((3, 2)))


@pytest.mark.parametrize("stype", ["default", "csr"])
def test_symbols_are_bound_there(stype):
    data, label = mx.sym.Variable("data", stype=stype), mx.sym.Variable("label")
    out = mx.sym.LinearRegressionOutput(mx.sym.sparse.dot(data, mx.sym.Variable("weight", stype="default")), label)
    executor = out.simple_bind(mx.gpu(1), data=(3, 4), weight=(4, 2), label=(3, 2))
    executor.arg_dict["weight"][:] = 1
    executor.forward(is_train=True, data=csr(mx.gpu(1)).tostype(stype), label=nd.zeros((3, 2), ctx=mx.gpu(1)))
    executor.backward()
    np.testing.assert_array_equal(on_gpu(executor.outputs[0], 1).asnumpy(), csr().asnumpy().sum(axis=1, keepdims=True) * [1, 1])
    on_gpu(executor.grad_dict["weight"], 1)


def test_a_module_is_fitted_on_two_devices():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 8).astype(np.float32)
    batches = mx.io.NDArrayIter(rng.random((8, 4), np.float32), label, 4, label_name="softmax_label")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    module = mx.mod.Module(net, context=[mx.gpu(0), mx.gpu(1)])
    module.fit(batches, num_epoch=2, optimizer="adam", eval_metric="acc")
    assert module.predict(batches).shape == (8, 2)


def test_a_profile_has_times_of_the_device():
    with mx.Profiler() as profile:
        nd.sparse.dot(csr(), nd.ones((4, 2), ctx=GPU))
    found = profile.table(of="devices").rows
    assert {"op", "context", "calls", "milliseconds", "queuing"} == set(found[0])
    assert all(row["queuing"] > 0 for row in found)
    assert ("dot", "gpu(0)", 1) in {(row["op"], row["context"], row["calls"]) for row in found}
    assert not mx.Profiler().table(of="devices").rows
    assert profile.memory["devices"]["gpu(0)"]["used"] == 1 << 20


def test_a_profile_has_what_travels_to_and_from_the_device_single_numbers_too():
    sparse = csr()
    with mx.Profiler() as profile:
        made = nd.array(np.ones((4, 2), "float32"), ctx=GPU)
        made.asnumpy()
        sparse.asscipy()
        made.copyto(nd.zeros((4, 2), ctx=mx.gpu(1)))
        made.sum().asscalar()
    assert [(one["name"], one["bytes"]) for one in profile.records if one["lane"] == "transfer"] == [
        ("copy numpy -> cpu(0)", 32), ("copy cpu(0) -> gpu(0)", 32), ("copy gpu(0) -> numpy", 32),
        ("copy gpu(0) -> scipy", 12 + 24 + 32), ("copy gpu(0) -> gpu(1)", 32), ("copy gpu(0) -> numpy", 4)]


def test_device_times_that_an_error_kept_from_being_read_are_read_later():
    times, failing = hooks.DeviceTimes(), [True]

    def second():
        if failing[0]:
            raise RuntimeError("the device is lost")
        return 2.0

    for milliseconds in (lambda: 1.0, second, lambda: 3.0):
        times.append(hooks.DeviceWork("dot", "gpu(0)", milliseconds, 0.5))
    with pytest.raises(RuntimeError, match="lost"):
        times.sums()
    assert len(times) == 3
    failing[0] = False
    assert times.sums() == {("dot", "gpu(0)"): (3, 6.0, 1.5)}


def test_device_times_of_a_long_run_are_all_counted(monkeypatch):
    monkeypatch.setattr(hooks.DeviceTimes, "MOST", 8)
    x = nd.ones((2,), ctx=GPU)
    with mx.Profiler() as profile:
        for _ in range(50):
            x + 1
    rows = {row["op"]: row["calls"] for row in profile.table(of="devices").rows}
    assert rows == {"_plus_scalar": 50}
    assert {row["op"]: row["calls"] for row in profile.table(of="devices").rows} == rows


def test_without_a_gpu_the_context_is_refused_and_nothing_breaks(monkeypatch):
    monkeypatch.setattr(fake_cupy.MODULE.cuda.runtime, "getDeviceCount", lambda: 1 // 0)
    assert mx.num_gpus() == 0
    with pytest.raises(mx.GPUNotFound, match=r"mx\.cpu"):
        nd.zeros((2,), ctx=mx.gpu())


def test_the_stand_in_has_no_name_of_cuda_that_cupy_has_not():
    recorded = fake_cupy.RECORD["cuda"]
    for name in ("Device", "Event", "Graph", "MemoryPool", "PinnedMemoryPool", "Stream"):
        offered = {part for part in dir(getattr(fake_cupy.MODULE.cuda, name)) if not part.startswith("_")}
        offered -= {"current", "moments", "stack", "launches"}  # how the stand-in keeps itself
        assert offered <= set(recorded[name]), name
    assert set(vars(fake_cupy.MODULE.cuda)) - {"is_available", "memory"} <= set(recorded)
    assert set(vars(fake_cupy.MODULE.cuda.runtime)) <= set(recorded["runtime"])
