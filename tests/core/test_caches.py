"""What is remembered of calls stays bounded, however many shapes and attributes a program goes through, and stays right."""

import gc
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import arrays, dispatch
from sparsekit.core.graph import Node
from sparsekit.core.op import REMEMBERED, registry
from tests.calls import differentiated, variable

MANY = 5000


def remembered():
    """The largest memories: layouts, calls of an operator, plans and ready ways of a call."""
    calls = [call for op in {id(op): op for op in registry.values()}.values() for call in op._calls.values()]
    return (len(arrays._layouts), max(len(op._calls) for op in registry.values()), max(len(call.plans) for call in calls),
            max(len(call.ready) for call in calls))


def shapes(number):
    x = mx.nd.full((1, number + 1), 2)
    return float((x + x).asnumpy()[0, -1]), 4.0


def attributes(number):
    return float((mx.nd.full((1,), number) + float(number)).asnumpy()[0]), 2.0 * number


def sparse_shapes(number):
    x = mx.nd.sparse.csr_matrix(([3.0], [number], [0, 1]), shape=(1, number + 1))
    return float((x * 2.0)[0].sum().asscalar()), 6.0


def gradients(number):
    x = variable(mx.nd.ones((1, number % MANY + 1)))
    differentiated(lambda: (x * float(number)).sum())
    return float(x.grad.asnumpy()[0, -1]), float(number)


def storage_types(number):
    """Ten arrays in one of the 1,024 ways to be csr or dense."""
    parts = [mx.nd.full((1, 1), place + 1).tostype("csr" if number >> place & 1 else "default") for place in range(10)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mx.StorageFallbackWarning)
        return float(mx.nd.concat(*parts, dim=0).asnumpy().sum()), 55.0


@pytest.mark.parametrize("act", [shapes, attributes, sparse_shapes, storage_types, gradients])
def test_memories_of_calls_are_bounded_and_right(act):
    step = 1 if act is shapes else 7
    for number in range(0, MANY, step):
        got, wanted = act(number)
        assert got == wanted
    layouts, calls, plans, ready = remembered()
    assert layouts <= arrays.REMEMBERED
    assert calls <= REMEMBERED
    assert ready <= REMEMBERED
    assert plans <= REMEMBERED


def test_a_graph_of_many_shapes_leaves_nothing_behind():
    def counted():
        gc.collect()
        objects = gc.get_objects()
        return sum(issubclass(type(one), (mx.nd.NDArray, Node)) for one in objects), len(objects)

    gradients(10)
    before, objects = counted()
    for number in range(100):
        gradients(number + MANY)
    after, many = counted()
    assert after == before
    assert many - objects < 30 * 100  # layouts and calls


def test_arrays_that_outlive_the_memory_of_layouts_still_compute():
    kept = [mx.nd.full((2, size + 1), size) for size in range(64)]
    for number in range(arrays.REMEMBERED + 100):
        mx.nd.zeros((number + 1, 1))
    again = [mx.nd.full((2, size + 1), 1) for size in range(64)]
    for size, (old, new) in enumerate(zip(kept, again, strict=True)):
        np.testing.assert_array_equal((old + new).asnumpy(), np.full((2, size + 1), size + 1))
        old += new
        old[:] = new
        np.testing.assert_array_equal(old.asnumpy(), np.ones((2, size + 1)))


def test_a_fallback_with_other_numbers_is_not_said_again():
    dispatch._warned.clear()
    x = mx.nd.ones((2, 2)).tostype("csr")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for number in range(100):
            mx.nd.Pad(x, mode="constant", pad_width=(0, number, 0, 0))
        mx.nd.Pad(x, mode="edge", pad_width=(0, 1, 0, 0))
    assert [warning.category for warning in seen] == [mx.StorageFallbackWarning] * 2
    assert len(dispatch._warned) == 2
    dispatch._warned.clear()
