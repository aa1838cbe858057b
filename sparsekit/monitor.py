"""Statistics of the arrays inside an executor or module: ``mx.monitor``, ``mx.mon``."""

from .compat.monitor import Monitor

__all__ = ["Monitor"]
