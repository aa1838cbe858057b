"""What a worker shares is read by servers of its machine, is not written to while one may read it, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sparsekit.base.errors import WaitTimeoutError
from sparsekit.dist import ray_cluster, shared_memory
from sparsekit.dist.messages import KeySpec, Push, Request
from sparsekit.dist.partition import Partition, dealt
from sparsekit.dist.shared_memory import Mapped, Place, Room, placed

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the system has no files without names")

SHAPE = (300, 40)


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect():
    """What other tests have left is not looked through each time that something is to go."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def request(*values: Any, rows: Any = None) -> tuple[Request]:
    return (Request(0, 1, pushes=tuple(Push("w", 1, rows, one) for one in values)),)


def filled(room: Room, value: float, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    array = room.empty(shape, "float32")
    array[...] = value
    return array


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_a_server_reads_what_the_worker_wrote_and_cannot_write_to_it():
    room = Room("here")
    rows, values = room.empty((9000,), np.int32), filled(room, 2.5)
    rows[...] = np.arange(9000)
    sent = placed(request(values, values[10:20], rows=rows))
    assert [type(one) for push in sent[0].pushes for one in (push.rows, push.values)] == [Place] * 4
    whole, part = Mapped("here").arrays(sent)[0].pushes
    np.testing.assert_array_equal(whole.rows, np.arange(9000))
    np.testing.assert_array_equal(whole.values, values)
    assert part.values.shape == (10, 40)
    assert not whole.values.flags.writeable
    values[12, 3] = 7
    assert part.values[2, 3] == 7, "it is the same memory"


def test_small_arrays_and_those_of_others_travel_in_the_message():
    room = Room("here")
    small, other, turned = room.empty((5,), np.float32), np.ones(SHAPE), filled(room, 1)[:, ::2]
    pushes = placed(request(small, other, turned))[0].pushes
    assert all(push.values is array for push, array in zip(pushes, (small, other, turned), strict=True))
    assert placed(("barrier", 3)) == ("barrier", 3)
    assert placed(()) == ()


def test_memory_is_used_again_when_nothing_refers_to_it():
    room = Room("here")
    first = filled(room, 1)
    place, view = address(first), first[5:]
    del first
    gc.collect()
    assert address(filled(room, 2)) != place, "a view refers to it"
    assert view[0, 0] == 1
    del view
    gc.collect()
    assert address(filled(room, 3, (290, 40))) == place, "a similar size fits"


def test_memory_that_a_late_server_may_read_is_not_used_again():
    room = Room("here")
    first = filled(room, 1)
    place, read = address(first), Mapped("here").arrays(placed(request(first), keep=True))[0].pushes[0].values
    del first
    gc.collect()
    others = [filled(room, 2) for _ in range(20)]
    assert place not in map(address, others)
    assert (read == 1).all()


def test_arrays_larger_than_a_file_and_more_than_fit_in_one(monkeypatch):
    monkeypatch.setattr(shared_memory, "FILE", 1 << 17)
    room, mapped = Room("here"), Mapped("here")
    arrays = [filled(room, number, (size, 64)) for number, size in enumerate((100, 200, 400, 3000, 100))]
    for number, array in enumerate(arrays):
        assert (mapped.arrays(placed(request(array)))[0].pushes[0].values == number).all()


WRONG = {
    "another machine": ({"node": "there"}, "another machine"),
    "a process that has ended": ({"pid": 1 << 30}, "No such file"),
    "a file that is not open": ({"file": 1 << 20}, "No such file"),
    "a process with the number of one that has ended": ({"inode": 1}, "another one"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_an_error(change, said):
    array = filled(Room("here"), 1)
    (sent,) = placed(request(array))
    assert Mapped("here").arrays((sent,))[0].pushes[0].values[0, 0] == 1
    push = sent.pushes[0]
    wrong = sent._replace(pushes=(push._replace(values=push.values._replace(**change)),))
    with pytest.raises(OSError, match=said):
        Mapped("here").arrays((wrong,))


def test_files_of_workers_that_have_ended_are_let_go():
    mapped, arrays = Mapped("here"), [filled(Room("here"), 1) for _ in range(2)]
    mapped.arrays(placed(request(arrays[0])))
    mapped._files[1 << 30, 3, 5] = next(iter(mapped._files.values()))
    mapped.arrays(placed(request(arrays[1])))
    assert {pid for pid, _, _ in mapped._files} == {os.getpid()}
    assert len(mapped._files) == 2


def test_nothing_is_left_when_a_worker_is_gone():
    before, shared = len(os.listdir("/proc/self/fd")), set(os.listdir("/dev/shm"))
    room = Room("here")
    array = filled(room, 1)
    assert len(os.listdir("/proc/self/fd")) > before
    assert set(os.listdir("/dev/shm")) == shared, "the file has no name"
    del room, array
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_room_for_a_file_arrays_are_ordinary(monkeypatch):
    def full(*_: Any) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", full)
    array = filled(Room("here"), 1)
    assert placed(request(array))[0].pushes[0].values is array


@pytest.mark.parametrize("shards", [1, 3])
def test_parts_are_written_to_the_memory_that_is_given(shards):
    room, spec = Room("here"), dealt(KeySpec((90_001, 3), "float32"))
    whole = np.arange(270_003, dtype=np.float32).reshape(spec.shape)
    partition = Partition("w", spec, shards)
    for shard in partition.holders:
        out = room.empty(partition.local_shape(shard), np.float32)
        assert partition.take(whole, shard, out) is out
        np.testing.assert_array_equal(out, partition.take(whole, shard))


class _Late:
    """A Ray whose servers answer nothing, or whose user interrupts."""

    exceptions = SimpleNamespace(RayError=RuntimeError, ActorDiedError=RuntimeError)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def get(self, *_: Any, **__: Any) -> Any:
        raise self.error

    def wait(self, references: Any, **_: Any) -> Any:
        return [], references


@pytest.mark.parametrize("error", [TimeoutError(), RuntimeError(), KeyboardInterrupt()], ids=["late", "died", "interrupted"])
def test_a_call_without_an_answer_leaves_its_memory_alone(error):
    way: Any = object.__new__(ray_cluster.RayTransport)
    handle = SimpleNamespace(call=SimpleNamespace(remote=lambda method, arguments: arguments))
    way._ray, way.handles, way._near, way._room = _Late(error), [handle], {0: True}, Room("here")
    way.timeout, way.rank = 0.01, 0
    values = way.empty(0, SHAPE, np.float32)
    values[...] = 1
    place = address(values)
    (sent,) = ray_cluster.unpacked(way.send(0, "exchange", request(values)))
    assert isinstance(sent.pushes[0].values, Place)
    with pytest.raises((WaitTimeoutError, KeyboardInterrupt)):
        way.call([(0, "exchange", request(values))])
    del values, sent
    gc.collect()
    assert place not in [address(way.empty(0, SHAPE, np.float32)) for _ in range(3)]
