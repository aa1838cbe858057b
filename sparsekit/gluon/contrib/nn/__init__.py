"""Layers beside the standard ones: ``mx.gluon.contrib.nn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base.lazy import lazy
from .basic_layers import Concurrent, HybridConcurrent, Identity, SparseEmbedding

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "SparseEmbedding"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())
