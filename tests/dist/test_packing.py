"""Small requests and replies travel between processes as one piece of bytes, all else as it is."""

from __future__ import annotations

import numpy as np
import pytest

from sparsekit.base.errors import FencedError
from sparsekit.dist import ray_cluster
from sparsekit.dist.messages import Pull, Push, Reply, Request


def request(count, settings=None):
    push = Push("table", 3, np.arange(count, dtype=np.int32), np.ones((count, 2), np.float32), 0, None)
    return Request(1, 1_000_000, 2, (push,), (Pull("one", 4, None), Pull(7, 0, np.array([5], np.int32))), settings)


def same(one, other):
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif isinstance(one, (tuple, list)):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for part, other_part in zip(one, other, strict=True):
            same(part, other_part)
    elif isinstance(one, dict):
        same(sorted(one.items()), sorted(other.items()))
    else:
        assert one == other


@pytest.mark.parametrize("parts", [
    (request(3),), (request(0, '{"settings": 1}'),), (True, Reply(1, {"one": 3}, (np.zeros(4, np.float32),), ())),
])
def test_what_is_small_is_packed_and_comes_back(parts):
    made = ray_cluster.packed(parts)
    assert isinstance(made, bytes)
    same(ray_cluster.unpacked(made), parts)


@pytest.mark.parametrize("parts", [
    (request(ray_cluster.PACKED // 4),), (True, Reply(1, {}, (np.zeros(ray_cluster.PACKED, np.int8), np.zeros(1)), ())),
    (False, FencedError("another process", hint="none")), (True, {"rank": 0}), (), (True, None), ray_cluster.UNREAD,
])
def test_all_else_stays_as_it_is(parts):
    assert ray_cluster.packed(parts) is parts
    assert ray_cluster.unpacked(parts) is parts


def test_an_answer_is_a_value_or_an_error():
    reply = Reply(1, {"one": 3}, (np.zeros(4, np.float32),), ())
    same(ray_cluster.value_of(ray_cluster.packed((True, reply))), reply)
    with pytest.raises(FencedError):
        ray_cluster.value_of(ray_cluster.packed((False, FencedError("another process", hint="none"))))
