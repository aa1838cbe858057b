"""Hybridized blocks on a GPU replay captured graphs; on a stand-in that does captured work at each launch, and no sooner."""

from __future__ import annotations

import gc

import fake_cupy
import numpy as np
import pytest
from capturing import Graph
from fake_cuda import PinnedPool, pinned

import sparsekit as mx
from sparsekit import autograd, gluon, nd
from sparsekit.base import capture
from sparsekit.base.refusal import Refused
from sparsekit.base.rng import generator
from sparsekit.core import device
from sparsekit.core.cuda_graphs import STEADY, TRIES
from sparsekit.gluon.hybrid import explain
from sparsekit.kernels.gpu import group

GPU = mx.gpu(1)  # not the current device, so that work which was not placed on it shows
pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture(autouse=True)
def no_launches():
    Graph.launches = 0


def network(ctx=GPU, layer=None):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="sigmoid", in_units=3), *([layer] if layer else []), gluon.nn.Dense(2, in_units=4))
    net.initialize(mx.init.Constant(0.2), ctx=ctx)
    net.hybridize()
    return net


def batches(count, ctx=GPU, shape=(5, 3)):
    rng = np.random.default_rng(0)
    return [nd.array(rng.random(shape), ctx=ctx) for _ in range(count)]


def agree(work, rtol=1e-5, atol=1e-6):
    """What a GPU computes is what a CPU computes."""
    for there, here in zip(work(GPU), work(mx.cpu()), strict=True):
        np.testing.assert_allclose(there, here, rtol, atol)


def reasons(net):
    return {(row["pass"], row["op"]): row["reason"] for row in explain(net)}


def test_a_dense_network_is_replayed_with_other_inputs():
    net, here = network(), network(mx.cpu())
    for there, given in zip(batches(5), batches(5, mx.cpu()), strict=True):
        np.testing.assert_allclose(net(there).asnumpy(), here(given).asnumpy(), rtol=1e-6)
    assert Graph.launches == 4  # the first run is a rehearsal
    assert [(row["pass"], row["reason"]) for row in explain(net)] == [("forward", "")] * 3


def test_results_stay_when_the_graph_runs_again():
    net = network()
    made = [net(batch) for batch in batches(4)]
    held = [one.asnumpy() for one in made]
    net(batches(1)[0] * 7)
    for one, before in zip(made, held, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), before)
    assert len({id(one._store) for one in made}) == 4


def trained(ctx, optimizer, steps=6, layer=None):
    mx.random.seed(0)
    net = network(ctx, layer)
    loss = gluon.loss.L2Loss()
    loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    label, losses = nd.ones((5, 2), ctx=ctx), []
    for batch in batches(steps, ctx):
        with autograd.record():
            found = loss(net(batch), label)
        found.backward()
        trainer.step(5)
        losses.append(found.mean().asscalar())
    return net, losses, [parameter.data(ctx).asnumpy() for parameter in net.collect_params().values()]


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "moving averages"])
def test_training_by_graphs_gives_the_weights_of_a_cpu(optimizer):
    (_, losses, weights), (net, found, there) = (
        trained(ctx, "sgd", layer=gluon.nn.BatchNorm(in_channels=4)) if " " in optimizer else trained(ctx, optimizer)
        for ctx in (mx.cpu(), GPU))
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for left, right in zip(there, weights, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-5)
    assert Graph.launches >= 4 * 2
    assert {("forward", ""), ("backward", "")} <= {(row["pass"], row["reason"]) for row in explain(net)}


def test_random_numbers_are_drawn_anew_at_every_run():
    net = network(layer=gluon.nn.Dropout(0.5))
    found = set()
    for _ in range(6):
        with autograd.record():
            out = net(nd.ones((5, 3), ctx=GPU))
        out.backward()
        found.add(out.asnumpy().tobytes())
    assert len(found) == 6
    assert reasons(net)["forward", "Dropout"] == "it draws random numbers"


class Sparse(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(8, 3), grad_stype="row_sparse", init=mx.init.One())

    def hybrid_forward(self, F, x, weight):
        return F.sigmoid(F.relu(F.sparse.dot(x, weight)) * 0.1 + 1)


