"""Parsing a learner's guess, and describing how it compares with the measured value."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array

#: Units that are converted: unit -> bytes, and unit -> microseconds.
_SIZES = {"b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "kib": 1024.0, "mb": 1e6, "mbs": 1e6, "mib": 1024.0**2, "gb": 1e9,
          "gib": 1024.0**3, "tb": 1e12}
_TIMES = {"ns": 1e-3, "µs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6, "seconds": 1e6, "min": 6e7}

_NUMBER = re.compile(
    r"([-+]?(?:\d{1,3}(?:[ ,_'\u2009\u202f]\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)\s*(.*)",
    re.IGNORECASE | re.ASCII | re.DOTALL)


class Verdict(NamedTuple):
    """Whether a guess is right, and a sentence about it."""

    right: bool
    words: str


def parse(text: str, unit: str = "") -> tuple[float | None, str]:
    """Parse a number with or without a unit; return it in ``unit`` and "", or None and what is wrong with it.

    Accepts ``"1,000"``, ``"1e3"``, ``"1000 MB"`` and, if the unit is one of bytes or time, other units of bytes or time.
    """
    match = _NUMBER.fullmatch(text.strip())
    if not match or len(text) > 80:
        return None, "That is not a number. Write digits, such as 0.5, 1,000 or 1e6."
    value, written = float(re.sub(r"[ ,_'\u2009\u202f]", "", match[1])), match[2].strip()
    if not math.isfinite(value):
        return None, "That number is too large."
    if not written or written.casefold() == unit.casefold():
        return value, ""
    for table in (_SIZES, _TIMES):
        if written.casefold() in table and unit.casefold() in table:
            return value * table[written.casefold()] / table[unit.casefold()], ""
    return None, f"Write the number in {unit}." if unit else "Write a number only, without a unit."


def quantity(value: float, unit: str = "") -> str:
    """Format a number and its unit: integers in full, other numbers with at least three significant digits."""
    size = abs(value)
    if value == int(value) and size < 1e15:
        written = f"{int(value):,}"
    elif size >= 99.95:
        written = f"{value:,.0f}"
    elif size >= 1e-4:
        written = f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}"
    else:
        written = f"{value:.2e}"
    if value == 1 and len(unit) > 2:
        unit = unit.removesuffix("s")
    return f"{written} {unit}".strip()


def near(guess: float, other: float, within: float) -> bool:
    """Return whether two numbers differ by at most a share ``within`` of the second."""
    return abs(guess - other) <= within * abs(other) + 1e-12 * abs(other)


def compare(guess: float, value: float, unit: str = "", wrong: Mapping[float, str] | None = None, within: float = 0.1) -> Verdict:
    """Compare a guess with the measured value: right, a known misconception, or how far off."""
    said, measured = quantity(guess, unit), quantity(value, unit)
    if near(guess, value, within):
        closeness = "exactly" if guess == value else "close enough"
        return Verdict(True, f"Right: you said {said}, it is {measured}, {closeness}.")
    why = misconception(guess, value, unit, wrong or {}, max(within, 0.02))
    return Verdict(False, f"You said {said}, it is {measured}: {distance(guess, value)}.{why}")


def misconception(guess: float, value: float, unit: str, wrong: Mapping[float, str], within: float) -> str:
    """Return the sentence for a guess that shows a known misconception, or "" for other guesses."""
    close = [(abs(guess - float(number)), text) for number, text in wrong.items() if near(guess, float(number), within)]
    if close:
        return f" {sentence(min(close)[1])}"
    if unit.casefold() in _SIZES and value:
        for factor in (1e3, 1e6, 1e9):
            if near(guess, value * factor, 0.05) or near(guess, value / factor, 0.05):
                return f" That is the right figure in another unit: look at the factor of {factor:,.0f}."
        if near(guess, value * 8, 0.03):
            return " That is the number of bits; a byte has eight."
    return ""


def sentence(text: str) -> str:
    """Capitalize a phrase and end it with a full stop."""
    text = " ".join(str(text).split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def distance(guess: float, value: float) -> str:
    """Describe how far a guess is from the value."""
    if value == 0 or guess == 0 or (guess < 0) != (value < 0):
        return "too much" if guess > value else "too little"
    factor = guess / value if abs(guess) > abs(value) else value / guess
    words = f"{factor:,.0f} times" if factor >= 9.5 else f"{factor:.1f} times" if factor >= 1.5 else f"{factor - 1:.0%}"
    if factor >= 1.5:
        return f"{words} {'as much' if abs(guess) > abs(value) else 'as much as you said'}"
    return f"{words} {'too much' if guess > value else 'more than you said'}"


def compare_choice(guess: str, value: str, wrong: Mapping[str, str] | None = None) -> Verdict:
    """Compare the chosen option with the right one."""
    if guess == value:
        return Verdict(True, f"Right: {value}.")
    why = (wrong or {}).get(guess)
    return Verdict(False, f"You said “{guess}”, but the answer is “{value}”.{' ' + sentence(why) if why else ''}")


# ---- answers to exercises


def difference(got: object, wanted: object, subject: str, unit: str, within: float, wrong: Mapping[Any, str]) -> str:
    """Describe the first difference between two values, or return "" if there is none; parameters as ``Task.equal``."""
    for value, why in wrong.items():
        if _same(got, value) and not _same(got, wanted):
            return f"{subject} is {_short(got)}: {why}"
    if hasattr(wanted, "shape") and getattr(wanted, "shape", None) != ():
        return _arrays(got, wanted, subject, within)
    if not _number(wanted):
        return _plain(got, wanted, subject)
    if not _number(got):
        return f"{subject} is {_short(got)}, of type {type(got).__name__}; a number is expected"
    if not math.isfinite(float(got)):
        return f"{subject} is {got}, which is not a finite number"
    verdict = compare(float(got), float(wanted), unit, {}, within)
    direction = "too much" if float(got) > float(wanted) else "too little"
    misconception = verdict.words.partition(". ")[2]  # the first sentence names the right value
    return "" if verdict.right else f"{subject} is not {_short(got)}: that is {direction}{misconception and f'. {misconception}'}"


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _same(answer: object, other: object) -> bool:
    try:
        if _number(answer) and _number(other):
            return math.isclose(float(answer), float(other), rel_tol=1e-6)
        return bool(type(answer) is type(other) and answer == other)
    except (TypeError, ValueError, OverflowError):
        return False


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:60] + "…"


def _plain(got: object, wanted: object, subject: str) -> str:
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        if not isinstance(got, Sequence) or isinstance(got, str):
            return f"{subject} is {_short(got)}, of type {type(got).__name__}; a {type(wanted).__name__} is expected"
        if len(got) != len(wanted):
            return f"{subject} has {len(got)} entries, not {len(wanted)}"
        places = [i for i, (entry, other) in enumerate(zip(got, wanted, strict=True)) if entry != other]
        return f"entry {places[0]} of {subject}, {_short(got[places[0]])}, is not right" if places else ""
    if type(got) is not type(wanted):
        return f"{subject} is {_short(got)}, of type {type(got).__name__}; {type(wanted).__name__} is expected"
    return "" if got == wanted else f"{subject} is not {_short(got)}"


def _numpy(array: object) -> Array:
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)


def _arrays(got: Any, wanted: Any, subject: str, within: float) -> str:
    kind = getattr(wanted, "stype", None)
    if not hasattr(got, "shape"):
        return f"{subject} is {_short(got)}, of type {type(got).__name__}; an array is expected"
    if kind is not None and getattr(got, "stype", "default") != kind:
        return f"{subject} has the storage type {getattr(got, 'stype', 'default')!r}, not {kind!r}"
    if tuple(got.shape) != tuple(wanted.shape):
        return f"{subject} has the shape {tuple(got.shape)}, not {tuple(wanted.shape)}"
    values, expected = _numpy(got), _numpy(wanted)
    places = np.argwhere(~np.isclose(values, expected, rtol=max(within, 1e-5), atol=1e-6))
    if not len(places):
        return ""
    place = tuple(int(axis) for axis in places[0])
    count = f"{len(places)} of {values.size} values differ" if len(places) > 1 else "one value differs"
    return f"{subject} is {values[place]:g} at {list(place)}, where {expected[place]:g} is expected ({count})"
