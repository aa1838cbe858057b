"""Automatic differentiation: recording operators, and backward passes over what was recorded (``mx.autograd``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base.errors import GradientError
from .base.lazy import add_lazy_names
from .base.scoped import Scoped
from .core import hooks
from .core.arrays import require_arrays
from .core.dispatch import wrap
from .core.graph import CustomNode
from .core.graph import backward as _backward
from .ndarray.backward import head_gradients, run_backward
from .ndarray.functions import F
from .ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = [
    "Function", "NDArray", "backward", "get_symbol", "grad", "is_recording", "is_training", "mark_variables", "pause",
    "predict_mode", "record", "set_recording", "set_training", "train_mode",
]


if TYPE_CHECKING:
    from .compat.recorded import get_symbol as get_symbol

add_lazy_names(globals())


class _Switch(Scoped):
    """Sets recording and training mode for a ``with`` block; None leaves a mode unchanged."""

    __slots__ = ("_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording, self._training = recording, training

    def _before(self) -> tuple[bool, bool]:
        return hooks.state.recording, hooks.state.training

    def _enter(self, before: tuple[bool, ...]) -> None:
        state = hooks.state
        if self._recording is not None:
            state.recording = self._recording
        if self._training is not None:
            state.training = self._training

    def _leave(self, before: tuple[bool, bool], kind: type[BaseException] | None) -> None:
        hooks.state.recording, hooks.state.training = before


_RECORDING = _Switch(True, True)


def record(train_mode: bool = True) -> _Switch:
    """Return a scope for ``with`` that records operators for a backward pass, by default in training mode."""
    return _RECORDING if train_mode is True else _Switch(True, train_mode)


def pause(train_mode: bool = False) -> _Switch:
    """Return a scope for ``with`` that stops recording, by default in prediction mode."""
    return _Switch(False, train_mode)


def train_mode() -> _Switch:
    """Return a scope for ``with`` in which layers such as Dropout behave as in training."""
    return _Switch(None, True)


def predict_mode() -> _Switch:
    """Return a scope for ``with`` in which layers such as Dropout behave as in prediction."""
    return _Switch(None, False)


def is_recording() -> bool:
    """Return whether operators are being recorded."""
    return hooks.state.recording


def is_training() -> bool:
    """Return whether layers behave as in training."""
    return hooks.state.training


def set_recording(is_record: bool) -> bool:
    """Turn recording on or off, and return the previous setting."""
    before, hooks.state.recording = hooks.state.recording, bool(is_record)
    return before


def set_training(train: bool) -> bool:
    """Turn training mode on or off, and return the previous setting."""
    before, hooks.state.training = hooks.state.training, bool(train)
    return before


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def mark_variables(variables: Sequence[NDArray], gradients: list[Any] | Sequence[Any], grad_reqs: str = "write") -> None:
    """Make each array a variable of the graph whose gradient is written to the given array.

    Parameters
    ----------
    variables : NDArray or list of NDArray
    gradients : NDArray or list of NDArray
        One buffer for each variable, of its shape.
    grad_reqs : {"write", "add", "null"} or list of them
        Whether a backward pass overwrites the buffer, adds to it, or does not change it.

    Raises
    ------
    GradientError
        If the lists differ in length.
    ShapeError
        If a buffer and its variable differ in shape.
    """
    variables, gradients = _list(variables), _list(gradients)
    require_arrays(variables, "A variable")
    require_arrays(gradients, "A gradient buffer")
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise GradientError(f"mark_variables got {len(variables)} variables, {len(gradients)} gradients and "
                            f"{len(requests)} requests.", hint="pass one gradient and one request for each variable.")
    for variable, gradient, request in zip(variables, gradients, requests, strict=True):
        variable._mark(gradient, request)


def backward(heads: object, head_grads: object = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute the gradients of one or several arrays with respect to the variables they were computed from.

    Parameters
    ----------
    heads : NDArray or list of NDArray
    head_grads : NDArray or list, optional
        Gradient at each head, of its shape; ones by default.
    retain_graph : bool
        Keep the graph for another backward pass.
    train_mode : bool
        Whether layers such as Dropout behave as in training during the backward pass.

    Raises
    ------
    GradientError
        If a head was not computed while recording.
    """
    run_backward(_list(heads), None if head_grads is None else _list(head_grads), retain_graph, train_mode)


