"""Layers and data beside the standard ones: ``mx.gluon.contrib``."""

from __future__ import annotations

from . import data, nn, rnn

__all__ = ["data", "nn", "rnn"]
