"""Statistics of what flows through an executor or module: ``mx.monitor``, ``mx.mon``."""

from .compat.monitor import Monitor

__all__ = ["Monitor"]
