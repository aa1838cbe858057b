"""Layers, parameters, losses and the trainer: ``mx.gluon``."""

from __future__ import annotations

from . import contrib, data, loss, nn, parameter, rnn, utils
from .block import Block, HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .symbol_block import SymbolBlock
from .train_step import TrainStep
from .trainer import Trainer

__all__ = ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict", "SymbolBlock",
           "TrainStep", "Trainer", "contrib", "data", "loss", "nn", "parameter", "rnn", "utils"]
