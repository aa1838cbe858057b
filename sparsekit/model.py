"""Checkpoints, the argument of batch callbacks, and MXNet's deprecated ``FeedForward``: ``mx.model``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base.lazy import add_lazy_names
from .callback import BatchEndParam
from .module.checkpoints import load_checkpoint
from .ndarray.checkpoints import load_params, save_checkpoint

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

if TYPE_CHECKING:
    from .compat.module.feed_forward import FeedForward as FeedForward

add_lazy_names(globals())
