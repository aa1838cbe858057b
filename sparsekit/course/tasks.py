"""Coding exercises: checks that a learner can read, and that say what is wrong with an answer."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Self

from . import record
from .answers import sentence
from .differences import difference
from .words import Said, rich, say

__all__ = ["Task", "exercise"]

#: Of an exception, this many characters are shown.
LONGEST = 300


def _nothing() -> None: ...


def _documented() -> None:
    """Only a docstring, which changes what is compiled."""


def unanswered(value: object) -> bool:
    """Whether an answer is still the three dots: alone, in a list, or as the only content of a function or a class."""
    if value is ...:
        return True
    if isinstance(value, (list, tuple, set)):
        return any(unanswered(item) for item in value)
    if isinstance(value, dict):
        return any(unanswered(item) for item in value.values())
    if isinstance(value, types.FunctionType):
        return value.__code__.co_code in (_nothing.__code__.co_code, _documented.__code__.co_code) and not any(
            constant is not None and not isinstance(constant, str) for constant in value.__code__.co_consts)
    return False


class _NotYet(Exception):
    """The first check that does not hold."""


class Task:
    """The checks of one exercise; made by ``exercise``.  The first that does not hold is the last that is looked at.

    Attributes
    ----------
    state : str
        ``"open"`` (nothing was filled in), ``"right"`` or ``"wrong"``.
    words : str
        What is to be said about the answer.
    """

    def __init__(self, name: str, answers: tuple[Any, ...], right: str = "") -> None:
        self.name, self.right = str(name), right
        self.open = any(unanswered(answer) for answer in answers)
        self.held = 0
        self.state, self.words = "open", ""

    def expect(self, condition: object, otherwise: str) -> None:
        """Go on if a condition holds; else ``otherwise`` says what is wrong and what to look at."""
        if self.open or not bool(condition):
            raise _NotYet(otherwise)
        self.held += 1

    def equal(self, got: object, wanted: object, what: str = "the answer", *, unit: str = "", within: float = 1e-6,
              wrong: Mapping[Any, str] | None = None) -> None:
        """Go on if two values are the same; else say how they differ.

        Parameters
        ----------
        got, wanted : array, number, str or sequence
            Arrays are compared by storage type (if ``wanted`` has one), shape and values.
        what : str
            What ``got`` is, as the subject of a sentence.
        unit : str
            Of numbers.
        within : float
            How far numbers may be off, as a share.
        wrong : mapping
            Known misconceptions: the answer that shows one -> a sentence about it.
        """
        if not self.open:
            found = difference(got, wanted, what, unit, within, wrong or {})
            if found:
                raise _NotYet(found)
        self.expect(True, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> Literal[True] | None:
        if error is not None and not isinstance(error, Exception):
            return None
        self._conclude(error)
        say(Said(self.text, self.html))
        return True

    def _conclude(self, error: Exception | None) -> None:
        if self.open:
            self.words = "Nothing is filled in yet: replace the three dots and run the cell again. It may be skipped."
            return
        if error is None:
            self.state = "right"
            holding = "1 check holds." if self.held == 1 else f"{self.held} checks hold."
            self.words = sentence(self.right) if self.right else holding
        elif isinstance(error, _NotYet):
            self.state, self.words = "wrong", sentence(str(error))
        else:
            said = " ".join(str(error).split())
            said = said if len(said) <= LONGEST else said[:LONGEST] + "…"
            self.state, self.words = "wrong", f"The answer could not be checked, {type(error).__name__}: {said}"
        record.remember(self.name, "exercise", self.state, self.state == "right")

    @property
    def text(self) -> str:
        """What is said, for a terminal."""
        return f"{_TITLES[self.state]}. {self.words}"

    @property
    def html(self) -> str:
        """What is said, for a notebook."""
        return f"<p><strong>{_MARKS[self.state]} {_TITLES[self.state]}.</strong> {rich(self.words)}</p>"


_TITLES = {"open": "Open", "right": "Right", "wrong": "Not yet"}
_MARKS = {"open": "○", "right": "✔", "wrong": "✘"}


def exercise(name: str, *answers: object, right: str = "") -> Task:
    """Check an answer, in a ``with`` block whose checks the learner can read.

    Parameters
    ----------
    name : str
        Name of the exercise; the learner's progress is kept under it.
    *answers
        What the learner fills in, ``...`` before that: values, or functions and lists with ``...`` in them.  While one
        of them is not filled in, no check is made and nothing fails.
    right : str, optional
        What is said when all checks hold.

    Returns
    -------
    Task
        With ``expect(condition, otherwise)`` and ``equal(got, wanted)``.  An exception within the block is shown as a
        sentence and does not stop the notebook.
    """
    return Task(name, answers, right)
