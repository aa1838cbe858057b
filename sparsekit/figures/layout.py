"""Where the panels and the labels of a figure are, at a given width: the one layout, which every renderer asks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.formatting import format_ratio
from .marks import Axis, Line, Panel
from .palette import KINDS
from .text import clean, fit, text_width, ticks, wrap

if TYPE_CHECKING:
    from .drawing import Drawing

#: Widths that pictures are drawn for, in pixels: of a page, of half a screen, and of a phone's screen.
WIDE, MIDDLE, NARROW = 1000.0, 600.0, 380.0
#: Below these widths labels stand above what they name, and panels stand below each other.
FEW, STACKED = 560.0, 760.0
#: Sizes of letters, in pixels.
TITLE, FINDING, LABEL, SMALL = 17.0, 13.0, 12.0, 11.0
#: Pixels at the edge of the page, between panels side by side and one below the other, and of a label above its row.
EDGE, BESIDE, BELOW, ABOVE = 14.0, 26.0, 16.0, 18.0


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height


class Key(NamedTuple):
    """An entry of the legend: a sample of a kind, of dashes, an arrow, or none, and words beside it."""

    x: float
    y: float
    kind: str
    dash: int | None
    words: str


class Tick(NamedTuple):
    """A place on an axis in pixels, and its label, which may be empty."""

    at: float
    value: float
    words: str


class Label(NamedTuple):
    """Words beside a panel in pixels, ``y`` at their base line."""

    x: float
    y: float
    words: str
    kind: str
    size: float
    anchor: str
    bold: bool = False


class Layout:
    """The places of everything that is not a mark.

    Parameters
    ----------
    figure : Figure
    width : float
        Pixels.

    Attributes
    ----------
    title, finding, notes : list of str
        Lines.
    keys : list of Key
    top : float
        Where panels begin, in pixels below the upper edge.
    boxes : list of Box
        The place of each panel.
    height : float
        Pixels of all.
    """

    def __init__(self, figure: Drawing, width: float) -> None:
        figure.check()
        self.figure, self.width, self.narrow = figure, width, width < FEW
        room = width - 2 * EDGE
        self.title = wrap(clean(figure.title, 300), room, TITLE * 1.08, 3)
        self.finding = wrap(clean(figure.finding, 1200), room, FINDING, 14 if self.narrow else 4)
        self.notes = [line for note in figure.notes for line in wrap(clean(note, 800), room, LABEL, 10)]
        y = 10.0 + 21 * len(self.title) + 17 * len(self.finding) + 6
        self.keys, y = self._legend(y + 4)
        self.top = y
        self.raised = {number for number in range(len(figure.panels)) if self._raises(number)}
        self.boxes: list[Box] = []
        self.cells: dict[int, tuple[float, float]] = {}
        self.bottom = self._place(y)
        self.height = self.bottom + 17 * len(self.notes) + 8

    def _legend(self, top: float) -> tuple[list[Key], float]:
        """Samples of what is in the figure, in lines."""
        entries: list[tuple[str, int | None, str]] = [(kind, None, words) for kind, words in self.figure.words_of_kinds().items()]
        if self.narrow or not self.figure.has_room_for_ends():
            entries += [(line.kind, line.dash, line.label) for line in self.figure.of(Line) if line.label]
        x, y, keys = EDGE, top, list[Key]()
        for kind, dash, words in dict.fromkeys(entries):
            shown = fit(clean(words), self.width - 2 * EDGE - 36, LABEL)
            wide = (30 if kind in (*KINDS, "arrow") or dash is not None else 0) + text_width(shown, LABEL) + 18
            if keys and x + wide > self.width:
                x, y = EDGE, y + 20
            keys.append(Key(x, y, kind, dash, shown))
            x += wide
        return keys, y + (28 if keys else 6)

    def axes_of(self, panel: int, side: str = "") -> list[Axis]:
        """The axes of a panel, or those on one side."""
        return [axis for axis in self.figure.of(Axis) if axis.panel == panel and side in ("", axis.side)]

    def ends_of(self, panel: int) -> list[Line]:
        """The lines of a panel whose names stand at their right ends."""
        if self.narrow or not self.figure.has_room_for_ends():
            return []
        named = (line for line in self.figure.of(Line) if line.panel == panel and line.label)
        return [line for line in named if np.isfinite(_floats(line.y)).any()]

    def _raises(self, number: int) -> bool:
        """Whether labels of rows stand above them, because there is no room beside."""
        if not (self.narrow and self.figure.panels[number].rows):
            return False
        return sum(self._widest(number, side) for side in ("left", "right")) > 0.45 * self.width

    def _widest(self, number: int, side: str) -> float:
        """Pixels of the widest label at a side of a panel."""
        panel = self.figure.panels[number]
        words = [label for axis in self.axes_of(number, side) for _, label in self._values(axis, panel, 0.0)]
        if side == "right":
            words += [line.label for line in self.ends_of(number)]
        return max((text_width(clean(word), LABEL) for word in words), default=0.0)

    def _margins(self, number: int, room: float) -> tuple[float, float]:
        """Pixels for the labels at the left and the right of a panel."""
        if number in self.raised:
            return 0.0, 4.0
        left, right = self._widest(number, "left"), self._widest(number, "right")
        most = room * (0.6 if self.figure.panels[number].rows else 0.5)
        if left + right > most:  # the shorter of the two keeps its room
            left, right = (left, most - left) if left < 0.42 * most else (most - right, right) if right < 0.42 * most else (
                0.55 * most, 0.45 * most)
        last = max((text_width(label, SMALL) / 2 for axis in self.axes_of(number, "bottom")
                    for _, label in self._values(axis, self.figure.panels[number], 300.0)[-1:]), default=0.0)
        return (left + 8 if left else 0.0), max(right + 10 if right else 0.0, last - EDGE + 4, 2.0)

    def _rows(self) -> Iterator[list[int]]:
        """Numbers of the panels that stand side by side."""
        row: list[int] = []
        used = 0.0
        for number, panel in enumerate(self.figure.panels):
            if panel.within:
                continue
            if row and (self.width < STACKED or used + panel.share > 1.001):
                yield row
                row, used = [], 0.0
            row.append(number)
            used += panel.share
        if row:
            yield row

    def _place(self, top: float) -> float:
        """Give every panel its box; gives where the last one ends, with its labels."""
        placed: dict[int, Box] = {}
        rows = list(self._rows())
        room = self.width - 2 * EDGE
        #: By their scale: panels of one scale are below each other to the pixel.
        widest: dict[tuple[float, float], tuple[float, float]] = {}
        for number in (row[0] for row in rows if len(row) == 1):
            span, (left, right) = self.figure.panels[number].x, self._margins(number, room)
            most = widest.get(span, (0.0, 0.0))
            widest[span] = max(left, most[0]), max(right, most[1])
        for row in rows:
            shares = sum(self.figure.panels[number].share for number in row)
            cells = (room - BESIDE * (len(row) - 1)) / max(shares, 1.0 if len(row) > 1 else shares)
            x, lowest = EDGE, top
            widths = [cells * self.figure.panels[number].share if len(row) > 1 else room for number in row]
            lines = max(len(self._title(number, cell)) for number, cell in zip(row, widths, strict=True))
            head = 7 + 15 * lines if lines else 4
            for number in row:
                panel = self.figure.panels[number]
                cell = cells * panel.share if len(row) > 1 else room
                left, right = (self._margins(number, cell) if len(row) > 1 else (0.0, 4.0) if number in self.raised else
                               widest[panel.x])  # fmt: skip
                wide, high = self._size(panel, cell - left - right, number)
                placed[number] = Box(x + left, top + head, wide, high)
                self.cells[number] = x, x + cell
                lowest = max(lowest, top + head + high + self._foot(number))
                x += cell + BESIDE
            top = lowest + BELOW
        for number, panel in enumerate(self.figure.panels):
            if panel.within:
                self.boxes = [placed.get(i, Box(0, 0, 0, 0)) for i in range(len(self.figure.panels))]
                outer, left, right, upper, lower = panel.within
                across, down = self.x(outer), self.y(outer)
                placed[number] = Box(across(left), down(upper), across(right) - across(left), down(lower) - down(upper))
        self.boxes = [placed[number] for number in range(len(self.figure.panels))]
        return top

    def _size(self, panel: Panel, room: float, number: int) -> tuple[float, float]:
        if number in self.raised:
            return room, panel.height + ABOVE * abs(panel.y[1] - panel.y[0])
        if not panel.aspect:
            return room, panel.height
        wide = min(room, panel.height * panel.aspect)
        return wide, wide / panel.aspect

    def _foot(self, number: int) -> float:
        below = self.axes_of(number, "bottom")
        words = below or self.figure.panels[number].magnifies >= 0
        return (20 if words else 0) + (16 if any(axis.label for axis in below) else 0)

    def x(self, number: int) -> Callable[[float], float]:
        """A function from a panel's x to pixels."""
        panel, box = self.figure.panels[number], self.boxes[number]
        share = _share(panel.x, panel.log_x)
        return lambda value: box.left + share(value) * box.width

    def y(self, number: int) -> Callable[[float], float]:
        """A function from a panel's y to pixels."""
        panel, box = self.figure.panels[number], self.boxes[number]
        share = _share(panel.y, panel.log_y)
        if number not in self.raised:
            return lambda value: box.top + share(value) * box.height
        count = abs(panel.y[1] - panel.y[0])
        each = box.height / count if count else box.height

        def raised(value: float) -> float:
            row = min(math.floor(value - panel.y[0] + 1e-9), math.ceil(count) - 1)
            return box.top + row * each + ABOVE + (value - panel.y[0] - row) * (each - ABOVE)

        return raised

    def _values(self, axis: Axis, panel: Panel, length: float) -> list[tuple[float, str]]:
        """Places in data units and labels, before what has no room is left out."""
        if not axis.unit:
            return [(value, clean(words, 80)) for value, words in axis.ticks]
        across = axis.side == "bottom"
        most = max(2, int(length / 84)) if across else max(2, int(panel.height / 46))
        labels = ticks(*(panel.x if across else panel.y), axis.unit, most, panel.log_x if across else panel.log_y)
        return labels or ticks(*(panel.x if across else panel.y), axis.unit, most)

    def ticks_of(self, axis: Axis) -> list[Tick]:
        """The labels of an axis that have room, with their places in pixels."""
        panel, box = self.figure.panels[axis.panel], self.boxes[axis.panel]
        across = axis.side == "bottom"
        place = self.x(axis.panel) if across else self.y(axis.panel)
        room = box.left - EDGE + 6 if axis.side == "left" else self.width - box.right - 12
        labels, last = list[Tick](), -math.inf
        for value, words in sorted(self._values(axis, panel, box.width), key=lambda tick: place(tick[0])):
            at = place(value)
            if not math.isfinite(at):
                continue
            if across:
                half = text_width(words, SMALL) / 2
                crowded = at - half < last + 6 or at + half > self.width - 2 or at - half < 2
                last = last if crowded else at + half
            else:
                words = words if axis.panel in self.raised else fit(words, room, LABEL)
                crowded = at < last + 12 and axis.panel not in self.raised
                last = last if crowded else at
            labels.append(Tick(at, value, "" if crowded else words))
        return labels

    def labels_of(self, axis: Axis) -> Iterator[tuple[Label, Tick]]:
        """The words of an axis, with the tick of each."""
        box = self.boxes[axis.panel]
        raised = axis.panel in self.raised
        beside = self._beside(axis) if raised else {}
        kind = "muted" if axis.unit or axis.side != "left" else "ink"
        for tick in self.ticks_of(axis):
            if not tick.words:
                continue
            if axis.side == "bottom":
                yield Label(tick.at, box.bottom + 15, tick.words, "muted", SMALL, "middle"), tick
            elif raised:
                top = self.y(axis.panel)(math.floor(tick.value)) - 4
                share = 0.55 * box.width if axis.side == "left" else 0.43 * box.width
                room = max(share, box.width - beside.get(tick.value, 0.0) - 8)
                yield Label(box.left if axis.side == "left" else box.right, top, fit(tick.words, room, LABEL), kind, LABEL,
                            "start" if axis.side == "left" else "end"), tick  # fmt: skip
            elif axis.side == "left":
                yield Label(box.left - 8, tick.at + 4, tick.words, kind, LABEL, "end"), tick
            else:
                yield Label(box.right + 8, tick.at + 4, tick.words, kind, LABEL, "start"), tick

    def _beside(self, axis: Axis) -> dict[float, float]:
        """The pixels that labels above rows take on the other side of a panel, by their places."""
        others = self.axes_of(axis.panel, "right" if axis.side == "left" else "left")
        return {value: text_width(words, LABEL) for other in others
                for value, words in self._values(other, self.figure.panels[axis.panel], 0.0)}

    def _title(self, number: int, room: float) -> list[str]:
        """The title of a panel in lines; a number stays with its unit."""
        title = re.sub(r"(?<=\d) (?=[nµmkMG]?[sB]\b)", "\u00a0", clean(self.figure.panels[number].title, 120))
        return [line.replace("\u00a0", " ") for line in wrap(title, room, LABEL * 1.08, 2)]

    def words_beside(self, number: int) -> Iterator[Label]:
        """The title of a panel, the names of its axes, and those of its lines at their ends."""
        panel, box = self.figure.panels[number], self.boxes[number]
        if panel.title:
            first, last = self.cells.get(number, (box.left, box.right))
            lines = self._title(number, last - first)
            left = box.left if all(box.left + text_width(line, LABEL * 1.08) <= last for line in lines) else first
            for above, line in enumerate(reversed(lines)):
                yield Label(left, box.top - 9 - 15 * above, line, "ink", LABEL, "start", True)
        if panel.magnifies >= 0:
            words = self.magnified(number)
            yield (Label(box.right, box.top - 5, words, "muted ring", SMALL, "end") if panel.within
                   else Label(box.left, box.bottom + 15, words, "muted", SMALL, "start"))
        for axis in self.axes_of(number, "bottom"):
            if axis.label:
                yield Label(box.left, box.bottom + 31, fit(clean(axis.label), box.width, SMALL), "muted", SMALL, "start")
        yield from self._line_ends(number)

    def magnified(self, number: int) -> str:
        """How many times as wide as in the whole a part is drawn."""
        panel, box = self.figure.panels[number], self.boxes[number]
        parent, source = self.figure.panels[panel.magnifies], self.boxes[panel.magnifies]
        across = box.width / max(abs(panel.x[1] - panel.x[0]), 1e-300) * abs(parent.x[1] - parent.x[0]) / max(source.width, 1.0)
        down = box.height / max(abs(panel.y[1] - panel.y[0]), 1e-300) * abs(parent.y[1] - parent.y[0]) / max(source.height, 1.0)
        words = f"magnified {format_ratio(across).removesuffix('×')} times"
        if not panel.within and not 0.5 < across / down < 2:
            words += f" across and {format_ratio(down).removesuffix('×')} times down"
        return words

    def _line_ends(self, number: int) -> Iterator[Label]:
        lines, box = self.ends_of(number), self.boxes[number]
        if not lines:
            return
        at = [self.y(number)(float(_floats(line.y)[np.isfinite(_floats(line.y))][-1])) for line in lines]
        order = sorted(range(len(lines)), key=lambda i: at[i])
        spread = apart([at[i] for i in order], 14.0, box.top, box.bottom)
        for i, y in zip(order, spread, strict=True):
            words = fit(clean(lines[i].label), self.width - box.right - 12, LABEL)
            yield Label(box.right + 8, y + 4, words, lines[i].kind, LABEL, "start")


def _floats(values: Iterable[float]) -> np.ndarray:
    return np.asarray(values, dtype=float)


def _share(span: tuple[float, float], logarithmic: bool) -> Callable[[float], float]:
    """A function from a value to its place in a span: 0 at the first end, 1 at the last."""
    first, last = span
    if logarithmic and first > 0 and last > 0 and first != last:
        length = math.log(last / first)
        smallest = min(first, last) * 1e-9
        return lambda value: math.log(max(value, smallest) / first) / length
    length = (last - first) or 1.0
    return lambda value: (value - first) / length


def apart(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending places, moved as little as needed to be ``gap`` apart, and kept from ``low`` to ``high`` if they fit."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + gap) if moved else max(place, low))
    limit = max(high, low + gap * (len(places) - 1))
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], limit)
        limit = moved[i] - gap
    return moved
