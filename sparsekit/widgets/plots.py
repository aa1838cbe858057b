"""Plots drawn by matplotlib, which is imported when the first one is drawn: their frame, their style and their file."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.optional import optional_import
from .charts import Line
from .svg import is_narrow, wrap
from .theme import INK, LINE, MUTED, PAPER, dark_style

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["DASHES", "Sheet", "drawing_on", "legend_words", "lines_on", "number_axis", "plain_text"]

#: The second channel beside colour, in the order of the lines; lengths are multiples of the line's width.
DASHES = ("solid", (0, (3.2, 1.8)), (0, (1, 1.4)), (0, (4.5, 1.4, 1, 1.4)), (0, (1.8, 1.8)), (0, (0.6, 1.8)))

#: A pixel in points and in inches: pictures are laid out in pixels, as those of ``svg``.
POINT, INCH = 0.75, 1 / 96

#: matplotlib lays text out by a font that it brings along; a reader's browser takes the first that it has of the others.
_LAID_OUT, _READ = "DejaVu Sans", ["Helvetica Neue", "Helvetica", "Arial", "Liberation Sans"]

_STYLE = {
    "svg.hashsalt": "sparsekit", "svg.fonttype": "none", "text.parse_math": False, "font.sans-serif": [_LAID_OUT, *_READ],
    "font.size": 11 * POINT, "text.color": INK, "axes.labelcolor": MUTED, "axes.edgecolor": MUTED, "xtick.color": MUTED,
    "ytick.color": MUTED, "axes.facecolor": "none", "figure.facecolor": PAPER, "axes.linewidth": POINT,
    "axes.spines.left": False, "axes.spines.right": False, "axes.spines.top": False, "axes.grid": True,
    "axes.grid.axis": "y", "grid.color": LINE, "grid.linewidth": 0.7 * POINT, "axes.axisbelow": True,
    "xtick.major.size": 0, "ytick.major.size": 0, "lines.linewidth": 2.2 * POINT, "lines.solid_joinstyle": "round",
    "legend.frameon": False, "legend.handlelength": 3, "legend.fontsize": 12 * POINT, "axes.titlelocation": "left",
    "axes.titlesize": 13.5 * POINT, "axes.titleweight": "bold",
}


@contextmanager
def drawing_on(ax: Axes | None = None) -> Iterator[Any]:
    """Draw with our style on a figure of ours, and with the user's on the user's axes; matplotlib is given.

    Names are text and no formulas: a layer may be called ``$x``.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.
    """
    matplotlib: Any = optional_import("matplotlib", "lab", "A plot")
    for part in ("figure", "ticker"):
        optional_import(f"matplotlib.{part}", "lab", "A plot")
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that matplotlib's font has not; a browser's may have them
        if ax is None:
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_STYLE)
        matplotlib.rcParams["text.parse_math"] = False
        yield matplotlib


class Sheet:
    """A figure with a heading, a sentence below it and room for axes; to be used within ``drawing_on()``.

    Parameters
    ----------
    width : float
        Pixels.
    title, finding : str
    below : float
        Pixels for what is below the sentence.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    height : float
        Pixels.
    top : float
        Where the room below the sentence begins, in pixels from the top.
    """

    def __init__(self, matplotlib: ModuleType, width: float, title: str, finding: str, below: float) -> None:
        heading = wrap(plain_text(title), width - 40, 17 * 1.15, 3)  # bold letters are wider
        words = wrap(plain_text(finding), width - 40, 12.5, 12 if is_narrow() else 3) if finding else []
        self.width, self.top = width, 12.0 + 22 * len(heading) + 17 * len(words)
        self.height = self.top + below
        self.figure = matplotlib.figure.Figure(figsize=(width * INCH, self.height * INCH), dpi=72)
        for place, line in enumerate(heading):
            self.write(20, 30 + 22 * place, line, size=17, weight="bold")
        for place, line in enumerate(words):
            self.write(20, 29 + 22 * len(heading) + 17 * place, line, size=12.5, color=MUTED)

    def write(self, x: float, y: float, text: str, size: float = 11.5, color: str = INK, **options: object) -> None:
        """Write a line whose left end is at ``x, y``, in pixels from the left and the top."""
        self.figure.text(x / self.width, 1 - y / self.height, text, size=size * POINT, color=color, **options)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes that fill a box, in pixels from the left and from below the sentence."""
        bottom = self.height - self.top - top - height
        return self.figure.add_axes((left / self.width, bottom / self.height, width / self.width, height / self.height))

    def finish(self) -> str:
        """The picture as the text of an SVG file, the same on every run."""
        file = io.StringIO()
        self.figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
        found = file.getvalue().replace(f"'{_LAID_OUT}', ", "").replace(f"'{_READ[-1]}'", f"'{_READ[-1]}', '{_LAID_OUT}'")
        return found.replace("<defs>", f"{dark_style()}<defs>", 1)


def plain_text(text: object) -> str:
    """Text that may stand in a file of XML, on one line."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def lines_on(ax: Axes, places: Sequence[float], lines: Sequence[Line], width: float = 2.2) -> None:
    """Draw curves on axes, broken where they have no value; a value between two gaps is a dot."""
    for i, line in enumerate(lines):
        values = [math.nan if value is None else value for value in line.values]
        ax.plot(places, values, color=line.color, linestyle=DASHES[i % len(DASHES)], linewidth=width * POINT,
                label=legend_words(line.name))
        known = [False, *(not math.isnan(value) for value in values), False]
        alone = [place for place in range(len(values)) if known[place:place + 3] == [False, True, False]]
        ax.plot([places[place] for place in alone], [values[place] for place in alone], "o", color=line.color,
                markersize=6 * POINT)


def legend_words(name: str) -> str:
    """A name in a legend, which leaves out names that begin with an underscore."""
    words = plain_text(name)
    words = words if len(words) <= 60 else words[:59] + "…"
    return f" {words}" if words.startswith("_") else words


def number_axis(matplotlib: ModuleType, axis: Axis, written: Callable[[float], str], most: int = 5, whole: bool = False) -> None:
    """Have an axis say its numbers as ``written`` does, at most so many, ``whole`` ones only if that is asked for."""
    axis.set_major_locator(matplotlib.ticker.MaxNLocator(most, integer=whole))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: written(value)))
