"""An LSTM with projection, dropout that is the same in all steps, and unrolling by ``contrib.foreach``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import UnsupportedError
from ....base.lazy import add_lazy_names
from ...rnn import BidirectionalCell
from ...rnn.composed import Remembering
from ...rnn.rnn_cell import _Gated
from ...rnn.sequences import begin_state_for, format_sequence, is_list, mask_sequence

if TYPE_CHECKING:
    from ....core.types import Functions, Tensor
    from ....initializer.base import InitLike
    from ...parameter import ParameterDict
    from ...rnn.rnn_cell import RecurrentCell
    from ...types import Sequences, States

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]

add_lazy_names(globals())


class VariationalDropoutCell(Remembering):
    """Drops the same values of inputs, states and outputs in all steps: Y. Gal and Z. Ghahramani, https://arxiv.org/abs/1512.05287.

    Parameters
    ----------
    base_cell : RecurrentCell
    drop_inputs, drop_states, drop_outputs : float
        Share of the values that are dropped in training.  Only the first state is affected by ``drop_states``.
    """

    _unmarked = Remembering._unmarked | {"drop_inputs_mask", "drop_states_mask", "drop_outputs_mask"}

    def __init__(self, base_cell: RecurrentCell, drop_inputs: float = 0.0, drop_states: float = 0.0,
                 drop_outputs: float = 0.0) -> None:
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise UnsupportedError("BidirectionalCell doesn't support variational state dropout.",
                                   hint="add VariationalDropoutCell to the cells underneath instead.")
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs
        self._forget()

    def _forget(self) -> None:
        self.drop_inputs_mask = self.drop_states_mask = self.drop_outputs_mask = None

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Draw other values to drop for the next sequence."""
        super().reset()
        self._forget()

    def _dropped(self, F: Functions, kind: str, values: Tensor) -> Tensor:
        """The values with some dropped, the same ones until ``reset``."""
        share, name = getattr(self, f"drop_{kind}"), f"drop_{kind}_mask"
        if not share:
            return values
        if getattr(self, name) is None:
            setattr(self, name, F.Dropout(F.ones_like(values), p=share))
        return F.elemwise_mul(values, getattr(self, name))

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step."""
        states = [self._dropped(F, "states", states[0]), *states[1:]]
        output, states = self.base_cell(self._dropped(F, "inputs", inputs), states)
        return self._dropped(F, "outputs", output), states

    def __repr__(self) -> str:
        return f"VariationalDropoutCell(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def unroll(self, length: int, inputs: Sequences, begin_state: States | None = None, layout: str = "NTC",
               merge_outputs: bool | None = None, valid_length: Tensor | None = None) -> tuple[Any, Any]:
        """Run the cell over a sequence; see ``RecurrentCell.unroll``."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length=valid_length)
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, True)
        states = begin_state_for(self, F, begin_state, inputs, batch_size)
        if self.drop_inputs:
            inputs = F.Dropout(inputs, p=self.drop_inputs, axes=(axis,))
        outputs, states = self.base_cell.unroll(length, inputs, states, layout, merge_outputs=True, valid_length=valid_length)
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,))
        merge_outputs = True if merge_outputs is None else merge_outputs
        if valid_length is not None:
            return mask_sequence(F, outputs, length, valid_length, axis, merge_outputs), states
        return format_sequence(length, outputs, layout, merge_outputs)[0], states


class LSTMPCell(_Gated):
    """An LSTM whose hidden state is projected: H. Sak et al., https://arxiv.org/abs/1402.1128.

    The states are the projected state, of shape (batch, projection_size), and the cell, of shape (batch, hidden_size).

    Parameters
    ----------
    hidden_size : int
        Width of the cell.
    projection_size : int
        Width of the output and of the projected state.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer : Initializer or str, optional
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        0 infers it from the first input.
    prefix : str, optional
    params : ParameterDict, optional
    """

    def __init__(self, hidden_size: int, projection_size: int, i2h_weight_initializer: InitLike = None,
                 h2h_weight_initializer: InitLike = None, h2r_weight_initializer: InitLike = None,
                 i2h_bias_initializer: InitLike = "zeros", h2h_bias_initializer: InitLike = "zeros", input_size: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(4, hidden_size, input_size, (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                                                      h2h_bias_initializer), prefix, params, width=projection_size)
        self._projection_size = projection_size
        self.h2r_weight = self.params.get("h2r_weight", shape=(projection_size, hidden_size), init=h2r_weight_initializer,
                                          allow_deferred_init=True)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the projected state and of the cell."""
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in (self._projection_size, self._hidden_size)]

    def _alias(self) -> str:
        return "lstmp"

    def _sizes(self) -> str:
        return f"{super()._sizes()} -> {self._projection_size}"

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
                       h2r_weight: Tensor, i2h_bias: Tensor, h2h_bias: Tensor) -> tuple[Tensor, States]:
        """One step."""
        both = self._both_sums(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        step = self._step_name()
        entry, forget, new, leave = F.SliceChannel(F.elemwise_add(*both), num_outputs=4, name=step + "slice")
        cell = F.elemwise_add(F.elemwise_mul(F.sigmoid(forget, name=step + "f"), states[1]),
                              F.elemwise_mul(F.sigmoid(entry, name=step + "i"), F.tanh(new, name=step + "c")),
                              name=step + "state")
        hidden = F.elemwise_mul(F.sigmoid(leave, name=step + "o"), F.tanh(cell), name=step + "hidden")
        output = F.FullyConnected(hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=step + "out")
        return output, [output, cell]


def dynamic_unroll(cell: RecurrentCell, inputs: Sequences, begin_state: Sequences, drop_inputs: float = 0,
                   drop_outputs: float = 0, layout: str = "TNC", valid_length: Tensor | None = None) -> tuple[Any, Any]:
    """Run a cell over a sequence by ``contrib.foreach``; the number of steps is that of the inputs.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : NDArray
        The sequence; its axes are in the order of ``layout``.
    begin_state : list of NDArray
        States before the first step.
    drop_inputs, drop_outputs : float
        Share of the values that are dropped in training.  The same values are dropped in all steps.
    layout : {"TNC", "NTC"}
        Order of the axes: T is time, N the batch and C the features.
    valid_length : NDArray, optional
        Number of valid steps of each sample, of shape (batch,).

    Returns
    -------
    outputs : NDArray
    states : list of NDArray
    """
    data, axis, F, _ = format_sequence(None, inputs, layout, True)
    data = data if axis == 0 else F.swapaxes(data, dim1=0, dim2=axis)
    if drop_inputs:
        data = F.Dropout(data, p=drop_inputs, axes=(0,))
    states: Any = list(begin_state) if is_list(begin_state) else [begin_state]

    def step(data: Tensor, states: States) -> tuple[Any, list[Any]]:
        output, new = cell(data, states[:-1])
        if valid_length is not None:
            counts = F.broadcast_greater(valid_length, states[-1])
            new = [F.where(counts, after, before) for after, before in zip(new, states[:-1], strict=True)]
        return output, [*new, states[-1] + 1]

    outputs, states = F.contrib.foreach(step, data, [*states, F.zeros((1,), ctx=data.context)])
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    outputs = outputs if axis == 0 else F.swapaxes(outputs, dim1=0, dim2=axis)
    if valid_length is not None:
        outputs = F.SequenceMask(outputs, valid_length, use_sequence_length=True, axis=axis)
    return outputs, states[:-1]
