"""A hybridized block gives what it gives as it is written: values, gradients, storage types, events."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import GradientError, HybridizeWarning, SparsekitError, UnknownNameError
from sparsekit.core.trace import TracingError
from sparsekit.gluon import nn
from tests.calls import initialized, refused, stack, variable


def dense_net() -> Any:
    net = stack(nn.Dense(300, activation="relu"), nn.BatchNorm(), nn.Dense(300, activation="tanh"), nn.LayerNorm(), nn.Dense(1))
    return net


def batch(seed: int = 0, sparse: bool = False, rows: int = 64) -> Any:
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, 50)).astype(np.float32)
    values[random.random((rows, 50)) < 0.9] = 0
    return mx.nd.array(values).tostype("csr") if sparse else mx.nd.array(values)


def test_two_graphs_live_at_once() -> None:
    net = initialized(dense_net())
    first, second = batch(1), batch(2)
    expected = []
    for data in (first, second):
        data.attach_grad()
        with mx.autograd.record():
            out = net(data) * net(data).sum()
        out.backward()
        expected.append(data.grad.asnumpy())
    net.hybridize()
    with mx.autograd.record():
        outs = [net(data) * net(data).sum() for data in (first, second)]
    for data, out, gradient in zip((first, second), outs, expected, strict=True):
        out.backward()
        np.testing.assert_allclose(data.grad.asnumpy(), gradient, rtol=1e-5, atol=1e-6)


class Asks(mx.gluon.HybridBlock):
    """Looks at values."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * 2 if float(x.sum().asscalar()) > 0 else x


