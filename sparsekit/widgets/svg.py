"""A minimal writer of SVG: escaped, deterministic, presentation attributes only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from ..base.tables import escape
from .theme import FONT, INK, LINE, MUTED, PAPER, dark_style

__all__ = ["NARROW", "WIDE", "Drawing", "drawn_narrow", "fit", "heading", "is_narrow", "page_width", "text_width", "wrap"]

#: Widths that pictures are drawn for, in pixels: of a page, and of a phone's screen.
WIDE, NARROW = 1000.0, 380.0
T = TypeVar("T")
_page: ContextVar[float] = ContextVar("page", default=WIDE)


def page_width() -> float:
    """How wide the picture is that is being drawn, in pixels."""
    return _page.get()


def is_narrow() -> bool:
    """Whether the picture is drawn for a narrow page, on which what stands side by side elsewhere is stacked."""
    return _page.get() < WIDE


def drawn_narrow(draw: Callable[[], T]) -> T:
    """What a function draws for a narrow page."""
    page = copy_context()
    page.run(_page.set, NARROW)
    return page.run(draw)


_NARROW = frozenset("ijltfrI.,:;'|!()[]{}·` ")
_WIDE = frozenset("mwMW@%×→—")


def text_width(text: str, size: float) -> float:
    """Estimate the width of ``text`` in pixels, on the safe side; the reader's font is unknown."""
    units = 0.0
    for letter in text:
        if letter in _NARROW:
            units += 0.36
        elif letter in _WIDE or ord(letter) > 0x2E80:
            units += 0.95
        else:
            units += 0.7 if letter.isupper() else 0.58
    return units * size


def fit(text: object, width: float, size: float) -> str:
    """Shorten ``text`` with an ellipsis until it fits ``width`` pixels; empty if not even that does."""
    words = " ".join(str(text).split())
    if text_width(words, size) <= width:
        return words
    while words and text_width(words + "…", size) > width:
        words = words[: min(len(words) - 1, int(width / (0.36 * size)) + 1)]
    return words.rstrip() + "…" if words else ""


def wrap(text: str, width: float, size: float, most: int = 2) -> list[str]:
    """Break ``text`` into at most ``most`` lines of ``width`` pixels; the last is shortened if it must be."""
    lines = [""]
    # A number stays with its unit.
    words = text.replace(" %", "\u00a0%").split(" ")
    for i, word in enumerate(words):
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) <= width or not lines[-1]:
            lines[-1] = longer
        elif len(lines) == most:
            lines[-1] = fit(" ".join([lines[-1], *words[i:]]), width, size)
            break
        else:
            lines.append(word)
    return [fit(line, width, size) for line in lines]


def _figure(value: float | str) -> str:
    """Write an attribute's value; lengths with at most two decimals."""
    if isinstance(value, float):
        written: str = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if written in ("", "-0") else written
    return escape(value)


def _attributes(values: dict[str, Any]) -> str:
    return "".join(f' {key.replace("_", "-")}="{_figure(value)}"' for key, value in values.items() if value is not None)


def heading(drawing: Drawing, title: str, finding: str, most: int = 2) -> float:
    """Draw a title, and below it a sentence in at most ``most`` lines on a wide page; give where the next line would be."""
    size, lines = (16, 3) if is_narrow() else (19, 1)
    y = 32.0
    for line in wrap(title, drawing.width - 40, size * (1.1 if is_narrow() else 1.0), lines):  # bold letters are wider
        drawing.text(20, y, line, size=size, font_weight="bold")
        y += 21
    for line in wrap(finding, drawing.width - 40, 13, 12 if is_narrow() else most):
        drawing.text(20, y, line, size=13, fill=MUTED)
        y += 17
    return y


class Drawing:
    """A picture under construction.

    Parameters
    ----------
    width : float
        Pixels.  The height is given last, to ``finish``, when the content is known.
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._parts: list[str] = []
        self._definitions: dict[str, str] = {}

    def add(self, name: str, content: str | None = None, /, **attributes: float | str | None) -> None:
        """Add one element; ``content`` is text and gets escaped."""
        start = f"<{name}{_attributes(attributes)}"
        self._parts.append(f"{start}/>" if content is None else f"{start}>{escape(content)}</{name}>")

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **attributes: float | str | None) -> None:
        """Add a filled rectangle."""
        self.add("rect", x=float(x), y=float(y), width=float(width), height=float(height), fill=fill, **attributes)

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = LINE, **attributes: float | str | None) -> None:
        """Add a straight line."""
        self.add("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=stroke, **attributes)

    def text(self, x: float, y: float, content: str, size: float = 12, fill: str = INK, **attributes: float | str | None) -> None:
        """Add one line of text; ``y`` is its baseline."""
        self.add("text", content, x=float(x), y=float(y), font_size=float(size), fill=fill, **attributes)

    def note(self, y: float, words: str, size: float = 11.5, x: float = 20.0, step: float = 16.0) -> float:
        """Add a remark, on a narrow page in several lines; give where the next one would be."""
        for line in wrap(words, self.width - 20 - x, size, 8 if is_narrow() else 1):
            self.text(x, y, line, size=size, fill=MUTED)
            y += step
        return y

    def boxes(self, boxes: Iterable[tuple[float, float, float, float]], fill: str, **attributes: float | str | None) -> None:
        """Add many rectangles ``(x, y, width, height)`` of one colour as a single path."""
        steps = [
            f"M{_figure(float(x))} {_figure(float(y))}h{_figure(float(w))}v{_figure(float(h))}H{_figure(float(x))}z"
            for x, y, w, h in boxes
        ]
        if steps:
            self.add("path", d="".join(steps), fill=fill, **attributes)

    def hatch(self, color: str, step: float = 5, weight: float = 1.6, angle: int = 45) -> str:
        """Define diagonal lines and give the paint for ``fill``; the id follows from the content."""
        name = f"hatch-{color.lstrip('#')}-{_figure(float(step))}-{_figure(float(weight))}-{angle}"
        self._definitions[name] = (
            f'<pattern id="{name}" width="{_figure(float(step))}" height="{_figure(float(step))}" '
            f'patternUnits="userSpaceOnUse" patternTransform="rotate({angle})">'
            f'<rect width="{_figure(float(weight))}" height="{_figure(float(step))}" fill="{color}"/></pattern>'
        )
        return f"url(#{name})"

    def finish(self, height: float, title: str) -> str:
        """Return the document: its background, the title for screen readers, its colours in dark pages, and all elements."""
        size = f'width="{_figure(float(self.width))}" height="{_figure(float(height))}"'
        box = f'viewBox="0 0 {_figure(float(self.width))} {_figure(float(height))}"'
        definitions = f"<defs>{''.join(self._definitions.values())}</defs>" if self._definitions else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" font-family="{FONT}">'
            f"<title>{escape(title)}</title>{dark_style()}{definitions}"
            f'<rect x="0.5" y="0.5" width="{_figure(self.width - 1.0)}" height="{_figure(float(height) - 1.0)}" '
            f'rx="8" fill="{PAPER}" stroke="{LINE}"/>{"".join(self._parts)}</svg>\n'
        )
