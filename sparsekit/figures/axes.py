"""A figure on matplotlib's axes; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ParameterError, expected
from ..base.optional import optional_import
from .layout import LABEL, SMALL, Layout
from .marks import Area, Cells, Dots, Line, Panel, Raster, Rect, Text
from .palette import DASHES, KINDS, LIGHT, letters_on
from .svg import area_corners, runs_of
from .text import clean, fit, text_width

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes

    from .drawing import Drawing

#: A pixel in points and in inches.
POINT, INCH = 0.75, 1 / 96
#: matplotlib's colours of fill and edge, of marks that are not hatched.
_EDGES = {"needed": ("paper", "dense", 1.2), "sparse": ("sparse", "edge", 0.8), "pale-sparse": ("pale-sparse", "sparse", 0.6),
          "outline": ("paper", "muted", 0.9)}  # fmt: skip
#: What is drawn later covers what was drawn before, as in the SVG; labels of axes are above.
LOWEST = 1.5


@contextmanager
def _drawing() -> Iterator[Any]:
    """matplotlib, to which names are text and no formulas: a layer may be called ``$x``."""
    matplotlib: Any = optional_import("matplotlib", "lab", "A picture on axes")
    for part in ("figure", "collections", "ticker"):
        optional_import(f"matplotlib.{part}", "lab", "A picture on axes")
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that matplotlib's font has not
        matplotlib.rcParams["text.parse_math"] = False
        yield matplotlib


def to_axes(figure: Drawing, ax: Axes) -> Axes:
    """Draw the marks of a figure on ``ax``, or its panels inside of ``ax`` if there are several."""
    with _drawing() as matplotlib:
        if not hasattr(ax, "get_window_extent"):
            raise ParameterError(expected("ax", "axes of matplotlib", ax), hint="matplotlib.pyplot.subplots()[1], for example.")
        ax.set_title(clean(figure.title, 200))
        window = ax.get_window_extent()
        width = max(window.width * 96 / ax.figure.dpi, 200.0)
        layout = Layout(figure, width)
        places = [ax] if len(figure.panels) == 1 else _inside(figure, layout, ax)
        for number, place in enumerate(places):
            _Drawer(matplotlib, figure, layout, number, place).draw()
        _legend(matplotlib, figure, places[0] if len(places) == 1 else ax)
    return ax


def _inside(figure: Drawing, layout: Layout, ax: Axes) -> list[Axes]:
    """Axes for each panel, within the axes that are given."""
    ax.set_axis_off()
    top, height = layout.top, max(layout.bottom - layout.top, 1.0)
    places = []
    for number, box in enumerate(layout.boxes):
        place = (box.left / layout.width, 1 - (box.bottom - top) / height, box.width / layout.width, box.height / height)
        places.append(ax.inset_axes(place, zorder=number + 5))
    return places


def _legend(matplotlib: ModuleType, figure: Drawing, ax: Axes) -> None:
    handles = [matplotlib.patches.Patch(label=clean(words), **_fill(ax, kind)) for kind, words in figure.words_of_kinds().items()
               if kind in KINDS]
    handles += [matplotlib.lines.Line2D([], [], label=legend_words(line.label), **_stroke(ax, line))
                for line in figure.of(Line) if line.label]  # fmt: skip
    if handles:
        below = -40 * ax.figure.dpi / 96 / max(ax.get_window_extent().height, 1.0)  # under the labels of the axis
        ax.legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(0, below), ncols=3)


def legend_words(name: str) -> str:
    """A name in a legend, which leaves out names that begin with an underscore."""
    words = clean(name)
    return f" {words}" if words.startswith("_") else words


def _ink(ax: Axes, kind: str) -> str | tuple[float, ...]:
    """A colour: those of storage are ours, letters and lines have the user's."""
    import matplotlib

    if kind in ("ink", "muted"):
        color = matplotlib.colors.to_rgba(matplotlib.rcParams["text.color"])
        return (*color[:3], 0.7 if kind == "muted" else 1.0)
    if kind == "paper":
        grounds = (matplotlib.colors.to_rgba(artist.get_facecolor()) for artist in (ax, ax.figure)
                   if artist is not ax or ax.axison)  # fmt: skip
        return next((color for color in grounds if color[3]), (1.0, 1.0, 1.0, 1.0))
    return LIGHT[kind]


def _fill(ax: Axes, kind: str) -> dict[str, Any]:
    if kind in ("dense", "pale-dense"):
        return {"facecolor": LIGHT[kind], "edgecolor": LIGHT["paper" if kind == "dense" else "dense"], "hatch": "////",
                "linewidth": 0.0}  # fmt: skip
    fill, edge, width = _EDGES.get(kind, (kind, "", 0.0))
    return {"facecolor": _ink(ax, fill), "edgecolor": _ink(ax, edge) if edge else "none", "linewidth": width}


