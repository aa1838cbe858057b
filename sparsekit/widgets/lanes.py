"""Paints lanes of events, their labels and the time axis onto a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.formatting import format_count, format_duration, format_tick
from .describe import STORAGE, storage_kind
from .layout import Event, EventBox, Window, merge, place_rows, ticks
from .svg import Drawing, fit, text_width
from .theme import ALARM, INK, LINE, MUTED, OTHER, PAPER, SERIES, STRIPE, ink_on, lane_order

__all__ = ["STORAGE_COLORS", "LanePainter", "Palette", "axis", "legend"]

#: The colour and the letter of each kind of ``describe.STORAGE``.
STORAGE_COLORS = ((SERIES[0], "C"), (SERIES[3], "R"), (SERIES[2], "B"), (SERIES[4], "O"), (OTHER, "D"), (LINE, ""))

#: Blocks a picture may hold before neighbours are joined more coarsely.
MOST_BLOCKS = 1500
ROW, GAP = 24.0, 6.0
#: Conversions whose ways to their readers a picture shows at most.
MOST_EDGES = 24


class Palette:
    """The colour and the letter of the storage types of an operator's arrays."""

    def __init__(self) -> None:
        self.colors = {name: color for name, (color, _) in zip(STORAGE, STORAGE_COLORS, strict=True)}
        self.codes = {name: code for name, (_, code) in zip(STORAGE, STORAGE_COLORS, strict=True)}

    def key(self, event: Event) -> str:
        """What of an event decides its colour: the kind of its storage types."""
        return STORAGE[storage_kind(event)]

    def legend(self, present: set[str]) -> list[tuple[str, str, str]]:
        """Give (letter, storage types, colour) of what is present."""
        return [(self.codes[name], name, self.colors[name]) for name in STORAGE if name in present]


