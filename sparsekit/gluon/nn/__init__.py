"""Layers: ``mx.gluon.nn``."""

from __future__ import annotations

from ...base.lazy import add_lazy_names
from ..block import Block, HybridBlock
from ..symbol_block import SymbolBlock
from .activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, Swish
from .basic_layers import Dense, Dropout, Embedding, Flatten
from .containers import HybridLambda, HybridSequential, Lambda, Sequential
from .normalization import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm

__all__ = ["ELU", "GELU", "SELU", "Activation", "BatchNorm", "BatchNormReLU", "Block", "Dense", "Dropout", "Embedding",
           "Flatten", "GroupNorm", "HybridBlock", "HybridLambda", "HybridSequential", "InstanceNorm", "Lambda", "LayerNorm",
           "LeakyReLU", "PReLU", "Sequential", "Swish", "SymbolBlock"]

add_lazy_names(globals())
