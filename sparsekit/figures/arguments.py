"""Checks of the arguments that public functions of figures share; each error names the argument and what was given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from ..base.errors import ParameterError, expected
from ..base.formatting import number

__all__ = ["amount_of", "flag_of", "mapping_of", "text_of", "values_of"]


def text_of(name: str, value: object) -> str:  # object: whatever the user gave, as in all of these
    """A text."""
    if not isinstance(value, str):
        raise ParameterError(expected(name, "a text", value), hint=f"{name}='words', or leave it out.")
    return value


def flag_of(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ParameterError(expected(name, "True or False", value), hint="leave it out for the default.")
    return value


def amount_of(name: str, value: object, least: float, most: float = 1e300, whole: bool = False) -> float:
    """A finite number between two ends."""
    found = math.nan if isinstance(value, bool) or not isinstance(value, Real) else number(value, math.nan)
    if not least <= found <= most or (whole and found != round(found)):
        ends = f"of at least {least:g}" + (f" and at most {most:g}" if most < 1e300 else "")
        raise ParameterError(expected(name, f"{'an integer' if whole else 'a number'} {ends}", value),
                             hint="leave it out for the default, if it has one.")
    return found


def mapping_of(name: str, value: object, what: str) -> Mapping[str, Any]:  # Any: what it has is checked where it is read
    """A mapping."""
    if not isinstance(value, Mapping):
        raise ParameterError(expected(name, f"a mapping of names to {what}", value), hint=f"{{'a name': {what}}}, for example.")
    names = [text for text, count in Counter(map(str, value)).items() if count > 1]
    if names:
        raise ParameterError(f"Several entries of {name} are named {names[0]!r} as text.", hint="give each a name of its own.")
    return value


def values_of(name: str, value: object) -> list[Any]:  # Any: what is no number leaves a gap
    """A sequence of numbers."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ParameterError(expected(name, "a sequence of numbers", value), hint="[0.7, 0.5, 0.4], for example.")
    return list(value)