class Keeps(mx.gluon.HybridBlock):
    """Keeps what it must not keep."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        self.kept = x * 2
        return self.kept + 1


def test_a_block_that_asks_for_values_runs_as_it_is_written() -> None:
    block = Asks()
    block.hybridize()

    def run() -> list[float]:
        return [block(mx.nd.array([value])).asscalar() for value in (1, -1, 2, -3)]

    with pytest.warns(HybridizeWarning, match=r"asks\d+ .* as it is written.*test_hybridize\.py:\d+: .* for the values") as told:
        assert run() == [2, -1, 4, -3]
    assert len(told) == 1
    assert told[0].filename == __file__


class Reads(mx.gluon.HybridBlock):
    """Reads the values of an array in each of the ways that give Python something to compute with."""

    def __init__(self, way: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.way, self.outside = way, mx.nd.array([2.0])
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(1,), init="ones")

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return x * self.way(self, x)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "float": lambda block, x: float(x), "int": lambda block, x: int(x), "bool": lambda block, x: 3 if x > 1 else 4,
    "asnumpy": lambda block, x: x.asnumpy()[0], "asscalar": lambda block, x: x.asscalar(),
    "tolist": lambda block, x: x.tolist()[0], "numpy": lambda block, x: np.asarray(x)[0],
    "format": lambda block, x: float(f"{float(x):.1f}"), "iterated": lambda block, x: sum(float(one) for one in x),
    "caught": lambda block, x: caught(x), "hasattr": lambda block, x: 5 if hasattr(x.tostype("csr"), "nope") else 6,
    "an array of its own": lambda block, x: block.outside.asscalar(),
    "a parameter of its own": lambda block, x: block.weight.data().asscalar(),
    "shape that depends on values": lambda block, x: mx.nd.contrib.boolean_mask(x, x > 1).size + 1,
}


def caught(x: Any) -> float:
    try:
        return float(x)
    except Exception:
        return -1.0


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.HybridizeWarning")
@pytest.mark.parametrize("way", WAYS)
def test_values_that_python_reads_are_never_those_of_the_trace(way: str) -> None:
    block = initialized(Reads(WAYS[way]))
    for hybrid in (False, True):
        block.hybridize(hybrid)
        results = []
        for value in (0, 1, 2, 3):
            block.outside[:] = value + 1
            block.weight.set_data(mx.nd.array([value + 2]))
            x = mx.nd.array([value])
            results.append(block(x.reshape((1, 1)) if way == "hasattr" else x).asnumpy().tolist())
        if not hybrid:
            expected = results
    assert results == expected


class Flow(mx.gluon.HybridBlock):
    """A loop over entries, a loop with a condition, and a branch, which depend on values."""

    def hybrid_forward(self, F: Any, x: Any, count: Any) -> Any:
        first = F.reshape(F.slice_axis(x, axis=0, begin=0, end=1), shape=(2,))
        steps, state = F.contrib.foreach(lambda row, total: (row * total, total + row), x, first)
        loops, (looped, _) = F.contrib.while_loop(lambda total, count: count < 2, lambda total, count: (
            [total * 2], [total * total, count + 1]), [state, count], max_iterations=2)
        return F.contrib.cond(F.sum(looped) > 300, lambda: loops[0] * 2, lambda: F.slice_axis(
            F.concat(steps, x, dim=0), axis=0, begin=1, end=3)), state


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("hybrid", [False, True])
def test_control_flow_is_what_mxnet_computes(hybrid: bool) -> None:
    """The numbers are those of MXNet 1.9.1 without hybridize(); with it, one of its gradients is memory never written."""
    block, found = Flow(), []
    if hybrid:
        block.hybridize()
    for count in (1, 0):
        x = variable(mx.nd.array([[1, 2], [3, 1], [2, 2]]))
        with mx.autograd.record():
            out, state = block(x, mx.nd.array([count]))
            total = (out * out).sum() + state.sum()
        total.backward()
        found.append([out.asnumpy().tolist(), x.grad.asnumpy().tolist()])
    assert found == [[[[6, 4], [10, 10]], [[154, 98], [65, 73], [101, 101]]],
                     [[[28, 28], [196, 196]], [[44354, 44354], [22177, 22177], [22177, 22177]]]]


class Prints(mx.gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any, other: Any) -> Any:
        print(x, f"{other}", repr([x * 2]))
        return F.dot(other, x)


def test_printing_prints_once_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    block = Prints()
    block.hybridize()
    for _ in range(3):
        block(mx.nd.ones((3, 2)), mx.nd.ones((2, 3)).tostype("csr"))
    assert capsys.readouterr().out == "<NDArray 3x2 @trace(0)> \n<CSRNDArray 2x3 @trace(0)> [<NDArray 3x2 @trace(0)>]\n"


def test_a_traced_array_that_is_kept_is_a_named_error() -> None:
    block = Keeps()
    block.hybridize()
    block(mx.nd.ones((2,)))
    refused(TracingError, "", lambda: block.kept + 1)
    refused(TracingError, "", block.kept.asnumpy)


def test_bad_arguments() -> None:
    net = nn.Dense(2)
    refused(UnknownNameError, "statik_alloc", net.hybridize, statik_alloc=True)
    net.hybridize(static_alloc=True, static_shape=True)
    net.initialize()
    refused(SparsekitError, "", net, {"data": 1})


def test_memory_of_a_graph_is_freed_with_its_last_result() -> None:
    net = initialized(dense_net(), hybrid=True)
    data = variable(batch())
    gc.collect(0)  # what is made from here on is the first generation
    gc.disable()
    try:
        with mx.autograd.record():
            out = net(data)
        node = out._entry[0]
        del out
        import weakref

        watched = weakref.ref(node)
        del node
        assert watched() is None
        # What the tracer keeps of a question it refused would keep the frames of this call, and through them its result.
        assert not [one for one in gc.get_objects(generation=0)
                    if issubclass(type(one), TracingError) and one.__traceback__ is not None]
    finally:
        gc.enable()


class Squares(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, weight):
        return F.dot(F.square(x), weight)


def test_a_sparse_result_that_would_be_too_large_dense_needs_no_room():
    x = mx.nd.sparse.csr_matrix((np.full(2, 3, np.float32), np.array([5, 899_999]), np.array([0, 1] + [2] * 999)),
                                shape=(1000, 900_000))
    block = Squares()
    block.hybridize()
    with mx.autograd.record():
        out = block(x, mx.nd.ones((900_000, 1)))
    assert out.asnumpy()[:3, 0].tolist() == [9, 9, 0]


# code that writes, moves and chooses; random programs in tests/steps write in more ways

OUTSIDE = mx.nd.zeros((2, 2))


def whole(F: Any, x: Any) -> Any:
    y = F.zeros_like(x)
    y[:] = x * 2
    return y + 1


def the_input(F: Any, x: Any) -> Any:
    x[:] = 7
    return x + 1


def the_input_in_place(F: Any, x: Any) -> Any:
    x += 1
    return x


def rows_of_a_new_array(F: Any, x: Any) -> Any:
    y = mx.nd.zeros((2, 2))
    y[1:] = x[1:]
    return y


def with_a_gradient_buffer(F: Any, x: Any) -> Any:
    x.attach_grad()
    return x * 2


def by_rows_outside(F: Any, x: Any) -> Any:
    return x[OUTSIDE[0, :1]]


def to_its_context(F: Any, x: Any) -> Any:
    return x.as_in_context(mx.cpu()) * F.ones((2, 2), ctx=x.context)


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.HybridizeWarning")
@pytest.mark.parametrize("function", [
    whole, the_input, the_input_in_place, rows_of_a_new_array, with_a_gradient_buffer, by_rows_outside, to_its_context])
def test_what_a_block_writes_and_chooses_is_the_same_at_every_call(function: Callable[[Any, Any], Any]) -> None:
    results = []
    for hybrid in (False, True):
        OUTSIDE[:] = 0
        block, found = nn.HybridLambda(function), []
        block.hybridize(hybrid)
        for number in range(3):
            x = mx.nd.array([[1, 2], [3, 4]]) + number
            out = block(x).asnumpy().tolist()
            found.append((out, x.asnumpy().tolist(), OUTSIDE.asnumpy().tolist()))
            OUTSIDE[0] = number % 2
        results.append(found)
    assert results[0] == results[1]


@pytest.mark.filterwarnings("error")
def test_moving_to_the_context_of_the_program_is_no_move() -> None:
    block = nn.HybridLambda(to_its_context)
    block.hybridize()
    assert block(mx.nd.ones((2, 2))).asnumpy().sum() == 4


def test_an_operator_without_a_gradient_does_no_harm_where_none_is_asked_for() -> None:
    block = nn.HybridLambda(lambda F, x: (x * 2, F.contrib.getnnz(x)))
    block.hybridize()
    x = variable(mx.nd.array([1, 0, 3]))

    def run() -> list[Any]:
        with mx.autograd.record():
            return list(block(x))

    with pytest.warns(HybridizeWarning, match="has no gradient"):
        twice, _ = run()
    twice.backward()
    assert x.grad.asnumpy().tolist() == [2, 2, 2]
    _, count = run()
    refused(GradientError, "getnnz", count.backward)
