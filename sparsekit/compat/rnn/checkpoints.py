"""Checkpoints of networks with recurrent cells: their files have the weights of each gate in an array of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.entry import entries
from ...base.warn import warn_user
from ...model import load_checkpoint
from ...ndarray.checkpoints import save_checkpoint
from .cells import BaseRNNCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...ndarray import NDArray
    from ...symbol import Symbol

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]


def _listed(cells: BaseRNNCell | Sequence[BaseRNNCell]) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def rnn_unroll(cell: BaseRNNCell, length: int, inputs: Symbol | Sequence[Symbol],
               begin_state: Sequence[Symbol] | None = None, input_prefix: str = "", layout: str = "NTC") -> tuple[Any, Any]:
    """Unroll a cell.  Deprecated: use ``cell.unroll``.  ``input_prefix`` has no effect; MXNet fails for it.

    Parameters
    ----------
    cell : BaseRNNCell
    length, inputs, begin_state, layout : as for ``cell.unroll``
    input_prefix : str
    """
    warn_user("rnn_unroll is deprecated. Please call cell.unroll directly.")
    return cell.unroll(length=length, inputs=inputs, begin_state=begin_state, layout=layout)


def save_rnn_checkpoint(cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, epoch: int, symbol: Symbol | None,
                        arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
    """Save a model as ``mx.model.save_checkpoint`` does, with the weights of the cells unpacked.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
    prefix : str
        Prefix of the file names: ``prefix-symbol.json`` and ``prefix-0001.params``.
    epoch : int
    symbol : Symbol
    arg_params, aux_params : dict of NDArray
        Parameters and auxiliary states.
    """
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str,
                        epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:  # Any: as load_checkpoint
    """Load what ``save_rnn_checkpoint`` wrote, here or in MXNet, and pack the weights of the cells.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
    prefix : str
    epoch : int

    Returns
    -------
    symbol : Symbol
    arg_params, aux_params : dict of NDArray
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback of ``Module.fit`` that saves a checkpoint every ``period`` epochs, with the weights of the cells unpacked.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
    prefix : str
        Prefix of the file names.
    period : int
    """
    period = int(max(1, period))

    def callback(iter_no: int, sym: Symbol | None, arg: dict[str, NDArray], aux: dict[str, NDArray]) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback


entries(globals(), __all__)
