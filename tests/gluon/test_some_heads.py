"""A hybridized block with several results, of which some get a gradient, or whose gradients are recorded."""

import contextlib
import itertools
import threading
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import StorageFallbackWarning
from sparsekit.core import graph, hooks
from sparsekit.core.op import registry
from sparsekit.core.trace import Tracer
from sparsekit.gluon import nn
from tests.calls import initialized, refused, stack, variable

SOME = [places for count in (1, 2, 3) for places in itertools.combinations(range(3), count)]


class Several(mx.gluon.HybridBlock):
    """Three results, large enough that a program keeps their memory; dividing zero gradients by zero would give nan."""

    def __init__(self) -> None:
        super().__init__(prefix="several_")
        with self.name_scope():
            self.below, self.drop, self.norm = nn.Dense(150, in_units=20), nn.Dropout(0.5), nn.BatchNorm(in_channels=150)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        hidden = self.below(x)
        return [F.tanh(self.norm(self.drop(hidden))).sum(axis=1), F.log(F.relu(hidden)) * 2, 0.5 % (x * 0)]


def block(hybrid: bool) -> Any:
    mx.random.seed(5)
    net = initialized(Several(), mx.init.Uniform(0.3))
    if hybrid:
        net.hybridize()
    return net


def gradients(net: Any, x: Any, places: tuple[int, ...], retain: bool) -> list[Any]:
    found = []
    for parameter in net.collect_params().values():
        parameter.zero_grad()
    x.grad[:] = 0
    with mx.autograd.record():
        made = net(x)
    for _ in range(1 + retain):
        mx.autograd.backward([made[place] for place in places], retain_graph=retain)
        found += [x.grad.asnumpy().copy()]
    return found + [one.grad().asnumpy().copy() for one in net.collect_params().values() if one.grad_req != "null"]


@pytest.mark.parametrize("told", [False, True], ids=["", "profiled"])
@pytest.mark.parametrize("retain", [False, True], ids=["once", "twice"])
def test_no_gradient_flows_from_a_result_that_gets_none(retain: bool, told: bool) -> None:
    x = variable(mx.nd.array(np.random.default_rng(3).standard_normal((120, 20))))
    runs = []
    for hybrid in (False, True):
        net = block(hybrid)
        net(x)
        mx.random.seed(6)
        with mx.profiler.Profiler() if told else contextlib.nullcontext():
            runs.append([gradients(net, x, places, retain) for places in SOME + SOME[::-1]])
    for places, plain, hybrid in zip(SOME + SOME[::-1], *runs, strict=True):
        assert all(map(np.array_equal, plain, hybrid, itertools.repeat(True))), places
        assert np.isnan(plain[0]).any() == (1 in places or 2 in places), places


@pytest.mark.parametrize(("make", "again"), [
    (lambda: nn.Dropout(0.5), True), (lambda: nn.BatchNorm(in_channels=20), False),
    (lambda: nn.HybridLambda(lambda F, x: F.LeakyReLU(x, act_type="rrelu")), True),
    (lambda: nn.HybridLambda(lambda F, x: F.random.uniform(shape=(120, 20)) * x * x), True),
    (lambda: nn.HybridLambda(lambda F, x: F.shuffle(x) * x), False),
], ids=["Dropout", "BatchNorm", "rrelu", "uniform", "shuffle"])
def test_a_recorded_backward_pass_neither_draws_nor_writes_again(make: Any, again: bool) -> None:
    x = variable(mx.nd.array(np.random.default_rng(3).standard_normal((120, 20))))
    runs = []
    for hybrid in (False, True):
        net = initialized(stack(nn.HybridLambda(lambda F, x: F.sin(x) * x), make(), nn.HybridLambda(lambda F, x: F.square(x)),
                                prefix="net_"))
        if hybrid:
            net.hybridize()
        net(x)
        mx.random.seed(7)
        found = []
        for _ in range(2):
            with mx.autograd.record():
                y = net(x)
                first = mx.autograd.grad(y, x, create_graph=True)[0]
                if again:
                    (first * first).sum().backward()
            found += [y.asnumpy(), first.asnumpy(), x.grad.asnumpy().copy()]
        runs.append(found + [one.data().asnumpy() for one in net.collect_params().values()])
    for plain, hybrid in zip(*runs, strict=True):
        np.testing.assert_allclose(hybrid, plain, rtol=1e-6, atol=1e-6)


