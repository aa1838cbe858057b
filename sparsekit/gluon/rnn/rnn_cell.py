"""Recurrent cells: one step of a network, and ``unroll`` for whole sequences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import ndarray
from ...base.errors import ParameterError, UnsupportedError
from ...base.lazy import add_lazy_names
from ..block import Block, HybridBlock
from ..nn import LeakyReLU
from ..utils import whole
from .sequences import begin_state_for, format_sequence, mask_sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...core.types import Functions, Tensor
    from ...initializer.base import InitLike
    from ..parameter import ParameterDict
    from ..types import Sequences, States


__all__ = ["GRUCell", "HybridRecurrentCell", "LSTMCell", "RNNCell", "RecurrentCell"]

add_lazy_names(globals())


class RecurrentCell(Block):
    """Base of recurrent cells: ``cell(inputs, states)`` gives the output of one step and the new states.

    A custom cell overrides ``state_info`` and ``forward`` (or ``hybrid_forward``, see ``HybridRecurrentCell``).

    Parameters
    ----------
    prefix : str, optional
    params : ParameterDict, optional
    """

    _unmarked = frozenset(("_counter", "_init_counter", "_modified"))

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def _step_name(self) -> str:
        """What names of this step's operators begin with."""
        return f"t{self._counter}_"

    def reset(self) -> None:
        """Forget what is left of an earlier sequence; to be called before stepping through a new one."""
        self._init_counter = self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state; to be overridden."""
        raise UnsupportedError(f"{type(self).__name__} does not say what states it has.", hint="override state_info(batch_size).")

    def _check_not_modified(self) -> None:
        if self._modified:
            raise ParameterError(f"{self.name} belongs to a modifier, such as ZoneoutCell, and cannot be called directly.",
                                 hint="call the modifier cell instead.")

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: object) -> list[Any]:
        """The initial states.

        Parameters
        ----------
        batch_size : int
        func : callable
            Function that is called as ``func(shape=…, name=…)`` to make a state; ``mx.nd.zeros`` by default.
        **kwargs
            Arguments of ``func``, such as ``ctx`` and ``dtype``.

        Returns
        -------
        list of NDArray
        """
        self._check_not_modified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**(info or {}), **kwargs}))
        return states

    def unroll(self, length: int, inputs: Sequences, begin_state: States | None = None, layout: str = "NTC",
               merge_outputs: bool | None = None, valid_length: Tensor | None = None) -> tuple[Any, Any]:
        """Run the cell over a sequence.

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : NDArray or list of NDArray
            One array with the axes of ``layout``, or a list of steps of shape (batch, features).
        begin_state : list of NDArray, optional
            States before the first step; zeros by default.
        layout : {"NTC", "TNC"}
            Order of the axes: N is the batch, T time and C the features.
        merge_outputs : bool, optional
            True returns one array, False a list of steps.  By default the cell decides.
        valid_length : NDArray, optional
            Number of valid steps of each sample, of shape (batch,).  Outputs after the last valid step are zero.

        Returns
        -------
        outputs : NDArray or list of NDArray
        states : list of NDArray
            States after the last valid step.
        """
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = begin_state_for(self, F, begin_state, inputs, batch_size)
        outputs: Any = []
        every = []
        for step in inputs:
            output, states = self(step, states)
            outputs.append(output)
            every.append(states)
        if valid_length is not None:
            states = [F.SequenceLast(F.stack(*state, axis=0), valid_length, use_sequence_length=True, axis=0)
                      for state in zip(*every, strict=True)]
            outputs = mask_sequence(F, outputs, length, valid_length, axis, merge=True)
        outputs, _, _, _ = format_sequence(length, outputs, layout, merge_outputs)
        return outputs, states

    def _get_activation(self, F: Functions, inputs: Tensor, activation: Callable[..., Any] | str, **kwargs: str) -> Tensor:
        """An activation that is given by name, as a layer, or as a function."""
        if activation in ("tanh", "relu", "sigmoid", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step.

        Parameters
        ----------
        inputs : NDArray
            Inputs of the step, of shape (batch, features).
        states : list of NDArray

        Returns
        -------
        output : NDArray
        states : list of NDArray
        """
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base of cells whose step is ``hybrid_forward(F, inputs, states, **parameters)``.

    Parameters
    ----------
    prefix : str, optional
    params : ParameterDict, optional
    """

    def hybrid_forward(self, F: Functions, x: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, States]:
        """One step, of operators of ``F``; to be overridden."""
        raise UnsupportedError(f"{type(self).__name__} has no hybrid_forward().",
                             hint="override hybrid_forward(self, F, inputs, states, …).")


class _Gated(HybridRecurrentCell):
    """A cell with sums for some gates, of its inputs and of its first state, ``width`` wide."""

    i2h_weight: Any

    def __init__(self, gates: int, hidden_size: int, input_size: int, initializers: tuple[Any, Any, Any, Any], prefix: str | None,
                 params: ParameterDict | None, width: int | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size = whole("hidden_size", hidden_size, 1), whole("input_size", input_size)
        self._sums = gates * self._hidden_size
        shapes = ((self._sums, input_size), (self._sums, hidden_size if width is None else width), (self._sums,), (self._sums,))
        for name, shape, init in zip(("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"), shapes, initializers, strict=True):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def infer_shape(self, inputs: Tensor, *args: object) -> None:
        """Infer the number of inputs from the first input."""
        self.i2h_weight.shape = (self._sums, math.prod(inputs.shape[1:]))

    def _both_sums(self, F: Functions, inputs: Tensor, state: Tensor, *parameters: Tensor) -> tuple[Any, Any]:
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = parameters
        step = self._step_name()
        return (F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=self._sums, name=step + "i2h"),
                F.FullyConnected(state, h2h_weight, h2h_bias, num_hidden=self._sums, name=step + "h2h"))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _sizes(self) -> str:
        sums, inputs = self.i2h_weight.shape
        return f"{inputs or None} -> {sums}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._sizes()})"


class RNNCell(_Gated):
    """Elman's cell: ``activation(i2h_weight · x + i2h_bias + h2h_weight · h + h2h_bias)``.

    Parameters
    ----------
    hidden_size : int
    activation : str or Block
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        0 infers it from the first input.
    prefix : str, optional
    params : ParameterDict, optional
    """

    def __init__(self, hidden_size: int, activation: Callable[..., Any] | str = "tanh", i2h_weight_initializer: InitLike = None,
                 h2h_weight_initializer: InitLike = None, i2h_bias_initializer: InitLike = "zeros",
                 h2h_bias_initializer: InitLike = "zeros",
                 input_size: int = 0, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(1, hidden_size, input_size, (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                                                      h2h_bias_initializer), prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def _sizes(self) -> str:
        return f"{super()._sizes()}, {self._activation}"

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
                       i2h_bias: Tensor, h2h_bias: Tensor) -> tuple[Tensor, States]:
        """One step."""
        both = self._both_sums(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        step = self._step_name()
        output = self._get_activation(F, F.elemwise_add(*both, name=step + "plus0"), self._activation, name=step + "out")
        return output, [output]


class LSTMCell(_Gated):
    """A long short-term memory: S. Hochreiter and J. Schmidhuber 1997, with gates in the order input, forget, cell, output.

    The states are the hidden state and the cell, both of shape (batch, hidden_size).

    Parameters
    ----------
    hidden_size : int
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        ``"lstmbias"`` for one of the biases initializes that of the forget gate to 1.
    input_size : int
        0 infers it from the first input.
    prefix : str, optional
    params : ParameterDict, optional
    activation, recurrent_activation : str or Block
        Activations of the cell and of the gates.
    """

    def __init__(self, hidden_size: int, i2h_weight_initializer: InitLike = None, h2h_weight_initializer: InitLike = None,
                 i2h_bias_initializer: InitLike = "zeros", h2h_bias_initializer: InitLike = "zeros", input_size: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None, activation: Callable[..., Any] | str = "tanh",
                 recurrent_activation: Callable[..., Any] | str = "sigmoid") -> None:
        super().__init__(4, hidden_size, input_size, (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                                                      h2h_bias_initializer), prefix, params)
        self._activation, self._recurrent_activation = activation, recurrent_activation

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of the hidden state and of the cell."""
        return super().state_info(batch_size) * 2

    def _alias(self) -> str:
        return "lstm"

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
                       i2h_bias: Tensor, h2h_bias: Tensor) -> tuple[Tensor, States]:
        """One step."""
        both = self._both_sums(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        step = self._step_name()
        parts = F.SliceChannel(F.elemwise_add(*both, name=step + "plus0"), num_outputs=4, name=step + "slice")
        kinds = (self._recurrent_activation, self._recurrent_activation, self._activation, self._recurrent_activation)
        entry, forget, new, leave = (self._get_activation(F, part, kind, name=step + name)
                                     for part, kind, name in zip(parts, kinds, "ifco", strict=True))
        cell = F.elemwise_add(F.elemwise_mul(forget, states[1], name=step + "mul0"),
                              F.elemwise_mul(entry, new, name=step + "mul1"), name=step + "state")
        hidden = F.elemwise_mul(leave, self._get_activation(F, cell, self._activation, name=step + "activation0"),
                                name=step + "out")
        return hidden, [hidden, cell]


class GRUCell(_Gated):
    """A gated recurrent unit: K. Cho et al. 2014, https://arxiv.org/abs/1406.1078, with the reset gate behind the product.

    Gates are in the order reset, update, new.

    Parameters
    ----------
    hidden_size : int
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        0 infers it from the first input.
    prefix : str, optional
    params : ParameterDict, optional
    """

    def __init__(self, hidden_size: int, i2h_weight_initializer: InitLike = None, h2h_weight_initializer: InitLike = None,
                 i2h_bias_initializer: InitLike = "zeros", h2h_bias_initializer: InitLike = "zeros", input_size: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(3, hidden_size, input_size, (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                                                      h2h_bias_initializer), prefix, params)

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States, i2h_weight: Tensor, h2h_weight: Tensor,
                       i2h_bias: Tensor, h2h_bias: Tensor) -> tuple[Tensor, States]:
        """One step."""
        both = self._both_sums(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        step = self._step_name()
        (reset, update, new), (back_reset, back_update, back_new) = (
            F.SliceChannel(sums, num_outputs=3, name=step + name) for sums, name in zip(both, ("i2h_slice", "h2h_slice"),
                                                                                        strict=True))
        reset = F.sigmoid(F.elemwise_add(reset, back_reset, name=step + "plus0"), name=step + "r_act")
        update = F.sigmoid(F.elemwise_add(update, back_update, name=step + "plus1"), name=step + "z_act")
        new = F.tanh(F.elemwise_add(new, F.elemwise_mul(reset, back_new, name=step + "mul0"), name=step + "plus2"),
                     name=step + "h_act")
        kept = F.elemwise_sub(F.ones_like(update, name=step + "ones_like0"), update, name=step + "minus0")
        hidden = F.elemwise_add(F.elemwise_mul(kept, new, name=step + "mul1"),
                                F.elemwise_mul(update, states[0], name=step + "mul20"), name=step + "out")
        return hidden, [hidden]