def _stroke(ax: Axes, line: Line) -> dict[str, Any]:
    dashes = DASHES[line.dash % len(DASHES)]
    width = line.width * POINT
    style = (0, tuple(length / line.width for length in dashes)) if dashes else "solid"
    color = LIGHT[line.kind] if line.kind in KINDS else _ink(ax, line.kind)
    return {"color": color, "linewidth": width, "linestyle": style}


class _Drawer:
    """One panel on its axes."""

    def __init__(self, matplotlib: ModuleType, figure: Drawing, layout: Layout, number: int, ax: Axes) -> None:
        self.matplotlib, self.figure, self.layout, self.number, self.ax = matplotlib, figure, layout, number, ax
        self.panel: Panel = figure.panels[number]
        self.order = LOWEST

    def draw(self) -> None:
        """Scales, axes, then the marks in their order."""
        panel, ax = self.panel, self.ax
        x_scale, y_scale = ("log" if logarithmic else "linear" for logarithmic in (panel.log_x, panel.log_y))
        ax.set(xscale=x_scale, yscale=y_scale, xlim=panel.x, ylim=panel.y[::-1])
        if panel.aspect:
            ax.set_box_aspect(1 / panel.aspect)
        ax.set_facecolor(LIGHT["lens"] if panel.framed else ax.get_facecolor() if len(self.figure.panels) == 1 else "none")
        if len(self.figure.panels) > 1 and panel.title:
            ax.set_title(clean(panel.title, 120), fontsize=LABEL * POINT, loc="left", fontweight="bold")
        if panel.magnifies >= 0:
            ax.set_title(self.layout.magnified(self.number), fontsize=SMALL * POINT, loc="right", pad=3)
        self._axes()
        for mark in self.figure.marks:
            if mark.panel != self.number:
                continue
            self.order += 0.001
            draw = getattr(self, f"_{type(mark).__name__.lower()}", None)
            if draw:
                draw(mark)
        ax.set(xlim=panel.x, ylim=panel.y[::-1])

    def _axes(self) -> None:
        ax = self.ax
        for side in ("top", "right", *(() if self.panel.framed else ("left",))):
            ax.spines[side].set_visible(self.panel.framed)
        ax.spines["bottom"].set_visible(self.panel.framed or bool(self.layout.axes_of(self.number, "bottom")))
        for axis, side in ((ax.xaxis, "bottom"), (ax.yaxis, "left")):
            side_axes = self.layout.axes_of(self.number, side)
            ticks = [tick for side_axis in side_axes for tick in self.layout.ticks_of(side_axis) if tick.words]
            axis.set_ticks([tick.value for tick in ticks], [tick.words for tick in ticks])
            axis.set_minor_locator(self.matplotlib.ticker.NullLocator())
            axis.set_tick_params(length=0)
            if any(side_axis.grid and (side_axis.unit or side == "bottom") for side_axis in side_axes):
                axis.grid(True, color=LIGHT["line"], linewidth=0.6)
            else:
                axis.grid(False)
            if len(self.figure.panels) > 1:
                axis.set_tick_params(labelsize=SMALL * POINT)
            if label := next((clean(side_axis.label) for side_axis in side_axes if side_axis.label), ""):
                ax.set_xlabel(label, loc="left") if side == "bottom" else ax.set_ylabel(label)
        ax.set_axisbelow(True)
        for side_axis in self.layout.axes_of(self.number, "right"):
            for value, words in side_axis.ticks:
                ax.annotate(clean(words), (1, value), (6, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
                            va="center", fontsize=SMALL * POINT, annotation_clip=False)  # fmt: skip

    def _boxes(self, boxes: np.ndarray, kind: str) -> None:
        finite = boxes[np.isfinite(boxes).all(axis=1)]
        corners = np.stack((finite[:, (0, 2)], finite[:, (1, 2)], finite[:, (1, 3)], finite[:, (0, 3)]), axis=1)
        style = _fill(self.ax, kind)
        self.ax.add_collection(self.matplotlib.collections.PolyCollection(corners, zorder=self.order, **style))

    def _rect(self, mark: Rect) -> None:
        self._boxes(np.array([[mark.x0, mark.x1, mark.y0, mark.y1]], dtype=float), mark.kind)
        x = self.layout.x(self.number)
        if mark.label and abs(x(mark.x1) - x(mark.x0)) >= text_width(mark.label, SMALL) + 6:
            self._letters((mark.x0 + mark.x1) / 2, (mark.y0 + mark.y1) / 2, clean(mark.label), f"on {mark.kind}", "center", SMALL)

    def _cells(self, mark: Cells) -> None:
        self._boxes(np.asarray(mark.boxes, dtype=float).reshape(-1, 4), mark.kind)

    def _raster(self, mark: Raster) -> None:
        colored = np.empty((*mark.shades.shape, 4))
        colored[..., :3] = self.matplotlib.colors.to_rgb(LIGHT[mark.kind])
        colored[..., 3] = mark.shades
        extent = (mark.x0, mark.x1, mark.y1, mark.y0)
        self.ax.imshow(colored, extent=extent, aspect="auto", interpolation="nearest", zorder=self.order)

    def _area(self, mark: Area) -> None:
        x, low, high = area_corners(mark)
        self.ax.fill_between(x, low, high, zorder=self.order, **_fill(self.ax, mark.kind))

    def _line(self, mark: Line) -> None:
        stroke = _stroke(self.ax, mark)
        x, y = np.asarray(mark.x, dtype=float), np.asarray(mark.y, dtype=float)
        # A line along the edge is drawn in its whole width.
        inside = all(np.nanmin(values, initial=np.inf) >= min(ends) and np.nanmax(values, initial=-np.inf) <= max(ends)
                     for values, ends in ((x, self.panel.x), (y, self.panel.y)))  # fmt: skip
        self.ax.plot(x, y, zorder=self.order, clip_on=not inside, **stroke)
        alone = [(x[0], y[0]) for x, y in runs_of(mark) if len(x) == 1]
        if alone:
            self.ax.plot(*zip(*alone, strict=True), "o", color=stroke["color"], markersize=4, zorder=self.order)
        if mark.arrow and len(mark.x) > 1:
            self.ax.annotate("", (mark.x[-1], mark.y[-1]), (mark.x[-2], mark.y[-2]), zorder=self.order,
                             arrowprops={"arrowstyle": "-|>", "color": stroke["color"]})  # fmt: skip

    def _dots(self, mark: Dots) -> None:
        color = _ink(self.ax, mark.kind)
        size = 2 * mark.radius * POINT
        self.ax.plot(np.asarray(mark.x), np.asarray(mark.y), "o", color=color, markersize=size, zorder=self.order)

    def _text(self, mark: Text) -> None:
        x = self.layout.x(self.number)
        words, size = clean(mark.text, 200), mark.size or LABEL
        if abs(x(mark.x + mark.room) - x(mark.x)) < text_width(words, size):
            return
        shown = fit(words, max(self.layout.width - 8 - x(mark.x), 8), size) if mark.anchor == "start" else words
        align = {"start": "left", "middle": "center"}.get(mark.anchor, "right")
        self._letters(mark.x, mark.y, shown, mark.kind, align, size, mark.bold)

    def _letters(self, x: float, y: float, words: str, kind: str, align: str, size: float, bold: bool = False) -> None:
        on = kind.removeprefix("on ")
        color = LIGHT[letters_on(on)] if on != kind else _ink(self.ax, kind)
        ground = {"facecolor": LIGHT[on], "edgecolor": "none", "pad": 1} if kind == "on dense" else None
        self.ax.text(x, y, words, fontsize=size * POINT, ha=align, va="center", color=color, weight="bold" if bold else None,
                     bbox=ground, zorder=self.order + 3, clip_on=False)  # fmt: skip


def printed(figure: Drawing, form: str, width: float) -> bytes:
    """The figure with its heading, as the content of a file that matplotlib writes: "png" or "pdf"."""
    with _drawing() as matplotlib:
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"text.parse_math": False, "font.size": LABEL * POINT, "text.color": LIGHT["ink"],
                                    "axes.facecolor": "none",
                                    "figure.facecolor": LIGHT["paper"]})  # fmt: skip
        layout = Layout(figure, width)
        entries = len(figure.words_of_kinds()) + sum(1 for line in figure.of(Line) if line.label)
        notes = 17.0 * len(layout.notes)
        below = 50.0 + 20 * -(-entries // 3) + notes
        height = layout.bottom + below
        sheet = matplotlib.figure.Figure(figsize=(width * INCH, height * INCH), dpi=96)
        y = 24.0
        for size, weight, lines in ((17, "bold", layout.title), (13, "normal", layout.finding)):
            for line in lines:
                sheet.text(14 / width, 1 - y / height, line, size=size * POINT, weight=weight, va="center")
                y += size + 5
        for place, line in enumerate(layout.notes):
            sheet.text(14 / width, (notes - 17 * place - 4) / height, line, size=LABEL * POINT, va="center",
                       alpha=0.7)  # fmt: skip
        left, right = (layout.boxes[0].left, layout.boxes[0].right) if len(figure.panels) == 1 else (0.0, width)
        ax = sheet.add_axes((left / width, below / height, (right - left) / width, (layout.bottom - layout.top) / height))
        to_axes(figure, ax)
        ax.set_title("")
        file = io.BytesIO()
        sheet.savefig(file, format=form, metadata={"CreationDate": None} if form == "pdf" else {"Software": None})
        return file.getvalue()
