"""What a figure is: marks in panels, and what they show as a sentence and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ..base.errors import ParameterError, UnknownNameError, expected
from ..base.formatting import counted
from .interaction import Interaction
from .marks import Area, Axis, Cells, Dots, Line, Mark, Panel, Raster, Rect, Shape, Table
from .palette import FILLS, KINDS, MEANING
from .text import clean

M = TypeVar("M")


@dataclass(eq=False)
class Drawing:
    """The data of a figure, which every renderer reads.  ``Figure`` describes its fields."""

    title: str
    finding: str
    panels: list[Panel] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    table: Table = field(default_factory=Table)
    notes: Sequence[str] = ()
    legend: dict[str, str] = field(default_factory=dict)
    interaction: Interaction = field(default_factory=Interaction)
    narrow: Drawing | None = None
    narrow_below: float = 0.0

    def add(self, *marks: Mark) -> None:
        """Append marks."""
        for mark in marks:
            if not isinstance(mark, Mark):
                raise ParameterError(expected("A mark", "one of figures.kit, such as Rect or Line", mark),
                                     hint="figure.add(Rect(0, 'dense', 0, 8, 0, 1)), for example.")
        self.marks.extend(marks)

    def check(self) -> None:
        """Raise if a mark has a kind that has no colour, or stands in a panel that is not there.

        Raises
        ------
        ParameterError
        """
        for mark in self.marks:
            if not 0 <= mark.panel < len(self.panels):
                raise ParameterError(f"A {type(mark).__name__} is in panel {mark.panel}, and the figure has "
                                     f"{counted(len(self.panels), 'panel')}.", hint="the first panel is number 0.")  # fmt: skip
            if isinstance(mark, (Rect, Cells, Raster, Area, Line, Dots)) and mark.kind not in FILLS:
                raise UnknownNameError.of("kind of mark", str(mark.kind), FILLS)

    def of(self, *types: type[M]) -> list[M]:
        """The marks of some types."""
        return [mark for mark in self.marks if isinstance(mark, types)]

    @property
    def shapes(self) -> list[Shape]:
        """The marks that have a colour of their own: all but texts and axes."""
        return [mark for mark in self.marks if isinstance(mark, (Rect, Cells, Raster, Area, Line, Dots))]

    @property
    def asks(self) -> bool:
        """Whether a live view does more than show: a panel zooms, or there is something to ask or to play."""
        return any(panel.zooms for panel in self.panels) or self.interaction != Interaction()

    @property
    def alt(self) -> str:
        """The alternative text: title and finding."""
        title = clean(self.title, 300)
        return f"{title}{'' if title.endswith(('.', '?', '!')) else '.'} {clean(self.finding, 1200)}".strip(". ") + "."

    def words_of_kinds(self) -> dict[str, str]:
        """The kinds of marks that are in the figure, in their fixed order, each with its words in the legend."""
        seen = {mark.kind for mark in self.shapes}
        words = {kind: self.legend.get(kind, MEANING[kind]) for kind in KINDS if kind in seen}
        words |= {name: text for name, text in self.legend.items() if name not in KINDS}
        return {kind: text for kind, text in words.items() if text}

    def has_room_for_ends(self) -> bool:
        """Whether names of lines stand at their ends: there are few of them."""
        return sum(1 for line in self.of(Line) if line.label) <= 8


def add_rows(figure: Drawing, height: float, longest: float, names: Sequence[tuple[str, str]], title: str = "") -> int:
    """Append a panel of rows that reach to ``longest``, with words at the left and at the right of each; gives its number."""
    number, count = len(figure.panels), max(len(names), 1)
    figure.panels.append(Panel((0.0, longest), (0.0, float(count)), height * count, title, rows=True))
    for side, words in (("left", 0), ("right", 1)):
        figure.add(Axis(number, side, ticks=tuple((place + 0.5, both[words]) for place, both in enumerate(names))))
    return number