class LanePainter:
    """Draws events of one time window into one horizontal stretch of a drawing.

    Parameters
    ----------
    drawing : Drawing
    palette : Palette
    left, width : float
        Pixels.
    window : Window
        The time that ``width`` stands for.
    """

    def __init__(self, drawing: Drawing, palette: Palette, left: float, width: float, window: Window) -> None:
        self.drawing, self.palette, self.left, self.width, self.window = drawing, palette, left, width, window
        length = window.end - window.start
        self.scale = width / length if length > 0 else 0.0
        self.extents: dict[str, tuple[float, float]] = {}
        self.notes: list[str] = []
        #: Notes on events that are not drawn.
        self.left_out = ""

    def x(self, time: float) -> float:
        """Where ``time`` is, kept inside the stretch."""
        return self.left + min(max((time - self.window.start) * self.scale, 0.0), self.width)

    def strip(self, events: Sequence[Event], top: float, height: float = 6.0) -> float:
        """Draw every lane as a thin line, nested events hidden; give where it ends."""
        lanes = lane_order(event.lane for event in events)
        rows = place_rows(events, most=2)
        boxes: dict[str, list[tuple[float, float, float, float]]] = {}
        for i, lane in enumerate(lanes):
            y = top + i * (height + 1)
            self.drawing.rect(self.left, y, self.width, height, STRIPE)
            flat = [event for event, row in zip(events, rows, strict=True) if event.lane == lane and row == 0]
            for block in merge(flat, 2 / self.scale if self.scale else 0.0):
                x = self.x(block.start)
                width = max(self.x(block.end) - x, 0.7)
                boxes.setdefault(self._color(block.event), []).append((x, y, width, height))
        for color, found in boxes.items():
            self.drawing.boxes(found, color)
        return top + len(lanes) * (height + 1)

    def _color(self, event: Event) -> str:
        return self.palette.colors[self.palette.key(event)]

    def lanes(
        self,
        events: Sequence[Event],
        lanes: Sequence[str],
        top: float,
        stripe_end: float,
        badges: Mapping[int, int],
        row_height: float = ROW,
        guides: bool = True,
        room: float = 0.0,
    ) -> float:
        """Draw lanes with nested rows, labels and marks; give where they end.

        ``badges`` maps ``id(event)`` to the number drawn on it; ``stripe_end`` of 0 leaves
        the background as it is, and ``room`` is kept free above the axis.
        """
        blocks = self._blocks(events, place_rows(events), badges)
        y = top
        for i, lane in enumerate(lanes):
            depth = 1 + max((row for name, row in blocks if name == lane), default=0)
            height = depth * row_height + GAP
            if stripe_end and i % 2 == 0:
                self.drawing.rect(12, y, stripe_end - 12, height, STRIPE, rx=3.0)
            self.extents[lane] = (y, y + height)
            y += height
        if guides:
            axis(self.drawing, self.left, self.width, top, y + room, self.window.end - self.window.start)
        for (lane, row), found in blocks.items():
            inner = self.extents[lane][0] + GAP / 2 + row * row_height + 1
            self._row(found, inner, row_height - 2, badges)
        return y + room

    def _blocks(
        self, events: Sequence[Event], rows: Sequence[int], badges: Mapping[int, int]
    ) -> dict[tuple[str, int], list[EventBox]]:
        by_row: dict[tuple[str, int], list[Event]] = {}
        for event, row in zip(events, rows, strict=True):
            by_row.setdefault((event.lane, row), []).append(event)
        pixels = 0.75
        while True:
            least = pixels / self.scale if self.scale else 0.0
            blocks = {key: merge(found, least) for key, found in by_row.items()}
            if sum(map(len, blocks.values())) <= MOST_BLOCKS or pixels > 50:
                break
            pixels *= 2
        if sum(map(len, blocks.values())) > MOST_BLOCKS:
            blocks = self._longest(blocks, badges)
        joined = [block for found in blocks.values() for block in found if block.size > 1]
        if joined:
            events_joined = sum(block.size for block in joined)
            self.notes.append(
                f"{format_count(events_joined)} events shorter than {format_duration(least)} touch at this scale "
                f"and are drawn as {'one block' if len(joined) == 1 else f'{format_count(len(joined))} blocks'}, "
                "in the colour of the longest in each."
            )
        return blocks

    def _longest(
        self, blocks: Mapping[tuple[str, int], list[EventBox]], badges: Mapping[int, int]
    ) -> dict[tuple[str, int], list[EventBox]]:
        """Keep the longest of what deep nesting, or many threads, paint over each other in the last row of a lane."""
        everything = [block for found in blocks.values() for block in found]
        everything.sort(key=lambda block: (id(block.event) not in badges, block.start - block.end))
        hidden = {id(block) for block in everything[MOST_BLOCKS:]}
        events_hidden = sum(block.size for block in everything[MOST_BLOCKS:])
        self.left_out = (
            f"{format_count(events_hidden)} events overlap others in the last row of a lane. Only the "
            f"{format_count(MOST_BLOCKS)} longest events are drawn. The table counts all events."
        )
        self.notes.append(self.left_out)
        return {key: [block for block in found if id(block) not in hidden] for key, found in blocks.items()}

    def _row(self, blocks: Sequence[EventBox], y: float, height: float, badges: Mapping[int, int]) -> None:
        thin: dict[str, list[tuple[float, float, float, float]]] = {}
        wide = []
        for block in blocks:
            x = self.x(block.start)
            width = self.x(block.end) - x
            if width < 5 and not block.event.fallback:
                thin.setdefault(self._color(block.event), []).append((x, y, max(width, 0.75), height))
            else:
                wide.append((block, x, max(width, 2.0)))
        for color, boxes in thin.items():
            self.drawing.boxes(boxes, color)
        for block, x, width in wide:
            self._bar(block, x, y, width, height)
        for block in blocks:
            if id(block.event) in badges:
                self._badge(self.x(block.start), y, badges[id(block.event)])

    def _bar(self, block: EventBox, x: float, y: float, width: float, height: float) -> None:
        event = block.event
        color = self._color(event)
        self.drawing.rect(x + 0.3, y, max(width - 0.6, 1.0), height, color, rx=2.0)
        if event.fallback:
            self.drawing.rect(
                x + 1,
                y + 1,
                max(width - 2, 1.0),
                height - 2,
                self.drawing.hatch(ALARM),
                rx=2.0,
                stroke=ALARM,
                stroke_width=2,
            )
        label = self._label(event, width - 14)
        if not label:
            return
        size = 12.0 if len(label) > 1 else 11.0
        if event.fallback:
            # Text on a hatch is unreadable; give it a plate.
            self.drawing.rect(x + 4, y + 3, min(text_width(label, size) + 8, width - 8), height - 6, color, rx=2.0)
        self.drawing.text(
            x + width / 2 if len(label) == 1 else x + 9,
            y + height / 2 + 4.2,
            label,
            size=size,
            fill=ink_on(color),
            text_anchor="middle" if len(label) == 1 else None,
            font_weight="bold" if len(label) == 1 else None,
        )

    def _label(self, event: Event, room: float) -> str:
        name = event.name
        full = f"{name} · {event.layer}" if event.layer else name
        for text in (f"{full} · {format_duration(event.duration)}", full, name):
            if text_width(text, 12) <= room:
                return " ".join(text.split())
        shortened = fit(name, room, 12)
        return shortened if len(shortened) > 5 else self.palette.codes.get(self.palette.key(event), "") if room > -3 else ""

    def edges(self, pairs: Sequence[tuple[Event, Event]], events: Sequence[Event], row_height: float = ROW) -> None:
        """Draw an arrow from what made an array dense to each operator that reads it; after ``lanes``, with its events."""
        rows = {id(event): row for event, row in zip(events, place_rows(events), strict=True)}

        def top(event: Event) -> tuple[float, float]:
            middle = (self.x(event.start) + self.x(event.end)) / 2
            return middle, self.extents[event.lane][0] + GAP / 2 + rows[id(event)] * row_height

        for source, target in pairs[:MOST_EDGES]:
            self._arrow(top(source), top(target), row_height, ALARM if source.fallback else INK)
        if len(pairs) > MOST_EDGES:
            self.notes.append(f"{format_count(len(pairs) - MOST_EDGES)} more arrows to readers of dense arrays are not drawn.")

    def _arrow(self, source: tuple[float, float], target: tuple[float, float], height: float, color: str) -> None:
        """A curve from below one bar to another bar: into its top if it is lower, else into its bottom."""
        (x, y), (to, below) = (source[0], source[1] + height), target
        lower = below > source[1]
        end = below if lower else below + height
        bend = max(10.0, 0.5 * abs(end - y))
        curve = f"M{x:.1f} {y:.1f}C{x:.1f} {y + bend:.1f} {to:.1f} {end + (-bend if lower else bend):.1f} {to:.1f} {end:.1f}"
        tip = -6 if lower else 6
        self.drawing.add("path", d=curve, fill="none", stroke=PAPER, stroke_width=4.0)
        self.drawing.add("path", d=curve, fill="none", stroke=color, stroke_width=1.8)
        self.drawing.add("path", d=f"M{to:.1f} {end:.1f}l-4 {tip}h8z", fill=color)
    def _badge(self, x: float, y: float, number: int) -> None:
        self.drawing.add("circle", cx=x, cy=y - 1, r=7.0, fill=INK, stroke=PAPER, stroke_width=1.2)
        self.drawing.text(x, y + 2.6, str(number), size=10, fill=PAPER, text_anchor="middle", font_weight="bold")


