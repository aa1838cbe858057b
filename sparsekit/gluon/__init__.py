"""Layers, parameters, losses and the trainer: ``mx.gluon``."""

from __future__ import annotations

from ..base.entry import entry, entry_classes
from ..base.lazy import add_lazy_names
from . import contrib, data, loss, nn, parameter, rnn, utils
from .block import Block, HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .symbol_block import SymbolBlock
from .train_step import TrainStep
from .trainer import Trainer

__all__ = ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict", "SymbolBlock",
           "TrainStep", "Trainer", "contrib", "data", "loss", "nn", "parameter", "rnn", "utils"]

add_lazy_names(globals())

entry_classes(Trainer)
for _class in (Block, HybridBlock, Parameter, nn.Sequential, nn.HybridSequential):
    entry(_class)
# Without those that users override, or that a training loop calls for each batch.
for _name in ("apply", "cast", "collect_params", "export", "hybridize", "initialize", "load_parameters", "save_parameters",
              "summary"):
    for _class in (Block, HybridBlock):
        if _name in vars(_class):
            setattr(_class, _name, entry(vars(_class)[_name], callbacks=True))
del _class, _name
