"""What profiles of a distributed run are made of: what servers did, and what workers sent and for whom they waited.

A server keeps its latest spans and exact counts, on its own clock.  A worker notes spans where a profiler records, and with
them what the clocks of the servers show, from which ``profiler.clocks`` computes how far clocks are apart.
"""

from __future__ import annotations

import json
import math
import platform
import time
import weakref
from collections import deque
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import hooks
from .messages import Reply, Request, Waited, Waiting, payload_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.types import Sink
    from .client import Client
    from .messages import Key, Push
    from .shard import Shard

__all__ = ["ClientNotes", "ServerLog", "SpanFile", "waits_of"]

#: Spans that a server keeps.
SPANS = 100_000
#: Questions for a server's clock in a row, of which the shortest counts, and seconds until the next ones.
QUESTIONS, EVERY = 5, 5.0

#: A call of the transport.  object: as in ``Transport.call``
Call = tuple[int, str, tuple[object, ...]]


def _machine() -> str:
    """What the processes that read one clock have in common: a machine, since it was started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


class SpanFile:
    """What the lives of one server noted, in a file: what a killed process has written stays.

    Each life writes its machine and when it began, and then a line for each call: spans, counts, and loads by key.

    Parameters
    ----------
    path : Path
    began : float
        When this life began.
    """

    def __init__(self, path: Path, began: float) -> None:
        self.before = path.read_bytes().splitlines() if path.exists() else []
        self._path: Path | None = path
        self.write(["life", _machine(), began], start="\n")

    def write(self, line: list[Any], start: str = "") -> None:  # Any: plain data
        """Write a line; a profile is not worth an error, so a full disk ends it."""
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{start}{json.dumps(line)}\n")
        except OSError:
            self._path = None

    def lives(self) -> list[tuple[float | None, list[Any]]]:  # Any: plain data
        """Former lives: when each began, None if its clock was another machine's, and its lines."""
        found: list[tuple[float | None, list[Any]]] = []
        for text in self.before:
            try:
                kind, *what = json.loads(text)
            except ValueError:  # the process was killed while it wrote, or the line is empty
                continue
            if kind == "life":
                found.append((what[1] if what[0] == _machine() else None, []))
            else:
                found[-1][1].append(what)
        return found


