"""Optimizers: ``mx.optimizer``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.entry import entry_classes
from ..base.lazy import lazy
from . import adaptive, contrib, layerwise, momentum
from .adaptive import *  # noqa: F403
from .contrib import AdamW, GroupAdaGrad
from .layerwise import *  # noqa: F403
from .momentum import *  # noqa: F403
from .optimizer import Optimizer, create, register
from .updater import Updater, get_updater

__all__ = ["AdamW", "GroupAdaGrad", "Optimizer", "Updater", "contrib", "create", "get_updater", "register"]
__all__ += adaptive.__all__
__all__ += layerwise.__all__
__all__ += momentum.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())

entry_classes(Updater, *Optimizer.opt_registry.values())
