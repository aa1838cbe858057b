"""Numbers that a display is asked for: what cannot be meant is refused by name, not replaced."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.errors import ParameterError, UnknownNameError
from ..base.formatting import number

__all__ = ["known", "share", "whole"]

#: Whole numbers beyond this are none that a page can count with.
MOST = 1 << 53


def known(what: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse options that there are none of.

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
    """Give ``value`` as a whole number from ``least`` on; ``what`` it counts is for the message.

    Raises
    ------
    ParameterError
        If it is none.
    """
    found = number(value, -1.0) if not isinstance(value, (bool, str, bytes)) else -1.0
    if not least <= found <= MOST or found != int(found):
        raise ParameterError(f"{name}={value!r} is no number of {what}.", hint=f"a whole number from {least} on.")
    return int(found)


def share(name: str, value: bytes | float | str | None) -> float:
    """Give ``value`` as a share from 0 to 1.

    Raises
    ------
    ParameterError
        If it is none.
    """
    found = number(value, -1.0) if not isinstance(value, (bool, str, bytes)) else -1.0
    if not 0 <= found <= 1:
        raise ParameterError(f"{name}={value!r} is no share.", hint="a number from 0 to 1, such as 0.001 for 0.1 %.")
    return found
