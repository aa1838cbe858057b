"""Worker processes of a ``DataLoader``, which return batches in shared memory.

A worker is a fresh process that a server without threads forks, so that no lock of this process, numba's or
another, is copied in a locked state.  It ends when its pipe is closed, however this process ended.

The large components of a batch are written into an anonymous file in memory, which cannot be left
behind; the parent process maps it and makes its arrays there, without a copy.
"""

from __future__ import annotations

import atexit
import functools
import io
import mmap
import multiprocessing
import os
import random
import signal
import socket
import sys
import time
import traceback
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing import connection, reduction
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import rng
from ...base.entry import entry
from ...base.errors import ConversionError, WorkerError
from ...base.platform import anonymous_file, has_anonymous_files
from ...base.signal_safe import undisturbed
from ...base.weak_references import Living
from .batchify import default_batchify_fn
from .dataset import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from ..types import Examples

#: Bytes from which a batch is sent in shared memory rather than through the pipe.
SHARED_FROM = 1 << 16
#: Where components begin: no array straddles what a vector instruction loads.
ALIGNMENT = 64
#: Requests that a worker has at a time.  Its answers are small, so the pipe takes them before they are read; without
#: shared memory an answer may fill the pipe, and two processes that both write would deadlock.
UNANSWERED = 2 if has_anonymous_files() else 1
#: Some of whose functions Windows lacks, where they are not called.
_sockets: Any = socket
#: Seconds that a worker gets to end by itself.
PATIENCE = 1.0

#: Not "fork": a copy of this process has its locks, but not the threads that would unlock them.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
#: The process that imported this.
_LOADED_BY = os.getpid()


@functools.partial(entry, callbacks=True)
def make_batch(dataset: Examples, rows: Sequence[Any], batchify: Callable[..., Any] | None) -> object:
    """The batch of some examples; with the default function, all rows of an array are taken at once."""
    numbers = np.asarray(rows)
    are_integers = numbers.ndim == 1 and numbers.dtype.kind in "iu" and numbers.size > 0
    if batchify is None and are_integers:
        batch = batch_of(dataset, numbers.astype(np.int64))
        if batch is not None:
            return batch
    return (batchify or default_batchify_fn)([dataset[row] for row in (numbers.tolist() if are_integers else rows)])


class _Pickler(reduction.ForkingPickler):
    """Pickles what a fresh process can load; functions and classes of a notebook or a prompt are not found there."""

    def reducer_override(self, value: object) -> object:  # type: ignore[override]  # NotImplemented has no type
        if getattr(value, "__module__", "") == "__main__" and isinstance(value, (type, FunctionType)) \
                and not hasattr(sys.modules["__main__"], "__file__"):
            raise TypeError(f"{value.__qualname__} is defined in a notebook or at a prompt")
        return NotImplemented


