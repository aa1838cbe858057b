"""Layers, data and training loops beside the standard ones: ``mx.gluon.contrib``."""

from __future__ import annotations

from ...base.lazy import add_lazy_names
from . import data, estimator, nn, rnn

__all__ = ["data", "estimator", "nn", "rnn"]

add_lazy_names(globals())
