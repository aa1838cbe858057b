"""Coding exercises, whose checks a learner can read and which explain what is wrong with an answer."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, Self

from ..base.errors import UnknownNameError
from . import record
from .answers import difference, sentence
from .questions import texts_of, wrong_answers
from .words import Message, rich, show

#: Number of characters of an exception that are shown.
LONGEST_ERROR = 300


def _nothing() -> None: ...


def _documented() -> None:
    """A docstring changes the compiled code."""


def unanswered(value: object) -> bool:
    """Return whether an answer is still ``...``: alone, in a container, or as the only body of a function."""
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


class _CheckFailed(Exception):
    """The first check that fails."""


class Task:
    """The checks of one exercise, created by ``exercise``; the first that fails ends the ``with`` block.

    Attributes
    ----------
    state : str
        ``"open"`` (nothing was filled in), ``"right"`` or ``"wrong"``.
    words : str
        Sentence about the answer.
    """

    def __init__(self, name: str, answers: tuple[Any, ...], right: str = "") -> None:
        self.name, self.right = str(name), right
        self.open = any(unanswered(answer) for answer in answers)
        self.held = 0
        self.state, self.words = "open", ""

    def expect(self, condition: object, otherwise: str) -> None:
        """Check a condition; ``otherwise`` is shown if it is false, and says what is wrong and where to look."""
        if self.open or not bool(condition):
            raise _CheckFailed(otherwise)
        self.held += 1

    def equal(self, got: object, wanted: object, what: str = "the answer", *, unit: str = "", within: float = 1e-6,
              wrong: Mapping[Any, str] | None = None) -> None:
        """Check that two values are equal; else show how they differ.

        Parameters
        ----------
        got, wanted : array, number, str or sequence
            Arrays are compared by storage type (if ``wanted`` has one), shape and values.
        what : str
            Name of ``got``, the subject of the sentence.
        unit : str
            Unit of numbers.
        within : float
            Relative tolerance; at least 1e-5 for arrays.
        wrong : mapping, optional
            Known misconceptions: the answer that shows one -> a sentence about it.
        """
        if not self.open:
            problem = difference(got, wanted, what, unit, within, wrong or {})
            if problem:
                raise _CheckFailed(problem)
        self.expect(True, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> Literal[True] | None:
        if error is not None and not isinstance(error, Exception):
            return None
        self._conclude(error)
        show(Message(self.text, self.html))
        return True

    def _conclude(self, error: Exception | None) -> None:
        if self.open:
            self.words = "Nothing is filled in yet: replace the three dots and run the cell again. It may be skipped."
            return
        if error is None:
            self.state = "right"
            passed = "1 check passed." if self.held == 1 else f"{self.held} checks passed."
            self.words = sentence(self.right) if self.right else passed
        elif isinstance(error, _CheckFailed):
            self.state, self.words = "wrong", sentence(str(error))
        else:
            said = " ".join(str(error).split())
            said = said if len(said) <= LONGEST_ERROR else said[:LONGEST_ERROR] + "…"
            self.state, self.words = "wrong", f"The answer could not be checked, {type(error).__name__}: {said}"
        record.remember(self.name, "exercise", self.state, self.state == "right")

    @property
    def text(self) -> str:
        """The verdict as plain text."""
        return f"{_TITLES[self.state]}. {self.words}"

    @property
    def html(self) -> str:
        """The verdict as HTML."""
        return f"<p><strong>{_MARKS[self.state]} {_TITLES[self.state]}.</strong> {rich(self.words)}</p>"


_TITLES = {"open": "Open", "right": "Right", "wrong": "Not yet"}
_MARKS = {"open": "○", "right": "✔", "wrong": "✘"}


def exercise(name: str, *answers: object, right: str = "") -> Task:
    """Check an answer in a ``with`` block, whose checks the learner can read.

    Parameters
    ----------
    name : str
        Name of the exercise, for the learner's progress.
    *answers
        Values for the learner to fill in.  Before that they are ``...``, containers with ``...`` in them, or functions with the
        body ``...``.  The exercise is open, and no check fails, until all of them are filled in.
    right : str, optional
        Sentence that is shown if all checks pass; by default their number.

    Returns
    -------
    Task
        With the checks ``expect(condition, otherwise)`` and ``equal(got, wanted)``.  An exception within the block is shown as
        a sentence and does not stop the notebook.
    """
    return Task(name, answers, right)


def check(name: str, *answers: object) -> None:  # object: whatever a learner wrote
    """Check the answer to an exercise of the course, and show the verdict below the cell.

    Parameters
    ----------
    name : str
        Name of the exercise.  Its check is in ``sparsekit/course/questions``, or in ``sparsekit/course/checks.py``.
    *answers
        The answer, which is ``...`` until it is filled in, and the measured values that it is compared with.

    Raises
    ------
    UnknownNameError
        If the course has no such exercise.
    """
    from .checks import CHECKS

    kept = texts_of("exercise", name)
    if not kept and name not in CHECKS:
        raise UnknownNameError.of("exercise", name, CHECKS)
    with exercise(name, *answers, right=kept.get("right", "")) as task:
        if task.open:
            return
        if name in CHECKS:
            CHECKS[name](task, *answers)
        else:
            task.equal(answers[0], kept["answer"], kept.get("what", "the answer"), unit=kept.get("unit", ""),
                       within=kept.get("within", 1e-6), wrong=wrong_answers(kept.get("wrong"), {}))
