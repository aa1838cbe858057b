"""Recurrent cells for symbols: their base, and the three kinds of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ParameterError, ParameterNameError, ShapeError, UnknownNameError, UnsupportedError
from ...initializer import LSTMBias
from ...ndarray import concatenate
from ...ops.recurrent.recurrent import GATES
from ...symbol import Symbol, creation, var
from ...symbol.functions import F

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...ndarray import NDArray


def formatted(length: int | None, inputs: Symbol | Sequence[Symbol], layout: str, merge: bool | None) -> tuple[Any, int]:
    """A sequence as one symbol, as a list of steps, or as it comes, and the axis of time.

    Parameters
    ----------
    length : int, optional
        Number of steps, which is checked for a list.
    inputs : Symbol or list of Symbol
    layout : str
        Such as ``"NTC"``: the order of batch, time and features.  Steps have no time axis.
    merge : bool or None
        True for one symbol, False for a list, None for no change.
    """
    if inputs is None:
        raise ParameterError("unroll() was given no inputs.", hint="pass a symbol, or a list with one for each step.")
    axis = layout.find("T")
    if axis < 0:
        raise UnknownNameError.of("layout", layout, ("NTC", "TNC"))
    if isinstance(inputs, Symbol):
        if merge is not False:
            return inputs, axis
        if len(inputs.list_outputs()) != 1:
            raise ParameterError("unroll() takes no grouped symbol, which may be steps or several inputs.",
                                 hint="pass list(inputs) for steps.")
        return list(F.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1)), axis
    if length is not None and len(inputs) != length:
        raise ShapeError(f"unroll() was given {len(inputs)} inputs for {length} steps.", hint="pass one input for each step.")
    if not merge:
        return inputs, axis
    return F.Concat(*[F.expand_dims(step, axis=axis) for step in inputs], dim=axis), axis


def taken(args: dict[str, NDArray], name: str) -> NDArray:
    """Remove the parameter of this name, and give it."""
    ParameterNameError.check("parameter", name, args)
    return args.pop(name)


class RNNParams:
    """Variables by name, which cells can share.

    Parameters
    ----------
    prefix : str
        What the names of the variables begin with.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: object) -> Symbol:
        """The variable of this name, made by ``mx.sym.Variable`` with these arguments if there is none."""
        name = self._prefix + name
        if name not in self._params:
            make: Callable[..., Symbol] = var
            self._params[name] = make(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """Base of cells: ``cell(inputs, states)`` gives the symbols of one step, its output and the states after it.

    A cell of one's own overrides ``state_info`` and ``__call__``, and ``_gate_names`` if its weights are of gates.

    Parameters
    ----------
    prefix : str
        What the names of operators begin with, and those of the variables unless ``params`` is given.
    params : RNNParams, optional
        Variables to share with other cells.
    """

    _num_hidden: int

    #: The cells that this one consists of.
    _cells: Sequence[BaseRNNCell] = ()

    #: What the names of each gate's own weights have behind ``i2h`` and ``h2h``.
    _gate_names: Sequence[str] = ()

    #: Whether the cell can run single steps.
    _steps = True

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix, self._params = prefix, RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Number steps and initial states from 0 again, before the cell builds another graph."""
        self._init_counter = self._counter = -1
        for cell in self._cells:
            cell.reset()

    # Any: a list of symbols, or whatever else a subclass has
    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step, to be overridden.

        Parameters
        ----------
        inputs : Symbol
            Input of the step, of shape (batch, features).
        states : list of Symbol
            ``begin_state()``, or the states that the step before gave.

        Returns
        -------
        output : Symbol
        states : list of Symbol
        """
        raise UnsupportedError(f"{type(self).__name__} cannot run one step.", hint="use unroll(), or define __call__().")

    @property
    def params(self) -> RNNParams:
        """The variables of the cell; what asks for them can share them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of each state, to be overridden; a size of 0 is that of the batch."""
        raise UnsupportedError(f"{type(self).__name__} does not say what states it has.", hint="define state_info.")

    @property
    def state_shape(self) -> list[Any]:
        """The shape of each state."""
        return [info["shape"] for info in self.state_info]

    def _check_not_modified(self) -> None:
        if self._modified:
            raise ParameterError(f"The cell {self._prefix!r} belongs to a modifier, such as ZoneoutCell, and cannot be called "
                                 "directly.", hint="call the modifier cell instead.")

    # Any: what func gives
    def begin_state(self, func: Callable[..., Any] = creation.zeros, **kwargs: object) -> list[Any]:
        """The initial states.

        Parameters
        ----------
        func : callable
            Function that is called as ``func(name=…, shape=…)`` to make a state: ``mx.sym.zeros`` by default;
            ``mx.sym.Variable`` for states that are fed as data.
        **kwargs
            Arguments of ``func``, such as ``dtype``.

        Returns
        -------
        list of Symbol
        """
        self._check_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**kwargs, **(info or {})}))
        return states

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with the weights of each gate in an array of its own.

        Parameters
        ----------
        args : dict of NDArray
            Parameters as ``Module.get_params()[0]`` has them: the weights of all gates in one array.

        Returns
        -------
        dict of NDArray
        """
        args, size = dict(args), self._num_hidden if self._gate_names else 0
        for group in ("i2h", "h2h") if size else ():
            weight, bias = (taken(args, f"{self._prefix}{group}_{what}") for what in ("weight", "bias"))
            for place, gate in enumerate(self._gate_names):
                part = slice(place * size, (place + 1) * size)
                args[f"{self._prefix}{group}{gate}_weight"] = weight[part].copy()
                args[f"{self._prefix}{group}{gate}_bias"] = bias[part].copy()
        return args

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters as a module takes them, from those that ``unpack_weights`` gave."""
        args = dict(args)
        for group in ("i2h", "h2h") if self._gate_names else ():
            for what in ("weight", "bias"):
                args[f"{self._prefix}{group}_{what}"] = concatenate(
                    [taken(args, f"{self._prefix}{group}{gate}_{what}") for gate in self._gate_names])
        return args

    def unroll(self, length: int, inputs: Symbol | Sequence[Symbol], begin_state: Sequence[Symbol] | None = None,
               layout: str = "NTC", merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The symbols of a whole sequence.

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : Symbol or list of Symbol
            One symbol with the axes of ``layout``, or one for each step, of shape (batch, features).
        begin_state : list of Symbol, optional
            States before the first step; ``begin_state()`` by default.
        layout : {"NTC", "TNC"}
            Order of the axes of ``inputs``, and of the outputs if they are one symbol: batch, time and features.
        merge_outputs : bool, optional
            True gives one symbol for the outputs of all steps, False a list.  By default the cell decides.

        Returns
        -------
        outputs : Symbol or list of Symbol
        states : list of Symbol
            States after the last step.
        """
        self.reset()
        inputs, _ = formatted(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in inputs:
            output, states = self(step, states)
            outputs.append(output)
        return formatted(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs: Symbol, activation: Callable[..., Symbol] | str, **kwargs: object) -> Symbol:
        """An activation that is given by name or as a function."""
        if not isinstance(activation, str):
            return activation(inputs, **kwargs)
        found: Symbol = F.Activation(inputs, act_type=activation, **kwargs)
        return found


class _Gated(BaseRNNCell):
    """A cell with sums for each gate, of its inputs and of its first state."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, **bias: object) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._iW, self._hW = self.params.get("i2h_weight"), self.params.get("h2h_weight")
        self._iB, self._hB = self.params.get("i2h_bias", **bias), self.params.get("h2h_bias")

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _next_step(self) -> str:
        """What the names of the operators of the next step begin with."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _sums(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """The sums of all gates, of the inputs and of the state."""
        size = self._num_hidden * len(self._gate_names)
        return (F.FullyConnected(data=inputs, weight=self._iW, bias=self._iB, num_hidden=size, name=f"{name}i2h"),
                F.FullyConnected(data=state, weight=self._hW, bias=self._hB, num_hidden=size, name=f"{name}h2h"))


class RNNCell(_Gated):
    """Elman's cell: ``activation(i2h_weight · x + i2h_bias + h2h_weight · h + h2h_bias)``.

    Parameters
    ----------
    num_hidden : int
    activation : str or callable
        Name of an ``act_type`` of ``Activation``, or a function of a symbol.
    prefix : str
    params : RNNParams, optional
        Variables to share with other cells.
    """

    _gate_names = GATES["rnn_tanh"]

    def __init__(self, num_hidden: int, activation: Callable[..., Symbol] | str = "tanh", prefix: str = "rnn_",
                 params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step; see ``BaseRNNCell``."""
        name = self._next_step()
        i2h, h2h = self._sums(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_Gated):
    """A long short-term memory: S. Hochreiter and J. Schmidhuber 1997, with gates in the order input, forget, cell, output.

    The states are the hidden state and the cell.

    Parameters
    ----------
    num_hidden : int
    prefix : str
    params : RNNParams, optional
        Variables to share with other cells.
    forget_bias : float
        Initial bias of the forget gate; R. Jozefowicz et al. (ICML 2015) recommend 1.
    """

    _gate_names = GATES["lstm"]

    def __init__(self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0) -> None:
        super().__init__(num_hidden, prefix, params, init=LSTMBias(forget_bias=forget_bias))

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the hidden state and of the cell."""
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step; see ``BaseRNNCell``."""
        name = self._next_step()
        i2h, h2h = self._sums(inputs, states[0], name)
        parts = F.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
        entry, forget, new, leave = (F.Activation(part, act_type="tanh" if gate == "c" else "sigmoid", name=name + gate)
                                     for part, gate in zip(parts, "ifco", strict=True))
        cell = F._plus(forget * states[1], entry * new, name=f"{name}state")
        hidden = F._mul(leave, F.Activation(cell, act_type="tanh"), name=f"{name}out")
        return hidden, [hidden, cell]


class GRUCell(_Gated):
    """A gated recurrent unit: K. Cho et al. 2014, https://arxiv.org/abs/1406.1078, with the reset gate behind the product.

    Gates are in the order reset, update, new.

    Parameters
    ----------
    num_hidden : int
    prefix : str
    params : RNNParams, optional
        Variables to share with other cells.
    """

    _gate_names = GATES["gru"]

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step; see ``BaseRNNCell``."""
        name = self._next_step()
        i2h, h2h = self._sums(inputs, states[0], f"{name}_")
        i2h_reset, i2h_update, i2h_new = F.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice")
        h2h_reset, h2h_update, h2h_new = F.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice")
        reset = F.Activation(i2h_reset + h2h_reset, act_type="sigmoid", name=f"{name}_r_act")
        update = F.Activation(i2h_update + h2h_update, act_type="sigmoid", name=f"{name}_z_act")
        new = F.Activation(i2h_new + reset * h2h_new, act_type="tanh", name=f"{name}_h_act")
        hidden = F._plus((1.0 - update) * new, update * states[0], name=f"{name}out")
        return hidden, [hidden]
