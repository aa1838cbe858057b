"""Files of a model's parameters, in MXNet's layout: ``arg:`` and ``aux:`` before each name."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ..base.context import cpu
from ..base.entry import entry
from ..base.errors import ParameterError
from .files import load, save

if TYPE_CHECKING:
    from pathlib import Path

    from ..symbol.symbol import Symbol


def write_parameters(fname: str, arg_params: dict[str, Any], aux_params: dict[str, Any]) -> None:
    """Write arguments and auxiliary states to a file, dense and sparse."""
    save(fname, {f"{kind}:{name}": array.as_in_context(cpu()) for kind, arrays in (("arg", arg_params), ("aux", aux_params))
                 for name, array in arrays.items()})


def read_parameters(fname: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and auxiliary states of a file.

    Raises
    ------
    DataFileError
        If the file does not exist.
    FileFormatError
        If the file is damaged or truncated.
    ParameterError
        If the arrays in the file are not the parameters of a model.
    """
    arrays = load(fname)
    kinds: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
    if not arrays:
        logging.warning("Params file '%s' is empty", fname)
        return kinds["arg"], kinds["aux"]
    if not isinstance(arrays, dict):
        raise ParameterError(f"Invalid param file {fname}: its arrays have no names.", hint="save_checkpoint() writes one.")
    for key, array in arrays.items():
        kind, colon, name = key.partition(":")
        if kind not in kinds or not colon:
            raise ParameterError(f"Invalid param file {fname}: {key!r} begins with neither arg: nor aux:.",
                                 hint="parameters of gluon are read by load_parameters().")
        kinds[kind][name] = array
    return kinds["arg"], kinds["aux"]


@entry
def save_checkpoint(prefix: str, epoch: int, symbol: Symbol | None, arg_params: dict[str, Any], aux_params: dict[str, Any],
                    remove_amp_cast: bool = True) -> None:
    """Write a model as ``prefix-symbol.json`` and ``prefix-0001.params``, which MXNet 1.9.1 reads too.

    Parameters
    ----------
    prefix : str
    epoch : int
        Number in the name of the parameter file.
    symbol : Symbol or None
    arg_params, aux_params : dict of NDArray
    remove_amp_cast : bool
        Leave out the casts of automatic mixed precision.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    path = f"{prefix}-{epoch:04d}.params"
    write_parameters(path, arg_params, aux_params)
    logging.info('Saved checkpoint to "%s"', path)


@entry
def load_params(prefix: str, epoch: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of ``prefix-0001.params``, if ``epoch`` is 1: arguments and auxiliary states by name.

    Raises
    ------
    DataFileError
        If the file is missing or damaged.
    """
    return read_parameters(f"{prefix}-{epoch:04d}.params")
