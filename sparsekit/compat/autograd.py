"""``mx.contrib.autograd``, the interface of 2017 to automatic differentiation; ``mx.autograd`` is its successor."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import autograd
from ..autograd import mark_variables
from ..base.entry import entries
from ..base.errors import DTypeError, expected
from ..ndarray import NDArray, zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["TrainingStateScope", "backward", "compute_gradient", "grad", "grad_and_loss", "mark_variables", "set_is_training",
           "test_section", "train_section"]


def set_is_training(is_train: bool) -> bool:
    """Record and behave as in training, or do neither; returns whether operators were recorded before.

    Parameters
    ----------
    is_train : bool
    """
    autograd.set_training(is_train)
    return autograd.set_recording(is_train)


class TrainingStateScope(autograd._Switch):
    """A scope for ``with`` in which ``set_is_training`` has this value.

    Parameters
    ----------
    enter_state : bool
    """

    __slots__ = ()

    def __init__(self, enter_state: bool) -> None:
        super().__init__(enter_state, enter_state)


def train_section() -> TrainingStateScope:
    """A scope for ``with`` that records operators, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A scope for ``with`` that does not record operators, in prediction mode."""
    return TrainingStateScope(False)


def backward(outputs: Sequence[NDArray], out_grads: Sequence[NDArray | None] | None = None, retain_graph: bool = False) -> None:
    """Compute the gradients of arrays with respect to the variables they were computed from; see ``mx.autograd.backward``.

    Parameters
    ----------
    outputs : list of NDArray
    out_grads : list of NDArray or None, optional
        The gradient of each output; None for ones.
    retain_graph : bool
        Keep what is needed for a further backward pass.
    """
    if not isinstance(outputs, (list, tuple)):
        raise DTypeError(expected("outputs", "a list of NDArrays", type(outputs)), hint="backward([loss]).")
    autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Compute the gradients of a list of arrays.  Deprecated: use ``backward``."""
    backward(outputs)


def _differentiable(argument: object) -> NDArray:
    if not isinstance(argument, NDArray):
        raise DTypeError(expected("An argument to differentiate by", "an NDArray", type(argument)),
                         hint="argnum= gives the positions of those that are.")
    return argument


# Any: functions of whatever arguments
def grad_and_loss(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """Give a function that computes the gradients of another one, and its result.

    Parameters
    ----------
    func : callable
        Function of NDArrays that returns an NDArray, or a list of them.
    argnum : int or list of int, optional
        Positions of the arguments to differentiate by; all by default.

    Returns
    -------
    callable
        It returns a list of gradients and the result of ``func``.
    """

    @functools.wraps(func)
    def wrapped(*args: object) -> tuple[list[NDArray], Any]:
        places = range(len(args)) if argnum is None else argnum if isinstance(argnum, list) else [argnum]
        variables = [_differentiable(args[place]) for place in places]
        gradients = [zeros_like(variable) for variable in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """Give a function that computes the gradients of another one; see ``grad_and_loss``."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args: object) -> list[NDArray]:
        gradients: list[NDArray] = both(*args)[0]
        return gradients

    return wrapped


entries(globals(), ["backward", "compute_gradient", "set_is_training"])
