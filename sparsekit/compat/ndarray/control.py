"""Loops and branches over arrays: ``mx.nd.contrib.foreach``, ``while_loop`` and ``cond``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.arguments import strict
from ...base.errors import ShapeError
from ...core import hooks
from ...ndarray.creation import zeros
from ...ndarray.functions import F
from ...ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence


def _list(value: list[Any] | Sequence[NDArray] | NDArray | tuple[Any, ...]) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def joined(steps: list[list[Any]], length: int) -> list[Any]:
    """Stack the outputs of each step along a new first axis, and pad them with zeros to ``length``."""
    outputs = []
    for items in zip(*steps, strict=True):
        rows = [F.expand_dims(item, axis=0) for item in items]
        if len(rows) < length:
            rows.append(zeros((length - len(rows), *items[0].shape), items[0].context, items[0].dtype))
        outputs.append(F.concat(*rows, dim=0))
    return outputs


def _single(outputs: list[Any], single: bool) -> list[NDArray] | NDArray:
    return outputs[0] if single and outputs else outputs


@strict
def foreach(body: Callable[..., Any], data: list[Any] | NDArray | tuple[Any, ...],
            init_states: Sequence[NDArray] | NDArray, name: str = "foreach") -> tuple[Any, Any]:
    """Call ``body`` for each entry along the first axis, and pass the states from each step to the next.

    Parameters
    ----------
    body : callable
        ``body(item, states)`` returns outputs and the next states.
    data : NDArray or list of NDArray
        Arrays of the same length along the first axis, at least 1.
    init_states : NDArray or list of NDArray
        States of the first step.
    name : str
        Without effect here; the function for symbols has it too.

    Returns
    -------
    outputs : NDArray or list
        Outputs of all steps, stacked along a new first axis.
    states : NDArray or list
        States after the last step.
    """
    arrays, states, single = _list(data), init_states, True
    steps: list[list[Any]] = []
    lengths = {len(item) for item in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ShapeError(f"foreach requires arrays of one length of at least 1, got lengths {sorted(lengths)}.",
                         hint="slice the arrays to the same length.")
    for place in range(lengths.pop()):
        items = [item[place] for item in arrays]
        outputs, states = body(items if isinstance(data, (list, tuple)) else items[0], states)
        single = not isinstance(outputs, (list, tuple))
        steps.append(_list(outputs))
    return _single(joined(steps, len(steps)), single), states


@strict
def while_loop(cond: Callable[..., Any], func: Callable[..., Any],
               loop_vars: list[Any] | Sequence[NDArray] | NDArray | tuple[Any, ...],
               max_iterations: int | None = None, name: str = "while_loop") -> tuple[Any, ...]:
    """Call ``func`` while ``cond`` is true, at most ``max_iterations`` times.

    Parameters
    ----------
    cond, func : callable
        ``cond(*loop_vars)`` returns a scalar.  ``func(*loop_vars)`` returns outputs and the next loop variables.
    loop_vars : NDArray or list of NDArray
        Variables of the first step.
    max_iterations : int
        Maximum number of steps; outputs are padded with zeros to this length.
    name : str
        Without effect here; the function for symbols has it too.

    Returns
    -------
    outputs : NDArray or list
    loop_vars : NDArray or list
    """
    if max_iterations is None:
        raise ShapeError("while_loop requires max_iterations.", hint="pass the maximum number of steps.")
    single, variables, single_output = not isinstance(loop_vars, (list, tuple)), _list(loop_vars), True
    steps: list[list[Any]] = []
    while len(steps) < max_iterations and _holds(cond(*variables)):
        outputs, following = func(*variables)
        single_output = outputs is not None and not isinstance(outputs, (list, tuple))
        steps.append([] if outputs is None else _list(outputs))
        variables = _list(following) if following is not None else variables
    return _single(joined(steps, max_iterations), single_output), variables[0] if single else variables


@strict
def cond(pred: NDArray, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> NDArray:
    """Return ``then_func()`` if the array ``pred`` of one element is nonzero, else ``else_func()``.

    ``name`` has no effect here; the function for symbols has it too.
    """
    return then_func() if _holds(pred) else else_func()


def _holds(condition: NDArray) -> bool:
    """Whether a condition is true.  A traced condition has no value, so its block cannot be hybridized."""
    if isinstance(condition, NDArray) and hooks.state.tracing:
        from ...core.trace import ControlFlow, refuse  # imports the array classes; only tracing needs it

        raise refuse(kind=ControlFlow)
    return bool(condition)