def _packed(value: object) -> tuple[bytes, list[Any]]:
    """An object as bytes, and apart from them the memory of its arrays."""
    file = io.BytesIO()
    buffers: list[Any] = []
    reduction.ForkingPickler(file, 5, True, buffers.append).dump(value)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def _shared(buffers: list[Any]) -> tuple[int, list[tuple[int, int]]]:
    """A file in memory with copies of the buffers, and where each is: (file descriptor, [(start, length)])."""
    places, end = [], 0
    for buffer in buffers:
        places.append((end, buffer.nbytes))
        end += -(-buffer.nbytes // ALIGNMENT) * ALIGNMENT
    descriptor = anonymous_file("sparsekit-batch")
    os.ftruncate(descriptor, end)
    with mmap.mmap(descriptor, end) as memory:
        view = np.frombuffer(memory, np.uint8)
        for (start, length), buffer in zip(places, buffers, strict=True):
            view[start:start + length] = np.frombuffer(buffer, np.uint8)
        del view
    return descriptor, places


def _socket_of(pipe: Connection) -> socket.socket:
    """The socket that a pipe is, for what it cannot send itself.

    ``multiprocessing.reduction.send_handle`` waits for an answer since Python 3.14, before which requests may stand in the pipe.
    """
    way = socket.fromfd(pipe.fileno(), _sockets.AF_UNIX, socket.SOCK_STREAM)
    way.setblocking(True)  # a default timeout of the program's sockets is not for this
    return way


def _send(pipe: Connection, ticket: int, value: object) -> None:
    """Hand a batch over."""
    head, buffers = _packed(value)
    if not has_anonymous_files() or sum(buffer.nbytes for buffer in buffers) < SHARED_FROM:
        pipe.send((ticket, head, [bytearray(buffer) for buffer in buffers], None))
        return
    descriptor, places = _shared(buffers)
    try:
        pipe.send((ticket, head, None, places))
        with _socket_of(pipe) as way:
            _sockets.send_fds(way, [b"\0"], [descriptor])
    finally:
        os.close(descriptor)


def _received(pipe: Connection) -> tuple[int, Any]:
    """Receive a ticket and its result: a batch, or a ``_Failure``."""
    ticket, head, buffers, places = pipe.recv()
    if places is not None:
        with _socket_of(pipe) as way:
            _, [descriptor], *_ = _sockets.recv_fds(way, 1, 1)
        try:
            memory = memoryview(mmap.mmap(descriptor, 0))
        finally:
            os.close(descriptor)
        buffers = [memory[start:start + length] for start, length in places]
    return ticket, reduction.ForkingPickler.loads(head, buffers=buffers)


class Late(Exception):
    """A batch did not arrive in time."""


class _Failure:
    """An error of a worker, with its traceback as text."""

    def __init__(self, error: BaseException | None, text: str) -> None:
        self.error, self.text = error, text

    def to_raise(self) -> BaseException:
        """The error itself if it could be sent, caused by its traceback in the worker."""
        cause = WorkerError(f"in the worker process:\n\n{self.text}")
        error = self.error if self.error is not None else WorkerError(
            f"A worker process failed: {self.text.strip().splitlines()[-1]}", hint="its traceback is above.")
        error.__cause__ = cause
        return error


def _failure(error: BaseException) -> _Failure:
    text = "".join(traceback.format_exception(error))
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        reduction.ForkingPickler.loads(reduction.ForkingPickler.dumps(error))
    except Exception:  # an error that cannot be pickled is sent as text
        return _Failure(None, text)
    return _Failure(error, text)


def _work(pipe: Connection, payload: bytes) -> None:
    """Serve batches until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the main process handles it
    failed: _Failure | None = None
    dataset: Any = None
    batchify = None
    try:
        dataset, batchify = reduction.ForkingPickler.loads(payload)
    except BaseException as error:
        failed = _failure(ConversionError(f"The data set or a function of the DataLoader did not arrive: {error}.",
                                          hint=_MOVABLE))
    while True:
        try:
            ticket, rows, seed = pipe.recv()
        except (EOFError, OSError):
            return
        answer: Any = failed
        if failed is None:
            try:
                _seed(seed)
                answer = make_batch(dataset, rows, batchify)
            except BaseException as error:
                answer = _failure(error)
        try:
            _answer(pipe, ticket, answer)
        except (BrokenPipeError, ConnectionError):
            return


def _seed(seed: int) -> None:
    """Restart every generator that a transformation may draw from."""
    rng.seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def _answer(pipe: Connection, ticket: int, answer: object) -> None:
    try:
        _send(pipe, ticket, answer)
    except (BrokenPipeError, ConnectionError):
        raise
    except Exception as error:
        _send(pipe, ticket, _failure(ConversionError(f"A batch cannot be sent: {error}.", hint="give arrays and numbers.")))


_MOVABLE = ("functions that worker processes call are defined in a module, not in a notebook or by lambda; "
            "thread_pool=True works with any.")


def _hang_up(workers: list[tuple[Any, Any]]) -> None:
    """Close the pipes, upon which workers end when they have finished what they do."""
    for _, pipe in workers:
        pipe.close()


class Processes:
    """Worker processes that make batches.

    Parameters
    ----------
    count : int
    dataset, batchify
        What ``make_batch`` takes.

    Raises
    ------
    ConversionError
        If they cannot be sent to another process.
    """

    def __init__(self, count: int, dataset: Examples, batchify: Callable[..., Any] | None) -> None:
        try:
            payload = bytes(_Pickler.dumps((dataset, batchify)))
        except Exception as error:
            raise ConversionError(f"The data set or a function of the DataLoader cannot be sent to another process: {error}.",
                                  hint=_MOVABLE) from None
        # Python requires its fork server to be a child of this process, which a forked process does not have.
        method = METHOD if os.getpid() == _LOADED_BY else "spawn"
        context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            context.set_forkserver_preload(["sparsekit.gluon.data"])
        self._workers: list[tuple[Any, Any]] = []
        self._busy: list[int] = []
        self._queue: deque[tuple[int, Sequence[Any], int]] = deque()
        self._unwanted: set[int] = set()
        self._done: dict[int, Any] = {}
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _hang_up, self._workers)
        self._end.atexit = False
        _alive.add(self)

        def start() -> None:
            for number in range(count):
                here, there = context.Pipe()
                process = context.Process(target=_work, args=(there, payload), name=f"sparsekit-data-{number}", daemon=True)
                process.start()
                there.close()
                self._workers.append((process, here))
                self._busy.append(0)

        undisturbed(start)

    def submit(self, ticket: int, rows: Sequence[Any], seed: int) -> None:
        """Submit a batch to a worker; return its ticket."""
        self._queue.append((ticket, rows, seed))
        self._feed()

    def _feed(self) -> None:
        """Give waiting requests to the workers with the least to do."""
        while self._queue and min(self._busy) < UNANSWERED:
            number = self._busy.index(min(self._busy))
            self._busy[number] += 1
            try:
                self._workers[number][1].send(self._queue.popleft())
            except ConnectionError:
                return  # the worker has ended: `wait` reports it

    def wait(self, ticket: int, seconds: float) -> object:
        """The batch of a ticket.

        Raises
        ------
        Late
            If it is not there after so many seconds.
        WorkerError
            If the worker that was making it has ended.
        Exception
            What the worker raised.
        """
        deadline = time.monotonic() + seconds
        while ticket not in self._done:
            pipes = {pipe: number for number, (_, pipe) in enumerate(self._workers)}
            ready = connection.wait(list(pipes), max(0.0, deadline - time.monotonic()))
            if not ready:
                raise Late
            for pipe in ready:
                self._take(pipes[pipe], pipe)
        answer = self._done.pop(ticket)
        if isinstance(answer, _Failure):
            raise answer.to_raise()
        return answer

    def _take(self, number: int, pipe: Any) -> None:
        try:
            ticket, answer = _received(pipe)
        except (EOFError, OSError):
            process = self._workers[number][0]
            process.join(PATIENCE)
            raise WorkerError(f"Worker process {number} of the DataLoader ended unexpectedly with exit code {process.exitcode}.",
                              hint="a script that uses worker processes starts its work under "
                                   "`if __name__ == '__main__':`; -9 means that the memory was exhausted.") from None
        self._busy[number] -= 1
        self._feed()
        if ticket in self._unwanted:
            self._unwanted.discard(ticket)
        else:
            self._done[ticket] = answer

    def forget(self, tickets: Sequence[int]) -> None:
        """Drop these tickets: waiting requests are cancelled, and batches that arrive later are ignored."""
        forgotten = set(tickets)
        self._unwanted |= forgotten - {entry[0] for entry in self._queue} - set(self._done)
        self._queue = deque(entry for entry in self._queue if entry[0] not in forgotten)
        for ticket in forgotten:
            self._done.pop(ticket, None)

    def close(self) -> None:
        """End the processes; those that do not end by themselves are stopped."""
        self._end()
        for process, _ in self._workers if self._owner == os.getpid() else ():  # a forked child does not own them
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join(PATIENCE)
        self._workers.clear()


_alive: Living[Processes] = Living()


@atexit.register
def _close_all() -> None:
    for processes in _alive:
        processes.close()
