"""Functions of ``mx.nd.contrib`` that are not operators: loops and branches over arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.arguments import strict
from ..base.errors import ShapeError
from ..core import hooks
from .creation import array, zeros
from .functions import F
from .ndarray import NDArray
from .random import rand_zipfian

if TYPE_CHECKING:
    from collections.abc import Sequence



__all__ = ["cond", "foreach", "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update",
           "multi_mp_lamb_update", "rand_zipfian", "while_loop"]


def _list(value: list[Any] | Sequence[NDArray] | NDArray | tuple[Any, ...]) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def joined(steps: list[list[Any]], length: int) -> list[Any]:
    """What each step gave, put together along a new first axis, filled up with zeros to ``length``."""
    made = []
    for items in zip(*steps, strict=True):
        rows = [F.expand_dims(item, axis=0) for item in items]
        if len(rows) < length:
            rows.append(zeros((length - len(rows), *items[0].shape), items[0].context, items[0].dtype))
        made.append(F.concat(*rows, dim=0))
    return made


def _single(made: list[Any], single: bool) -> list[NDArray] | NDArray:
    return made[0] if single and made else made


@strict
def foreach(body: Callable[..., Any], data: list[Any] | NDArray | tuple[Any, ...],
            init_states: Sequence[NDArray] | NDArray) -> tuple[Any, Any]:
    """Run ``body`` over the first axis, carrying states from step to step.

    Parameters
    ----------
    body : callable
        ``body(item, states)`` gives outputs and the next states.
    data : NDArray or list of NDArray
        Their first axis is run over.
    init_states : NDArray or list of NDArray

    Returns
    -------
    outputs : NDArray or list
        The outputs of all steps along a new first axis.
    states : NDArray or list
        The last states.
    """
    arrays, states, single = _list(data), init_states, True
    steps: list[list[Any]] = []
    lengths = {len(item) for item in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ShapeError(f"foreach was given arrays of lengths {sorted(lengths)}.", hint="they need one length above 0.")
    for place in range(lengths.pop()):
        items = [item[place] for item in arrays]
        outputs, states = body(items if isinstance(data, (list, tuple)) else items[0], states)
        single = not isinstance(outputs, (list, tuple))
        steps.append(_list(outputs))
    return _single(joined(steps, len(steps)), single), states


@strict
def while_loop(cond: Callable[..., Any], func: Callable[..., Any],
               loop_vars: list[Any] | Sequence[NDArray] | NDArray | tuple[Any, ...],
               max_iterations: int | None = None) -> tuple[Any, ...]:
    """Run ``func`` while ``cond`` holds, at most ``max_iterations`` times.

    Parameters
    ----------
    cond, func : callable
        Take the loop variables; ``func`` gives outputs and the next loop variables.
    max_iterations : int
        Outputs are filled up to this length with zeros.

    Returns
    -------
    outputs : NDArray or list
    loop_vars : list
    """
    if max_iterations is None:
        raise ShapeError("while_loop needs max_iterations.", hint="it is the length of the outputs.")
    single, variables, one = not isinstance(loop_vars, (list, tuple)), _list(loop_vars), True
    steps: list[list[Any]] = []
    while len(steps) < max_iterations and _holds(cond(*variables)):
        outputs, following = func(*variables)
        one = outputs is not None and not isinstance(outputs, (list, tuple))
        steps.append([] if outputs is None else _list(outputs))
        variables = _list(following) if following is not None else variables
    return _single(joined(steps, max_iterations), one), variables[0] if single else variables


@strict
def cond(pred: NDArray, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> NDArray:
    """``then_func()`` if the array ``pred`` is nonzero, else ``else_func()``."""
    return then_func() if _holds(pred) else else_func()


def _holds(condition: NDArray) -> bool:
    """Whether a condition holds; a traced one has no value, so its block runs unhybridized."""
    if isinstance(condition, NDArray) and hooks.state.tracing:
        from ..core.trace import ControlFlow, refuse  # needs the array classes, and is not needed before a block is traced

        raise refuse(kind=ControlFlow)
    return bool(condition)


def _interleaved(*lists: Sequence[NDArray]) -> list[Any]:
    """The arrays of the first weight, then those of the second …"""
    if len({len(arrays) for arrays in lists}) != 1:
        raise ShapeError(f"lists of {', '.join(str(len(arrays)) for arrays in lists)} arrays do not fit.",
                         hint="give lists of equal length.")
    return [each for together in zip(*lists, strict=True) for each in together]


def _factor(rescale_grad: float | Sequence[NDArray] | NDArray, like: NDArray) -> NDArray:
    return rescale_grad if isinstance(rescale_grad, NDArray) else array([rescale_grad], like.context)


@strict
def multi_adamw_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                       rescale_grad: float | Sequence[NDArray] | NDArray, lrs: Sequence[Any], wds: Sequence[Any],
                       etas: Sequence[Any], out: Sequence[NDArray] | None = None, name: str | None = None, size: int = 0,
                       **attrs: object) -> list[NDArray]:
    """``adamw_update`` of a list of weights in one call.

    Parameters
    ----------
    weights, grads, mean, var : list of NDArray
        ``mean`` and ``var`` are written, the weights if they are ``out``.
    rescale_grad : NDArray or float
        Factor of the gradients; nothing changes where it is zero, infinite or nan.
    lrs, wds, etas : list of float
        Learning rate, weight decay and factor of the step of each weight.
    size : int
        Their number; that of the list by default.
    **attrs
        ``beta1``, ``beta2``, ``epsilon``, ``clip_gradient``.
    """
    return F._multi_adamw_update(*_interleaved(weights, grads, mean, var), _factor(rescale_grad, weights[0]), out=out, lrs=lrs,
                                 wds=wds, etas=etas, num_weights=size or len(weights), **attrs)


@strict
def multi_mp_adamw_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                          weights32: Sequence[NDArray], rescale_grad: float | Sequence[NDArray], lrs: Sequence[Any],
                          wds: Sequence[Any], etas: Sequence[Any], out: Sequence[NDArray] | None = None, name: str | None = None,
                          size: int = 0, **attrs: object) -> list[NDArray]:
    """``multi_adamw_update`` of float16 weights by their float32 copies ``weights32``, which are written."""
    arrays = _interleaved(weights, grads, mean, var, weights32)
    return F._multi_mp_adamw_update(*arrays, _factor(rescale_grad, weights[0]), out=out, lrs=lrs, wds=wds, etas=etas,
                                    num_weights=size or len(weights), **attrs)


@strict
def multi_lamb_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                      step_count: Sequence[Any], lrs: Sequence[Any], wds: Sequence[Any], out: Sequence[NDArray] | None = None,
                      num_tensors: int = 0, **attrs: object) -> list[NDArray]:
    """Both phases of LAMB of a list of weights in one call.

    Parameters
    ----------
    weights, grads, mean, var : list of NDArray
        ``mean`` and ``var`` are written, the weights if they are ``out``.
    step_count : list of int
        Which step of each weight this is, from 1.
    lrs, wds : list of float
        Learning rate and weight decay of each weight.
    num_tensors : int
        Number of weights; that of the list by default.
    **attrs
        ``beta1``, ``beta2``, ``epsilon``, ``rescale_grad``, ``clip_gradient``, ``bias_correction``, and ``lower_bound`` and
        ``upper_bound`` of a weight's norm.
    """
    return F._multi_lamb_update(*_interleaved(weights, grads, mean, var), out=out, learning_rates=lrs, wds=wds,
                                step_count=step_count, num_tensors=num_tensors or len(weights), **attrs)


@strict
def multi_mp_lamb_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                         weights32: Sequence[NDArray], step_count: Sequence[Any], lrs: Sequence[Any], wds: Sequence[Any],
                         out: Sequence[NDArray] | None = None, num_tensors: int = 0, **attrs: object) -> list[NDArray]:
    """``multi_lamb_update`` of float16 weights by their float32 copies ``weights32``, which are written."""
    return F._multi_mp_lamb_update(*_interleaved(weights, grads, mean, var, weights32), out=out, learning_rates=lrs, wds=wds,
                                   step_count=step_count, num_tensors=num_tensors or len(weights), **attrs)
