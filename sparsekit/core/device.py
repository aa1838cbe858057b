"""Work on GPUs: the current device, timing, and synchronization.

An operator returns as soon as its work is queued.  Each device has one stream, so that what is queued first is done first.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from ..base import capture
from ..base.context import Context
from ..base.refusal import Refused
from ..base.scoped import Assigned
from ..base.weak_references import Living
from ..kernels import for_device
from ..storage import CSR, RowSparse
from . import hooks

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Protocol

    from ..base.types import Array
    from ..kernels.types import Kernels
    from ..storage.types import Sparse, Store

    class Event(Protocol):
        """cupy's, a moment of a stream."""

        def record(self) -> None: ...
        def synchronize(self) -> None: ...

    class Pool(Protocol):
        """cupy's, of memory."""

        def total_bytes(self) -> int: ...

    class Launched(Protocol):
        """cupy's, a graph of work."""

        def launch(self) -> None: ...

__all__ = ["Captured", "beside", "captured", "current", "memory_info", "onto", "placed", "rehearsal", "wait"]

P = ParamSpec("P")
T = TypeVar("T")


#: All graphs that there are.
_captured: Living[Captured] = Living()

#: Held by the thread that captures: cupy has one allocator of the memory that uploads pass through.
_capturing = threading.RLock()


def current(ctx: Context) -> AbstractContextManager[None]:
    """A ``with`` block in which the context's GPU is the current one; nothing for a CPU."""
    return for_device("gpu").xp.cuda.Device(ctx.device_id) if ctx.device_type == "gpu" else contextlib.nullcontext()


def beside(store: Store, k: Kernels) -> AbstractContextManager[None]:
    """A ``with`` block in which the GPU that a store lies on is the current one."""
    if k.device == "cpu":
        return contextlib.nullcontext()
    array: Any = store.data if isinstance(store, (CSR, RowSparse)) else store  # Any: cupy's, whose device is more than a name
    place: AbstractContextManager[None] = array.device
    return place


def onto(store: T, ctx: Context) -> T:
    """A store of numpy arrays on the context's GPU; the store itself for a CPU."""
    if ctx.device_type != "gpu":
        return store
    with current(ctx):
        asarray = for_device("gpu").xp.asarray
        result: Sparse | Array
        if isinstance(store, CSR):
            result = CSR(asarray(store.data), asarray(store.indices), asarray(store.indptr), store.shape, check=False)
        elif isinstance(store, RowSparse):
            result = RowSparse(asarray(store.data), asarray(store.indices), store.shape, check=False)
        else:
            # cast: what is not sparse is an array
            result = asarray(cast("Array", store))
        return cast(T, result)  # cast: of the kind of the store, which mypy does not follow


def placed(function: Callable[P, T], name: str, ctx: Context) -> Callable[P, T]:
    """A kernel function that runs on the context's GPU, timed by events on its stream while a profiler records."""
    cuda = for_device("gpu").xp.cuda
    hooks.device_memory[str(ctx)] = functools.partial(memory_info, ctx)
    hooks.device_waits[str(ctx)] = functools.partial(wait, ctx)

    def run(*arguments: P.args, **keywords: P.kwargs) -> T:
        with cuda.Device(ctx.device_id):
            if hooks.sink is None:
                return function(*arguments, **keywords)
            before, after = cuda.Event(), cuda.Event()
            before.record()
            start = time.perf_counter_ns()
            result = function(*arguments, **keywords)
            queuing = (time.perf_counter_ns() - start) / 1e6
            after.record()
        hooks.device_work.append(hooks.DeviceWork(name, str(ctx), lambda: _elapsed(cuda, before, after), queuing))
        return result

    return run


def _elapsed(cuda: ModuleType, before: Event, after: Event) -> float:
    """Milliseconds between two events, once the second has happened."""
    after.synchronize()
    return float(cuda.get_elapsed_time(before, after))


def rehearsal(**noted: object) -> Assigned:  # object: attributes of ``capture.state``
    """A block that runs work once before it is captured, so that all kernels are compiled and loaded."""
    return Assigned(capture.state, rehearsed=True, **noted)


class Captured:
    """A CUDA graph, with the memory that it works in.

    Parameters
    ----------
    graph : cupy.cuda.Graph
    pool : cupy.cuda.MemoryPool
        The pool that the graph allocates from; its memory belongs to this graph, whose kernels hold the addresses.
    """

    def __init__(self, graph: Launched, pool: Pool) -> None:
        self._graph, self._pool, self._number = graph, pool, for_device("gpu").xp.cuda.Device().id
        _captured.add(self)

    def held(self, number: int) -> int:
        """Bytes that the graph holds on a device."""
        return self._pool.total_bytes() if number == self._number else 0

    def launch(self) -> None:
        """Queue the work on the current stream."""
        self._graph.launch()


def captured(work: Callable[[], None]) -> Captured:
    """Capture the work that a function queues on the current GPU, without running it.

    It runs on a stream of its own, since the null stream cannot be captured; the graph is launched on the context's.  What
    needs the host in between is refused by CUDA, by cupy or by ``capture.refuse``, with whatever error each has.
    """
    cuda = for_device("gpu").xp.cuda
    pool, stream = cuda.MemoryPool(), cuda.Stream(non_blocking=True)
    with _capturing, _uploads_refused(cuda), stream, cuda.using_allocator(pool.malloc), rehearsal():
        stream.begin_capture()
        capture.state.active = True
        try:
            work()
        except BaseException:
            capture.state.active = False
            with contextlib.suppress(Exception):  # the error may have ended the capture already
                stream.end_capture()
            raise
        capture.state.active = False
        return Captured(stream.end_capture(), pool)


@contextlib.contextmanager
def _uploads_refused(cuda: ModuleType) -> Iterator[None]:
    """Refuse uploads of pageable arrays to this thread, which captures: each replay would read their memory again.

    Such uploads pass through memory of one allocator, which cupy has for all threads, and which it does not name; but memory of
    a pool knows its pool.  What was there before is put back.
    """
    pool = getattr(cuda.alloc_pinned_memory(1).mem, "pool", None)
    if pool is None:
        raise Refused("the program has set an allocator of pinned memory that is not a pool's, as "
                      "cupy.cuda.set_pinned_memory_allocator(pool.malloc) does")
    malloc = pool().malloc

    def refusing(size: int) -> object:  # object: a pointer, which cupy alone reads
        capture.refuse("an array is sent from ordinary memory")
        return malloc(size)

    cuda.set_pinned_memory_allocator(refusing)
    try:
        yield
    finally:
        cuda.set_pinned_memory_allocator(malloc)


def wait(ctx: Context) -> None:
    """Return when all that was queued on a context's GPU is done."""
    if ctx.device_type == "gpu":
        with current(ctx):
            for_device("gpu").xp.cuda.get_current_stream().synchronize()


def memory_info(ctx: Context) -> dict[str, int]:
    """Bytes on a GPU: ``free`` and ``total`` of the device, ``used`` and ``held`` by cupy's pool, and those of ``graphs``.

    Captured graphs have memory of their own, which is not in cupy's pool.
    """
    xp = for_device("gpu").xp
    with current(ctx):
        free, total = xp.cuda.Device(ctx.device_id).mem_info
        pool = xp.get_default_memory_pool()
        graphs = sum(graph.held(ctx.device_id) for graph in _captured)
        return {"free": int(free), "total": int(total), "used": int(pool.used_bytes()), "held": int(pool.total_bytes()),
                "graphs": int(graphs)}
