"""Questions, answers and misconceptions of the course's notebooks, read from one file for each notebook.

``questions/05_embeddings_language_model.toml`` belongs to the notebook of that name.  A prediction is a table::

    [predict.batch_words]
    question = "A batch has 320 words, of a vocabulary of {words:,}.  How many different ones?"
    unit = "words"            # or options = ["csr", "default"]
    within = 0.15             # relative tolerance of a right number, 0.1 by default; 0 for exact counts
    tie = 0.05                # of options that are measured: a lead smaller than this share decides nothing
    answer = "csr"            # only where the cell measures nothing
    because = "frequent words come many times"
    wrong = [[320, "you took all words to be different"], ["{words}", "that is the whole vocabulary"]]

An exercise is one too, ``[exercise.NAME]``, with ``answer``, ``what``, ``unit``, ``within``, ``right`` and ``wrong``;
without an ``answer`` it is checked by the function of that name in ``checks.py``.  Names in braces are facts that the cell
passes: ``mx.predict("batch_words", words=len(vocabulary))``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .contents import notebook_of

#: One file for each notebook.
FOLDER = Path(__file__).with_name("questions")


@cache
def questions(notebook: str) -> dict[str, dict[str, dict[str, Any]]]:  # Any: TOML
    """Return the predictions and exercises of a notebook, by kind and name; {} if it has no file."""
    path = FOLDER / f"{notebook}.toml"
    if not path.is_file():
        return {}
    return dict(tomllib.loads(path.read_text(encoding="utf-8")))


def texts_of(kind: str, name: str) -> dict[str, Any]:  # Any: TOML
    """Return what the files have of a prediction (``"predict"``) or an exercise (``"exercise"``); {} if nothing."""
    return questions(notebook_of(name)).get(kind, {}).get(name, {})


def filled(text: str, facts: Mapping[str, object]) -> str:  # object: numbers and texts that a cell passes
    """Put facts into a text; return "" if one is missing, because the cell that has it did not run."""
    try:
        return " ".join(text.format_map(facts).split())
    except (KeyError, ValueError, TypeError):
        return ""


def wrong_answers(pairs: object, facts: Mapping[str, object]) -> dict[float | str, str]:  # object: TOML
    """Return known misconceptions: the answer that shows one -> the sentence about it."""
    reasons: dict[float | str, str] = {}
    for said, why in pairs if isinstance(pairs, list) else ():
        number = _number(filled(said, facts)) if isinstance(said, str) and "{" in said else said
        if number is not None:
            reasons[number] = filled(why, facts)
    return reasons


def _number(text: str) -> float | None:
    """A number that was a fact; None if the fact is missing."""
    return float(text) if text else None
