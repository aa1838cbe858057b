"""Layers: ``mx.gluon.nn``."""

from __future__ import annotations

from ..block import Block, HybridBlock
from .basic import Activation, Dense, Embedding, Flatten, HybridSequential, Sequential

__all__ = ["Activation", "Block", "Dense", "Embedding", "Flatten", "HybridBlock", "HybridSequential", "Sequential"]
