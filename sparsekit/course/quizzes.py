"""The quiz at the end of the course: ten questions, each with its explanation."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from .predictions import predict, reveal
from .words import show

__all__ = ["FILE", "quiz", "quiz_questions"]

#: The questions, in order, each with its answer.
FILE = Path(__file__).with_name("quiz.toml")


@cache
def quiz_questions() -> dict[str, dict[str, Any]]:   # Any: TOML
    """Return the questions by name, in the order in which they are asked."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def quiz() -> None:
    """Ask the ten questions of the quiz; each answer is judged at once, with its explanation.

    In a notebook every question is a form with its answer folded below.  Elsewhere the text is printed.

    Examples
    --------
    >>> mx.course.quiz()   # doctest: +ELLIPSIS
    Predict: A csr array has 1,000 rows ...
    """
    for name, kept in quiz_questions().items():
        asked = predict(name, kept["question"], unit=kept.get("unit", ""), options=kept.get("options", ()))
        wrong = dict(kept["wrong"])
        answer = reveal(name, kept["answer"], wrong=wrong, within=kept.get("within"), because=kept["because"])
        show(asked)
        show(answer)
