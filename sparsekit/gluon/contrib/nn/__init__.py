"""Layers beside the standard ones: ``mx.gluon.contrib.nn``."""

from __future__ import annotations

from ....base.lazy import add_lazy_names
from .basic_layers import Concurrent, HybridConcurrent, Identity, SparseEmbedding

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "SparseEmbedding"]

add_lazy_names(globals())
