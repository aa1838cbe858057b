"""Loading a model from its checkpoint files."""

from __future__ import annotations

from typing import Any

from ..base.entry import entry
from ..ndarray.checkpoints import load_params
from ..symbol import load

__all__ = ["load_checkpoint"]


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
