"""Warnings that point at the user's line."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING

from .signal_safe import acting

if TYPE_CHECKING:
    from types import FrameType

#: Packages that stand between a user's line and the library, wherever they are installed.
_PASSED = ("sparsekit", "numba", "numpy")

#: Where the files of Python itself begin, and folders in the paths of installed packages.
_PYTHON, _INSTALLED = (os.path.dirname(os.__file__), "<frozen "), ("site-packages", "dist-packages")


def _module(frame: FrameType) -> str:
    """The top of the name of the module that a frame's code belongs to."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_users(frame: FrameType) -> bool:
    """Whether a frame is of a program, rather than of the library, of Python or of an installed package."""
    name = frame.f_code.co_filename
    return (_module(frame) not in _PASSED and not name.startswith(_PYTHON)
            and not any(folder in name for folder in _INSTALLED))


def user_frame(of_program: bool = False) -> FrameType | None:
    """The frame of the nearest caller in the user's program, or of the nearest one outside the library if there is none.

    Work that another thread does for the calling one counts as that of the thread that it is for.

    Parameters
    ----------
    of_program : bool
        Whether to give None instead of a frame that is not in the user's program.
    """
    nearest = None
    for frame in (sys._getframe(1), sys._current_frames().get(acting()) if acting() != threading.get_ident() else None):
        while frame is not None:
            if _is_users(frame):
                return frame
            if nearest is None and _module(frame) != "sparsekit":
                nearest = frame
            frame = frame.f_back
    return None if of_program else nearest


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line of the nearest caller in the user's program."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    module = frame.f_globals.get("__name__") or "__main__"  # Python drops a warning that is of no module
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno or 1, module,
                           frame.f_globals.setdefault("__warningregistry__", {}))
