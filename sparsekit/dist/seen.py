"""What profiles of a distributed run are made of: what servers did, and what workers sent and for whom they waited.

A server keeps its latest spans and exact counts, on its own clock.  A worker notes spans where a profiler records, and with
them what the clocks of the servers show, from which ``profiler.processes`` computes how far clocks are apart.
"""

from __future__ import annotations

import math
import time
import weakref
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import hooks
from .messages import Answer, Exchange, Waited, payload_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.types import Sink
    from .client import Client
    from .messages import Key, Payload, Pull, Push
    from .server import Server

#: Spans that a server keeps.
SPANS = 100_000
#: Questions for a server's clock in a row, of which the shortest counts, and seconds until the next ones.
QUESTIONS, EVERY = 5, 5.0
#: Methods by which workers look at servers, and which are no part of a profile.
QUESTIONS_ALONE = frozenset({"process", "profile", "shown_clock", "why"})

#: A call of the transport.  Any: the arguments of a server's method
Request = tuple[int, str, tuple[Any, ...]]


class ServerLog:
    """What one server did, in a bounded number of spans, and counts since it was started.

    A span is ``(lane, name, key, rank, step, start, end, bytes, more)``, in seconds of the server's clock.

    Parameters
    ----------
    clock : callable
        Gives seconds.

    Attributes
    ----------
    seen : dict
        What the last pull of a key by a rank saw: the version, and the number of this rank's last push.
    loads : dict
        Rows and bytes pushed, and rows and bytes pulled with their numbers, by key.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.began = clock()
        self.spans: deque[tuple[Any, ...]] = deque(maxlen=SPANS)  # Any: the fields of a span
        self.noted = 0
        self.seen: dict[tuple[Key, int], tuple[int, int]] = {}
        self.loads: dict[Key, list[int]] = {}
        self.counts = {"calls": 0, "bytes_received": 0, "bytes_sent": 0}

    def note(self, *span: object) -> None:  # object: the fields of a span
        """Keep a span."""
        self.spans.append(span)
        self.noted += 1

    def told(self) -> dict[str, Any]:  # Any: plain data
        """All of it as plain data."""
        return {**self.counts, "clock": self.clock(), "began": self.began, "spans": [list(span) for span in self.spans],
                "dropped": self.noted - len(self.spans), "loads": [[key, *load] for key, load in self.loads.items()]}

    def load(self, server: Server, message: Exchange, values: Sequence[Any]) -> tuple[int, int]:  # Any: arrays
        """Count what a message brought and what was given for it, by key; gives the bytes of both."""
        received = sent = 0
        for push in message.pushes:
            load = self.loads.setdefault(push.key, [0, 0, 0, 0])
            size = push.values.nbytes if push.rows is None else push.values.nbytes + push.rows.nbytes
            load[0] += _rows_of(server, push)
            load[1] += size
            received += size
        for pull, array in zip(message.pulls, values, strict=True):
            load = self.loads.setdefault(pull.key, [0, 0, 0, 0])
            asked = 0 if pull.rows is None else pull.rows.nbytes
            load[2] += len(array) if array.ndim else 1
            load[3] += array.nbytes + asked
            received += asked
            sent += array.nbytes
        return received, sent


def _rows_of(server: Server, push: Push) -> int:
    if push.rows is not None:
        return len(push.rows)
    held = server.keys.get(push.key)
    return 0 if held is None else held.rows


class Call:
    """One call of a server's method, while it is going on."""

    def __init__(self, log: ServerLog, method: str, arguments: tuple[Any, ...]) -> None:  # Any: as in Request
        self.log, self.method, self.arguments = log, method, arguments
        self.mark = log.clock()
        first = arguments[0] if arguments else None
        self.message = first if isinstance(first, Exchange) else None
        self.rank = self.message.rank if self.message is not None else first if isinstance(first, int) else None
        self.waits: list[Waited] = []

    def _work(self, size: int, by_way: list[int] | None) -> None:
        """The server has worked on the call since the last mark."""
        now = self.log.clock()
        self.log.note("serve", self.method, None, self.rank, None, self.mark, now, size, by_way)
        self.mark = now

    def wait(self) -> None:
        """The call waits from now on."""
        self._work(0, None)

    def waited(self, why: Waited) -> None:
        """The call has waited until now."""
        now = self.log.clock()
        last = self.waits[-1] if self.waits else None
        if last is not None and last[:3] == why[:3]:
            self.waits[-1] = last._replace(seconds=last.seconds + now - self.mark)
        else:
            self.waits.append(why._replace(seconds=now - self.mark))
        self.mark = now

    def end(self, server: Server, result: Payload) -> Payload:
        """The call is answered; gives the answer, which says for whom it waited."""
        log = self.log
        if self.method in QUESTIONS_ALONE:
            return result
        if self.message is not None:
            received, sent = log.load(server, self.message, result.values)
            result = result._replace(waited=tuple(self.waits))
        else:
            received, sent = payload_bytes(self.arguments), payload_bytes(result)
        self._work(received + sent, [received, sent])
        for name, amount in zip(log.counts, (1, received, sent), strict=True):
            log.counts[name] += amount
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
                (shown,) = self.client.ask([(server, "shown_clock", ())], timeout)
                end = time.perf_counter_ns()
                if best is None or end - start < best[1] - best[0]:
                    best = start, end, float(shown)
            if best is not None:
                sink.span(f"clock of server {server}", "profiler", best[0], best[1],
                          {"rank": self.client.rank, "server": server, "shown": best[2]})
        sink.span("ask clocks", "profiler", begin, time.perf_counter_ns(), {})

    # Any: as in Transport.call
    def end(self, sink: Sink | None, start: int, requests: Sequence[Request], replies: Sequence[Any]) -> None:
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
        travel = max(0, end - start - sum(lengths))
        borders = [end - travel // 2]
        for length in reversed(lengths):
            borders.insert(0, max(start, borders[0] - length))
        for wait, (first, last) in zip(waits, pairwise(borders), strict=True):
            words = f"wait for rank{'s' if len(wait.ranks) > 1 else ''} {', '.join(map(str, wait.ranks))}"
            sink.span(words, "wait", first, last, {"rank": self.client.rank, "ranks": list(wait.ranks), "key": wait.key,
                                                   "step": wait.step})

    def _told(self, requests: Sequence[Request], replies: Sequence[Any]) -> tuple[str, dict[str, Any]]:  # Any: plain data
        """What a call is named, and what it moved by key and by server."""
        keys: dict[Key, dict[str, Any]] = {}
        servers = []
        for (server, _, arguments), reply in zip(requests, replies, strict=True):
            servers.append([server, payload_bytes(arguments), payload_bytes(reply)])
            message = arguments[0] if arguments else None
            if isinstance(message, Exchange):
                for push in message.pushes:
                    rows = self.client._partition(push.key).count(server) if push.rows is None else len(push.rows)
                    self._add(keys, server, push, push.sequence, "pushed", rows, payload_bytes(push))
                for pull, array in zip(message.pulls, reply.values, strict=True):
                    rows, size = len(array) if array.ndim else 1, int(array.nbytes) + payload_bytes(pull)
                    self._add(keys, server, pull, pull.version, "pulled", rows, size)
        sent, received = sum(line[1] for line in servers), sum(line[2] for line in servers)
        moved = [word for word, count in (("push", "pushes"), ("pull", "pulls")) if any(line[count] for line in keys.values())]
        name = "+".join(moved) or requests[0][1]
        about = {"rank": self.client.rank, "bytes": sent + received, "sent": sent, "received": received, "servers": servers}
        return name, {**about, "keys": list(keys.values())} if keys else about

    # Any: plain data
    def _add(self, keys: dict[Key, dict[str, Any]], server: int, part: Push | Pull, step: int, way: str, rows: int, size: int
             ) -> None:
        """Add one server's part of a push or a pull to what was moved of its key."""
        spec, cut = self.client.spec(part.key), self.client._partition(part.key)
        entry = keys.setdefault(part.key, {
            "key": part.key, "step": step, "pushes": 0, "rows_pushed": 0, "bytes_pushed": 0, "pulls": 0, "rows_pulled": 0,
            "bytes_pulled": 0, "rows": cut.rows, "bytes": math.prod(spec.shape) * np.dtype(spec.dtype).itemsize,
            "by_server": []})
        entry["step"] = max(entry["step"], step)
        entry["pushes" if way == "pushed" else "pulls"] = 1
        entry[f"rows_{way}"] += rows
        entry[f"bytes_{way}"] += size
        entry[f"{way}_whole"] = part.rows is None
        entry["by_server"].append([server, cut.count(server), rows if way == "pulled" else 0, rows if way == "pushed" else 0])


def waits_of(replies: Sequence[Any]) -> list[Waited]:  # Any: as in Transport.call
    """For whom a call waited: servers are asked at once, so the longest of their waits is the call's."""
    waits_by_server = [list(reply.waited) for reply in replies if isinstance(reply, Answer) and reply.waited]
    return max(waits_by_server, key=lambda waits: sum(wait.seconds for wait in waits), default=[])
