"""Checks of the options of displays: invalid values raise a named error."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.errors import ParameterError, UnknownNameError, expected
from ..base.formatting import number

__all__ = ["known", "share", "whole"]

#: The largest integer that JavaScript represents exactly.
MOST = 1 << 53


def known(what: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Raise for unknown options.

    Raises
    ------
    UnknownNameError
        With the nearest names.
    """
    names = tuple(names)
    for name in given:
        if name not in names:
            raise UnknownNameError.of(what, name, names)


def whole(name: str, value: bytes | int | str, what: str, least: int = 1) -> int:
    """Return ``value`` as an integer of at least ``least``; ``what`` it counts is for the hint.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    found = number(value, -1.0) if not isinstance(value, (bool, str, bytes)) else -1.0
    if not least <= found <= MOST or found != int(found):
        raise ParameterError(expected(name, f"an integer of at least {least}", value), hint=f"it is a number of {what}.")
    return int(found)


def share(name: str, value: bytes | float | str | None) -> float:
    """Return ``value`` as a number from 0 to 1.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    found = number(value, -1.0) if not isinstance(value, (bool, str, bytes)) else -1.0
    if not 0 <= found <= 1:
        raise ParameterError(expected(name, "a number from 0 to 1", value), hint="0.001 is 0.1 %.")
    return found
