"""Checkpoints, the argument of batch callbacks, and MXNet's deprecated ``FeedForward``: ``mx.model``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base.entry import entry
from .base.lazy import add_lazy_names
from .callback import BatchEndParam
from .ndarray.checkpoints import load_params, save_checkpoint
from .symbol import load

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

if TYPE_CHECKING:
    from .compat.module.feed_forward import FeedForward as FeedForward

add_lazy_names(globals())


@entry
def load_checkpoint(prefix: str, epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Read a model that ``save_checkpoint`` wrote, in this library or in MXNet 1.x.

    Parameters
    ----------
    prefix : str
        Prefix of the file names.
    epoch : int

    Returns
    -------
    symbol : Symbol
    arg_params, aux_params : dict of NDArray

    Raises
    ------
    DataFileError
        If a file is missing or damaged.
    """
    return (load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))
