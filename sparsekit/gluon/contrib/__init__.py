"""Layers, data and training loops beside the standard ones: ``mx.gluon.contrib``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.lazy import lazy
from . import data, estimator, nn, rnn

__all__ = ["data", "estimator", "nn", "rnn"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())
