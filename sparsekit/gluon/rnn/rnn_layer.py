"""Recurrent layers: whole sequences by the operator ``RNN``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Unpack

from ... import ndarray, symbol
from ...base.errors import ShapeError, SparsekitError, UnknownNameError, UnsupportedError
from ...ndarray.ndarray import NDArray
from ...ops.recurrent.recurrent import MODES
from ...symbol import Symbol
from ..block import HybridBlock
from ..utils import whole
from .composed import BidirectionalCell, DropoutCell, HybridSequentialRNNCell
from .rnn_cell import GRUCell, LSTMCell, RNNCell
from .sequences import is_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.types import DTypeLike
    from ...core.types import Functions, Tensor
    from ...initializer.base import InitLike
    from ..types import BlockOptions, LayerOptions, Sequences, States


__all__ = ["GRU", "LSTM", "RNN"]

_NAME = re.compile(r"(l|r)(\d+)_(i2h|h2h|h2r)_(weight|bias)\Z")


class _RNNLayer(HybridBlock):
    """Base of the three kinds of recurrent layers."""

    def __init__(self, hidden_size: int, num_layers: int, layout: str, dropout: float, bidirectional: bool, input_size: int,
                 initializers: dict[str, Any], mode: str, dtype: DTypeLike, projection_size: int | None = None,
                 use_sequence_length: bool = False, clip: tuple[Any, Any, bool] = (None, None, False),
                 **kwargs: Unpack[BlockOptions]) -> None:
        UnknownNameError.check("layout", layout, ("TNC", "NTC"))
        if mode not in MODES:
            raise UnknownNameError.of("activation", mode.removeprefix("rnn_"), ("relu", "tanh"))
        super().__init__(**kwargs)
        hidden_size, num_layers = whole("hidden_size", hidden_size, 1), whole("num_layers", num_layers, 1)
        input_size = whole("input_size", input_size)
        self._hidden_size, self._num_layers, self._mode, self._layout = hidden_size, num_layers, mode, layout
        self._projection_size = projection_size or None
        self._dropout, self._dir, self._input_size = dropout, 2 if bidirectional else 1, input_size
        self._gates, self._dtype, self._use_sequence_length = MODES[mode], dtype, use_sequence_length
        self._initializers, self._clip = initializers, clip
        inputs = input_size
        for layer in range(num_layers):
            for direction in "lr"[:self._dir]:
                self._register_layer(f"{direction}{layer}", inputs)
            inputs = self._width * self._dir

    @property
    def _width(self) -> int:
        """Width of the states, and of the output of one direction."""
        return self._projection_size or self._hidden_size

    def _register_layer(self, name: str, inputs: int) -> None:
        sums = self._gates * self._hidden_size
        shapes = {"i2h_weight": (sums, inputs), "h2h_weight": (sums, self._width), "i2h_bias": (sums,), "h2h_bias": (sums,)}
        if self._projection_size:
            shapes["h2r_weight"] = (self._projection_size, self._hidden_size)
        for kind, shape in shapes.items():
            setattr(self, f"{name}_{kind}", self.params.get(
                f"{name}_{kind}", shape=shape, init=self._initializers[kind], allow_deferred_init=True, dtype=self._dtype))

    def infer_shape(self, inputs: Tensor, *args: object) -> None:
        """Infer the number of inputs from the first input."""
        if len(inputs.shape) != 3:
            raise ShapeError(f"{self.name} takes data in the layout {self._layout}; these have shape {inputs.shape}.",
                             hint="add an axis for time or batch with expand_dims().")
        for direction in "lr"[:self._dir]:
            self._reg_params[f"{direction}0_i2h_weight"].shape = (self._gates * self._hidden_size, inputs.shape[2])

    def __repr__(self) -> str:
        sums, inputs = self._reg_params["l0_i2h_weight"].shape
        options = "".join([f", num_layers={self._num_layers}" if self._num_layers != 1 else "",
                           f", dropout={self._dropout}" if self._dropout else "", ", bidirectional" if self._dir == 2 else ""])
        return f"{type(self).__name__}({inputs or None} -> {sums // self._gates}, {self._layout}{options})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Names in files, those of the cells that an unfused network has, as MXNet writes them."""
        prefix += "." if prefix else ""
        parameters = {}
        for key, parameter in self._reg_params.items():
            direction, layer, kind, role = _NAME.match(key).groups()  # type: ignore[union-attr]
            cell = f"{direction}_cell." if self._dir == 2 else ""
            parameters[f"{prefix}_unfused.{layer}.{cell}{kind}_{role}"] = parameter
        return parameters

    def _unfuse(self) -> HybridSequentialRNNCell:
        """A stack of cells that computes the same, with the same parameters."""
        if self._projection_size or self._clip[0] is not None:
            raise UnsupportedError("Cells have neither projection nor bounds of the state.",
                                   hint="use gluon.contrib.rnn.LSTMPCell for a projection.")
        kinds: dict[str, Any] = {
            "rnn_relu": lambda **options: RNNCell(self._hidden_size, activation="relu", **options),
            "rnn_tanh": lambda **options: RNNCell(self._hidden_size, activation="tanh", **options),
            "lstm": lambda **options: LSTMCell(self._hidden_size, **options),
            "gru": lambda **options: GRUCell(self._hidden_size, **options)}
        stack, inputs = HybridSequentialRNNCell(prefix=self.prefix, params=self.params), self._input_size
        initializers = {f"{name}_initializer": self._initializers[name]
                        for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")}
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [kinds[self._mode](prefix=f"{direction}{layer}_", input_size=inputs, **initializers)
                         for direction in "lr"[:self._dir]]
                stack.add(BidirectionalCell(*cells) if self._dir == 2 else cells[0])
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                inputs = self._hidden_size * self._dir
        return stack

    def cast(self, dtype: DTypeLike) -> None:
        """Change the element type of the parameters, and of the states to begin with."""
        super().cast(dtype)
        self._dtype = dtype

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and element type of each state."""
        shape = (self._num_layers * self._dir, batch_size, self._width)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype}]

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: object) -> list[Any]:
        """The initial states.

        Parameters
        ----------
        batch_size : int
        func : callable
            Function that is called as ``func(shape=…, name=…, dtype=…)`` to make a state; ``mx.nd.zeros`` by default.
        **kwargs
            Arguments of ``func``, such as ``ctx`` and ``dtype``.

        Returns
        -------
        list of NDArray
        """
        return [func(name=f"{self.prefix}h0_{place}", **{**(info or {}), **kwargs})
                for place, info in enumerate(self.state_info(batch_size))]

    def __call__(self, inputs: Tensor, states: Sequences | None = None,  # type: ignore[override]
                 sequence_length: Tensor | None = None, **kwargs: object) -> Any:
        """Run the network over a batch of sequences.

        Parameters
        ----------
        inputs : NDArray
            In the layer's layout.
        states : NDArray or list of NDArray, optional
            (layers * directions, batch, hidden_size) each; zeros by default, and then none are given back.
        sequence_length : NDArray, optional
            (batch,): how many steps of each sample count, for ``use_sequence_length=True``.

        Returns
        -------
        NDArray, or (NDArray, list of NDArray)
        """
        skip = states is None
        if states is None:
            states = self._states_for(inputs)
        elif not is_list(states):
            states = [states]
        if self._use_sequence_length != (sequence_length is not None):
            raise SparsekitError(f"use_sequence_length={self._use_sequence_length}, but sequence_length was "
                                 f"{'not ' if self._use_sequence_length else ''}given.", hint="give both or neither.")
        lengths = (sequence_length,) if self._use_sequence_length else ()
        output, last = super().__call__(inputs, list(states), *lengths, **kwargs)
        return output if skip else (output, last)

    def _states_for(self, inputs: object) -> list[Any]:
        if isinstance(inputs, Symbol):
            return self.begin_state(func=symbol.zeros)
        if not isinstance(inputs, NDArray) or len(inputs.shape) != 3:
            raise ShapeError(f"{self.name} takes arrays of three axes in the layout {self._layout}, not "
                             f"{getattr(inputs, 'shape', type(inputs).__name__)}.",
                             hint="add an axis for time or batch with expand_dims().")
        return self.begin_state(inputs.shape[self._layout.find("N")], ctx=inputs.context, dtype=inputs.dtype)

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States,  # type: ignore[override]
                       sequence_length: Tensor | None = None, **kwargs: Tensor) -> tuple[Tensor, States]:
        """The output, and the last states."""
        if isinstance(inputs, NDArray):
            self._check_states(inputs, states)
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        lengths = [] if sequence_length is None else [sequence_length]
        low, high, stop = self._clip
        results = F.RNN(inputs, self._packed(F, kwargs), *states, *lengths, state_size=self._hidden_size,
                        num_layers=self._num_layers, bidirectional=self._dir == 2, mode=self._mode, p=self._dropout,
                        state_outputs=True, projection_size=self._projection_size, lstm_state_clip_min=low,
                        lstm_state_clip_max=high, lstm_state_clip_nan=stop, use_sequence_length=self._use_sequence_length)
        output = results[0] if self._layout == "TNC" else F.swapaxes(results[0], dim1=0, dim2=1)
        return output, [results[place] for place in range(1, len(states) + 1)]

    def _packed(self, F: Functions, parameters: dict[str, Tensor]) -> Tensor:
        """All parameters in one vector: weights, then biases."""
        kinds = [("weight", kind) for kind in ("i2h", "h2h", *(["h2r"] if self._projection_size else []))], [
            ("bias", kind) for kind in ("i2h", "h2h")]
        names = [f"{direction}{layer}_{kind}_{role}" for pairs in kinds for layer in range(self._num_layers)
                 for direction in "lr"[:self._dir] for role, kind in pairs]
        return F._internal._rnn_param_concat(*[F.reshape(parameters[name], shape=(-1,)) for name in names], dim=0)

    def _check_states(self, inputs: NDArray, states: States) -> None:
        wanted = [info["shape"] for info in self.state_info(inputs.shape[self._layout.find("N")])]
        if [tuple(state.shape) for state in states] != wanted:
            raise ShapeError(f"Invalid recurrent state shape. Expecting {', '.join(map(str, wanted))}, got "
                             f"{', '.join(str(tuple(state.shape)) for state in states)}.",
                             hint="begin_state(batch_size) makes such states.")


class RNN(_RNNLayer):
    """Elman's network of several layers: ``h = activation(i2h_weight · x + i2h_bias + h2h_weight · h + h2h_bias)``.

    The layer is called with data in ``layout`` and, optionally, with the initial states: an array or a list of arrays.  It
    returns the output.  If states were given, it also returns a list of the last states.

    Parameters
    ----------
    hidden_size : int
    num_layers : int
    activation : {"relu", "tanh"}
    layout : {"TNC", "NTC"}
        Order of time, batch and features, in data and output.
    dropout : float
        Share of the values between layers that are dropped in training.
    bidirectional : bool
        Run each layer in both directions, and concatenate their outputs.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        0 infers it from the first input.
    dtype : str or dtype
    **kwargs
        ``prefix`` and ``params``, as for every block.  With ``use_sequence_length=True``, the third argument of a call is the
        number of valid steps of each sample, of shape (batch,).

    Examples
    --------
    >>> layer = mx.gluon.rnn.RNN(100, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 10))).shape
    (5, 2, 100)
    >>> output, states = layer(mx.nd.ones((5, 2, 10)), layer.begin_state(2))
    """

    def __init__(self, hidden_size: int, num_layers: int = 1, activation: str = "relu", layout: str = "TNC", dropout: float = 0,
                 bidirectional: bool = False, i2h_weight_initializer: InitLike = None, h2h_weight_initializer: InitLike = None,
                 i2h_bias_initializer: InitLike = "zeros", h2h_bias_initializer: InitLike = "zeros", input_size: int = 0,
                 dtype: DTypeLike = "float32", **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(hidden_size, num_layers, layout, dropout, bidirectional, input_size, {
            "i2h_weight": i2h_weight_initializer, "h2h_weight": h2h_weight_initializer, "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer}, f"rnn_{activation}", dtype, **kwargs)


class LSTM(_RNNLayer):
    """Long short-term memory of several layers: S. Hochreiter and J. Schmidhuber 1997; gates as those of ``LSTMCell``.

    The layer is called with data in ``layout`` and, optionally, with the initial states: an array or a list of arrays.  It
    returns the output.  If states were given, it also returns a list of the last states.

    Parameters
    ----------
    hidden_size : int
    num_layers : int
    layout : {"TNC", "NTC"}
        Order of time, batch and features, in data and output.
    dropout : float
        Share of the values between layers that are dropped in training.
    bidirectional : bool
        Run each layer in both directions, and concatenate their outputs.
    input_size : int
        0 infers it from the first input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    projection_size : int, optional
        Width of the projected hidden state (H. Sak et al., https://arxiv.org/abs/1402.1128); by default there is no projection.
    h2r_weight_initializer : Initializer or str, optional
        Initializer of the projection's weight.
    state_clip_min, state_clip_max : float, optional
        Bounds of the cell's values.
    state_clip_nan : bool
        Replace nan by the lower bound.
    dtype : str or dtype
    **kwargs
        ``prefix`` and ``params``, as for every block.  With ``use_sequence_length=True``, the third argument of a call is the
        number of valid steps of each sample, of shape (batch,).

    Examples
    --------
    >>> layer = mx.gluon.rnn.LSTM(100, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 10))).shape
    (5, 2, 100)
    >>> output, states = layer(mx.nd.ones((5, 2, 10)), layer.begin_state(2))
    """

    def __init__(self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0,
                 bidirectional: bool = False, input_size: int = 0, i2h_weight_initializer: InitLike = None,
                 h2h_weight_initializer: InitLike = None, i2h_bias_initializer: InitLike = "zeros",
                 h2h_bias_initializer: InitLike = "zeros",
                 projection_size: int | None = None, h2r_weight_initializer: InitLike = None, state_clip_min: float | None = None,
                 state_clip_max: float | None = None, state_clip_nan: bool = False, dtype: DTypeLike = "float32",
                 **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(hidden_size, num_layers, layout, dropout, bidirectional, input_size, {
            "i2h_weight": i2h_weight_initializer, "h2h_weight": h2h_weight_initializer, "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer, "h2r_weight": h2r_weight_initializer}, "lstm", dtype, projection_size,
            clip=(state_clip_min, state_clip_max, state_clip_nan), **kwargs)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and element type of the hidden state and of the cell."""
        hidden, = super().state_info(batch_size)
        return [hidden, {**hidden, "shape": (*hidden["shape"][:2], self._hidden_size)}]


