"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["warn_user"]

#: Packages whose frames are passed over: the library, numba, which calls it while it compiles, and what runs context managers.
_PASSED = ("sparsekit", "numba", "contextlib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line of the nearest caller outside the library."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
