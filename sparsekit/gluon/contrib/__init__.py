"""Layers beside the standard ones: ``mx.gluon.contrib``."""

from __future__ import annotations

from . import nn

__all__ = ["nn"]