def axis(drawing: Drawing, left: float, width: float, top: float, bottom: float, length: float) -> None:
    """Draw vertical guide lines and times below them; ``length`` is what ``width`` stands for, in microseconds."""
    positions = ticks(length, min(8, max(2, int(width / 62))))
    drawing.line(left, bottom, left + width, bottom, stroke=MUTED)
    for position in positions:
        x = left + (position / length * width if length > 0 else 0.0)
        drawing.line(x, top, x, bottom + 4, stroke=LINE if position else MUTED, stroke_width=0.7)
        step = positions[1] if len(positions) > 1 else 1.0
        drawing.text(x, bottom + 17, format_tick(position, step), size=11, fill=MUTED, text_anchor="middle")


def legend(drawing: Drawing, palette: Palette, present: set[str], fallback: bool, top: float, edges: bool = False) -> float:
    """Draw which colour and letter is which; give where it ends."""
    x, y = 20.0, top + 20
    entries = palette.legend(present)
    if fallback:
        entries.append(("", "became dense", "hatch"))
    if edges:
        entries.append(("→", "is read by", PAPER))
    for code, name, color in entries:
        label = fit(name, 190, 12)
        width = 27 + text_width(label, 12) + 18
        if x + width > drawing.width - 20:
            x, y = 20.0, y + 22
        paint = drawing.hatch(ALARM) if color == "hatch" else color
        border: dict[str, Any] = {"stroke": ALARM, "stroke_width": 1.5} if color == "hatch" else {}
        drawing.rect(x, y - 12, 20, 15, paint, rx=2.0, **border)
        if code:
            drawing.text(x + 10, y - 0.5, code, size=11, fill=ink_on(color), text_anchor="middle", font_weight="bold")
        drawing.text(x + 27, y, label, size=12, fill=INK)
        x += width
    return y + 8
