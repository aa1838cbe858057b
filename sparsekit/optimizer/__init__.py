"""Optimizers: ``mx.optimizer``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.entry import entry_classes
from ..base.lazy import lazy
from . import contrib
from .adaptive import FTML, AdaDelta, AdaGrad, Adam, Adamax, Ftrl, Nadam, RMSProp
from .contrib import AdamW, GroupAdaGrad
from .layerwise import LAMB, LARS, LBSGD
from .momentum import DCASGD, NAG, SGD, SGLD, Signum, Test, ccSGD
from .optimizer import Optimizer, create, register
from .updater import Updater, get_updater

__all__ = ["DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam", "AdamW", "Adamax",
           "Ftrl", "GroupAdaGrad", "Nadam", "Optimizer", "RMSProp", "Signum", "Test", "Updater", "ccSGD", "contrib", "create",
           "get_updater", "register"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())

entry_classes(DCASGD, FTML, LAMB, LARS, LBSGD, NAG, SGD, SGLD, AdaDelta, AdaGrad, Adam, AdamW, Adamax, Ftrl, GroupAdaGrad, Nadam,
              Optimizer, RMSProp, Signum, Test, Updater)
