"""Checks of arguments by kind, which public functions share; each error names the argument and what was given.

A layer with an error of its own gives it as ``error``.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from .errors import ParameterError, SparsekitError, expected
from .formatting import number as as_number

#: The class of an error.
Error = type[SparsekitError]


# object: whatever the user gave, as in all of these
def text(name: str, value: object, hint: str = "", error: Error = ParameterError) -> str:
    """A text."""
    if not isinstance(value, str):
        raise error(expected(name, "a text", value), hint=hint or f"{name}='words', or leave it out.")
    return value


# object: as above
def flag(name: str, value: object, hint: str = "", error: Error = ParameterError) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(expected(name, "True or False", value), hint=hint or f"{name}=True, or leave it out.")


# object: as above
def whole(name: str, value: object, least: int = 0, most: float = math.inf, hint: str = "",
          error: Error = ParameterError) -> int:  # fmt: skip
    """``value``, which must be an integer from ``least`` to ``most``; numpy's are integers too, True is none."""
    try:
        integer = least - 1 if isinstance(value, (bool, np.bool_)) else operator.index(value)  # type: ignore[arg-type]  # or it raises
    except TypeError:
        integer = least - 1
    if not least <= integer <= most:
        limit = f"at most {most:,}" if integer > most else f"at least {least}"
        raise error(expected(name, f"an integer of {limit}", value), hint=hint or f"{name}={max(least, 1)}, for example.")
    return integer


# object: as above; Any: a real number
def number(name: str, value: object, what: str = "a number", holds: Callable[[Any], bool] = lambda value: True,
           hint: str = "", error: Error = ParameterError) -> None:  # fmt: skip
    """Raise unless ``value`` is a real number of which ``holds`` is true; nan is one only if that is."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not holds(value):
        raise error(expected(name, what, value), hint=hint or f"{name}=1.5, for example.")


# object: as above
def amount_of(name: str, value: object, least: float, most: float = 1e300, whole: bool = False) -> float:
    """A finite number between two ends."""
    amount = math.nan if isinstance(value, bool) or not isinstance(value, Real) else as_number(value, math.nan)
    if not least <= amount <= most or (whole and amount != round(amount)):
        ends = f"of at least {least:g}" + (f" and at most {most:g}" if most < 1e300 else "")
        raise ParameterError(expected(name, f"{'an integer' if whole else 'a number'} {ends}", value),
                             hint="leave it out for the default, if it has one.")
    return amount


# object: as above
def mapping_of(name: str, value: object, what: str) -> Mapping[str, Any]:  # Any: what it has is checked where it is read
    """A mapping."""
    if not isinstance(value, Mapping):
        raise ParameterError(expected(name, f"a mapping of names to {what}", value), hint=f"{{'a name': {what}}}, for example.")
    names = [text for text, count in Counter(map(str, value)).items() if count > 1]
    if names:
        raise ParameterError(f"Several entries of {name} are named {names[0]!r} as text.", hint="give each a name of its own.")
    return value


# object: as above
def values_of(name: str, value: object) -> list[Any]:  # Any: what is no number leaves a gap
    """A sequence of numbers."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ParameterError(expected(name, "a sequence of numbers", value), hint="[0.7, 0.5, 0.4], for example.")
    return list(value)