class ServerLog:
    """What one server did, in a bounded number of spans, and counts since it was started.

    A span is ``(lane, name, key, rank, step, start, end, bytes, more)``, in seconds of the server's clock.

    Parameters
    ----------
    shard : Shard
        Gets the clock, if it has none.
    kept : Path, optional
        A file in which the spans outlive the process.  The spans of former lives are taken from it, and count on.
    """

    def __init__(self, shard: Shard, kept: Path | None = None) -> None:
        self.clock = shard.clock or time.perf_counter
        self.began = began = self.clock() - shard.recovery_seconds
        self.spans: deque[tuple[Any, ...]] = deque(maxlen=SPANS)  # Any: the fields of a span
        self.noted, self.lives = 0, 1
        #: Rows and bytes pushed, and rows and bytes pulled with their numbers, by key.
        self.loads: dict[Key, list[int]] = {}
        self.counts = {"calls": 0, "bytes_received": 0, "bytes_sent": 0}
        self._file = None if kept is None else SpanFile(kept, began)
        self._fresh: list[tuple[Any, ...]] = []  # Any: as above
        if self._file is not None:
            self._go_on(self._file)
        if shard.counts["replayed"]:
            self._note("journal", "replay", None, None, None, began, self.clock(), 0, None)
        self.follow(shard)

    def _go_on(self, file: SpanFile) -> None:
        """Take what former lives noted; the spans of another machine are on another clock, and are left out."""
        for began, lines in file.lives():
            self.lives += 1
            self.began = self.began if began is None else min(self.began, began)
            for spans, counts, loads in lines:
                self.noted += len(spans)
                if began is not None:
                    self.spans.extend(map(tuple, spans))
                self._count(dict(loads), *counts)

    def _count(self, loads: dict[Key, list[int]], calls: int, received: int, sent: int) -> None:
        for key, load in loads.items():
            self.loads[key] = [one + more for one, more in zip(self.loads.get(key, (0, 0, 0, 0)), load, strict=True)]
        for name, more in zip(self.counts, (calls, received, sent), strict=True):
            self.counts[name] += more

    def keep(self, loads: dict[Key, list[int]], calls: int, received: int, sent: int) -> None:
        """Count a call that has been answered, and write what has been noted since the last one."""
        self._count(loads, calls, received, sent)
        if self._file is not None:
            self._file.write(["call", self._fresh, [calls, received, sent], list(loads.items())])
            self._fresh = []

    def follow(self, shard: Shard) -> None:
        """Note what a shard does from now on."""
        shard.clock = self.clock

    def _note(self, *span: object) -> None:  # object: the fields of a span
        self.spans.append(span)
        self.noted += 1
        if self._file is not None:
            self._fresh.append(span)

    def begin(self, method: str, arguments: tuple[Any, ...], again: bool) -> _Call:  # Any: as in Transport.call
        """A call begins."""
        return _Call(self, method, arguments, again)

    def told(self, shard: Shard) -> dict[str, Any]:  # Any: plain data
        """All of it as plain data."""
        found = shard.statistics()
        del found["spans"]
        return {**found, **self.counts, "clock": self.clock(), "began": self.began, "spans": [list(span) for span in self.spans],
                "dropped": self.noted - len(self.spans), "loads": [[key, *load] for key, load in self.loads.items()],
                "lives": self.lives, "mode": shard.mode, "staleness": shard.staleness, "shards": shard.shards,
                "workers": shard.workers}

    @staticmethod
    def load(shard: Shard, request: Request, values: tuple[Any, ...],  # Any: arrays
             again: bool) -> tuple[dict[Key, list[int]], int, int]:
        """What a request brought and what was given for it, by key; and the bytes of both, the first unless ``again``."""
        loads: dict[Key, list[int]] = {}
        received = sent = 0
        for push in () if again else request.pushes:
            load = loads.setdefault(push.key, [0, 0, 0, 0])
            size = push.values.nbytes if push.rows is None else push.values.nbytes + push.rows.nbytes
            load[0] += _rows_of(shard, push)
            load[1] += size
            received += size
        asked = [0 if again or pull.rows is None else pull.rows.nbytes for pull in request.pulls]
        for pull, given in zip(request.pulls, values, strict=False):
            load = loads.setdefault(pull.key, [0, 0, 0, 0])
            load[2] += len(given) if given.ndim else 1
            load[3] += given.nbytes + (0 if pull.rows is None else pull.rows.nbytes)
            sent += given.nbytes
        return loads, received + sum(asked), sent

    def take(self, shard: Shard, rank: int | None) -> None:
        """Take the spans of the shard, which come from a call of a rank."""
        while shard.spans:
            what, key, own, step, start, end, size, more = shard.spans.popleft()
            self._note(what, what, key, rank if own is None else own, step, start, end, size, more)


def _rows_of(shard: Shard, push: Push) -> int:
    if push.rows is not None:
        return len(push.rows)
    held = shard.keys.get(push.key)
    return 0 if held is None else held.rows


