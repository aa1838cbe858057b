"""Checkpoints, what callbacks of training are given, and the model of old: ``mx.model``."""

from __future__ import annotations

from .base.entry import doors, entry
from .callback import BatchEndParam
from .module.checkpoints import load_checkpoint
from .module.feed_forward import FeedForward
from .ndarray.checkpoints import load_params, save_checkpoint

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

doors(FeedForward)
load_checkpoint, load_params, save_checkpoint = entry(load_checkpoint), entry(load_params), entry(save_checkpoint)
