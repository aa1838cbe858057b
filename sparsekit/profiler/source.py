"""Where a profile's data comes from: a run of this process, or a file."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.signal_safe import undisturbed
from ..base.weak_references import weak_references
from .clock import Clock
from .event_store import Key, Log, Total
from .event_view import Brief
from .memory import process_bytes
from .recorder import Recorder

if TYPE_CHECKING:
    import collections

    from ..base.types import Array, Plain
    from ..core.hooks import Densification
    from .allocations import Allocation, Origin
    from .event_buffer import Note, Operation
    from .memory_timeline import Lives
    from .parts import Part
    from .torch_mode import Watch
    from .torch_types import Torch
    from .types import MarkRecord, Memory, Record

__all__ = ["RecordedRun", "Stored", "accounted", "environment"]

T = TypeVar("T")

#: Notes of the whole process's memory that are kept.
MOST_PROCESS_NOTES = 4096


def environment() -> dict[str, str]:
    """Versions of what took part; nothing that names a person or a machine."""
    package = sys.modules.get("sparsekit")
    found = {"sparsekit": str(getattr(package, "__version__", "")), "python": "{}.{}.{}".format(*sys.version_info[:3])}
    for name in ("numpy", "scipy", "numba", "cupy", "torch"):
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(getattr(module, "__version__", ""))
    return found


class Stored:
    """Data of a finished profile, as read from a file."""

    def __init__(self, **fields: Any) -> None:  # Any: each field below has a type of its own
        # Before the first access they may be brief.
        self._records: Brief | list[Record] = fields["records"]
        self.memory: Memory = fields["memory"]
        self.gradient_rows: dict[str, int] = fields["gradient_rows"]
        self.densifications: list[tuple[float, int, Densification]] = fields["densifications"]
        self.densified: int = fields["densified"]
        self.marks: list[MarkRecord] = fields["marks"]
        #: Number of marks that are not kept, and how often each densification came that is not.
        self.more_marks: int = fields.get("more_marks", 0)
        self.more_densifications: dict[Densification, int] = fields.get("more_densifications", {})
        self.totals: dict[Key, Total] = fields["totals"]
        self.wall: float = fields["wall"]
        self.accounted: float = fields["accounted"]
        self.folded: int = fields["folded"]
        self.folded_totals: dict[Key, Total] = fields["folded_totals"]
        self.events: int = fields["events"]
        self.overhead: float = fields["overhead"]
        self.environment: dict[str, str] = fields["environment"]
        #: Function that returns the lifetime of each array; None if the data are not a run of this process.
        self.lives: Callable[[], Lives | None] | None = fields.get("lives")
        #: Nodes of the graph of a PyTorch program; empty if none was recorded.
        self.graph: list[Plain] = fields.get("graph", [])
        #: Of several processes: the data of each, on the common clock.
        self.parts: list[Part] = fields.get("parts", [])

    @property
    def records(self) -> list[Record]:
        """The records; made on first use, since they take far more memory than the stored events."""
        found = self._records
        if isinstance(found, Brief):
            found = self._records = found.records()
        return found

    @property
    def brief(self) -> Brief | list[Record]:
        """The records if they are there, else the events as ``event_view.Brief``."""
        return self._records

    def refresh(self) -> Stored:
        """Do nothing: the data are final."""
        return self


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
        totals = log.totals()
        idle = now - sum(covered for stack in log.nesting.covered().values() for _, _, covered in stack)
        foreign = self.watched.events if self.watched is not None else 0
        cost = self.per_event * (log.events - foreign) + self.per_torch_event * foreign
        overhead = max(0.0, min(cost, idle)) / 1000
        memory: Memory = {**log.memory.profile(), "process_samples": [[t / 1000, held] for t, held in self.process]}
        if reserved := sum(self.recorder.reserved.values()):
            memory["table_bytes"] = reserved
        return Stored(
            records=Brief(log),
            memory=memory, totals=totals, wall=now / 1000,
            densifications=[(time / 1000, thread, record) for time, thread, record in log.densifications],
            gradient_rows=dict(log.memory.gradient_rows), densified=log.densified, marks=list(log.marks),
            more_marks=log.more_marks, more_densifications=dict(log.more_densifications),
            folded=log.folded_events, folded_totals=dict(log.folded), events=log.events,
            overhead=overhead, graph=[] if log.graph is None else log.graph.data(),
            lives=_lives_of(self._itself), environment=environment(),
            accounted=min(1.0, (log.covered() / 1000 + overhead) * 1000 / now) if now else 1.0)


def _lives_of(reference: weakref.ref[RecordedRun]) -> Callable[[], Lives | None]:
    def lives() -> Lives | None:
        run = reference()
        return None if run is None else run._alone(run.log.memory.lives)

    return lives


def accounted(records: list[Record], folded: dict[Key, Total], wall: float, overhead: float) -> float:
    """Share of the wall time that is explained: covered by any event but the user's own spans, or by the profiler."""
    if wall <= 0:
        return 1.0
    covered, reach = 0.0, 0.0
    for record in records:
        if record["lane"] != "user":
            end = record["start"] + record["duration"]
            covered += max(0.0, end - max(reach, record["start"]))
            reach = max(reach, end)
    covered += sum(total.own / 1000 for key, total in folded.items() if key.lane != "user")
    return min(1.0, (covered + overhead) / wall)
