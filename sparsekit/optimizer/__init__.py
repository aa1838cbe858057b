"""Optimizers: ``mx.optimizer``."""

from __future__ import annotations

from ..base.entry import entry_classes
from ..base.lazy import add_lazy_names
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

add_lazy_names(globals())

entry_classes(Updater, *Optimizer.opt_registry.values())