class _Call:
    """One call of a server's method, while it is going on."""

    def __init__(self, log: ServerLog, method: str, arguments: tuple[Any, ...], again: bool) -> None:  # Any: as in Transport.call
        self.log, self.method, self.again = log, method, again
        self.mark = log.clock()
        first = arguments[0] if arguments else None
        self.request = first if isinstance(first, Request) else None
        self.rank = self.request.rank if self.request is not None else first if isinstance(first, int) else None
        self.arguments = arguments
        self.waits: list[Waited] = []

    def _work(self, shard: Shard, size: int, more: list[int] | None) -> None:
        """The server has worked on the call since the last mark."""
        now = self.log.clock()
        self.log.take(shard, self.rank)
        self.log._note("serve", self.method, None, self.rank, None, self.mark, now, size, more)
        self.mark = now

    def wait(self, shard: Shard) -> None:
        """The call waits from now on."""
        self._work(shard, 0, None)

    def waited(self, why: Waiting) -> None:
        """The call has waited until now."""
        now = self.log.clock()
        key, step, _ = why.reasons[0]
        ranks = tuple(sorted({rank for _, _, some in why.reasons for rank in some}))
        last = self.waits[-1] if self.waits else None
        if last is not None and last[:3] == (key, step, ranks):
            self.waits[-1] = last._replace(seconds=last.seconds + now - self.mark)
        else:
            self.waits.append(Waited(key, step, ranks, now - self.mark))
        self.mark = now

    def end(self, result: object, shard: Shard) -> object:  # object: as in Transport.call
        """The call is answered; gives the answer, which says for whom it waited."""
        if self.waits and isinstance(result, (Reply, Waiting)):
            result = result._replace(waited=tuple(self.waits))
        log = self.log
        loads: dict[Key, list[int]] = {}
        if self.request is not None:
            loads, received, sent = log.load(shard, self.request, result.values if isinstance(result, Reply) else (), self.again)
        else:
            received, sent = 0 if self.again else payload_bytes(self.arguments), payload_bytes(result)
        self._work(shard, received + sent, [received, sent])
        log.keep(loads, int(not self.again), received, sent)
        return result