def test_an_operator_that_draws_says_so() -> None:
    wrong = []
    for op in set(registry.values()):
        mx.random.seed(3)
        before = repr(mx.base.rng.generator().bit_generator.state)
        with mx.autograd.train_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore", StorageFallbackWarning)
            for arrays, attrs in op.sample():
                call = op.bind(attrs)
                mx.core.dispatch.invoke(call, tuple(mx.core.arrays.wrap(np.array(array), mx.cpu()) for array in arrays))
        if repr(mx.base.rng.generator().bit_generator.state) != before and not op.random:
            wrong.append(op.name)
    assert wrong == []


def cast_together(F: Any, x: Any) -> Any:
    """A result of it that gets no gradient needs another array for its gradient, which the others' do not need."""
    left, right = F.amp_multicast(F.sin(F.exp(x)), F.cos(F.exp(x * 2)), num_outputs=2)
    return left * 2, right * 3


@pytest.mark.parametrize("shape", [(3, 4), (150, 150)], ids=["small", "large"])
def test_each_set_of_results_may_come_again(shape: tuple[int, ...]) -> None:
    rng, (plain, hybrid) = np.random.default_rng(3), (nn.HybridLambda(cast_together) for _ in range(2))
    hybrid.hybridize()
    for places in [(0, 1), (0,), (0,), (1,), (0, 1), (1,)]:
        x, found = rng.random(shape, np.float32), []
        for net in (plain, hybrid):
            array = variable(mx.nd.array(x))
            with mx.autograd.record():
                made = net(array)
            mx.autograd.backward([made[place] for place in places])
            found.append(array.grad.asnumpy())
            refused(mx.base.errors.GradientError, "already used", mx.autograd.backward, [made[place] for place in places])
        assert np.array_equal(*found), places


def test_equal_operators_that_are_not_recorded_come_before() -> None:
    def forward(F: Any, x: Any, y: Any) -> Any:
        ones = F.ones((3, 4))
        with mx.autograd.pause():
            before = F.concat(ones, x, y, dim=0)
        return F.concat(ones, x, dim=0) * 2, before

    found = []
    for hybrid in (False, True):
        net = nn.HybridLambda(forward)
        net.hybridize(hybrid)
        x, y = (mx.nd.array(np.full((3, 4), value)) for value in (2, 3))
        x.attach_grad()
        with mx.autograd.record():
            made = net(x, y)
        made[0].backward()
        found.append([*(array.asnumpy() for array in made), x.grad.asnumpy()])
    assert all(map(np.array_equal, *found))


