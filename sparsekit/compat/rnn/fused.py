"""``FusedRNNCell``: whole recurrent networks as one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ParameterError, ParameterNameError, ShapeError, UnknownNameError
from ...base.warn import warn_user
from ...initializer import FusedRNN
from ...ndarray import array
from ...ops.recurrent import recurrent
from ...symbol.functions import F
from .cells import BaseRNNCell, GRUCell, LSTMCell, RNNCell, formatted, taken
from .composed import BidirectionalCell, DropoutCell, SequentialRNNCell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...ndarray import NDArray
    from ...symbol import Symbol
    from .cells import RNNParams


class FusedRNNCell(BaseRNNCell):
    """Layers of simple, LSTM or GRU cells as one operator ``RNN``, which computes whole sequences only.

    Parameters
    ----------
    num_hidden : int
    num_layers : int
    mode : {"lstm", "gru", "rnn_relu", "rnn_tanh"}
    bidirectional : bool
        Run each layer in both directions, and double the width of its outputs.
    dropout : float
        Share of the values between layers that are dropped in training.
    get_next_state : bool
        Give the states after the last step.
    forget_bias : float
        Initial value of both biases of the forget gate of an LSTM.
    prefix : str, optional
        ``"lstm_"`` and the like by default.
    params : RNNParams, optional
        Variables to share with other cells.
    """

    _steps = False

    def __init__(self, num_hidden: int, num_layers: int = 1, mode: str = "lstm", bidirectional: bool = False,
                 dropout: float = 0.0, get_next_state: bool = False, forget_bias: float = 1.0, prefix: str | None = None,
                 params: RNNParams | None = None) -> None:
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        UnknownNameError.check("mode", mode, recurrent.MODES)
        self._gate_names = recurrent.GATES[mode]
        self._num_hidden, self._num_layers, self._mode, self._bidirectional = num_hidden, num_layers, mode, bidirectional
        self._dropout, self._get_next_state, self._forget_bias = dropout, get_next_state, forget_bias
        self._parameter = self.params.get("parameters", init=FusedRNN(None, num_hidden, num_layers, mode, bidirectional,
                                                                      forget_bias))
        self._packed = str(self._parameter.name)
        self._sizes = recurrent.Sizes(mode, 0, num_hidden, num_hidden, num_layers, 1 + bool(bidirectional), False, False)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the hidden state, and of the cell of an LSTM."""
        shape = (self._sizes.directions * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(1 + (self._mode == "lstm"))]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with the weights of each gate of each layer in an array of its own."""
        args = dict(args)
        packed = taken(args, self._packed)
        inputs = recurrent.inputs_for(self._sizes, packed.size)
        if inputs is None:
            raise ShapeError(f"{self._packed} has {packed.size} parameters, as a network has for no number of inputs.",
                             hint="unpack the parameters of a symbol that this cell, or one of the same sizes, made.")
        for name, piece in recurrent.gates_in(self._sizes._replace(inputs=inputs), packed.asnumpy()):
            args[self._prefix + name] = array(piece, ctx=packed.context, dtype=packed.dtype)
        return args

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters as a module takes them, from those that ``unpack_weights`` gave."""
        args = dict(args)
        name = f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"
        ParameterNameError.check("parameter", name, args)
        first = args[name]
        sizes = self._sizes._replace(inputs=first.shape[1])
        flat = np.zeros(recurrent.parameter_count(sizes), first.dtype)
        for name, piece in recurrent.gates_in(sizes, flat):
            piece[...] = taken(args, self._prefix + name).asnumpy()
        args[self._packed] = array(flat, ctx=first.context, dtype=first.dtype)
        return args

    def unroll(self, length: int, inputs: Symbol | Sequence[Symbol], begin_state: Sequence[Symbol] | None = None,
               layout: str = "NTC", merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The symbols of a whole sequence; see ``BaseRNNCell.unroll``.  There are no states without ``get_next_state``."""
        self.reset()
        inputs, axis = formatted(length, inputs, layout, True)
        if axis > 1:
            raise ParameterError(f"A FusedRNNCell cannot have layout {layout!r}.", hint="use TNC or NTC.")
        if axis == 1:
            warn_user("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed")
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        rnn = F.RNN(data=inputs, parameters=self._parameter, state_size=self._num_hidden, num_layers=self._num_layers,
                    bidirectional=self._bidirectional, p=self._dropout, state_outputs=self._get_next_state, mode=self._mode,
                    name=f"{self._prefix}rnn", state=states[0], **({"state_cell": states[1]} if self._mode == "lstm" else {}))
        outputs, *new = rnn
        for state in new:
            state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = F.swapaxes(outputs, dim1=0, dim2=1)
        return formatted(length, outputs, layout, merge_outputs)[0], new

    def unfuse(self) -> SequentialRNNCell:
        """A stack of cells that computes the same, and whose parameters are those that ``unpack_weights`` gives, packed by it."""
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cell = self._cell(f"{self._prefix}l{layer}_")
            if self._bidirectional:
                cell = BidirectionalCell(cell, self._cell(f"{self._prefix}r{layer}_"),
                                         output_prefix=f"{self._prefix}bi_l{layer}_")
            stack.add(cell)
            if self._dropout > 0 and layer < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _cell(self, prefix: str) -> BaseRNNCell:
        """A cell of one layer and direction."""
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix, forget_bias=self._forget_bias)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)
