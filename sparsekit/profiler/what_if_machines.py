"""The time of a step with other numbers of machines, from the measured parts of a distributed run."""

from __future__ import annotations

import statistics
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import ProfilerError, expected
from ..base.formatting import format_bytes, format_count, format_duration, format_ratio
from .clocks import answers_of
from .distributed import Distributed, exchanges, worker_parts
from .table import Table

if TYPE_CHECKING:
    from .stored import Part, Stored
    from .types import Record

__all__ = ["SCALE", "Machines", "Measured", "measured", "what_if_machines"]

#: What may be changed.
SCALE = ("workers", "servers", "gbit", "round_trip")

#: Steps that a worker must have made: the first of them is not counted, as it compiles.
LEAST = 3

#: Bytes that a gigabit has.
GIGABIT = 1.25e8


class Measured(NamedTuple):
    """Measurements of a step; times in microseconds.

    Times are medians over the steps, so a slow step, such as the first one after a restart, has no effect.  The times of
    servers are first added up within each step.  Bytes and calls are means over the steps.

    Attributes
    ----------
    workers, servers : int
    steps : int
        Number of steps that were counted, of the worker with the fewest.
    step : float
        Time from the end of a step to the end of the next one, of the slowest worker.
    compute : float
        Part of ``step`` outside exchanges with servers, of the slowest worker.
    waiting : float
        Part of ``step`` spent waiting for other workers, of the worker that waited longest.
    sent, received : float
        Bytes that a worker sends and receives in a step.
    calls : float
        Round trips of a worker in a step.
    round_trip : float
        Time of the shortest round trip without data.
    call : float
        Time of a call beyond ``round_trip`` and the servers' work, such as packing and unpacking data.
    server_calls : float
        Calls that a server answers for each step of a worker.  Without a profiled server this and the next three are 0.
    serve : float
        Time that a server takes for a call, without optimizer steps and the journal.
    apply, journal : float
        Time that optimizer steps, and the journal, take for each byte of received gradients.
    balance : float
        Bytes of the server with the most traffic, divided by the mean over servers.
    """

    workers: int
    servers: int
    steps: int
    step: float
    compute: float
    waiting: float
    sent: float
    received: float
    calls: float
    round_trip: float
    call: float
    server_calls: float
    serve: float
    apply: float
    journal: float
    balance: float

    def parts(self, workers: int, servers: int, gbit: float | None, round_trip: float) -> dict[str, float]:
        """The parts of a step with these machines."""
        moved, share = self.sent + self.received, workers / servers * (self.balance if servers > 1 else 1.0)
        cable = 0.0 if gbit is None else moved / (gbit * GIGABIT) * 1e6
        return {"compute": self.compute, "worker_cable": cable, "server_cable": cable * share,
                "server_work": workers * self.server_calls * self.serve + share * self.sent * (self.apply + self.journal),
                "round_trips": self.calls * (round_trip + self.call)}


class _Step(NamedTuple):
    """One step of a worker."""

    length: float
    compute: float
    exchange: float
    waiting: float
    calls: int
    sent: int
    received: int


class _Steps(NamedTuple):
    """The steps of a worker, and when each of them began and the last one ended."""

    borders: list[float]
    steps: list[_Step]

    def median(self, name: str) -> float:
        """The median of a field."""
        return float(statistics.median(getattr(step, name) for step in self.steps))


