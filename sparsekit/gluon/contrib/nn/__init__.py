"""Layers beside the standard ones: ``mx.gluon.contrib.nn``."""

from __future__ import annotations

from .basic_layers import Concurrent, HybridConcurrent, Identity, SparseEmbedding

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "SparseEmbedding"]
