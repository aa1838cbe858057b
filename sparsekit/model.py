"""Checkpoints, the argument of batch callbacks, and MXNet's deprecated ``FeedForward``: ``mx.model``."""

from __future__ import annotations

from .base.entry import entry
from .base.lazy import lazy
from .callback import BatchEndParam
from .module.checkpoints import load_checkpoint
from .ndarray.checkpoints import load_params, save_checkpoint

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]  # noqa: F822

load_checkpoint, load_params, save_checkpoint = entry(load_checkpoint), entry(load_params), entry(save_checkpoint)

__getattr__ = lazy(globals(), {"FeedForward": "compat.module.feed_forward:FeedForward"})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
