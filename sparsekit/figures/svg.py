"""A figure as an SVG document: deterministic, self-contained, and light or dark as the page around it."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .layout import FINDING, LABEL, SMALL, TITLE, Box, Key, Label, Layout
from .marks import Area, Axis, Cells, Dots, Line, Raster, Rect, Shape, Text
from .palette import DASHES, KINDS, LIGHT, MEANING, letters_on, style_sheet
from .text import clean, fit, markup, text_width

if TYPE_CHECKING:
    from .drawing import Drawing

Scale: TypeAlias = Callable[[float], float]

#: Pixels below which a bar is too narrow to show a hatch or an edge.
THIN = 3.5
#: Marks of a panel from which on an image collects them by colour.
MANY = 300
#: How much a reader may zoom before a label that has no room now could have some.
ZOOM = 64

#: Letters keep a ground of their own on hatches and over lines.
_HALO = (".sk :is(.halo,.ring,.soft){stroke:var(--paper);stroke-width:3.5px;paint-order:stroke;stroke-linejoin:round}"
         ".sk .halo{stroke:var(--dense)}.sk .soft{stroke:var(--pale-dense)}")
_CLASSES = re.compile(r'class="([^"]*)"')
_COLORS = re.compile(r' (?:fill|stroke)="#[0-9a-f]{6}"')
_GROUNDS = {"dense": " halo", "pale-dense": " soft"}
#: Classes of fill and stroke, and the width of the stroke, of marks that are wide enough to show both; hatched ones are apart.
_PAINTS = {
    "needed": ("paper", "dense", 1.6), "sparse": ("sparse", "edge", 1.0), "pale-sparse": ("pale-sparse", "sparse", 0.8),
    "none": ("none", "", 0.0), "ink": ("ink", "", 0.0), "muted": ("muted", "", 0.0), "outline": ("paper", "muted", 1.2),
    "paper": ("paper", "", 0.0), "line": ("line", "", 0.0),
}  # fmt: skip
_HATCHED = ("dense", "pale-dense")


def to_svg(figure: Drawing, width: float = 1000.0, live: bool = False, titles: bool = True) -> str:
    """Write the picture.

    Parameters
    ----------
    figure : Figure
    width : float
        Pixels.
    live : bool
        Add what a live view needs: keys of marks, and labels that have room only when a reader zooms in.
    titles : bool
        Add what is shown at the pointer; an image shows none.
    """
    shown = figure.narrow if figure.narrow and width < figure.narrow_below else figure
    return _Writer(shown, max(float(width), 240.0), live, titles).document()


def area_corners(area: Area) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An area's corners: x, low and high, with steps where it has one more place than values."""
    x, low, high = (np.nan_to_num(np.asarray(values, dtype=float)) for values in (area.x, area.low, area.high))
    if len(x) == len(low):
        return x, low, high
    return np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)


