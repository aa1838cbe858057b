"""What MXNet programs say about running operators in bulk: accepted, and without effect, as operators run at once."""

from __future__ import annotations

import sys

from .base.scoped import Assigned

__all__ = ["bulk", "set_bulk_size"]

_size = 15


def set_bulk_size(size: int) -> int:
    """Set how many operators MXNet would run together, and return what was set before; it changes nothing here."""
    global _size
    before, _size = _size, int(size)
    return before


def bulk(size: int) -> Assigned:
    """A scope in which MXNet would run ``size`` operators together; it changes nothing here.

    Examples
    --------
    >>> import sparsekit as mx
    >>> x = mx.nd.zeros((1,))
    >>> with mx.engine.bulk(10):
    ...     x += 1
    """
    return Assigned(sys.modules[__name__], _size=int(size))
