"""Optimizer steps for lists of weights, such as ``mx.nd.contrib.multi_adamw_update``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.arguments import strict
from ...base.errors import ShapeError
from ...ndarray.creation import array
from ...ndarray.functions import F
from ...ndarray.ndarray import NDArray


def _interleaved(*lists: Sequence[NDArray]) -> list[Any]:
    """The arrays of the first weight, then the arrays of the second weight, and so on."""
    if len({len(arrays) for arrays in lists}) != 1:
        raise ShapeError(f"The lists of arrays must have equal lengths, got {', '.join(str(len(arrays)) for arrays in lists)}.",
                         hint="pass one array for each weight in every list.")
    return [each for together in zip(*lists, strict=True) for each in together]


def _factor(rescale_grad: float | Sequence[NDArray] | NDArray, like: NDArray) -> NDArray:
    return rescale_grad if isinstance(rescale_grad, NDArray) else array([rescale_grad], like.context)


@strict
def multi_adamw_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                       rescale_grad: float | Sequence[NDArray] | NDArray, lrs: Sequence[Any], wds: Sequence[Any],
                       etas: Sequence[Any], out: Sequence[NDArray] | None = None, name: str | None = None, size: int = 0,
                       **attrs: object) -> list[NDArray]:
    """``adamw_update`` for a list of weights in one call.

    Parameters
    ----------
    weights, grads, mean, var : list of NDArray
        ``mean`` and ``var`` are updated in place; ``weights`` are updated if they are ``out``.
    rescale_grad : NDArray or float
        Factor of the gradients.  If it is zero, infinite or NaN, nothing is updated.
    lrs, wds, etas : list of float
        Learning rate, weight decay and factor of the step of each weight.
    out : list of NDArray, optional
        Arrays for the updated weights.
    name : str, optional
        Has no effect.
    size : int
        Number of weights; the length of the list by default.
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
    """``multi_adamw_update`` for float16 weights with float32 copies ``weights32``, which are updated in place."""
    arrays = _interleaved(weights, grads, mean, var, weights32)
    return F._multi_mp_adamw_update(*arrays, _factor(rescale_grad, weights[0]), out=out, lrs=lrs, wds=wds, etas=etas,
                                    num_weights=size or len(weights), **attrs)


@strict
def multi_lamb_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                      step_count: Sequence[Any], lrs: Sequence[Any], wds: Sequence[Any], out: Sequence[NDArray] | None = None,
                      num_tensors: int = 0, **attrs: object) -> list[NDArray]:
    """Both phases of LAMB for a list of weights in one call.

    Parameters
    ----------
    weights, grads, mean, var : list of NDArray
        ``mean`` and ``var`` are updated in place; ``weights`` are updated if they are ``out``.
    step_count : list of int
        Number of the step of each weight; the first is 1.
    lrs, wds : list of float
        Learning rate and weight decay of each weight.
    out : list of NDArray, optional
        Arrays for the updated weights.
    num_tensors : int
        Number of weights; the length of the list by default.
    **attrs
        ``beta1``, ``beta2``, ``epsilon``, ``rescale_grad``, ``clip_gradient``, ``bias_correction``, and ``lower_bound`` and
        ``upper_bound`` of the norm of a weight.
    """
    return F._multi_lamb_update(*_interleaved(weights, grads, mean, var), out=out, learning_rates=lrs, wds=wds,
                                step_count=step_count, num_tensors=num_tensors or len(weights), **attrs)


@strict
def multi_mp_lamb_update(weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
                         weights32: Sequence[NDArray], step_count: Sequence[Any], lrs: Sequence[Any], wds: Sequence[Any],
                         out: Sequence[NDArray] | None = None, num_tensors: int = 0, **attrs: object) -> list[NDArray]:
    """``multi_lamb_update`` for float16 weights with float32 copies ``weights32``, which are updated in place."""
    return F._multi_mp_lamb_update(*_interleaved(weights, grads, mean, var, weights32), out=out, learning_rates=lrs, wds=wds,
                                   step_count=step_count, num_tensors=num_tensors or len(weights), **attrs)
