"""Layers beside the standard ones: ``mx.gluon.contrib``."""

from __future__ import annotations

from . import data, nn

__all__ = ["data", "nn"]
