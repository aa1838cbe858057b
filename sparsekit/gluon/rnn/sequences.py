"""Sequences as one array or as a list of steps; masking and reversal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ndarray, symbol
from ...base.errors import DTypeError, ShapeError, UnknownNameError
from ...ndarray.ndarray import NDArray
from ...symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeIs

    from ...core.types import Functions, Tensor
    from ..types import Sequences, States
    from .rnn_cell import RecurrentCell


def is_list(inputs: object) -> TypeIs[Sequence[Any]]:
    """Whether a sequence comes step by step."""
    return isinstance(inputs, (list, tuple))


def as_list(sequences: Sequences) -> list[Any]:
    """What an operator gave, as a list also where it is one array."""
    return list(sequences) if is_list(sequences) or isinstance(sequences, Symbol) else [sequences]


def operators_of(inputs: Sequences) -> Functions:
    """The namespace of the operators that compute on these arrays."""
    array = inputs[0] if is_list(inputs) and inputs else inputs
    if isinstance(array, NDArray):
        return ndarray
    if isinstance(array, Symbol):
        return symbol
    raise DTypeError(f"A recurrent network takes NDArrays or Symbols, not {type(array).__name__}.",
                     hint="make one with mx.nd.array(…).")


def format_sequence(length: int | None, inputs: Sequences, layout: str, merge: bool | None) -> tuple[Any, int, Any, int]:
    """A sequence as one array, as a list of steps, or as it comes.

    Parameters
    ----------
    length : int, optional
        Number of steps, which is checked.
    inputs : array or list of arrays
    layout : str
        Such as ``"NTC"``: the order of batch, time and features.  Steps have no time axis.
    merge : bool or None
        True for one array, False for a list, None for no change.

    Returns
    -------
    tuple
        The sequence, the time axis, the namespace of operators, and the size of the batch.
    """
    if not {"T", "N"} <= set(layout):
        raise UnknownNameError.of("layout", layout, ("NTC", "TNC"))
    if inputs is None:
        raise DTypeError("unroll() was given no inputs.", hint="give the sequence as one array or as a list of steps.")
    axis, F = layout.find("T"), operators_of(inputs)
    if is_list(inputs):
        _check_length(length, len(inputs))
        batch = 0 if F is symbol else inputs[0].shape[layout.replace("T", "").find("N")]
        return (F.stack(*inputs, axis=axis) if merge else inputs), axis, F, batch
    if F is symbol:  # nothing is known of its shape: the length must be given, and the batch follows when it is bound
        batch, steps = 0, length
        if steps is None:
            raise ShapeError("The number of steps of a symbol is not known.", hint="give unroll() the length of the sequence.")
    else:
        batch, steps = inputs.shape[layout.find("N")], inputs.shape[axis]
    if merge is False:
        _check_length(length, steps)
        inputs = as_list(F.split(inputs, num_outputs=steps, axis=axis, squeeze_axis=True))
    return inputs, axis, F, batch


def _check_length(length: int | None, steps: int) -> None:
    if length not in (None, steps):
        raise ShapeError(f"The sequence has {steps} steps, not {length}.", hint="give unroll() the length of the sequence.")


def begin_state_for(cell: RecurrentCell, F: Functions, begin_state: States | None, inputs: Sequences, batch_size: int) -> States:
    """The states given, or zeros like the inputs."""
    if begin_state is not None:
        return begin_state
    if F is symbol:
        return cell.begin_state(func=symbol.zeros, batch_size=batch_size)
    like: Any = inputs[0] if is_list(inputs) else inputs  # Any: an array, which has a context, as no symbol has
    return cell.begin_state(func=F.zeros, batch_size=batch_size, ctx=like.context, dtype=like.dtype)


def mask_sequence(F: Functions, data: Sequences, length: int, valid_length: Tensor, axis: int,
                  merge: bool | None) -> Sequences:
    """Zeros behind the end of each sample's sequence; as one array, or as a list unless ``merge``."""
    data = F.stack(*data, axis=axis) if is_list(data) else data
    data = F.SequenceMask(data, valid_length, use_sequence_length=True, axis=axis)
    return data if merge else as_list(F.split(data, num_outputs=length, axis=axis, squeeze_axis=True))


def reverse_sequence(steps: Sequence[Tensor], valid_length: Tensor | None = None) -> list[Any]:
    """The steps from last to first; with lengths, each sample's own, and what is behind them stays."""
    if valid_length is None:
        return list(reversed(steps))
    F = operators_of(steps)
    turned = F.SequenceReverse(F.stack(*steps, axis=0), valid_length, use_sequence_length=True)
    return as_list(F.split(turned, num_outputs=len(steps), axis=0, squeeze_axis=True))
