"""Memory that a worker and the servers on its machine share, so that what is pushed is not sent through Ray.

Ray copies an array in a message several times, about 1.5 ms/MB, and takes 3 ms for an array in its memory for objects.
A worker instead writes what it pushes into a file that has no name (``memfd``), and the message says where it stands.
A server maps the file and reads it there.  The system frees such a file when the last of its processes has ended, in
whatever way, so nothing of it can be left behind.

The worker writes to a place again when it holds the array no more and each call with it was answered at the first attempt;
else a server that is late might read what was written since.  A server reads within the call alone, and copies what it keeps.
"""

from __future__ import annotations

import math
import mmap
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .messages import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.types import Array, DTypeLike
    from .messages import Push

__all__ = ["Mapped", "Place", "Room", "placed", "replaced"]

#: Bytes of an array from which on it is shared; a smaller one travels in the message.
SMALLEST = 1 << 14
#: Bytes of a file, at least; those that were never written take no memory.
FILE = 1 << 26


class Place(NamedTuple):
    """Where an array stands.

    Attributes
    ----------
    node : str
        The machine.
    pid, file, inode : int
        The worker's process, its number of the file, and the system's.
    offset : int
    shape : tuple of int
    dtype : str
    """

    node: str
    pid: int
    file: int
    inode: int
    offset: int
    shape: tuple[int, ...]
    dtype: str


class _File:
    """A file without a name, in memory."""

    def __init__(self, size: int) -> None:
        self.number = os.memfd_create("sparsekit")
        try:
            os.ftruncate(self.number, size)
            self.bytes: Array = np.frombuffer(mmap.mmap(self.number, size), np.uint8)
        except BaseException:
            os.close(self.number)
            raise
        self.inode, self.address, self.left = os.fstat(self.number).st_ino, self.bytes.ctypes.data, size

    def __del__(self) -> None:
        if hasattr(self, "address"):
            os.close(self.number)


class _Span:
    """A part of a file that one array has, until nothing refers to it."""

    def __init__(self, room: Room, file: _File, start: int, size: int) -> None:
        self.room, self.file, self.start, self.size = room, file, start, size
        #: Whether nothing may be written to it again.
        self.used_up = False
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (file.address + start, False)}

    def __del__(self) -> None:
        if not self.used_up:
            self.room._free.setdefault(self.size, []).append((self.file, self.start))


class Room:
    """The memory of one worker.

    Parameters
    ----------
    node : str
        Its machine.
    """

    def __init__(self, node: str) -> None:
        self.node, self.pid = node, os.getpid()
        self._file: _File | None = None
        #: By size, what may be written to again.
        self._free: dict[int, list[tuple[_File, int]]] = {}

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """An array whose values are whatever is there; a small one is not shared, nor is any where there is no such memory."""
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        if size < SMALLEST or not hasattr(os, "memfd_create"):
            return np.empty(shape, dtype)
        try:
            span = self._span(1 << (size - 1).bit_length())
        except OSError:  # too many open files, or no memory
            return np.empty(shape, dtype)
        return np.asarray(span)[:size].view(dtype).reshape(shape)

    def _span(self, size: int) -> _Span:
        free = self._free.get(size)
        if free:
            return _Span(self, *free.pop(), size)
        if self._file is None or self._file.left < size:
            self._file = _File(max(FILE, size))
        self._file.left -= size
        return _Span(self, self._file, self._file.left, size)


def _span_of(array: Array) -> _Span | None:
    base: Any = array.base  # Any: numpy's own type of whatever owns the memory
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Span) else None


def placed(arguments: tuple[object, ...], keep: bool = False) -> tuple[object, ...]:  # object: as in Transport.call
    """Arguments with the places of shared arrays; with ``keep``, nothing is written to these places again."""
    def place(array: Array) -> Array | Place:
        span = _span_of(array)
        if span is None or not array.flags.c_contiguous:
            return array
        span.used_up |= keep
        file = span.file
        return Place(span.room.node, span.room.pid, file.number, file.inode, array.ctypes.data - file.address, array.shape,
                     array.dtype.str)

    return replaced(arguments, place)


def replaced(arguments: tuple[object, ...], change: Callable[[Any], Any]) -> tuple[object, ...]:  # Any: an array, or a place
    """Arguments whose pushes have other arrays."""
    request = arguments[0] if arguments else None
    if not isinstance(request, Request) or not request.pushes:
        return arguments

    def changed(push: Push) -> Push:
        return push._replace(rows=None if push.rows is None else change(push.rows), values=change(push.values))

    return (request._replace(pushes=tuple(map(changed, request.pushes))), *arguments[1:])


class Mapped:
    """The files of workers that a server has mapped.

    Parameters
    ----------
    node : str
        Its machine.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self._files: dict[tuple[int, int, int], mmap.mmap] = {}

    def arrays(self, arguments: tuple[object, ...]) -> tuple[object, ...]:  # object: as in Transport.call
        """Arguments with the arrays at the places in them, which cannot be written to.

        Raises
        ------
        OSError
            If a place cannot be read from here: it is on another machine, or the processes do not see each other.
        """
        return replaced(arguments, lambda one: self._array(one) if isinstance(one, Place) else one)

    def _array(self, place: Place) -> Array:
        key = place.pid, place.file, place.inode
        found = self._files.get(key)
        if found is None:
            if place.node != self.node:
                raise OSError("the memory is that of another machine")
            for ended in [one for one in list(self._files) if not os.path.exists(f"/proc/{one[0]}")]:
                self._files.pop(ended, None)
            found = self._files[key] = _mapped(*key)
        return np.ndarray(place.shape, place.dtype, found, place.offset)


def _mapped(pid: int, number: int, inode: int) -> mmap.mmap:
    """A file of another process."""
    here = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(here).st_ino != inode:
            raise OSError("the process is another one")
        return mmap.mmap(here, 0, prot=mmap.PROT_READ)
    finally:
        os.close(here)