class ClientNotes:
    """Tells the profiler that records, if there is one, what a client sends, what it gets, and for whom it waits.

    Parameters
    ----------
    client : Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._known: weakref.ref[Any] | None = None  # Any: what a recorder is told by
        self._asked = 0.0

    def begin(self, timeout: float) -> tuple[Sink | None, int]:
        """A call begins: gives the recorder and the time, after it has been told what the servers' clocks show."""
        sink = hooks.sink
        if sink is None:
            return None, 0
        # A recorder has another function after each pause, in which its clock stood still.
        told = sink.call if isinstance(sink.call, FunctionType) else sink
        if self._known is None or self._known() is not told or time.monotonic() - self._asked > EVERY:
            self._known, self._asked = weakref.ref(told), time.monotonic()
            self._ask_clocks(sink, timeout)
        return sink, time.perf_counter_ns()

    def _ask_clocks(self, sink: Sink, timeout: float) -> None:
        """Note what each server's clock shows, by the quickest of several answers."""
        begin = time.perf_counter_ns()
        for server in range(self.client.shards):
            best: tuple[int, int, float] | None = None
            for _ in range(QUESTIONS):
                start = time.perf_counter_ns()
                (shown,) = self.client.transport.call([(server, "clock", ())], timeout)
                end = time.perf_counter_ns()
                if best is None or end - start < best[1] - best[0]:
                    best = start, end, float(shown)
            if best is not None:
                sink.span(f"clock of server {server}", "profiler", best[0], best[1],
                          {"rank": self.client.rank, "server": server, "shown": best[2]})
        sink.span("ask clocks", "profiler", begin, time.perf_counter_ns(), {})

    # Any: as in Transport.call
    def end(self, sink: Sink | None, start: int, requests: Sequence[Call], replies: Sequence[Any]) -> None:
        """A call has been answered: count for whom it waited, and note it where a profiler records."""
        now = time.perf_counter_ns()
        waits = waits_of(replies)
        for rank in {rank for wait in waits for rank in wait.ranks}:
            self.client._waited[rank] = self.client._waited.get(rank, 0.0) + sum(w.seconds for w in waits if rank in w.ranks)
        gone = hooks.sink is not sink
        if sink is None or gone:
            return
        self._note_waits(sink, start, now, waits)
        name, about = self._told(requests, replies)
        sink.span(name, "exchange", start, now, about)

    def _note_waits(self, sink: Sink, start: int, end: int, waits: Sequence[Waited]) -> None:
        """Note waits, which end when the answer sets out: half of the rest of the time before it is here."""
        lengths = [round(wait.seconds * 1e9) for wait in waits]
        rest = max(0, end - start - sum(lengths))
        borders = [end - rest // 2]
        for length in reversed(lengths):
            borders.insert(0, max(start, borders[0] - length))
        for wait, (first, last) in zip(waits, pairwise(borders), strict=True):
            words = f"wait for rank{'s' if len(wait.ranks) > 1 else ''} {', '.join(map(str, wait.ranks))}"
            sink.span(words, "wait", first, last, {"rank": self.client.rank, "ranks": list(wait.ranks), "key": wait.key,
                                                   "step": wait.step})

    def _told(self, requests: Sequence[Call], replies: Sequence[Any]) -> tuple[str, dict[str, Any]]:  # Any: plain data
        """What a call is named, and what it moved by key and by server."""
        keys: dict[Key, dict[str, Any]] = {}
        servers, pushed, pulled = [], False, False
        for (server, _, arguments), reply in zip(requests, replies, strict=True):
            servers.append([server, payload_bytes(arguments), payload_bytes(reply)])
            request = arguments[0] if arguments else None
            if isinstance(request, Request):
                pushed, pulled = pushed or bool(request.pushes), pulled or bool(request.pulls)
                self._add(keys, server, request, reply.values if isinstance(reply, Reply) else ())
        sent, received = sum(one[1] for one in servers), sum(one[2] for one in servers)
        name = {(True, True): "push+pull", (True, False): "push", (False, True): "pull"}.get((pushed, pulled), requests[0][1])
        about = {"rank": self.client.rank, "bytes": sent + received, "sent": sent, "received": received, "servers": servers}
        return name, {**about, "keys": list(keys.values())} if keys else about

    # Any: arrays, and plain data
    def _add(self, keys: dict[Key, dict[str, Any]], server: int, request: Request, values: Sequence[Any]) -> None:
        """Add up what was moved, by key."""
        for push in request.pushes:
            found = self._of(keys, push.key, push.sequence)
            rows = self.client._partition(push.key).count(server) if push.rows is None else len(push.rows)
            self._count(found, server, "pushed", rows, payload_bytes(push), push.rows is None)
        for pull, given in zip(request.pulls, values, strict=False):
            found = self._of(keys, pull.key, pull.version)
            size = int(given.nbytes) + payload_bytes(pull)
            self._count(found, server, "pulled", len(given) if given.ndim else 1, size, pull.rows is None)

    # Any: plain data
    def _count(self, found: dict[str, Any], server: int, way: str, rows: int, size: int, whole: bool) -> None:
        """Add one server's part of a push or a pull."""
        found["pushes" if way == "pushed" else "pulls"] = 1
        found[f"rows_{way}"] += rows
        found[f"bytes_{way}"] += size
        found[f"{way}_whole"] = whole
        held = self.client._partition(found["key"]).count(server)
        found["by_server"].append([server, held, rows if way == "pulled" else 0, rows if way == "pushed" else 0])

    def _of(self, keys: dict[Key, dict[str, Any]], key: Key, step: int) -> dict[str, Any]:  # Any: plain data
        found = keys.get(key)
        if found is None:
            spec = self.client.spec(key)
            rows, size = spec.shape[0] if spec.shape else 1, math.prod(spec.shape) * np.dtype(spec.dtype).itemsize
            found = keys[key] = {"key": key, "step": step, "pushes": 0, "rows_pushed": 0, "bytes_pushed": 0, "pulls": 0,
                                 "rows_pulled": 0, "bytes_pulled": 0, "rows": rows, "bytes": size, "by_server": []}
        found["step"] = max(found["step"], step)
        return found


def waits_of(replies: Sequence[Any]) -> list[Waited]:  # Any: as in Transport.call
    """For whom a call waited: servers are asked at once, so the longest of their waits is the call's."""
    found = [list(reply.waited) for reply in replies if isinstance(reply, (Reply, Waiting)) and reply.waited]
    return max(found, key=lambda waits: sum(wait.seconds for wait in waits), default=[])
