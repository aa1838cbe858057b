"""What a reader of a live view may ask, declared as plain data, and the checks of what comes back from the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..base.formatting import number

if TYPE_CHECKING:
    from .drawing import Drawing


class Slider(NamedTuple):
    """A number from ``low`` to ``high``; ``unit`` is one of ``text.UNITS``; ``log``: steps are factors."""

    name: str
    label: str
    low: float
    high: float
    value: float
    unit: str = "number"
    log: bool = False

    def checked(self, value: object) -> float:
        """A value that the page sent, kept between the ends."""
        return min(max(number(value, self.value), self.low), self.high)


class NumberField(NamedTuple):
    """A number that is typed; ``whole``: without fractions."""

    name: str
    label: str
    value: float
    low: float = -1e300
    high: float = 1e300
    whole: bool = False

    def checked(self, value: object) -> float:
        """A value that the page sent, kept between the ends."""
        kept = min(max(number(value, self.value), self.low), self.high)
        return round(kept) if self.whole else kept


class Choice(NamedTuple):
    """One of a few names."""

    name: str
    label: str
    options: tuple[str, ...]
    value: str

    def checked(self, value: object) -> str:
        """A value that the page sent, if it is one of the options."""
        return str(value) if value in self.options else self.value


class Switch(NamedTuple):
    """On or off."""

    name: str
    label: str
    value: bool = False

    def checked(self, value: object) -> bool:
        """A value that the page sent."""
        return value if isinstance(value, bool) else self.value


class Grid(NamedTuple):
    """A matrix whose numbers can be edited."""

    name: str
    label: str
    value: tuple[tuple[float, ...], ...]

    def checked(self, value: object) -> tuple[tuple[float, ...], ...]:
        """Values that the page sent, each in its place; those that are missing or no numbers stay as they were."""
        sent = value if isinstance(value, list) else []
        rows = []
        for place, row in enumerate(self.value):
            sent_row = sent[place] if place < len(sent) and isinstance(sent[place], list) else []
            rows.append(tuple(number(sent_row[at], old) if at < len(sent_row) else old for at, old in enumerate(row)))
        return tuple(rows)


Input: TypeAlias = Slider | NumberField | Choice | Switch | Grid

#: Any: the values of a view's inputs differ.
Values: TypeAlias = dict[str, Any]


class Interaction(NamedTuple):
    """What a live view does beside what every one does.

    Attributes
    ----------
    draw : callable, optional
        ``draw(window, values)`` gives the figure of a part of x, ``(first, last)`` or None for all, and of the values of the
        inputs by name.
    select : callable, optional
        ``select(key, values)`` gives what is shown of the chosen mark: words, a mapping, a ``Table``, a ``Figure``, or a list of
        these.
    inputs : sequence of Input
    answers : mapping of str to dict, optional
        Values of the inputs that a page without Python offers, by what they are called there.
    frames : sequence of Figure
        Figures of the same panels that are played one after the other; the last should be the figure itself.
    seconds : float
        How long a frame is shown.
    """

    draw: Callable[[tuple[float, float] | None, Values], Drawing] | None = None
    select: Callable[[str, Values], Any] | None = None  # Any: each of what shown() writes
    inputs: Sequence[Input] = ()
    answers: Mapping[str, Values] = {}
    frames: Sequence[Drawing] = ()
    seconds: float = 0.8


def declared(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """Inputs as plain data for the page."""
    return [{"kind": type(field).__name__.lower(), **field._asdict()} for field in inputs]


def checked(inputs: Sequence[Input], values: object) -> Values:
    """The values of all inputs, from what a page sent: what is missing or makes no sense is as it was declared."""
    sent = values if isinstance(values, Mapping) else {}
    return {field.name: field.checked(sent[field.name]) if field.name in sent else field.value for field in inputs}
