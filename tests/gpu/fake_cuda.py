"""``cupy.cuda`` of the stand-in: devices, streams, events and pools of memory, which count who waits for them."""

from __future__ import annotations

import contextlib
import types
import weakref
from typing import ClassVar

import capturing
from capturing import Capture, CUDARuntimeError, refuse_waiting

#: How often something waited for the device, came from the host, was added up by atomics, or read back a size.
counts = {"synchronize": 0, "get": 0, "upload": 0, "atomic": 0, "size": 0}


class Stream:
    """A stream that work is queued on; the one of ``null`` cannot be captured, nor while a blocking one is."""

    stack: ClassVar = []

    def __init__(self, null=False, non_blocking=False, ptds=False):
        self._null, self._non_blocking, self._capture = null, non_blocking, None

    def __enter__(self):
        Stream.stack.append(self)
        return self

    def __exit__(self, *_exception):
        Stream.stack.pop()

    def synchronize(self):
        refuse_waiting()
        counts["synchronize"] += 1

    def is_capturing(self):
        return self._capture is not None

    def begin_capture(self, mode=None):
        if self._null or not self._non_blocking:
            raise CUDARuntimeError("cudaErrorStreamCaptureImplicit: the stream waits for the null stream")
        self._capture = Capture.current = Capture()

    def end_capture(self):
        capture, self._capture, Capture.current = self._capture, None, None
        if capture is None or capture.invalid:
            raise CUDARuntimeError("cudaErrorStreamCaptureInvalidated: operation failed due to a previous error during capture")
        return capturing.Graph(capture.work, lambda: Device.current)


Stream.null = Stream(null=True)


def get_current_stream(device_id=-1):
    return Stream.stack[-1] if Stream.stack else Stream.null


class Event:
    """A moment on a stream."""

    moments = 0

    def record(self, _stream=None):
        Event.moments += 1
        self.moment = Event.moments

    def synchronize(self):
        refuse_waiting()
        counts["synchronize"] += 1


class Device:
    """One device, as a ``with`` block makes it the current one."""

    current = 0

    def __init__(self, number=None):
        self.id = Device.current if number is None else number
        self._before = []

    def __enter__(self):
        self._before.append(Device.current)
        Device.current = self.id
        return self

    def __exit__(self, *_exception):
        Device.current = self._before.pop()

    def synchronize(self):
        refuse_waiting()
        counts["synchronize"] += 1

    mem_info = property(lambda _self: (3 << 30, 4 << 30))


class Pool:
    """The pool that memory of arrays comes from."""

    def used_bytes(self):
        return 1 << 20

    def total_bytes(self):
        return 2 << 20

    def malloc(self, size):
        return size


class PinnedPool:
    """A pool of the host's memory that copies to the device pass through; its memory knows it."""

    def __init__(self):
        self.taken = 0

    def malloc(self, size):
        self.taken += 1
        return types.SimpleNamespace(mem=types.SimpleNamespace(pool=weakref.ref(self)))


pinned_pool = PinnedPool()


class _Allocator:
    """What gives memory of the device inside ``using_allocator``."""

    malloc = None


chosen = _Allocator()
pinned = types.SimpleNamespace(allocator=pinned_pool.malloc)


@contextlib.contextmanager
def using_allocator(allocator=None):
    before, chosen.malloc = chosen.malloc, allocator
    try:
        yield
    finally:
        chosen.malloc = before


def set_pinned_memory_allocator(allocator=None):
    pinned.allocator = allocator or (lambda size: types.SimpleNamespace(mem=size))


class OutOfMemoryError(MemoryError):
    """cupy's error."""


def module():
    """What is ``cupy.cuda``."""
    runtime = types.SimpleNamespace(getDeviceCount=lambda: 2, runtimeGetVersion=lambda: 13000, driverGetVersion=lambda: 13000,
                                    getDeviceProperties=lambda number: {"name": b"a stand-in"})
    return types.SimpleNamespace(Device=Device, Stream=Stream, Event=Event, runtime=runtime,
                                 get_current_stream=get_current_stream, Graph=capturing.Graph, MemoryPool=Pool,
                                 PinnedMemoryPool=PinnedPool, set_pinned_memory_allocator=set_pinned_memory_allocator,
                                 alloc_pinned_memory=lambda size: pinned.allocator(size), is_available=lambda: True,
                                 get_elapsed_time=lambda start, end: (end.moment - start.moment) / 8,
                                 memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError), using_allocator=using_allocator)