class GRU(_RNNLayer):
    """Gated recurrent units of several layers: K. Cho et al. 2014, https://arxiv.org/abs/1406.1078; gates as ``GRUCell``'s.

    The layer is called with data in ``layout`` and, optionally, with the initial states: an array or a list of arrays.  It
    returns the output.  If states were given, it also returns a list of the last states.

    Parameters
    ----------
    hidden_size : int
    num_layers : int
    layout : {"TNC", "NTC"}
        Order of time, batch and features, in data and output.
    dropout : float
        Share of the values between layers that are dropped in training.
    bidirectional : bool
        Run each layer in both directions, and concatenate their outputs.
    input_size : int
        0 infers it from the first input.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    dtype : str or dtype
    **kwargs
        ``prefix`` and ``params``, as for every block.  With ``use_sequence_length=True``, the third argument of a call is the
        number of valid steps of each sample, of shape (batch,).

    Examples
    --------
    >>> layer = mx.gluon.rnn.GRU(100, 3)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 10))).shape
    (5, 2, 100)
    >>> output, states = layer(mx.nd.ones((5, 2, 10)), layer.begin_state(2))
    """

    def __init__(self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0,
                 bidirectional: bool = False, input_size: int = 0, i2h_weight_initializer: InitLike = None,
                 h2h_weight_initializer: InitLike = None, i2h_bias_initializer: InitLike = "zeros",
                 h2h_bias_initializer: InitLike = "zeros",
                 dtype: DTypeLike = "float32", **kwargs: Unpack[LayerOptions]) -> None:
        super().__init__(hidden_size, num_layers, layout, dropout, bidirectional, input_size, {
            "i2h_weight": i2h_weight_initializer, "h2h_weight": h2h_weight_initializer, "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer}, "gru", dtype, **kwargs)
