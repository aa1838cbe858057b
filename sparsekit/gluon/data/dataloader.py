"""``DataLoader``: batches of a data set, sparse ones of sparse arrays, made by this thread or by workers."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base import rng
from ...base.checks import number
from ...base.context import cpu_pinned
from ...base.errors import ConversionError, ShapeError, WorkerError, WorkerTimeoutError, WorkerWarning
from ...base.lazy import add_lazy_names
from ...base.warn import warn_user
from ...base.workers import Threads
from ...core import hooks
from ...ndarray import NDArray
from ..utils import whole
from .dataset import ArrayDataset, SimpleDataset, _SampledDataset, as_rows
from .process import Late, Processes, make_batch
from .sampler import BatchSampler, RandomSampler, SequentialSampler, require_sampler

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...base.context import Context
    from ..types import Examples, SizedIterable


__all__ = ["DataLoader"]

add_lazy_names(globals())

#: Workers that a loader may have.
MOST_WORKERS = 1024


class _ThreadWorkers:
    """Worker threads, behind the methods of ``Processes``."""

    def __init__(self, count: int, dataset: Examples, batchify: Callable[..., Any] | None) -> None:
        self._threads, self._dataset, self._batchify = Threads(count, "sparsekit-data"), dataset, batchify
        self._futures: dict[int, Future[Any]] = {}

    def submit(self, ticket: int, rows: Sequence[Any], seed: int) -> None:
        """Submit a batch to a worker; return its ticket."""
        self._futures[ticket] = self._threads.submit(_seeded, self._dataset, rows, self._batchify, seed)

    def wait(self, ticket: int, seconds: float) -> object:
        """Return the batch of a ticket; raise the error of its worker, or ``Late`` after a timeout."""
        future = self._futures.pop(ticket)
        if not wait([future], seconds).done:
            raise Late
        return future.result()

    def forget(self, tickets: Sequence[int]) -> None:
        """Drop these tickets."""
        for ticket in tickets:
            future = self._futures.pop(ticket, None)
            if future is not None:
                future.cancel()

    def close(self) -> None:
        """End the threads without waiting for running tasks."""
        self._threads.close(0.0)


def _seeded(dataset: Examples, rows: Sequence[Any], batchify: Callable[..., Any] | None, seed: int) -> object:
    with rng.using(seed):
        return make_batch(dataset, rows, batchify)


def _only_arrays(dataset: object) -> bool:
    """Whether batches are made by choosing rows of arrays, without calling user code."""
    if type(dataset) is ArrayDataset:
        return all(hasattr(part, "dtype") or _only_arrays(part) for part in dataset._data)
    if type(dataset) is SimpleDataset:
        return _only_arrays(dataset._data)
    if type(dataset) is _SampledDataset:
        return _only_arrays(dataset._dataset)
    return isinstance(dataset, NDArray)


def _noted(batch: object, start: int) -> object:
    """Report a batch to the recorder, and return it."""
    sink = hooks.sink
    if sink is not None:
        arrays = [part for part in (batch if isinstance(batch, (list, tuple)) else [batch]) if isinstance(part, NDArray)]
        for place, part in enumerate(arrays):
            hooks.assign(part, "input", f"data{place}")
        sink.span("DataLoader", "io", start, time.perf_counter_ns(),
                  {"rows": arrays[0].shape[0] if arrays and arrays[0].ndim else 0})
    return batch


def _begun(batches: Iterable[Any]) -> tuple[Iterator[Any], int]:
    """The lists of one epoch, and a seed for its workers, drawn in every case: the next order is the same without workers."""
    lists = iter(batches)
    first = list(itertools.islice(lists, 1))  # a shuffled order is drawn now
    return itertools.chain(first, lists), int(rng.generator().integers(2**62))


class Origin(NamedTuple):
    """What the order of an epoch was drawn from: the generators, and the numbers that the sampler had left.

    Estimators keep it in checkpoints, so that a resumed run sees the batches that were still to come.
    """

    random: rng.States
    left: Any  # Any: numbers of examples


class _Epoch:
    """The batches of one epoch, a few of which workers make ahead."""

    def __init__(self, workers: _ThreadWorkers | Processes, tickets: Iterator[int], batches: Iterable[Any], ahead: int,
                 timeout: float) -> None:
        self._workers, self._tickets, self._timeout, self._owner = workers, tickets, timeout, os.getpid()
        self._batches, self._seed = _begun(batches)
        self._waiting: list[int] = []
        for _ in range(ahead):
            self._push()

    def _push(self) -> None:
        rows = next(self._batches, None)
        if rows is not None:
            ticket = next(self._tickets)
            self._waiting.append(ticket)
            self._workers.submit(ticket, rows, self._seed)
            self._seed += 1

    def __iter__(self) -> Iterator[Any]:
        try:
            while True:
                if self._owner != os.getpid():
                    raise WorkerError("A forked process cannot continue a loop over batches that its parent started: the "
                                      "workers belong to the parent.", hint="start a new loop in the child.")
                self._push()
                if not self._waiting:
                    return
                start = time.perf_counter_ns()
                yield _noted(self._next(self._waiting.pop(0)), start)
        finally:
            if self._owner == os.getpid():
                self._workers.forget(self._waiting)

    def _next(self, ticket: int) -> object:
        try:
            return self._workers.wait(ticket, self._timeout)
        except Late:
            self._workers.forget([ticket])
            raise WorkerTimeoutError(f"A batch was not ready after {self._timeout} seconds.",
                                     hint="increase timeout=, or find out what hangs in the data set.") from None


class DataLoader:
    """Batches of a data set.

    Batches of csr and row-sparse arrays keep the storage type, also if they are shuffled, and also if the last one is short.
    For plain arrays and for an ``ArrayDataset`` with its ``shard``, ``take``, ``filter`` and ``sample``, the loader selects
    the rows of a batch at once.  It then runs no Python code for each example, unless ``batchify_fn`` is given.

    Parameters
    ----------
    dataset : Dataset, array, or list
        Any object with a length that can be indexed by integers.
    batch_size : int
        Examples in a batch.
    shuffle : bool
        Visit the examples in a new random order each epoch.  ``mx.random.seed`` makes the orders reproducible.
    sampler : Sampler
        Sampler that determines the order of the examples, instead of ``shuffle``.
    last_batch : {"keep", "discard", "rollover"}
        What to do with examples that do not fill a batch: make a shorter batch (default), drop them, or start the next epoch
        with them.
    batch_sampler : Sampler
        Sampler that yields a list of indices for each batch.  It replaces ``batch_size``, ``shuffle``, ``sampler`` and
        ``last_batch``.
    batchify_fn : callable, optional
        Function that makes a batch from a list of examples; by default ``default_batchify_fn``.
    num_workers : int
        Workers that make batches while the caller computes; 0 makes each batch when it is requested.
    pin_memory, pin_device_id : bool and int
        Whether the arrays of batches have the context ``cpu_pinned(pin_device_id)``, whose memory is ordinary memory here.
    try_nopython : optional
        Accepted for compatibility with MXNet, without effect.
    prefetch : int, optional
        Number of batches that workers prepare in advance; by default twice ``num_workers``.
    thread_pool : bool
        Use threads as workers.  Threads share the data set, can call any function and start quickly, but only one of them
        runs Python code at a time.  False uses processes.  If the loader selects the rows of a batch at once, it uses threads
        in any case, because processes would have no Python code to run in parallel.
    timeout : number
        Largest time in seconds that a worker may take for one batch.
    auto_reload : bool
        Let the workers begin an epoch early: when the loader is made, and whenever an epoch ends.

    Notes
    -----
    Worker processes are started by a fresh ``forkserver``.  MXNet copies the running process instead, and the copy may wait
    forever for a lock that another thread held.  So the data set and the functions are sent to the workers, and a script must
    start its work under ``if __name__ == "__main__":``.  Lambdas and functions that are defined in a notebook cannot be sent:
    threads call them instead, and a ``WorkerWarning`` says so.  Processes return large batches in shared memory.

    Each batch has its own random seed, which depends only on ``mx.random.seed`` and the position of the batch.  In a worker
    process this seed restarts the generators of the library, of numpy and of ``random``; in a thread it restarts only that
    of the library.

    If a worker raises an exception, the loop over the batches raises it too, with the worker's traceback.  The loader can
    then be iterated over again.  Workers end with the loader, with ``close`` and with the program, even if that is killed.

    Raises
    ------
    ShapeError
        If the arguments contradict one another.
    WorkerTimeoutError
        While iterating, if a batch takes longer than ``timeout``.
    WorkerError
        While iterating, if a worker process has ended.
    ConversionError
        While iterating, if a worker process cannot load the data set or a function, or cannot send a batch.

    Warns
    -----
    WorkerWarning
        If threads are used because the data set or a function cannot be sent to another process.

    Examples
    --------
    >>> data = mx.nd.array([[1, 0], [0, 2], [3, 0]]).tostype("csr")
    >>> dataset = mx.gluon.data.ArrayDataset(data, mx.nd.array([0, 1, 2]))
    >>> for x, y in mx.gluon.data.DataLoader(dataset, batch_size=2):
    ...     print(x.stype, x.shape, y.asnumpy().tolist())
    csr (2, 2) [0.0, 1.0]
    csr (1, 2) [2.0]
    """

    _workers: Any = None
    _owner = 0
    #: Of the epoch that was begun last.
    _origin: Origin | None = None

    def __init__(self, dataset: Examples, batch_size: int | None = None, shuffle: bool = False,
                 sampler: SizedIterable | None = None, last_batch: str | None = None, batch_sampler: SizedIterable | None = None,
                 batchify_fn: Callable[[Any], Any] | None = None, num_workers: int = 0, pin_memory: bool = False,
                 pin_device_id: int = 0, prefetch: int | None = None, thread_pool: bool = False, timeout: float = 120,
                 auto_reload: bool = False, try_nopython: bool | None = None) -> None:
        number("timeout", timeout, "a number of seconds above 0", lambda value: value > 0, "120 is the default.", ShapeError)
        dataset = as_rows(dataset)
        self._dataset, self._batchify, self._timeout = dataset, batchify_fn, timeout
        if batch_sampler is not None:
            require_sampler("batch_sampler", batch_sampler)
        self._batch_sampler: Any = batch_sampler
        by_samples = batch_size is not None or shuffle or sampler is not None or last_batch is not None
        if batch_sampler is None:
            self._batch_sampler = _batches(dataset, batch_size, shuffle, sampler, last_batch)
        elif by_samples:
            raise ShapeError("batch_sampler excludes batch_size, shuffle, sampler and last_batch.",
                             hint="a batch_sampler decides all of these.")
        self._pinned = cpu_pinned(int(pin_device_id)) if pin_memory else None
        self._num_workers = whole("num_workers", max(0, int(num_workers)), most=MOST_WORKERS, hint="one per core, for example.")
        self._ahead = 2 * self._num_workers if prefetch is None else whole("prefetch", prefetch)
        self._tickets = itertools.count()
        self._threads = bool(thread_pool) or (batchify_fn is None and _only_arrays(dataset))
        self._epoch: Any = None
        self.auto_reload = bool(auto_reload)
        if self._num_workers:
            self._start()
        if self.auto_reload:
            self.refresh()

    def _start(self) -> None:
        self._owner = os.getpid()
        if not self._threads:
            try:
                self._workers = Processes(self._num_workers, self._dataset, self._batchify)
                return
            except ConversionError as error:
                self._threads = True
                warn_user(f"The workers of this DataLoader are threads, which run Python code one at a time.  {error}",
                          WorkerWarning)
        self._workers = _ThreadWorkers(self._num_workers, self._dataset, self._batchify)

    def __iter__(self) -> Iterator[Any]:
        batches = self._made()
        return batches if self._pinned is None else (_as_in_context(batch, self._pinned) for batch in batches)

    def _made(self) -> Iterator[Any]:
        if not self._num_workers:
            self._origin = self._now()
            for rows in _begun(self._batch_sampler)[0]:
                start = time.perf_counter_ns()
                yield _noted(make_batch(self._dataset, rows, self._batchify), start)
            return
        try:
            if self._epoch is None or self._owner != os.getpid():
                self.refresh()
            epoch, self._epoch = self._epoch, None
            yield from epoch
        except WorkerTimeoutError:
            raise
        except (WorkerError, KeyboardInterrupt):  # a worker is gone, or a message was half read or half sent
            self.close()
            raise
        if self._epoch is None and self.auto_reload:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Have the workers begin with a new epoch, which the next loop over the batches takes."""
        if not self._num_workers:
            return
        if self._owner != os.getpid():  # a forked child has no workers
            self._workers = self._epoch = None
        self.clean()
        if self._workers is None:
            self._start()
        self._origin = self._now()
        try:
            self._epoch = _Epoch(self._workers, self._tickets, self._batch_sampler, self._ahead, self._timeout)
        except KeyboardInterrupt:  # a request was half sent
            self.close()
            raise

    def _now(self) -> Origin:
        return Origin(rng.states(), list(getattr(self._batch_sampler, "_prev", ())))

    def _go_on(self, origin: Origin) -> None:
        """Let the next epoch have the order that was drawn from ``origin``."""
        rng.restore(origin.random)
        if hasattr(self._batch_sampler, "_prev"):
            self._batch_sampler._prev = list(origin.left)
        self.refresh()

    def clean(self) -> None:
        """Drop the epoch that was begun ahead."""
        if self._epoch is not None:
            self._workers.forget(self._epoch._waiting)
            self._epoch = None

    def close(self) -> None:
        """End the workers; the next loop over the batches starts new ones."""
        self.clean()
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()


def _as_in_context(data: object, ctx: Context) -> object:  # object: whatever a batch may hold
    """Copy the arrays of a batch to a context; lists and tuples become lists."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    return [_as_in_context(item, ctx) for item in data] if isinstance(data, (list, tuple)) else data


def _batches(dataset: Examples, batch_size: int | None, shuffle: bool, sampler: SizedIterable | None,
             last_batch: str | None) -> BatchSampler:
    """The sampler of batches that the other arguments describe."""
    if batch_size is None:
        raise ShapeError("A DataLoader needs batch_size or batch_sampler.", hint="batch_size=32, for example.")
    if sampler is not None and shuffle:
        raise ShapeError("shuffle and sampler exclude each other.",
                         hint="RandomSampler(len(dataset)) is what shuffle=True takes.")
    if sampler is None:
        sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
    return BatchSampler(sampler, batch_size, last_batch or "keep")
