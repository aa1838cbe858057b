"""Describing how an answer differs from the expected one, without giving that away."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .answers import compare

if TYPE_CHECKING:
    from ..base.types import Array

__all__ = ["difference"]


def difference(got: object, wanted: object, what: str, unit: str, within: float, wrong: Mapping[Any, str]) -> str:
    """Describe the first difference between two values, or return "" if there is none; parameters as ``Task.equal``."""
    for value, why in wrong.items():
        if _same(got, value) and not _same(got, wanted):
            return f"{what} is {_short(got)}: {why}"
    if hasattr(wanted, "shape") and getattr(wanted, "shape", None) != ():
        return _arrays(got, wanted, what, within)
    if not _number(wanted):
        return _plain(got, wanted, what)
    if not _number(got):
        return f"{what} is {_short(got)}, of type {type(got).__name__}; a number is expected"
    if not math.isfinite(float(got)):
        return f"{what} is {got}, which is not a finite number"
    verdict = compare(float(got), float(wanted), unit, {}, within)
    direction = "too much" if float(got) > float(wanted) else "too little"
    misconception = verdict.words.partition(". ")[2]  # the first sentence names the right value
    return "" if verdict.right else f"{what} is not {_short(got)}: that is {direction}{misconception and f'. {misconception}'}"


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _same(one: object, other: object) -> bool:
    try:
        if _number(one) and _number(other):
            return math.isclose(float(one), float(other), rel_tol=1e-6)
        return bool(type(one) is type(other) and one == other)
    except (TypeError, ValueError, OverflowError):
        return False


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:60] + "…"


def _plain(got: object, wanted: object, what: str) -> str:
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        if not isinstance(got, Sequence) or isinstance(got, str):
            return f"{what} is {_short(got)}, of type {type(got).__name__}; a {type(wanted).__name__} is expected"
        if len(got) != len(wanted):
            return f"{what} has {len(got)} entries, not {len(wanted)}"
        places = [i for i, (one, other) in enumerate(zip(got, wanted, strict=True)) if one != other]
        return f"entry {places[0]} of {what}, {_short(got[places[0]])}, is not right" if places else ""
    if type(got) is not type(wanted):
        return f"{what} is {_short(got)}, of type {type(got).__name__}; {type(wanted).__name__} is expected"
    return "" if got == wanted else f"{what} is not {_short(got)}"


def _numpy(array: object) -> Array:
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)


def _arrays(got: Any, wanted: Any, what: str, within: float) -> str:
    kind = getattr(wanted, "stype", None)
    if not hasattr(got, "shape"):
        return f"{what} is {_short(got)}, of type {type(got).__name__}; an array is expected"
    if kind is not None and getattr(got, "stype", "default") != kind:
        return f"{what} has the storage type {getattr(got, 'stype', 'default')!r}, not {kind!r}"
    if tuple(got.shape) != tuple(wanted.shape):
        return f"{what} has the shape {tuple(got.shape)}, not {tuple(wanted.shape)}"
    found, expected = _numpy(got), _numpy(wanted)
    places = np.argwhere(~np.isclose(found, expected, rtol=max(within, 1e-5), atol=1e-6))
    if not len(places):
        return ""
    place = tuple(int(axis) for axis in places[0])
    count = f"{len(places)} of {found.size} values differ" if len(places) > 1 else "one value differs"
    return f"{what} is {found[place]:g} at {list(place)}, where {expected[place]:g} is expected ({count})"
