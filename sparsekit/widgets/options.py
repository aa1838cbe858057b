"""Checks of the options of displays: invalid values raise a named error."""

from __future__ import annotations

from ..base.errors import ParameterError, expected
from ..base.formatting import number

__all__ = ["whole"]

#: The largest integer that JavaScript represents exactly.
MOST = 1 << 53


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