def runs_of(line: Line) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The parts of a line between its gaps."""
    x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], finite, [False]))))
    for start, end in edges.reshape(-1, 2).tolist():
        yield x[start:end], y[start:end]


def grey_png(shades: np.ndarray) -> str:
    """Shades (down x across, 0 to 1) as the address of a grey image in Portable Network Graphics, 256 levels."""
    levels = np.rint(255 * np.clip(np.nan_to_num(shades), 0, 1)).astype(np.uint8)
    down, across = levels.shape
    lines = np.concatenate([np.zeros((down, 1), np.uint8), levels], axis=1)  # each line begins with its filter: none
    head = struct.pack(">IIBBBBB", across, down, 8, 0, 0, 0, 0)
    body = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _length(value: float) -> str:
    written = f"{value:.1f}"
    return written[:-2] if written.endswith(".0") else written


class _Writer:
    """The parts of one document."""

    def __init__(self, figure: Drawing, width: float, live: bool, titles: bool) -> None:
        self.figure, self.width, self.live, self.titles = figure, width, live, titles
        self.layout = Layout(figure, width)
        content = repr((figure.title, figure.finding, width, live, len(figure.marks), figure.panels))
        self.unique = f"{zlib.crc32(content.encode('utf-8', 'replace')):08x}"
        self.parts: list[str] = []
        self.rasters = 0

    def document(self) -> str:
        """The whole text."""
        layout = self.layout
        self._heading()
        for key in layout.keys:
            self._key(key)
        clips = "".join(self._panel(number) for number in range(len(self.figure.panels)))
        for place, line in enumerate(layout.notes):
            self.text(Label(14, layout.bottom + 6 + 17 * place, line, "muted", LABEL, "start"))
        drawn = (f"<defs>{self._hatches()}{clips}</defs>"
                 f'<rect width="100%" height="100%" rx="8" class="f-paper" fill="{LIGHT["paper"]}"/>{"".join(self.parts)}'
                 )  # fmt: skip
        # A live view takes its colours of marks that come later from the same sheet.
        used = None if self.live else {name for names in _CLASSES.findall(drawn) for name in names.split()}
        if not self.titles:  # classes say the same, to all that show images
            drawn = _COLORS.sub("", drawn)
        size = f'width="{self.width:g}" height="{layout.height:.0f}" viewBox="0 0 {self.width:g} {layout.height:.0f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sk" {size} role="img" aria-label="{markup(self.figure.alt, 1500)}">'
            f"<style>{style_sheet(used, not self.titles)}{_HALO}</style>{drawn}</svg>\n"
        )

    def text(self, label: Label, attributes: str = "") -> None:
        """Add one line of text."""
        anchor = f' text-anchor="{label.anchor}"' if label.anchor != "start" else ""
        bold = ' font-weight="bold"' if label.bold else ""
        color = LIGHT.get(label.kind.split()[0], LIGHT["ink"])
        self.parts.append(f'<text x="{_length(label.x)}" y="{_length(label.y)}" class="{label.kind}" fill="{color}" '
                          f'font-size="{label.size:g}"{anchor}{bold}{attributes}>{markup(label.words, 1500)}</text>')  # fmt: skip

    def _heading(self) -> None:
        y = 27.0
        for line in self.layout.title:
            self.text(Label(14, y, line, "ink", TITLE, "start", bold=True))
            y += 21
        for line in self.layout.finding:
            self.text(Label(14, y - 2, line, "muted", FINDING, "start"))
            y += 17

    def _key(self, key: Key) -> None:
        shift = 0
        if key.dash is not None:
            self.parts.append(f'<path d="M{key.x:g} {key.y + 6:g}h24"{_stroke(key.kind, key.dash, 2.2)}/>')
            shift = 30
        elif key.kind in KINDS:
            self.parts.append(f'<rect x="{key.x:g}" y="{key.y:g}" width="20" height="12"{self._paint(key.kind)}/>')
            shift = 26
        elif key.kind == "arrow":
            self.parts.append(f'<path d="M{key.x:g} {key.y + 6:g}h18m-5 -4l6 4l-6 4"{_stroke("ink", 0, 1.2)}/>')
            shift = 26
        self.text(Label(key.x + shift, key.y + 10.5, key.words, "ink", LABEL, "start"))

    def _hatches(self) -> str:
        """The patterns of dense, small and large."""
        seen = {mark.kind for mark in self.figure.shapes}
        return "".join(
            f'<pattern id="{kind}-{self.unique}" width="6" height="6" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)">'
            f'<rect width="6" height="6" class="f-{kind}" fill="{LIGHT[kind]}"/><path d="M1 0V6" class="s-{stripe}" '
            f'stroke="{LIGHT[stripe]}" stroke-width="1.3" stroke-opacity=".55"/></pattern>'
            for kind, stripe in (("dense", "paper"), ("pale-dense", "dense")) if kind in seen
        )  # fmt: skip

    def _paint(self, kind: str, thin: bool = False) -> str:
        """Fill and stroke of a kind of mark."""
        if thin:
            color = "dense" if kind == "needed" else "muted" if kind == "outline" else kind
            fill, stroke, width = color, color, 0.8
        elif kind in _HATCHED:
            return f' fill="url(#{kind}-{self.unique})"'
        else:
            fill, stroke, width = _PAINTS[kind]
        classes = f"f-{fill} s-{stroke}" if stroke else f"f-{fill}"
        outline = f' stroke="{LIGHT[stroke]}" stroke-width="{width:g}"' if stroke else ""
        return f' class="{classes}" fill="{LIGHT[fill]}"{outline}'

    def _panel(self, number: int) -> str:
        """Add a panel with its axes and marks; gives its clip."""
        panel, box, layout = self.figure.panels[number], self.layout.boxes[number], self.layout
        frame = f'x="{_length(box.left)}" y="{_length(box.top)}" width="{_length(box.width)}" height="{_length(box.height)}"'
        if panel.framed:
            self.parts.append(f'<rect {frame} class="f-lens s-muted" fill="{LIGHT["lens"]}" stroke="{LIGHT["muted"]}"/>')
        axes = layout.axes_of(number)
        for axis in axes:
            if number not in layout.raised or axis.side == "bottom":
                self._axis(axis, box)
        for label in layout.words_beside(number):
            self.text(label)
        unit = next((axis.unit for axis in axes if axis.side == "bottom"), "")
        range_x = f' data-x="{panel.x[0]!r} {panel.x[1]!r}" data-unit="{unit}"' if panel.zooms and self.live else ""
        clip = f' clip-path="url(#clip{number}-{self.unique})"' if panel.zooms else ""
        place = f' data-box="{box.left:.1f} {box.top:.1f} {box.width:.1f} {box.height:.1f}"' if self.live else ""
        self.parts.append(f'<g class="panel"{place}{range_x}{clip}><g class="scaled">')
        self.parts.extend(self._shapes(number))
        self.parts.append('</g><g class="placed">')
        self._placed(number)
        self.parts.append("</g></g>")
        for axis in axes if number in layout.raised else ():
            if axis.side != "bottom":
                self._axis(axis, box)  # over the marks, among which its labels stand
        if not panel.zooms:
            return ""
        return (f'<clipPath id="clip{number}-{self.unique}"><rect x="{box.left - 1:.1f}" y="{box.top - 20:.1f}" '
                f'width="{box.width + 2:.1f}" height="{box.height + 20:.1f}"/></clipPath>')  # fmt: skip

    def _axis(self, axis: Axis, box: Box) -> None:
        color = LIGHT["line"]
        across = axis.side == "bottom"
        for tick in self.layout.ticks_of(axis) if axis.grid else ():
            if across and (tick.words or not axis.unit):
                line = f'x1="{_length(tick.at)}" x2="{_length(tick.at)}" y1="{_length(box.top)}" y2="{_length(box.bottom + 3)}"'
                self.parts.append(f'<line class="s-line tick" {line} stroke="{color}"/>')
            elif axis.side == "left" and axis.unit:
                line = f'x1="{_length(box.left)}" x2="{_length(box.right)}" y1="{_length(tick.at)}" y2="{_length(tick.at)}"'
                self.parts.append(f'<line class="s-line" {line} stroke="{color}"/>')
        for label, _ in self.layout.labels_of(axis):
            shown = label._replace(kind=f"{label.kind} ring") if axis.panel in self.layout.raised and not across else label
            self.text(shown, f' data-tick="{axis.panel}"' if across and self.live else "")

    def _shapes(self, number: int) -> Iterator[str]:
        """What stretches when a reader zooms: in groups of neighbours that are painted alike."""
        x, y = self.layout.x(number), self.layout.y(number)

        def paint(mark: Shape) -> str:
            if isinstance(mark, (Line, Dots, Raster)):
                return ""
            if isinstance(mark, Area) and mark.kind in _HATCHED:  # areas of one hatch may lie on each other
                return f'{self._paint(mark.kind)} class="s-paper" stroke="{LIGHT["paper"]}"'
            thin = isinstance(mark, Rect) and min(x(mark.x1) - x(mark.x0), abs(y(mark.y1) - y(mark.y0))) < THIN
            if (isinstance(mark, Cells) and self._fine(mark, x, y)) or (isinstance(mark, Area) and self._flat(mark, y)):
                # An edge would cover more than what is there.
                return f' class="f-{mark.kind}" fill="{LIGHT[mark.kind]}"'
            return self._paint(mark.kind, thin)

        mine = [mark for mark in self.figure.shapes if mark.panel == number]
        many = not self.titles and len(mine) > MANY
        if many:
            # So many do not cover each other; each colour is drawn at once, in the order in which the colours come, then lines.
            first = {kind: place for place, kind in reversed([*enumerate(map(paint, mine))])} | {"": len(mine)}
            mine.sort(key=lambda mark: first[paint(mark)])
        for painted, marks in groupby(mine, paint):
            some = list(marks)
            drawn = "".join(self._shape(mark, x, y) for mark in some) if not many else self._joined(some, x, y)
            yield f"<g{painted}>{drawn}</g>" if painted and drawn else drawn

    def _joined(self, marks: list[Shape], x: Scale, y: Scale) -> str:
        """Marks that are painted alike, rectangles as one path: an image has no words at the pointer, and is to be small."""
        boxes = [(mark.x0, mark.x1, mark.y0, mark.y1) for mark in marks if isinstance(mark, Rect)]
        if not boxes:
            return "".join(self._shape(mark, x, y) for mark in marks)
        array = np.array(boxes, dtype=float)
        joined = Cells(marks[0].panel, marks[0].kind, array[np.isfinite(array).all(axis=1)])
        return self._cells(joined, x, y) + "".join(self._shape(mark, x, y) for mark in marks if not isinstance(mark, Rect))

    @staticmethod
    def _fine(mark: Cells, x: Scale, y: Scale) -> bool:
        boxes = np.asarray(mark.boxes, dtype=float).reshape(-1, 4)
        if not len(boxes):
            return False
        x0, x1, y0, y1 = boxes[0].tolist()
        return min(abs(x(x1) - x(x0)), abs(y(y1) - y(y0))) < 2 * THIN

    @staticmethod
    def _flat(mark: Area, y: Scale) -> bool:
        _, low, high = area_corners(mark)
        return all(abs(y(top) - y(bottom)) < 1 for bottom, top in zip(low.tolist(), high.tolist(), strict=True))

    def _named(self, mark: Shape) -> str:
        """The end of an element: its key, and what is shown at the pointer."""
        key = f' data-key="{markup(mark.key)}"' if mark.key and self.live else ""
        return f"{key}><title>{markup(mark.title)}</title></" if mark.title and self.titles else f"{key}></"

    def _shape(self, mark: Shape, x: Scale, y: Scale) -> str:
        if isinstance(mark, Rect):
            return self._rect(mark, x, y)
        if isinstance(mark, Cells):
            return self._cells(mark, x, y)
        if isinstance(mark, Area):
            return self._area(mark, x, y)
        if isinstance(mark, Raster):
            return self._raster(mark, x, y)
        return self._dots(mark, x, y) if isinstance(mark, Dots) else self._line(mark, x, y)

    def _rect(self, mark: Rect, x: Scale, y: Scale) -> str:
        left, right, top, bottom = x(mark.x0), x(mark.x1), *sorted((y(mark.y0), y(mark.y1)))
        if not np.isfinite(left + right + top + bottom):
            return ""
        size = f'width="{max(right - left, 0):.2f}" height="{_length(bottom - top)}"'
        return f'<rect x="{left:.2f}" y="{_length(top)}" {size}{self._named(mark)}rect>'

    def _cells(self, mark: Cells, x: Scale, y: Scale) -> str:
        steps = []
        for x0, x1, y0, y1 in np.asarray(mark.boxes, dtype=float).reshape(-1, 4).tolist():
            left, top = min(x(x0), x(x1)), min(y(y0), y(y1))
            wide, tall = abs(x(x1) - x(x0)), abs(y(y1) - y(y0))
            steps.append(f"M{left:.1f},{top:.1f}h{wide:.2f}v{tall:.2f}h-{wide:.2f}z")
        return f'<path d="{"".join(steps)}"{self._named(mark)}path>' if steps else ""

    def _raster(self, mark: Raster, x: Scale, y: Scale) -> str:
        """The colour through a mask, which is an image: the colour follows the page's theme."""
        left, right, top, bottom = x(mark.x0), x(mark.x1), *sorted((y(mark.y0), y(mark.y1)))
        place = f'x="{left:.2f}" y="{top:.2f}" width="{max(right - left, 0):.2f}" height="{max(bottom - top, 0):.2f}"'
        shades = mark.shades if y(mark.y0) <= y(mark.y1) else mark.shades[::-1]
        self.rasters += 1
        name = f"raster{self.rasters}-{self.unique}"
        image = f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" href="{grey_png(shades)}"/>'
        return (f'<mask id="{name}">{image}</mask><rect {place} class="f-{mark.kind}" fill="{LIGHT[mark.kind]}" '
                f'mask="url(#{name})"{self._named(mark)}rect>')  # fmt: skip

    def _area(self, mark: Area, x: Scale, y: Scale) -> str:
        path = "".join(self._around(part, x, y) for part in _filled(mark))
        return f'<path d="{path}"{self._named(mark)}path>' if path else ""

    @staticmethod
    def _around(area: Area, x: Scale, y: Scale) -> str:
        """The way around an area; places that its edges go straight through are left out."""
        xs, low, high = area_corners(area)
        places = [(x(across), y(down)) for across, down in zip(xs.tolist(), high.tolist(), strict=True)]
        places += [(x(across), y(down)) for across, down in zip(xs[::-1].tolist(), low[::-1].tolist(), strict=True)]
        kept = [here for before, here, after in zip(places, places[1:], places[2:], strict=False)
                if not before[1] == here[1] == after[1]]  # fmt: skip
        corners = [*places[:1], *kept, *places[-1:]]
        return f"{_path([across for across, _ in corners], [down for _, down in corners])}Z" if corners else ""

    def _dots(self, mark: Dots, x: Scale, y: Scale) -> str:
        places = [(x(a), y(b)) for a, b in zip(mark.x, mark.y, strict=True) if np.isfinite(a) and np.isfinite(b)]
        path = "".join(f"M{_length(a)},{_length(b)}h0" for a, b in places)
        stroke = f'{_stroke(mark.kind, 0, 2 * mark.radius)} stroke-linecap="round"'
        return f'<path d="{path}"{stroke}{self._named(mark)}path>' if path else ""

    def _line(self, mark: Line, x: Scale, y: Scale) -> str:
        runs = [([x(value) for value in xs], [y(value) for value in ys]) for xs, ys in runs_of(mark)]
        path = "".join(_path(*run) for run in runs if len(run[0]) > 1)
        alone = "".join(f"M{_length(run[0][0])},{_length(run[1][0])}h0" for run in runs if len(run[0]) == 1)
        dots = f'<path d="{alone}"{_stroke(mark.kind, 0, 6)} stroke-linecap="round"/>' if alone else ""
        if not path:
            return dots
        paper = f'class="s-paper" stroke="{LIGHT["paper"]}" stroke-width="{mark.width + 3:g}"'
        under = f'<path d="{path}" fill="none" {paper}/>' if mark.arrow else ""
        return f'{dots}{under}<path d="{path}"{_stroke(mark.kind, mark.dash, mark.width)}{self._named(mark)}path>'

    def _placed(self, number: int) -> None:
        """What keeps its shape when a reader zooms: labels, and heads of arrows."""
        x, y, panel = self.layout.x(number), self.layout.y(number), self.figure.panels[number]
        for mark in self.figure.marks:
            if isinstance(mark, Axis) or mark.panel != number:
                continue
            if isinstance(mark, Text):
                self._words(mark, x, y)
            elif isinstance(mark, Line) and mark.arrow and len(mark.x) > 1:
                down = y(mark.y[-1]) >= y(mark.y[-2])
                self.text(Label(x(mark.x[-1]), y(mark.y[-1]) + (1 if down else 9), "▼" if down else "▲", mark.kind, 9, "middle"),
                          ' pointer-events="none"')
            elif isinstance(mark, Rect) and mark.label and abs(y(mark.y1) - y(mark.y0)) > 11:
                first, last = sorted(panel.x)
                left, right = (x(min(max(edge, first), last)) for edge in (mark.x0, mark.x1))
                self._label(mark, left, right, (y(mark.y0) + y(mark.y1)) / 2 + 4)

    def _words(self, mark: Text, x: Scale, y: Scale) -> None:
        words, left, size = clean(mark.text, 200), x(mark.x), mark.size or LABEL
        if abs(x(mark.x + mark.room) - left) < text_width(words, size) or not np.isfinite(left + y(mark.y)):
            return
        room = {"start": self.width - 8 - left, "end": left - 8}.get(mark.anchor, 2 * min(left, self.width - left) - 8)
        shown = words if text_width(words, size) <= room else fit(words, room, size)
        on = mark.kind.removeprefix("on ")
        kind = f"{letters_on(on)}{_GROUNDS.get(on, '')}" if on != mark.kind else f"{mark.kind} ring"
        self.text(Label(left, y(mark.y) + size / 3, shown, kind, size, mark.anchor, mark.bold))

    def _label(self, mark: Rect, left: float, right: float, y: float) -> None:
        words = clean(mark.label)
        room, need = right - left, text_width(words, SMALL) + 3
        size = SMALL
        if 0.75 * need <= room < need and not self.figure.panels[mark.panel].zooms:
            size, need = SMALL * room / need, room
        if room < need and not (self.live and self.figure.panels[mark.panel].zooms and room * ZOOM >= need):
            return
        attributes = f' pointer-events="none" data-room="{room:.2f} {need:.0f}"' if self.live else ""
        attributes += ' display="none"' if room < need else ""
        kind = letters_on(mark.kind) + _GROUNDS.get(mark.kind, "")
        self.text(Label((left + right) / 2, y, words, kind, size, "middle"), attributes)


def _filled(area: Area) -> Iterator[Area]:
    """The parts of an area with steps that have a height; one without steps as it is."""
    low, high = np.asarray(area.low, dtype=float), np.asarray(area.high, dtype=float)
    if len(area.x) != len(low) + 1:
        yield area
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], high != low, [False]))))
    for start, end in edges.reshape(-1, 2).tolist():
        yield area._replace(x=area.x[start: end + 1], low=low[start:end], high=high[start:end])


def _path(x: list[float], y: list[float]) -> str:
    return "M" + "L".join(f"{_length(a)},{_length(b)}" for a, b in zip(x, y, strict=True))


def _stroke(kind: str, dash: int, width: float) -> str:
    """The attributes of a line."""
    dashes = DASHES[dash % len(DASHES)]
    pattern = f' stroke-dasharray="{" ".join(map(str, dashes))}"' if dashes else ""
    color = "dense" if kind == "needed" else "muted" if kind not in (*MEANING, "ink", "muted", "paper", "line") else kind
    return f' fill="none" class="s-{color}" stroke="{LIGHT[color]}" stroke-width="{width:g}"{pattern} stroke-linejoin="round"'