def csr(stored, seed, ctx=GPU):
    rng = np.random.default_rng(seed)
    indices = np.sort(rng.permutation(8)[:stored])
    return nd.sparse.csr_matrix((rng.random(stored), indices, [0, stored, stored]), shape=(2, 8), ctx=ctx)


def run_sparse(ctx, sizes):
    net = Sparse()
    net.initialize(ctx=ctx)
    net.hybridize()
    made = []
    for seed, stored in enumerate(sizes):
        with autograd.record():
            out = net(csr(stored, seed, ctx))
        out.backward()
        gradient = net.weight.grad(ctx)
        made += [out.asnumpy(), gradient.indices.asnumpy(), gradient.data.asnumpy()]
    return net, made


@pytest.mark.parametrize("sizes", [(3, 3, 3, 3, 3), (3, 3, 5, 2, 4, 3)])
def test_sparse_batches(sizes):
    _, wanted = run_sparse(mx.cpu(), sizes)
    net, found = run_sparse(GPU, sizes)
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)
    said = reasons(net)
    assert Graph.launches
    assert "read back" in said["backward", "dot"]
    if len(set(sizes)) == 1:
        assert said["forward", "dot"] == ""
    else:
        assert "changes from run to run" in said["forward", "dot"]
        assert said["forward", "sigmoid"] == ""


@pytest.mark.parametrize("request_", ["write", "add"])
def test_a_graph_kept_for_a_second_backward_pass(request_):
    def gradients(ctx):
        net = network(ctx)
        net.collect_params().setattr("grad_req", request_)
        for batch in batches(5, ctx):
            with autograd.record():
                out = net(batch).sum()
            out.backward(retain_graph=True)
            out.backward()
        return [parameter.grad(ctx).asnumpy() for parameter in net.collect_params().values()]

    agree(gradients)
    assert Graph.launches


def test_an_operator_that_must_look_at_values_still_raises_its_error():
    net = gluon.nn.HybridLambda(lambda F, x: F.linalg.potrf(F.square(F.relu(x)) * 1.0))
    net.hybridize()
    good = nd.array([[2.0, 0], [0, 2]], ctx=GPU)
    for _ in range(3):
        net(good)
    assert "cuSOLVER" in explain(net)[-1]["reason"]
    assert Graph.launches == 2
    with pytest.raises(mx.SparsekitError, match="potrf"):
        net(nd.zeros((2, 2), ctx=GPU))
    np.testing.assert_allclose(net(good).asnumpy(), [[2, 0], [0, 2]], rtol=1e-6)


def test_large_products_run_by_themselves_as_cupy_refuses_their_library():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(512, in_units=512), gluon.nn.Activation("tanh"), gluon.nn.Activation("relu"))
    net.initialize(mx.init.Constant(0.01), ctx=GPU)
    net.hybridize()
    for batch in batches(4, shape=(32, 512)):
        net(batch)
    assert "cuBLAS" in reasons(net)["forward", "FullyConnected"]
    assert reasons(net)["forward", "Activation"] == "", explain(net)


def test_the_profiler_sees_every_operator():
    net = network()
    data = batches(4)
    for batch in data:
        net(batch)
    before = Graph.launches
    with mx.Profiler() as profile:
        wanted = net(data[0])
    assert before == Graph.launches
    assert len([record for record in profile.records if record["kind"] == "op"]) >= 3
    np.testing.assert_allclose(net(data[0]).asnumpy(), wanted.asnumpy(), rtol=1e-6)
    assert Graph.launches > before


def test_a_setting_turns_graphs_off():
    with mx.config.set(cuda_graphs=False):
        net = network()
        for batch in batches(4):
            net(batch)
    assert Graph.launches == 0
    assert {row["reason"] for row in explain(net)} == {"it has not run yet"}
    assert explain(gluon.nn.Dense(2)) == []