def steps_of(records: Sequence[Record]) -> _Steps:
    """Cut the time of a worker into steps, each of which ends with a push of the key that is pushed most often."""
    found = list(exchanges(records))
    pushes: dict[Any, int] = {}  # Any: keys
    for record in found:
        for key in _pushed(record):
            pushes[key] = pushes.get(key, 0) + 1
    most = max(pushes, key=lambda key: pushes[key], default=None)
    ends = [record["start"] + record["duration"] for record in found if most in _pushed(record)]
    steps = [_Step(end - begin, 0.0, 0.0, 0.0, 0, 0, 0) for begin, end in pairwise(ends)]
    apart = [0.0] * len(steps)
    place = 0
    for record in records:
        end = record["start"] + record["duration"]
        place = next((i for i in range(place, len(ends)) if ends[i] >= record["start"] + record["duration"] / 2), len(ends))
        if not 0 < place < len(ends) or end > ends[-1]:
            continue
        step = steps[place - 1]
        if record["lane"] == "exchange":
            about: Any = record["attrs"]  # Any: plain data
            steps[place - 1] = step._replace(exchange=step.exchange + record["duration"], calls=step.calls + 1,
                                             sent=step.sent + int(about.get("sent", 0)),
                                             received=step.received + int(about.get("received", 0)))
        elif record["lane"] == "wait":
            steps[place - 1] = step._replace(waiting=step.waiting + record["duration"])
        elif record["lane"] in ("compile", "profiler"):
            apart[place - 1] += record["self"]
    return _Steps(ends, [
        step._replace(compute=max(0.0, step.length - step.exchange - own)) for step, own in zip(steps, apart, strict=True)])


def _pushed(record: Record) -> list[Any]:  # Any: keys
    keys: Any = record["attrs"].get("keys", ())  # Any: plain data
    return [one["key"] for one in keys if one.get("pushes")]


def measured(data: Stored) -> Measured:
    """What a profile says of a step.

    Raises
    ------
    ProfilerError
        If the profile does not hold enough steps of distributed training.
    """
    workers = worker_parts(data)
    steps = [steps_of(part.data.records) for part in workers]
    if not steps or min(len(one.steps) for one in steps) < LEAST - 1:
        raise ProfilerError(f"The profile does not hold {LEAST} steps of every worker that pushes to servers.",
                            hint="profile a few steps with mx.dist.run(…, profile=True).")
    servers = [part for part in data.parts if part.process.kind == "server"]
    every = [step for one in steps for step in one.steps]
    seen = Distributed(data)
    trip = min((answer.high - answer.low for part in workers for answers in answers_of(part.data.records).values()
                for answer in answers), default=0.0)
    work = _work(servers, max((one.borders for one in steps), key=len), len(every))
    taken = max(statistics.median((step.exchange - step.waiting) / max(1, step.calls) for step in one.steps) for one in steps)
    return Measured(
        len(workers), max(len(servers), len(seen.servers)), min(len(one.steps) for one in steps),
        max(one.median("length") for one in steps), max(one.median("compute") for one in steps),
        max(one.median("waiting") for one in steps), sum(step.sent for step in every) / len(every),
        sum(step.received for step in every) / len(every), sum(step.calls for step in every) / len(every), trip,
        max(0.0, taken - trip - work["answer"]), work["calls"], work["serve"], work["apply"], work["journal"], seen.balance)


#: What is added up of a server in each step.
WORK = ("serve", "apply", "journal", "apply_bytes", "journal_bytes", "calls")


def _work(servers: Iterable[Part], borders: Sequence[float], steps: int) -> dict[str, float]:
    """What servers took, the median of the steps: for a call, and for each byte of gradients; calls for each step of a worker."""
    typical = dict.fromkeys(WORK, 0.0)
    calls = count = 0
    for _, data in servers:
        count += 1
        sums = _sums(data.records, borders)
        calls += sum(int(one["calls"]) for one in sums)
        for name in WORK:
            typical[name] += statistics.median(one[name] for one in sums)
    answers = typical["calls"] or 1.0
    rest = max(0.0, typical["serve"] - typical["apply"] - typical["journal"])
    return {"answer": typical["serve"] / answers, "serve": rest / answers, "calls": calls / max(1, steps) / max(1, count),
            "apply": typical["apply"] / (typical["apply_bytes"] or 1.0),
            "journal": typical["journal"] / (typical["journal_bytes"] or 1.0)}


