"""MXNet's settings for bulk execution (``mx.engine``); they have no effect here, because operators run immediately."""

from __future__ import annotations

import sys

from .base.scoped import Assigned

__all__ = ["bulk", "set_bulk_size"]

_size = 15


def set_bulk_size(size: int) -> int:
    """Set MXNet's number of operators per bulk and return the previous number; it has no effect here."""
    global _size
    before, _size = _size, int(size)
    return before


def bulk(size: int) -> Assigned:
    """Return a scope in which MXNet would run ``size`` operators per bulk; it has no effect here.

    Examples
    --------
    >>> import sparsekit as mx
    >>> x = mx.nd.zeros((1,))
    >>> with mx.engine.bulk(10):
    ...     x += 1
    """
    return Assigned(sys.modules[__name__], _size=int(size))