def test_a_program_without_gradients_frees_what_nothing_reads() -> None:
    peaks = []
    x = mx.nd.ones((1024, 64))
    for hybrid in (False, True):
        net = nn.HybridSequential()
        for _ in range(8):
            net.add(nn.BatchNorm(in_channels=64), nn.Dropout(0.5), nn.LeakyReLU(0.1))
        net.initialize()
        net.hybridize(hybrid)
        net(x)
        tracemalloc.start()
        net(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 2 * x.size * 4


def test_links_name_the_operator_whose_gradient_it_is() -> None:
    """Equal calls, one not recorded, for each set of results, beside the events of a plain block."""
    def forward(F: Any, x: Any) -> Any:
        with mx.autograd.pause():
            unseen = F.exp(x)
        first, second = F.exp(x), F.exp(x)
        return F.sin(first) * F.sin(first), F.tanh(second) + unseen, F.concat(first, second, dim=0)

    for places in SOME:
        found = []
        for hybrid in (False, True):
            net = nn.HybridLambda(forward)
            net.hybridize(hybrid)
            x = variable(mx.nd.ones((3, 4)))
            for _ in range(2):
                with mx.profiler.Profiler() as profile:
                    with mx.autograd.record():
                        made = net(x)
                    mx.autograd.backward([made[place] for place in places])
            records = [record for record in profile.records if record["kind"] == "op"]
            numbers = {record["node"]: (number, record["name"]) for number, record in
                       enumerate(one for one in records if one["lane"] == "forward") if record["node"] is not None}
            found.append(sorted((record["name"], *numbers[record["node"]]) for record in records
                                if record["lane"] == "backward" and record["node"] in numbers))
        assert found[0] == found[1]


def test_gradients_of_what_was_not_profiled_are_linked_to_nothing() -> None:
    net = nn.HybridLambda(lambda F, x: F.sin(F.exp(x)))
    net.hybridize()
    x = variable(mx.nd.ones((3, 4)))
    with mx.autograd.record():
        made = net(x)
    with mx.profiler.Profiler() as profile:
        made.backward()
    gradients = [record for record in profile.records if record["kind"] == "op" and record["layer"]]
    assert gradients
    assert all(record["node"] is None for record in gradients)


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_profiler_is_back_when_the_last_of_several_threads_has_traced(first_out: int) -> None:
    """Threads take turns; a race of threads would show the same only by luck."""
    turns = [threading.Event() for _ in range(2)]
    began, ended = ([threading.Event() for _ in range(2)] for _ in range(2))

    def trace(mine: int) -> None:
        with Tracer(mx.cpu(), False).at_work():
            began[mine].set()
            turns[mine].wait(60)
        ended[mine].set()

    with mx.profiler.Profiler():
        sink = hooks.sink
        assert sink is not None
        threads = [threading.Thread(target=trace, args=(mine,), daemon=True) for mine in range(2)]
        for thread, has_begun in zip(threads, began, strict=True):
            thread.start()
            assert has_begun.wait(60)
            assert hooks.sink is None
        for mine in (first_out, 1 - first_out):
            assert hooks.sink is None
            turns[mine].set()
            assert ended[mine].wait(60)
        assert hooks.sink is sink


def test_numbers_of_nodes_rise_whatever_threads_reserve() -> None:
    numbers: list[int] = []
    reserved: list[int] = []

    def reserve() -> None:
        reserved.extend(graph.reserve() for _ in range(1000))

    threads = [threading.Thread(target=reserve) for _ in range(4)]
    for thread in threads:
        thread.start()
    numbers.extend(graph.number() for _ in range(10_000))
    for thread in threads:
        thread.join(60)
    assert all(one < next_one for one, next_one in itertools.pairwise(numbers))
    assert len(reserved) == 4 * 1000
    assert all(next_one - one >= 1 << 20 for one, next_one in itertools.pairwise(sorted(reserved)))
    assert max(numbers) < min(reserved)


def unrecorded(F: Any, x: Any) -> Any:
    with mx.autograd.pause():
        return F.sin(x)


@pytest.mark.parametrize("part", [
    unrecorded, lambda F, x: x.detach(), lambda F, x: F.BlockGrad(F.sin(x)), lambda F, x: F.Dropout(x.detach(), p=0.5),
], ids=["paused", "detached", "blocked", "dropped"])
def test_no_recorded_gradient_flows_through_what_is_not_recorded(part: Any) -> None:
    runs = []
    for hybrid in (False, True):
        net = nn.HybridLambda(lambda F, x: part(F, x) * x * x)
        net.hybridize(hybrid)
        mx.random.seed(1)
        x = variable(mx.nd.array([[0.5, 2.0, 3.0]]))
        with mx.autograd.record():
            slope = mx.autograd.grad(net(x), x, create_graph=True)[0]
        slope.backward()
        runs.append([slope.asnumpy(), x.grad.asnumpy()])
    np.testing.assert_array_equal(*runs)


@pytest.mark.parametrize("layer", [
    lambda F, x: F.Dropout(x, p=0.5), lambda F, x: F.LeakyReLU(x - 1, act_type="rrelu"),
    lambda F, x: F.BatchNorm(x, F.ones(4), F.zeros(4), F.zeros(4), F.ones(4))], ids=["Dropout", "rrelu", "BatchNorm"])
@pytest.mark.parametrize("switch", [mx.autograd.pause, mx.autograd.predict_mode, mx.autograd.train_mode])
@pytest.mark.parametrize("recording", [False, True])
def test_layers_behave_as_the_block_says(layer: Any, switch: Any, recording: bool) -> None:
    def forward(F: Any, x: Any) -> Any:
        with switch():
            inside = layer(F, x * 2)
        return inside, layer(F, x)

    runs = []
    for hybrid in (False, True):
        net = nn.HybridLambda(forward)
        net.hybridize(hybrid)
        mx.random.seed(1)
        x = variable(mx.nd.array(np.linspace(0, 2, 12).reshape(3, 4)))
        with mx.autograd.record() if recording else contextlib.nullcontext():
            made = net(x)
        if recording:
            made[1].backward()
        runs.append([*(array.asnumpy() for array in made), x.grad.asnumpy()])
    for plain, hybrid in zip(*runs, strict=True):
        np.testing.assert_array_equal(hybrid, plain)