def _sums(records: Iterable[Record], borders: Sequence[float]) -> list[dict[str, float]]:
    """What a server did in each step."""
    sums = [dict.fromkeys(WORK, 0.0) for _ in borders[1:]]
    for record in records:
        lane, place = record["lane"], bisect(borders, record["start"] + record["duration"] / 2) - 1
        if not 0 <= place < len(sums) or lane not in ("serve", "apply", "journal") or (
                lane == "serve" and record["name"] != "serve"):
            continue
        one = sums[place]
        one[lane] += record["duration"]
        if lane == "serve":
            one["calls"] += record["attrs"].get("moved") is not None
        else:
            one[f"{lane}_bytes"] += record["bytes"]
    return sums


def what_if_machines(data: Stored, workers: int | Sequence[int] | None = None, servers: int | Sequence[int] | None = None,
                     gbit: float | None = None, round_trip: float | None = None) -> Machines:
    """Compute the time of a step with other numbers of machines.

    Parameters
    ----------
    data : Stored
        Data of a profile that has workers and, for the time of the servers' work, servers.
    workers, servers : int or list of int, optional
        Numbers of machines; the default is that of the run.  Two lists are taken pairwise.
    gbit : float, optional
        Bandwidth of the network cable of each machine, in Gbit/s.  Without it, the time on cables is left out.
    round_trip : float, optional
        Round-trip time of the network in seconds; the default is that of the profiled run.

    Raises
    ------
    ProfilerError
        If a number is not positive, or the profile does not hold enough steps.
    """
    found = measured(data)
    ours, theirs = _numbers("workers", workers, found.workers), _numbers("servers", servers, found.servers)
    if len(ours) > 1 and len(theirs) > 1 and len(ours) != len(theirs):
        raise ProfilerError(f"{len(ours)} numbers of workers and {len(theirs)} of servers do not belong together.",
                            hint="pass lists of one length, or one number.")
    for name, value in (("gbit", gbit), ("round_trip", round_trip)):
        if value is not None and not (isinstance(value, (int, float)) and value > 0):
            raise ProfilerError(expected(name, "a number above 0", value), hint=f"{name}=10, for example.")
    count = max(len(ours), len(theirs))
    pairs = [(ours[i % len(ours)], theirs[i % len(theirs)]) for i in range(count)]
    return Machines(found, pairs, gbit, round_trip)


def _numbers(name: str, given: object, default: int) -> list[int]:  # object: what the user gave, checked here
    found: list[Any] = [default] if given is None else list(given) if isinstance(given, Iterable) else [given]
    if not found or any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in found):
        raise ProfilerError(expected(name, "a positive integer or a list of them", given), hint=f"{name}=16, for example.")
    return found


