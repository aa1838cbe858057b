"""Layers: ``mx.gluon.nn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.lazy import lazy
from ..block import Block, HybridBlock
from ..symbol_block import SymbolBlock
from .activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, Swish
from .basic_layers import Dense, Dropout, Embedding, Flatten
from .containers import HybridLambda, HybridSequential, Lambda, Sequential
from .normalization import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm

__all__ = ["ELU", "GELU", "SELU", "Activation", "BatchNorm", "BatchNormReLU", "Block", "Dense", "Dropout", "Embedding",
           "Flatten", "GroupNorm", "HybridBlock", "HybridLambda", "HybridSequential", "InstanceNorm", "Lambda", "LayerNorm",
           "LeakyReLU", "PReLU", "Sequential", "Swish", "SymbolBlock"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())
