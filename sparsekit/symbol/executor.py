"""A symbol bound to arrays: its graph runs forwards and backwards on them, again and again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import Context
from ..base.entry import entry_classes
from ..base.environment import flag
from ..base.errors import DTypeError, ParameterError, ShapeError, StorageTypeError, UnknownNameError, expected
from ..base.forking import load
from ..base.warn import warn_user
from ..core import hooks
from ..core.dispatch import wrap
from ..core.graph import CustomNode, Variable, backward, release
from ..core.partial_shapes import complete, to_user
from ..core.trace import TracingError
from ..ndarray.backward import head_gradients
from ..ndarray.creation import array as make_array
from ..ndarray.creation import zeros
from ..ndarray.functions import F
from ..ndarray.ndarray import NDArray
from .gradients import Flow, gradient_stypes
from .inference import InferredGraph, shapes_of
from .node import Entry, SymbolNode, merged, order, variables
from .program import SymbolProgram
from .shapes import from_user

if TYPE_CHECKING:
    from ..base.types import Array
    from ..core.step_program import StepProgram
    from .symbol import Symbol

__all__ = ["Executor"]


class Executor:
    """Runs a symbol on bound arrays; ``Symbol.bind`` and ``Symbol.simple_bind`` make one.

    Operators run one by one, as in ``mx.nd``.  Storage types, warnings, the ledger and profiles are therefore the same, and
    autograd computes the backward pass.  In a profile, the layer of an operator is the name of its symbol.

    Attributes
    ----------
    arg_arrays, grad_arrays, aux_arrays : list of NDArray
        Arrays in the order of ``list_arguments()`` and ``list_auxiliary_states()``.  ``grad_arrays`` has None for arguments
        without a gradient.
    outputs : list of NDArray
        Results of the last forward pass.  Before the first ``forward``, an access computes them from the current arguments.
    """

    def __init__(self, heads: Sequence[Entry], ctx: Context, args: list[Any], grads: list[Any], requests: list[str],
                 aux: list[Any], program: SymbolProgram | None = None) -> None:
        self._heads, self._ctx, self._requests = list(heads), ctx, requests
        self._arguments, self._states = variables(order(heads))
        self.arg_arrays, self.grad_arrays, self.aux_arrays = args, grads, aux
        # Only if asked for: gradients that meet are then summed in another order, and differ from autograd's in the last bits.
        self._program = program or SymbolProgram(merged(heads) if flag("MXNET_ELIMINATE_COMMON_EXPR", False) else self._heads)
        names = [node.name for node in self._arguments]
        self._arg_dict, self._grad_dict = dict(zip(names, args, strict=True)), dict(zip(names, grads, strict=True))
        self._aux_dict = {node.name: array for node, array in zip(self._states, aux, strict=True)}
        self._monitor: tuple[Callable[[str, NDArray], None], bool] | None = None
        self._results: list[NDArray] | None = None
        #: Whether the last pass may be sent back; None if that was done by a table, which keeps nothing for it.
        self._recorded: bool | None = False
        self._warned = False
        #: Of a pass that is shown to a callback: by operator, the names and the gradients of its inputs.
        self._sent: list[dict[str, Any]] = []
        self.training: Any = None  # what a module keeps of its steps
        self._order: list[int] = []  # of the outputs, among the results of the program
        self._symbol: Any = None  # set by the symbol that was bound
        self._leaves: list[tuple[NDArray, Variable | None]] = self._mark()

    def _mark(self) -> list[tuple[NDArray, Variable | None]]:
        """The arrays of the program's variables, each with its place in recorded graphs."""
        leaf_of: dict[SymbolNode, tuple[NDArray, Variable | None]] = {node: (array, None) for node, array in
                                                                      zip(self._states, self.aux_arrays, strict=True)}
        for node, array, grad, request in zip(self._arguments, self.arg_arrays, self.grad_arrays, self._requests, strict=True):
            variable = None if grad is None or request == "null" else Variable(grad, request, self._ctx)
            leaf_of[node] = (array, variable)
            hooks.assign(array, "input" if variable is None else "parameter", node.name)
            if variable is not None:
                hooks.assign(grad, "gradient", node.name)
        for node, array in zip(self._states, self.aux_arrays, strict=True):
            hooks.assign(array, "parameter", node.name)
        return [leaf_of[node] for node in self._program.variables]

    # arrays by name

    @property
    def arg_dict(self) -> dict[str, Any]:
        """Arguments by name; assign with ``arg_dict[name][:] = values``."""
        return self._named(self._arg_dict, self._arguments)

    @property
    def grad_dict(self) -> dict[str, Any]:
        """Gradients by the argument's name; None for those without."""
        return self._named(self._grad_dict, self._arguments)

    @property
    def aux_dict(self) -> dict[str, Any]:
        """Auxiliary states by name."""
        return self._named(self._aux_dict, self._states)

    @property
    def output_dict(self) -> dict[str, Any]:
        """Outputs by name."""
        names = [node.output_names()[place] for node, place in self._heads]
        if len(set(names)) < len(names):
            raise ParameterError(f"Duplicate names detected, {names}.", hint="use outputs, a list.")
        return dict(zip(names, self.outputs, strict=True))

    @staticmethod
    def _named(by_name: dict[str, Any], nodes: list[SymbolNode]) -> dict[str, Any]:
        if len(by_name) < len(nodes):
            raise ParameterError(f"Duplicate names detected, {[node.name for node in nodes]}.",
                                 hint="use the lists, or give each variable its own name.")
        return by_name

    # passes

    def forward(self, is_train: bool = False, **kwargs: NDArray | Array) -> list[NDArray]:
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
            Whether to record for a backward pass, and whether layers behave as in training.
        **kwargs : NDArray or numpy.ndarray
            New values of arguments.  A dense array fills a sparse argument, as ``[:] =`` does; a sparse array must
            have the storage type of its argument.

        Returns
        -------
        list of NDArray
            New arrays each time.

        Raises
        ------
        UnknownNameError, DTypeError, ShapeError, StorageTypeError
            If a keyword is not an argument, or its value does not fit.
        """
        for name, value in kwargs.items():
            self._feed(name, value)
        self._forget()  # what the last pass held is free before this one starts
        self._results = self._run(bool(is_train))
        self._recorded = bool(is_train)
        return self.outputs

    def _forget(self) -> None:
        if self._results is not None:
            release([array._entry[0] for array in self._results if array._entry is not None])
        self._results, self._recorded, self._sent = None, False, []

    def whole_step(self) -> StepProgram | str:
        """Forward and backward pass in training, to which updates may be added; or why there is none."""
        if any(variable is not None and variable.grad_req != "write" for _, variable in self._leaves):
            return "gradients are added up (grad_req='add')"
        state = hooks.state
        before = state.recording, state.training
        try:
            state.recording = state.training = True
            traced = self._program.whole([wrap(array._store, self._ctx, None if variable is None else (variable, 0))
                                          for array, variable in self._leaves], self._ctx)
            if traced is None:
                return "its graph is more than one program"
            tracer, results, places, self._order = traced
            if any(result.stype != "default" for result in results):
                return "it has no backward pass from dense gradients"
            leaves = [self._leaves[place] for place in places]
            program: StepProgram = load("sparsekit.core.step_program").StepProgram(
                tracer, results, [array for array, _ in leaves], [variable for _, variable in leaves], F)
        except TracingError:
            return "it has no backward pass from dense gradients"
        finally:
            state.recording, state.training = before
        if any(variable is not None and slot is None for (_, variable), slot in zip(leaves, program.gradients, strict=True)):
            return "no gradient flows to one of the arrays that have one"
        return program

    def take(self, results: Sequence[Any]) -> None:  # Any: arrays
        """Have the results of ``whole_step`` as outputs."""
        self._forget()
        self._results, self._recorded = [results[place] for place in self._order], None

    def _feed(self, name: str, value: object) -> None:
        """Give an argument new values, which must be of its shape."""
        target = self.arg_dict.get(name)
        if target is None:
            raise UnknownNameError.of("argument", name, self._arg_dict)
        if not isinstance(value, (NDArray, np.ndarray)):
            raise DTypeError(f"{name} is a {type(value).__name__}: only accept keyword argument of NDArrays and numpy.ndarray.",
                             hint="make an array with mx.nd.array(…).")
        if tuple(value.shape) != target.shape:
            raise ShapeError(f"Shape not match! Argument {name}, need: {target.shape}, received: {tuple(value.shape)}.",
                             hint="reshape() makes an executor for other shapes.")
        stype = getattr(value, "stype", "default")
        if stype not in ("default", target.stype):
            raise StorageTypeError(f"{name} is bound to a {target.stype} array, and was given a {stype} one.",
                                   hint=f"convert it with tostype({target.stype!r}), or bind a {stype} array.")
        target[:] = value if isinstance(value, NDArray) else make_array(value, self._ctx, value.dtype)

    def _run(self, is_train: bool, recording: bool | None = None) -> list[NDArray]:
        recording = is_train if recording is None else recording
        arrays = [wrap(array._store, self._ctx, (variable, 0) if recording and variable is not None else None)
                  for array, variable in self._leaves]
        state = hooks.state
        before = state.recording, state.training
        try:
            state.recording, state.training = recording, is_train
            return self._program.run(arrays, self._ctx, None if self._monitor is None else self._show)
        finally:
            state.recording, state.training = before

    @property
    def outputs(self) -> list[NDArray]:
        """Results of the last forward pass; before the first one, a pass without training is run now."""
        results = self._results if self._results is not None else self._run(False)
        leaves = {id(array._store) for array, _ in self._leaves}
        return [array.copy() if id(array._store) in leaves else wrap(array._store, self._ctx)
                for array in (result.detach() for result in results)]

    def backward(self, out_grads: object = None, is_train: bool = True) -> None:
        """Send gradients from the outputs to the gradient arrays.

        Parameters
        ----------
        out_grads : NDArray, list or dict of NDArray, optional
            Gradient at each output; ones by default.  Output layers such as ``SoftmaxOutput`` ignore it.  As in MXNet, a
            list may be longer than that of the outputs.
        is_train : bool
            Whether layers behave as in training.

        Raises
        ------
        GradientError
            If no output leads to a gradient array.

        Notes
        -----
        Without a forward pass, one is made first.  ``forward(is_train=False)`` records nothing, so ``backward`` then repeats
        the forward pass, with layers as in prediction.  A warning says so once for each executor.
        """
        if self._results is None or self._recorded is None:
            self._results, self._recorded = self._run(True), True
        if not self._recorded:
            if not self._warned:
                self._warned = True
                warn_user("backward() after forward(is_train=False): the forward pass is made again, with layers as in "
                              "prediction; forward(is_train=True) avoids it.")
            self._results, self._recorded = self._run(False, recording=True), True
        pairs = list(zip(self._results, self._head_gradients(out_grads), strict=True))
        heads = [(head, gradient) for head, gradient in pairs if head._entry is not None]
        entries, gradients = head_gradients([head for head, _ in heads], [gradient for _, gradient in heads])
        marked = [variable for _, variable in self._leaves if variable is not None]
        for variable in marked:
            variable.fresh = False
        state = hooks.state
        before = state.recording, state.training
        try:
            state.recording, state.training = False, bool(is_train)
            backward(entries, gradients, F, wrap, True)
        finally:
            state.recording, state.training = before
        for variable in marked:
            if not variable.fresh and variable.grad_req == "write":
                _clear(variable.grad)
        if self._monitor is not None:
            for sent in reversed(self._sent):
                for name, gradient in sent.items():
                    self._tell(name, gradient)

    def _head_gradients(self, out_grads: object) -> list[Any]:
        names = [node.output_names()[place] for node, place in self._heads]
        if out_grads is None:
            return [None] * len(names)
        if isinstance(out_grads, dict):
            unknown = [name for name in out_grads if name not in names]
            if unknown:
                raise UnknownNameError.of("output", unknown[0], names)
            return [out_grads.get(name) for name in names]
        gradients = list(out_grads) if isinstance(out_grads, (list, tuple)) else [out_grads]
        for gradient in gradients:
            if gradient is not None and not isinstance(gradient, NDArray):
                raise DTypeError(f"out_grads has a {type(gradient).__name__}; inputs must be NDArray.",
                                 hint="make one with mx.nd.array(…).")
        if len(gradients) < len(names):
            raise ShapeError(f"{len(gradients)} head gradients were given for {len(names)} outputs.",
                             hint=f"they are {', '.join(names)}.")
        return gradients[:len(names)]

    # other methods

    def set_monitor_callback(self, callback: object, monitor_all: bool = False) -> None:
        """Show a function every array that operators compute, which then run one by one.

        Parameters
        ----------
        callback : function or None
            ``callback(name, array)`` is called with names such as ``fc1_output``, and after a backward pass with the gradients
            that operators sent to their inputs, such as ``fc1_backward_output0``.  None removes the callback.
        monitor_all : bool
            Also call it with the inputs, under names such as ``fc1_data``.

        Notes
        -----
        An input that has no gradient, such as a label, has one of zeros; it is not shown if it is sparse.  A parameter that
        several operators read has one gradient, the sum.
        """
        if callback is not None and not callable(callback):
            raise DTypeError(expected("callback", "a function", type(callback)), hint="callback(name, array)")
        self._monitor = None if callback is None else (callback, bool(monitor_all))

    def _show(self, node: SymbolNode, call: Callable[[Sequence[NDArray]], list[NDArray]], inputs: Sequence[NDArray]
              ) -> list[NDArray]:
        """Call an operator, and show its arrays."""
        if hooks.state.recording:
            self._sent.append({})
            inputs = [self._apart(node, place, array) for place, array in enumerate(inputs)]
        outputs = call(inputs)
        if self._monitor is not None and self._monitor[1]:
            for name, (source, _), array in zip(node.input_names(), node.inputs, inputs, strict=False):
                if source.call is None:
                    self._tell(source.name, array)
                self._tell(f"{node.name}_{name}", array)
        for name, array in zip(node.output_names(), outputs, strict=False):  # those behind them are the operator's own
            self._tell(name, array)
        return outputs

    def _apart(self, node: SymbolNode, place: int, array: NDArray) -> NDArray:
        """An input of an operator, of which the gradient is noted that this operator sends."""
        source, sent = node.inputs[place][0], self._sent[-1]
        name = f"{node.name}_backward_output{place if len(node.inputs) > 1 else ''}"
        entry = array._entry
        if entry is not None and entry[0].grad is not None:
            sent[name] = entry[0].grad
        if sent.get(name) is not None or source in self._states or array.stype != "default":
            return array

        def note(gradients: list[NDArray]) -> list[NDArray]:
            sent[name] = gradients[0]
            return gradients

        sent[name] = wrap(array._store.copy(), self._ctx)
        sent[name]._store[...] = 0
        return wrap(array._store, self._ctx, (CustomNode(note, (entry,), 1, self._ctx), 0))

    def _tell(self, name: str, array: NDArray) -> None:
        """Show one array."""
        state = hooks.state
        recording = state.recording
        try:
            state.recording = False
            if self._monitor is not None:
                self._monitor[0](name, wrap(array._store, self._ctx))
        finally:
            state.recording = recording

    def copy_params_from(self, arg_params: dict[str, Any], aux_params: dict[str, Any] | None = None,
                         allow_extra_params: bool = False) -> None:
        """Give arguments and auxiliary states new values.

        Parameters
        ----------
        arg_params, aux_params : dict of NDArray
        allow_extra_params : bool
            Ignore names that the symbol does not have.

        Raises
        ------
        UnknownNameError
            If the symbol does not have a name; then nothing is copied.
        ShapeError
            If a shape differs; then nothing is copied.
        """
        pairs = []
        for params, held, group in ((arg_params, self.arg_dict, "arguments"),
                                    (aux_params or {}, self.aux_dict, "auxiliary states")):
            for name, array in params.items():
                if name in held:
                    if array.shape != held[name].shape:
                        raise ShapeError(f"{name} has shape {array.shape}, and is bound with {held[name].shape}.",
                                         hint="the parameters belong to a network of other sizes.")
                    pairs.append((held[name], array))
                elif not allow_extra_params:
                    raise UnknownNameError(f'Find name "{name}" that is not in the {group}.',
                                           hint="allow_extra_params=True ignores it.")
        for target, array in pairs:
            array.as_in_context(self._ctx).astype(target.dtype, copy=False).copyto(target)

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: object) -> Executor:
        """An executor for other shapes, which shares the arrays whose shapes stay, and the memory of dense ones that do not grow.

        Parameters
        ----------
        partial_shaping : bool
            Allow arguments that are not named to change their shape.
        allow_up_sizing : bool
            Allow arrays to grow.
        **kwargs : tuple of int
            New shapes of arguments.

        Raises
        ------
        ShapeError
            If an argument would change its shape without ``partial_shaping``, or grow without ``allow_up_sizing``.
        """
        nodes = {node.name: node for node in (*self._arguments, *self._states)}
        for name in kwargs:
            if name not in nodes:
                raise UnknownNameError.of("argument", name, nodes)
        shapes = shapes_of(self._heads, {nodes[name]: from_user(shape, name) for name, shape in kwargs.items()})
        args, grads = [], []
        for node, array, grad in zip(self._arguments, self.arg_arrays, self.grad_arrays, strict=True):
            shape = shapes.get((node, 0))
            wanted = array.shape if shape is None and not partial_shaping else to_user(shape)
            if not complete(shape) and wanted != array.shape:
                raise ShapeError(f"The new shape of {node.name} cannot be decided; {wanted} is known.", hint="name it.")
            _check_change(node.name, array, wanted, node.name in kwargs or partial_shaping, allow_up_sizing)
            args.append(_resized(array, wanted))
            grads.append(None if grad is None else _resized(grad, wanted))
        aux = [_resized(array, to_user(shapes[node, 0]) if complete(shapes.get((node, 0))) else array.shape)
               for node, array in zip(self._states, self.aux_arrays, strict=True)]
        executor = Executor(self._heads, self._ctx, args, grads, self._requests, aux, self._program)
        executor._symbol = self._symbol
        return executor

    def graph(self) -> Any:
        """A picture of the graph with the arrays that are bound: their storage types, shapes and bytes, and what becomes dense.

        Returns
        -------
        figures.kit.Figure
            The display that ``Symbol.graph`` returns, with the exact current bytes of the bound arrays.
        """
        from .inspection import figure

        arrays = zip((*self._arguments, *self._states), (*self.arg_arrays, *self.aux_arrays), strict=True)
        gradients = {node: grad.stype for node, grad, request in
                     zip(self._arguments, self.grad_arrays, self._requests, strict=True) if request != "null"}
        return figure(self._heads, dict(arrays), gradients=gradients)

    def debug_str(self) -> str:
        """The steps of the graph: each operator, where its inputs come from, and what it gives."""
        lines = [f"Variable:{node.name} {array.stype} {array.shape}" for node, (array, _) in
                 zip(self._program.variables, self._leaves, strict=True)]
        for node in self._program.operators:
            inputs = ", ".join(f"{name}={source.name}({place})" for name, (source, place) in
                               zip(node.input_names(), node.inputs, strict=False))
            call: Any = node.call
            lines.append(f"Op:{call.op.name}, Name={node.name}, Inputs: {inputs}")
        total = sum(array.nbytes for array in (*self.arg_arrays, *self.grad_arrays, *self.aux_arrays) if array is not None)
        return "\n".join([*lines, f"Total {total:,} bytes bound", f"Total {self._kept_bytes() >> 20} MB allocated",
                          "Total 0 TempSpace resource requested", ""])

    def _kept_bytes(self) -> int:
        """The bytes of results that a pass in training leaves: the outputs, and what its backward pass reads."""
        heads = self._program.heads
        facts = InferredGraph(heads, *[{node: getattr(array, attribute) for node, (array, _) in
                                        zip(self._program.variables, self._leaves, strict=True)}
                                       for attribute in ("shape", "dtype", "stype")])
        flows: list[Flow] = []
        marked = {node for node, (_, variable) in zip(self._program.variables, self._leaves, strict=True) if variable is not None}
        specs = facts.specs()
        gradient_stypes(heads, specs, wanted=marked, refused={}, flows=flows)
        kept, open_nodes = set(heads), {node for node, _ in heads}
        for node, gradients in flows:  # from the heads on
            call: Any = node.call
            if node in open_nodes and any(gradients) and call.op.name != "BlockGrad":
                open_nodes.update(source for source, _ in node.inputs)
                kept.update(node.inputs if call.op.saves_inputs else ())
                kept.update((node, place) for place in range(call.outputs) if call.op.saves_outputs)
        return sum(math.prod(specs[entry].shape) * specs[entry].dtype.itemsize for entry in kept if entry[0].call is not None)

    def get_optimized_symbol(self) -> Symbol:
        """The symbol that runs: the one that was bound.

        With ``MXNET_ELIMINATE_COMMON_EXPR=1`` in the environment, operators that compute the same from the same inputs are one.
        """
        kind: type[Symbol] = type(self._symbol)
        return kind(self._program.heads)

    def __repr__(self) -> str:
        names = ", ".join(node.output_names()[place] for node, place in self._heads)
        return f"<Executor of {names} @{self._ctx}>"


def _clear(grad: NDArray) -> None:
    """Set a gradient that nothing reached to zero; a sparse one then stores nothing."""
    grad._receive(zeros(grad.shape, grad.context, grad.dtype, grad.stype))


def _check_change(name: str, array: NDArray, shape: tuple[int, ...], named: bool, grow: bool) -> None:
    if shape == array.shape:
        return
    if not named:
        raise ShapeError(f"Shape of unspecified argument {name} would change from {array.shape} to {shape}.",
                         hint="the new executor would not share it; partial_shaping=True allows that.")
    if not grow and int(np.prod(shape)) > array.size:
        raise ShapeError(f"The new shape {shape} of {name} is larger than {array.shape}.",
                         hint="make a big executor first and size it down, or set allow_up_sizing=True.")


def _resized(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    """The array itself if the shape stays, its first elements if a dense one does not grow, else zeros."""
    if shape == array.shape:
        return array
    size = math.prod(shape)
    if array.stype == "default" and 0 < size <= array.size:
        return array.reshape((-1,))[:size].reshape(shape)
    return zeros(shape, array.context, array.dtype, array.stype)


entry_classes(Executor)