class Machines:
    """The time of a step as it was, and as it would be with other numbers of workers and servers.

    A step takes ``compute + max(worker cable, server cable, server work) + calls · (round trip + call)``.  Every number in this
    formula was measured, except those that the caller gave.  ``notes`` list the further assumptions.

    Attributes
    ----------
    measured : Measured
    before : float
        Measured time of a step, in microseconds.
    model : float
        Time of a step of the measured run according to the model, in microseconds.  Its distance from ``before`` shows
        how accurate the model is.
    rows : list of dict
        One row for each number of machines.  ``step`` and its parts ``compute``, ``worker_cable``, ``server_cable``,
        ``server_work`` and ``round_trips`` are in microseconds; ``limit`` names the part that limits the step.  ``speedup`` is
        the number of steps of all workers in a given time, divided by that of one worker with as many servers.
    notes : list of str
    """

    def __init__(self, found: Measured, machines: Sequence[tuple[int, int]], gbit: float | None,
                 round_trip: float | None) -> None:
        self.measured, self.before = found, found.step
        self._gbit, self._trip = gbit, found.round_trip if round_trip is None else round_trip * 1e6
        self.model = _sum(found.parts(found.workers, found.servers, None, found.round_trip))
        self.rows = [self._row(*pair) for pair in machines]
        self.notes = self._notes(round_trip is not None)

    def _row(self, workers: int, servers: int) -> dict[str, Any]:  # Any: the fields of a row
        parts = self.measured.parts(workers, servers, self._gbit, self._trip)
        step = _sum(parts)
        one = _sum(self.measured.parts(1, servers, self._gbit, self._trip))
        largest = max(_SHARED, key=lambda name: parts[name])
        shown = {"compute": parts["compute"], largest: parts[largest], "round_trips": parts["round_trips"]}
        return {"workers": workers, "servers": servers, "step": step, **parts, "limit": max(shown, key=lambda name: shown[name]),
                "speedup": workers * one / step if step else 1.0}

    @property
    def after(self) -> float:
        """Microseconds of a step with the machines that were asked for, the last of them."""
        return float(self.rows[-1]["step"])

    @property
    def speedup(self) -> float:
        """Steps of all workers in the same time, as a multiple of those of one worker with as many servers."""
        return float(self.rows[-1]["speedup"])

    def _notes(self, asked: bool) -> list[str]:
        found = self.measured
        trips = f"{found.calls:.3g} round trip{'' if found.calls == 1 else 's'}"
        what = (f"Measured: {format_count(found.steps)} steps of {found.workers} workers and {found.servers} servers, "
                f"{format_duration(found.compute)} of computing, {format_bytes(found.sent)} sent and "
                f"{format_bytes(found.received)} received in {trips} for each step of a worker. "
                f"The model gives {format_duration(self.model)} for a step that took {format_duration(found.step)}.")
        assumed = ("Assumed: the time to compute and the bytes of a worker do not depend on the number of workers; all workers "
                   "compute at once, and the slowest measured worker sets the pace; the bytes in both directions add up on a "
                   "cable.")
        notes = [what, assumed]
        notes.append("The model ignores cables, because gbit= was not given." if self._gbit is None else
                     f"Every machine has a cable of {self._gbit:g} Gbit/s and no other traffic on it.")
        whose = "the one asked for" if asked else "that of this run"
        notes.append(f"The round trip of {format_duration(self._trip)} is {whose}.")
        if not found.server_calls:
            notes.append("The model ignores the work of servers, because no server was profiled.")
        elif found.servers == 1:
            notes.append("The load of several servers is assumed to be even, because there was only one.")
        else:
            notes.append(f"The load of several servers is assumed to be as uneven as with {found.servers}: "
                         f"{found.balance:.2f} times the mean.")
        return notes

    def summary(self) -> str:
        """The answer in a sentence."""
        row = self.rows[-1]
        return (f"With {format_count(row['workers'])} workers and {format_count(row['servers'])} servers a step would take "
                f"{format_duration(row['step'])} instead of {format_duration(self.before)}, most of it "
                f"{row['limit'].replace('_', ' ')}: {format_ratio(row['speedup'])} the steps of one worker.")

    def table(self) -> Table:
        """The parts of a step with each number of machines; of those that go on at once, the longest counts."""
        columns = ("workers", "servers", "step", "compute", *(name.replace("_", " ") for name in _SHARED), "round trips", "steps",
                   "limit")
        cells = [[format_count(row["workers"]), format_count(row["servers"]), format_duration(row["step"]),
                  format_duration(row["compute"]), *(format_duration(row[name]) for name in _SHARED),
                  format_duration(row["round_trips"]), format_ratio(row["speedup"]), row["limit"].replace("_", " ")]
                 for row in self.rows]
        return Table(columns, self.rows, cells, " ".join(self.notes), "Estimate for more machines")

    def __repr__(self) -> str:
        text = repr(self.table())
        return text if len(self.rows) > 1 else f"{self.summary()}\n{text}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        return {"text/plain": repr(self), "text/html": self.table().html}


#: Parts of a step that go on at once.
_SHARED = ("worker_cable", "server_cable", "server_work")


def _sum(parts: dict[str, float]) -> float:
    return parts["compute"] + max(parts[name] for name in _SHARED) + parts["round_trips"]