@pytest.mark.parametrize(("work", "said"), [
    (lambda x: x.get(), "capturing"), (lambda x: float(x.sum()), "capturing"), (lambda x: x[x > 1], "mask"),
    (lambda x: x @ x, "cuBLAS"), (lambda x: fake_cupy.MODULE.asarray(np.ones(2)), "ordinary memory"),
    (lambda x: fake_cupy.MODULE.unique(x), "capturing"), (lambda x: generator(), "random"),
])
def test_what_needs_the_host_is_refused(work, said):
    x = fake_cupy.ndarray(np.arange(4.0).reshape(2, 2))
    with pytest.raises(Exception, match=said):
        device.captured(lambda: work(x))
    device.captured(lambda: x + 1).launch()  # and the next capture is as good as ever


def test_the_allocator_of_uploads_is_what_it_was_before_a_capture():
    cuda, own, x = fake_cupy.MODULE.cuda, PinnedPool(), fake_cupy.ndarray(np.ones(2))
    before = pinned.allocator
    try:
        for malloc in (before, own.malloc):
            cuda.set_pinned_memory_allocator(malloc)
            device.captured(lambda: x + 1)
            assert pinned.allocator == malloc
            with pytest.raises(Refused, match="ordinary memory"):
                device.captured(lambda: fake_cupy.MODULE.asarray(np.ones(2)))
            assert pinned.allocator == malloc
        taken = own.taken
        fake_cupy.MODULE.asarray(np.ones(2))
        assert own.taken == taken + 1
        cuda.set_pinned_memory_allocator(None)  # of no pool
        with pytest.raises(Refused, match="not a pool's"):
            device.captured(lambda: x + 1)
    finally:
        cuda.set_pinned_memory_allocator(before)


def test_memory_of_graphs_is_counted_while_they_are_there():
    gc.collect()  # graphs of tests before
    before = device.memory_info(GPU)["graphs"]
    with device.current(GPU):
        x = fake_cupy.ndarray(np.ones(2))
        graph = device.captured(lambda: x + 1)
    assert device.memory_info(GPU)["graphs"] == before + fake_cupy.MODULE.cuda.MemoryPool().total_bytes()
    assert device.memory_info(mx.gpu(0))["graphs"] == 0
    del graph
    gc.collect()
    assert device.memory_info(GPU)["graphs"] == before


@pytest.mark.parametrize(("runs", "replayed"), [(STEADY + 3, True), (3, False)])
def test_parameters_that_move_now_and_then_are_captured_again(runs, replayed):
    net, batch = network(), batches(1)[0]
    parameters = list(net.collect_params().values())
    assert len(parameters) >= TRIES
    for parameter in parameters:
        for _ in range(runs):
            net(batch)
        values = parameter.data()
        with device.current(GPU):
            values._store = values._store.copy()  # in other memory
    for _ in range(3):
        net(batch)
    assert any(row["reason"] == "" for row in explain(net)) == replayed, explain(net)


