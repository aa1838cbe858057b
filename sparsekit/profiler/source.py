"""A run of this process: what its recorder noted, as the data of a profile."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..base.platform import process_bytes, process_peak_bytes
from ..base.signal_safe import undisturbed
from ..base.weak_references import weak_references
from ..core import hooks
from .clock import Clock
from .event_store import Log
from .recorder import Recorder
from .stored import Stored

if TYPE_CHECKING:
    import collections

    from ..base.types import JSON, Array
    from .allocations import Allocation, Origin
    from .event_buffer import Note, Operation
    from .torch_mode import Watch
    from .torch_types import Torch

T = TypeVar("T")

#: Notes of the whole process's memory that are kept.
MOST_PROCESS_NOTES = 4096


def environment() -> dict[str, str]:
    """Versions of what took part; nothing that names a person or a machine."""
    package = sys.modules.get("sparsekit")
    versions = {"sparsekit": str(getattr(package, "__version__", "")), "python": "{}.{}.{}".format(*sys.version_info[:3])}
    for name in ("numpy", "scipy", "numba", "cupy", "torch"):
        module = sys.modules.get(name)
        if module is not None:
            versions[name] = str(getattr(module, "__version__", ""))
    return versions


class RecordedRun:
    """Data of a run of this process; digests what the recorder noted, and remembers the answers.

    Parameters
    ----------
    capacity : int
        Events kept one by one.
    lines : bool
        Note the user's line of each operator.
    """

    def __init__(self, capacity: int, lines: bool) -> None:
        self.clock = Clock()
        self.log = Log(self.clock, capacity)
        # The recorder and what was stored do not keep the run: it goes with the last profile that shows it.
        itself = self._itself = weakref.ref(self)
        self.recorder = Recorder(lines, lambda events, dead: itself()._digest(events, dead))  # type: ignore[union-attr]  # it has the recorder
        self.open: list[tuple[int, int]] = []
        self.per_event = self.per_torch_event = 0.0
        #: What watches PyTorch for this run.
        self.watched: Watch | None = None
        # Nanoseconds and bytes: what the whole process held at some moments.
        self.process: list[tuple[int, int]] = []
        self._stored: Stored | None = None
        self._seen: tuple[int, int] | None = None

    def watch(self, torch: Torch) -> Watch:
        """What watches PyTorch for this run."""
        if self.watched is None:
            from .torch_graph import TorchGraph
            from .torch_mode import Watch

            self.log.graph = TorchGraph()
            self.watched = Watch(torch, self.recorder)
        return self.watched

    def note_process(self, now: int | None = None) -> None:
        """Note what the whole process holds now; thinned out when there are many notes."""
        held = process_bytes()
        if held is not None:
            self.process.append((self.clock.elapsed() if now is None else self.clock.at(now), held))
            if len(self.process) > MOST_PROCESS_NOTES:
                del self.process[1:-1:2]

    def _digest(self, events: list[Operation | Note], dead: collections.deque[Allocation]) -> None:
        self.log.nesting.open = {}
        for ident, start in self.open:
            self.log.nesting.open.setdefault(self.log.thread(ident), []).append(self.clock.at(start))
        self.log.digest(events, dead)
        self.note_process()

    def refresh(self) -> Stored:
        """The data as of now; nothing is lost if a signal's handler raises meanwhile."""
        stored = self._stored
        if stored is not None and not self.recorder.anything and self._seen == (self.log.events, self.clock.elapsed()):
            return stored
        return self._alone(self._bring_up_to_date)

    def origin_of(self, store: Array) -> Origin | None:
        """Where a dense store of a live array came from, as ``allocations.Origin``; None if no operator recorded made it."""
        self.refresh()
        for reference in weak_references(store):
            entry = self.recorder.reader.entry(reference)
            if entry is not None:
                return next((allocation.origin for allocation, _ in entry.owners()), None)
        return None

    def _alone(self, work: Callable[[], T]) -> T:
        """Do something while no other thread digests or reads."""

        def locked() -> T:
            with self.recorder.lock:
                return work()

        return undisturbed(locked)

    def _bring_up_to_date(self) -> Stored:
        now = self.clock.elapsed()
        self.recorder.drain()
        self.log.memory.finish(self.recorder.reader.dead, now)
        state = (self.log.events, now)
        if self._stored is None or state != self._seen:
            self._seen, self._stored = state, self._collect(now)
        return self._stored

    def _collect(self, now: int) -> Stored:
        log = self.log
        idle = now - sum(covered for stack in log.nesting.covered().values() for _, _, covered in stack)
        foreign = self.watched.events if self.watched is not None else 0
        cost = self.per_event * (log.events - foreign) + self.per_torch_event * foreign
        about: dict[str, JSON] = {
            "environment": dict(environment()), "idle_bytes": log.memory.idle_bytes,
            "process_peak_bytes": process_peak_bytes(), "table_bytes": sum(self.recorder.reserved.values()),
            "devices": {name: dict(figures()) for name, figures in sorted(hooks.device_memory.items())},
            "graph": [] if log.graph is None else list(log.graph.data())}
        return Stored(log.columns(now, round(max(0.0, min(cost, idle))), about, self.process))
