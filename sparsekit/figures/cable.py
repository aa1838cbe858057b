"""What crosses between the servers of a table and a worker in one step: its rows, against the whole table, at true scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..base.formatting import counted, format_bytes, format_density, format_ratio
from .figure import Figure
from .interaction import Interaction
from .marks import Dots, Line, Panel, Rect, Table, Text
from .text import clean, fit

#: Pixels of a panel: its width, the squares of all servers one below the other, what stands above, and the gap between two.
WIDTH, TALL, HEAD, GAP = 440.0, 180.0, 112.0, 16.0
#: Places along the cable: the table, what is pulled, what is pushed, and the worker.
TABLE, PULLED, PUSHED, WORKER = 92.0, 216.0, 322.0, 412.0
#: The side of a server's square at most, half of the worker's width, and the side below which a square has a ring.
SQUARE, HALF, RINGED = 96.0, 24.0, 12.0
#: Servers that have a square of their own, and the pictures of the film.
MOST, FRAMES = 4, 8


class Server(NamedTuple):
    """What a server holds of a table, and the rows that a worker pulls from it and pushes to it in a step, on average."""

    name: str
    rows: int
    pulled: float
    pushed: float


class Crossed(NamedTuple):
    """What a step of a worker moves of one table, on average.

    Attributes
    ----------
    key : str
    rows, whole : int
        The rows of the table, and its bytes.
    pulled, pushed : tuple of (float, float, str)
        Rows and bytes that cross, and the kind of the arrays: "dense" or "sparse".
    servers : sequence of Server
    """

    key: str
    rows: int
    whole: int
    pulled: tuple[float, float, str]
    pushed: tuple[float, float, str]
    servers: Sequence[Server]

    @property
    def bytes(self) -> float:
        """Both ways."""
        return self.pulled[1] + self.pushed[1]

    @property
    def kind(self) -> str:
        """Dense if anything dense crosses."""
        return "dense" if "dense" in (self.pulled[2], self.pushed[2]) else "sparse"

    @property
    def of_whole(self) -> float:
        """The bytes both ways, or in the one way that was used, if all rows crossed."""
        return self.whole * sum(size > 0 for _, size, _ in (self.pulled, self.pushed))


def cable_figure(tables: Sequence[Crossed]) -> Figure:
    """Draw what one step of a worker moves of the largest table: all of it beside what crossed, on one scale.

    Parameters
    ----------
    tables : sequence of Crossed
        At least one, each of which moved something.

    Returns
    -------
    Figure
        Its live view lets both sides send bytes at the same speed.
    """
    largest = max(tables, key=lambda crossed: (crossed.of_whole, crossed.bytes))
    ordered = sorted(tables, key=lambda crossed: (-crossed.of_whole, crossed.key))
    rows = [(clean(repr(crossed.key), 60), _rows(crossed.pulled), _rows(crossed.pushed), f"{crossed.rows:,}",
             format_bytes(crossed.bytes), format_bytes(crossed.of_whole)) for crossed in ordered]  # fmt: skip
    columns = ("key", "rows pulled", "rows pushed", "of", "bytes a step", "the whole table")
    table = Table(columns, rows, "One step of a worker, on average")
    others = [crossed for crossed in tables if crossed is not largest]
    smaller = f" {counted(len(others), 'smaller key')} moved {format_bytes(sum(crossed.bytes for crossed in others))} a step."
    notes = (f"The area of a square is bytes, on one scale: on the left what each server holds{_marked(largest)}.",
             *([smaller.strip()] if others else []))  # fmt: skip

    def drawn(sent: float) -> Figure:
        """The figure when each side has sent this many bytes."""
        figure = Figure(_title(largest), _finding(largest), table=table, notes=notes)
        for number, crossed in enumerate(_sides(largest)):
            _side(figure, number, largest, crossed, min(1.0, sent / max(crossed.bytes, 1.0)))
        return figure

    figure = drawn(math.inf)
    if len(figure.panels) > 1:
        frames = [drawn(largest.of_whole * part / FRAMES) for part in range(1, FRAMES)]
        figure.interaction = Interaction(frames=[*frames, figure], seconds=0.5)
    return figure


def _sides(crossed: Crossed) -> list[Crossed]:
    """What is drawn: the table whole, if it did not cross whole, and as it crossed."""
    if crossed.kind == "dense":
        return [crossed]
    every = [server._replace(pulled=float(server.rows), pushed=float(server.rows)) for server in crossed.servers]
    pulled, pushed = ((float(crossed.rows) if way[1] else 0.0, float(crossed.whole) if way[1] else 0.0, "dense")
                      for way in (crossed.pulled, crossed.pushed))  # fmt: skip
    return [crossed._replace(pulled=pulled, pushed=pushed, servers=every), crossed]


def _rows(way: tuple[float, float, str]) -> str:
    return f"{way[0]:,.0f}" if way[1] else ""


def _marked(crossed: Crossed) -> str:
    return "" if crossed.kind == "dense" else ", with the rows that cross gathered in a corner; a ring marks a small square"


def _title(crossed: Crossed) -> str:
    name = clean(crossed.key, 60)
    if crossed.kind == "dense" or not crossed.bytes < crossed.of_whole:
        return f"{name}: a step moves {format_bytes(crossed.bytes)}"
    fewer = format_ratio(crossed.of_whole / crossed.bytes)
    return f"{name}: its rows cross in {format_bytes(crossed.bytes)}, {fewer} fewer bytes than the whole table"


def _finding(crossed: Crossed) -> str:
    ways = [f"{verb} {rows:,.0f}" for verb, (rows, size, _) in (("pulls", crossed.pulled), ("pushes", crossed.pushed)) if size]
    share = max(crossed.pulled[0], crossed.pushed[0]) / max(crossed.rows, 1)
    rows = f"{counted(crossed.rows, 'row')} ({format_density(share)})"
    said = [f"A step of a worker {' and '.join(ways)} of {rows}: {format_bytes(crossed.bytes)}."]
    if crossed.kind != "dense":
        said.append(f"The whole table would take {format_bytes(crossed.of_whole)}.")
    if len(crossed.servers) > 1:
        parts = [f"{server.name} {max(server.pulled, server.pushed):,.0f}" for server in crossed.servers[:MOST]]
        remaining = f", and {len(crossed.servers) - MOST} more" if len(crossed.servers) > MOST else ""
        said.append(f"Rows by server: {', '.join(parts)}{remaining}.")
    return " ".join(said)


def _together(servers: Sequence[Server]) -> list[Server]:
    """The servers that are drawn: what is too many is one."""
    if len(servers) <= MOST:
        return list(servers)
    remaining = servers[MOST - 1 :]
    rows, pulled, pushed = zip(*(server[1:] for server in remaining), strict=True)
    return [*servers[: MOST - 1], Server(f"{len(remaining)} more", sum(rows), sum(pulled), sum(pushed))]


def _side(figure: Figure, panel: int, table: Crossed, crossed: Crossed, sent: float) -> None:
    """A cable for each server, and on it what is pulled and pushed; ``sent`` is the share that has crossed."""
    servers = _together(crossed.servers)
    largest = max(server.rows for server in servers)
    sides = [math.sqrt(server.rows / max(largest, 1)) for server in servers]
    scale = min(SQUARE, (TALL - GAP * (len(servers) - 1)) / sum(sides) if sum(sides) else SQUARE)
    each = scale / math.sqrt(largest * table.whole / max(table.rows, 1)) if largest and table.whole else 0.0
    height = HEAD + sum(max(side * scale, 14.0) for side in sides) + GAP * len(servers) + 6
    figure.panels.append(Panel((0.0, WIDTH), (0.0, height), height, share=0.5, aspect=WIDTH / height))
    name = "what crossed" if table is crossed else "if all rows crossed"
    figure.add(Text(panel, crossed.kind, 0.0, 16.0, format_bytes(crossed.bytes), bold=True, size=32.0),
               Text(panel, "ink", 0.0, 48.0, name, bold=True, size=14.0))  # fmt: skip
    for x, words, below in ((TABLE, "servers", f"{crossed.rows:,} rows"), (PULLED, "pull →", _amount(crossed.pulled)),
                            (PUSHED, "← push", _amount(crossed.pushed)), (WORKER, "worker", "")):  # fmt: skip
        figure.add(Text(panel, "ink", x, 76.0, words, "middle"), Text(panel, "muted", x, 94.0, below, "middle"))
    y = HEAD
    for server, side in zip(servers, sides, strict=True):
        middle = y + max(side * scale, 14.0) / 2
        _cable(figure, panel, crossed, server, (middle, side * scale, each), sent)
        y += max(side * scale, 14.0) + GAP
    figure.add(Rect(panel, "outline", WORKER - HALF, WORKER + HALF, HEAD, y - GAP, "worker"))


def _amount(way: tuple[float, float, str]) -> str:
    return format_bytes(way[1]) if way[1] else "nothing"


def _cable(figure: Figure, panel: int, crossed: Crossed, server: Server, place: tuple[float, float, float], sent: float) -> None:
    """A server's square with the rows that cross, its cable, and what is on it."""
    middle, side, scale = place
    half = side / 2
    left, top = TABLE - half, middle - half
    figure.add(Line(panel, "muted", [TABLE + half, WORKER - HALF], [middle, middle], width=1.6))
    figure.add(Text(panel, "muted", 0.0, middle, fit(server.name.removeprefix("server "), left - 4, 12.0)))
    rows = max(server.pulled, server.pushed)
    inner = side * math.sqrt(min(1.0, rows / server.rows)) if server.rows else 0.0
    words = f"{server.name}: {rows:,.0f} of its {server.rows:,} rows"
    figure.add(Rect(panel, crossed.kind, left, left + inner, top, top + inner, words),
               Line(panel, "muted", [left, left + side, left + side, left, left], [top, top, top + side, top + side, top]))
    for x, verb, (total, size, kind), part in ((PULLED, "pulls", crossed.pulled, server.pulled),
                                               (PUSHED, "pushes", crossed.pushed, server.pushed)):  # fmt: skip
        moved = size * part / total if total else 0.0
        square = math.sqrt(moved) * scale
        if square <= 0:
            continue
        begin, end = x - square / 2, middle + square / 2
        words = f"{verb} {part:,.0f} rows, {format_bytes(moved)}, {server.name}"
        if square < RINGED:
            figure.add(Dots(panel, kind, [x], [middle], 9.0), Dots(panel, "paper", [x], [middle], 7.2))
        elif sent < 1:
            figure.add(Rect(panel, "outline", begin, begin + square, middle - square / 2, end))
        figure.add(Rect(panel, kind, begin, begin + square, end - square * sent, end, words))