class Scaled(gluon.HybridBlock):
    """Its gradient at the second input depends on what BatchNorm gave, and has a gradient."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.norm = gluon.nn.BatchNorm(in_channels=4)

    def hybrid_forward(self, F, x, y):
        return F.sin(self.norm(F.exp(x))) * y * y


def test_recorded_gradients_stay_when_the_graph_runs_again():
    def gradients(ctx):
        net, rng, found = Scaled(), np.random.default_rng(0), []
        net.initialize(ctx=ctx)
        net.hybridize()

        def run():
            arrays = [nd.array(rng.random((5, 4)), ctx=ctx) for _ in range(2)]
            for array in arrays:
                array.attach_grad()
            with autograd.record():
                return arrays, net(*arrays)

        for _ in range(6):
            (x, y), made = run()
            with autograd.record():
                slope = autograd.grad(made, y, create_graph=True)[0]
            made.backward()
            run()[1].backward()  # in the memory of the first
            slope.backward()
            found += [slope.asnumpy(), x.grad.asnumpy(), y.grad.asnumpy()]
        return found

    agree(gradients, rtol=1e-4)


def test_results_that_get_no_gradient():
    def gradients(ctx):
        net = gluon.nn.HybridLambda(lambda F, x: F.amp_multicast(F.sin(F.exp(x)), F.cos(F.exp(x * 2)), num_outputs=2))
        net.hybridize(ctx == GPU)
        found = []
        for number, batch in enumerate(batches(12, ctx)):
            batch.attach_grad()
            with autograd.record():
                made = net(batch)
            autograd.backward(list(made) if number < 4 else [made[number % 2]])
            found.append(batch.grad.asnumpy())
        return found

    agree(gradients)


def test_programs_that_send_gradients_to_programs_share_their_memory():
    """Arrays between blocks have gradients that stay, also while later runs use that memory."""
    def gradients(ctx):
        mx.random.seed(1)
        same, loss = gluon.nn.HybridLambda(lambda F, x: F.reshape(x, shape=(-1, 2))), gluon.loss.L2Loss()  # one gives its input
        for block in (same, loss):
            block.hybridize()
        net = network(ctx)
        label, found = nd.ones((5, 2), ctx=ctx), []
        for batch in batches(8, ctx):
            with autograd.record():
                between = net(batch)
                there = same(between)
                made = loss(there, label)
            found += autograd.grad(made, [between, there], retain_graph=True)
            made.backward()
            found += [parameter.grad(ctx).copy() for parameter in net.collect_params().values()]
        return [one.asnumpy() for one in found]

    agree(gradients, rtol=1e-4, atol=1e-7)


class Calling(autograd.Function):
    """The identity, whose backward pass runs a block forward and backward."""

    def __init__(self, block, given):
        super().__init__()
        self.block, self.given = block, given

    def forward(self, x):
        return x

    def backward(self, gradient):
        self.given.attach_grad()
        with autograd.record():
            made = self.block(self.given * 1)  # by the same program as an array between blocks
        made.backward()
        return gradient * self.given.grad.sum()


def test_a_program_that_runs_again_during_a_backward_pass_leaves_the_gradients_that_it_lent():
    def gradients(ctx):
        net, found = network(ctx), []
        square = gluon.nn.HybridLambda(lambda F, x: F.square(F.sin(x) * 3))
        square.hybridize()
        factor = nd.ones((5, 2), ctx=ctx)
        factor.attach_grad()
        for number, batch in enumerate(batches(8, ctx)):
            with autograd.record():
                first = net(batch)
                middle = Calling(square, nd.full((5, 2), number, ctx=ctx))(factor)
                out = square(first) + middle
            out.backward()
            found += [factor.grad.asnumpy(), *[one.grad(ctx).asnumpy() for one in net.collect_params().values()]]
        return found

    agree(gradients, rtol=1e-4)
    assert Graph.launches


class Two(gluon.HybridBlock):
    """Two products with one sparse batch, of whose gradients one is needed before captured work and one behind it."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            for name in ("first", "second"):
                setattr(self, name, self.params.get(name, shape=(8, 3), grad_stype="row_sparse", init=mx.init.One()))

    def hybrid_forward(self, F, x, first, second):
        return F.sigmoid(F.sin(F.sparse.dot(x, first)) * 0.5) * F.sparse.dot(x, second)


def run_two(ctx, sizes=(3, 3, 3, 3, 3, 5, 5, 5, 5)):
    net, found = Two(), []
    net.initialize(ctx=ctx)
    net.hybridize()
    for seed, stored in enumerate(sizes):
        with autograd.record():
            out = net(csr(stored, seed, ctx))
        out.backward()
        found += [part for weight in (net.first, net.second) for part in (weight.grad(ctx).indices, weight.grad(ctx).data)]
    return net, [part.asnumpy() for part in found]


def test_entries_that_graphs_group_ahead_are_those_of_the_batch():
    """And the gradients of earlier steps stay."""
    agree(lambda ctx: run_two(ctx)[1])


def test_work_that_cannot_be_done_ahead_is_done_later(monkeypatch):
    usual, refused = group._group_few, []

    def few(*arguments):
        if capture.state.active:
            refused.append(1)
        capture.refuse("the host groups")
        usual(*arguments)

    monkeypatch.setattr(group, "_group_few", few)
    net, found = run_two(GPU)
    assert refused
    for there, here in zip(found, run_two(mx.cpu())[1], strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-5)
    assert reasons(net)["backward", "the gradient of sigmoid"] == ""