def grad(heads: Sequence[NDArray] | NDArray, variables: NDArray | Sequence[Any],
         head_grads: NDArray | Sequence[Any] | None = None, retain_graph: bool | None = None, create_graph: bool = False,
         train_mode: bool = True) -> list[NDArray]:
    """Return the gradients of ``heads`` with respect to ``variables`` as new arrays; gradient buffers stay unchanged.

    Parameters
    ----------
    heads : NDArray or list of NDArray
    variables : NDArray or list of NDArray
        Arrays with ``attach_grad``, or computed while recording.
    head_grads : NDArray or list, optional
        Gradient at each head, of its shape; ones by default.
    retain_graph : bool, optional
        Keep the graph for another backward pass; by default the value of ``create_graph``.
    create_graph : bool
        Record the backward pass too, for gradients of gradients.  Those of a linear function are zeros.
    train_mode : bool
        Whether layers such as Dropout behave as in training during the backward pass.

    Returns
    -------
    list of NDArray
        One gradient for each variable; also a list for a single variable, as in MXNet.

    Raises
    ------
    GradientError
        If a variable was not recorded, or the heads do not depend on it.
    """
    entries, seeds = head_gradients(_list(heads), None if head_grads is None else _list(head_grads))
    wanted: list[Any] = []
    require_arrays(_list(variables), "A variable")
    for variable in _list(variables):
        if variable._entry is None:
            raise GradientError("grad() was asked for the gradient of an array that was not recorded.",
                                hint="call attach_grad() on it before recording.")
        wanted.append(variable._entry)
    with _Switch(create_graph, train_mode):
        by_entry: dict[Any, Any] = _backward(entries, seeds, F, wrap, create_graph if retain_graph is None else retain_graph,
                                             wanted)
    missing = [place for place, entry in enumerate(wanted) if by_entry.get(entry) is None]
    if missing:
        raise GradientError(f"The heads do not depend on variable {missing[0]}.", hint="leave it out, or use it.")
    gradients = [by_entry[entry] for entry in wanted]
    if not create_graph or hooks.state.tracing:
        return gradients
    return [_recorded(gradient, variable) for gradient, variable in zip(gradients, _list(variables), strict=True)]


def _recorded(gradient: NDArray, variable: NDArray) -> NDArray:
    """The gradient as a recorded array: that of a linear function depends on no variable, and has gradients of zeros."""
    if gradient._entry is not None:
        return gradient
    node = CustomNode(lambda gradients: [F.zeros_like(variable.detach())], (variable._entry,), 1, gradient._ctx)
    array: NDArray = wrap(gradient._store, gradient._ctx, (node, 0))
    return array


class Function:
    """A function with a user-defined gradient: override ``forward`` and ``backward``.

    Examples
    --------
    >>> class Double(mx.autograd.Function):
    ...     def forward(self, x):
    ...         return x * 2
    ...     def backward(self, dy):
    ...         return dy * 2
    """

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()

    def save_for_backward(self, *arrays: NDArray) -> None:
        """Keep arrays for the backward pass, as ``saved_tensors``."""
        self._saved = arrays

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The arrays that ``save_for_backward`` kept."""
        return self._saved

    def forward(self, *inputs: NDArray) -> Any:
        """Compute the outputs; to be overridden."""
        raise GradientError(f"{type(self).__name__} has no forward().", hint="override it.")

    def backward(self, *output_grads: NDArray) -> Any:
        """Compute the gradients of the inputs; to be overridden."""
        raise GradientError(f"{type(self).__name__} has no backward().", hint="override it.")

    def __call__(self, *inputs: NDArray) -> Any:
        """Apply the function, and record it if one of its inputs is recorded."""
        if hooks.state.tracing:
            from .core.trace import RunsInPython, refuse  # needs the array classes, and is not needed before a block is traced

            raise refuse(f"{type(self).__name__}, an autograd.Function, runs Python at every call.", kind=RunsInPython)
        recording = hooks.state.recording
        require_arrays(inputs, f"An input of {type(self).__name__}")
        with _Switch(False, None):
            result = self.forward(*inputs)
        outputs = _list(result)
        require_arrays(outputs, f"A result of forward() of {type(self).__name__}")
        entries = tuple(array._entry for array in inputs)
        if recording and any(entry is not None for entry in entries):
            node = CustomNode(self._gradients(inputs, outputs), entries, len(outputs), inputs[0]._ctx)
            outputs = [wrap(array._store, array._ctx, (node, place)) for place, array in enumerate(outputs)]
        return outputs if isinstance(result, (list, tuple)) else outputs[0]

    def _gradients(self, inputs: tuple[NDArray, ...], outputs: list[NDArray]) -> Callable[[list[Any]], list[Any]]:
        shapes = [array.shape for array in inputs]
        likes = [output.detach() for output in outputs]

        def run(gradients: list[Any]) -> list[Any]:
            gradients = [F.zeros_like(like) if gradient is None else gradient
                         for gradient, like in zip(gradients, likes, strict=True)]
            return check_gradients(type(self).__name__, _list(self.backward(*gradients)), shapes)

        return run


def check_gradients(name: str, gradients: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
    """Return the gradients of a user-defined function, checked: None or an array of the input's shape for each input.

    Raises
    ------
    GradientError
        If their number, a type or a shape is wrong.
    """
    if len(gradients) != len(shapes):
        raise GradientError(f"backward() of {name} returned {len(gradients)} gradients for {len(shapes)} inputs.",
                            hint="return one for each input, None for an input without a gradient.")
    for place, (gradient, shape) in enumerate(zip(gradients, shapes, strict=True)):
        if gradient is not None and (not hasattr(gradient, "_store") or gradient.shape != shape):
            description = gradient.shape if hasattr(gradient, "_store") else f"a {type(gradient).__name__}"
            raise GradientError(f"backward() of {name} returned {description} as the gradient of input {place} of shape {shape}.",
                                hint="a gradient is an NDArray with the shape of its input.")
    return gradients


