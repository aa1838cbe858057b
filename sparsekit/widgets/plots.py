"""What is drawn on axes of the user by matplotlib, which is imported then."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.optional import optional_import

__all__ = ["drawing_on", "plain_text"]


@contextmanager
def drawing_on() -> Iterator[Any]:
    """Draw with the user's style; matplotlib is given.

    Names are text and no formulas: a layer may be called ``$x``.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.
    """
    matplotlib: Any = optional_import("matplotlib", "lab", "A plot")
    for part in ("figure", "ticker"):
        optional_import(f"matplotlib.{part}", "lab", "A plot")
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that matplotlib's font has not; a browser's may have them
        matplotlib.rcParams["text.parse_math"] = False
        yield matplotlib


def plain_text(text: object) -> str:
    """Text that may stand in a file of XML, on one line."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))
