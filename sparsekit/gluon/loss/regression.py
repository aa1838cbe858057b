"""Losses of regression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Unpack

from ...base.checks import number
from .base import Loss, like

if TYPE_CHECKING:
    from ...base.types import Scalar
    from ...core.types import Functions, Tensor
    from ..types import BlockOptions


class L2Loss(Loss):
    """``weight / 2 * (label - pred)²``, averaged per sample.

    Parameters
    ----------
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, weight: Scalar | None = 1.0, batch_axis: int = 0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        loss = F.square(F.elemwise_sub(like(F, label, pred), pred)) * 0.5
        return self._finish(F, loss, sample_weight)


class L1Loss(Loss):
    """``weight * |label - pred|``, averaged per sample.

    Parameters
    ----------
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, weight: Scalar | None = None, batch_axis: int = 0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        return self._finish(F, F.abs(F.elemwise_sub(like(F, label, pred), pred)), sample_weight)


class HuberLoss(Loss):
    """``(label - pred)² / (2 rho)`` up to a distance of ``rho``, and from there ``|label - pred| - rho / 2``.

    P. J. Huber: Robust Estimation of a Location Parameter, 1964.

    Parameters
    ----------
    rho : float
        Positive.
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, rho: float = 1, weight: Scalar | None = None, batch_axis: int = 0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        number("rho", rho, "above 0", lambda value: value > 0, "it is the distance from which the loss is linear.")
        self._rho = rho

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        loss = F.abs(F.elemwise_sub(like(F, label, pred), pred))
        loss = F.where(loss > self._rho, loss - 0.5 * self._rho, F.square(loss) * (0.5 / self._rho))
        return self._finish(F, loss, sample_weight)


class PoissonNLLLoss(Loss):
    """The negative logarithm of a count's probability under a Poisson distribution, averaged over all elements.

    The term ``log(target!)`` is left out by default.  With ``compute_full``, Stirling's formula approximates it where the
    target is above 1.

    Parameters
    ----------
    weight : float or None
    from_logits : bool
        True: ``pred`` is the logarithm of the mean, and the loss is ``exp(pred) - target * pred``.  False: ``pred`` is the
        mean, and the loss is ``pred - target * log(pred + epsilon)``.  ``epsilon`` is an argument of the call, 1e-8 by default.
    batch_axis : int
        Has no effect.
    compute_full : bool
        Whether to add Stirling's approximation.

    Returns
    -------
    NDArray
        One value, of shape (1,).
    """

    def __init__(self, weight: Scalar | None = None, from_logits: bool = True, batch_axis: int = 0, compute_full: bool = False,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._compute_full = from_logits, compute_full

    def hybrid_forward(self, F: Functions, pred: Tensor, target: Tensor, sample_weight: Tensor | None = None,
                       epsilon: float = 1e-08) -> Tensor:
        target = like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - F.elemwise_mul(target, pred)
        else:
            loss = pred - F.elemwise_mul(target, F.log(pred + epsilon))
        if self._compute_full:
            loss = loss + self._stirling(F, target)
        return F.mean(self._weighed(F, loss, sample_weight))

    @staticmethod
    def _stirling(F: Functions, target: Tensor) -> Tensor:
        """Stirling's formula, and 0 where the target is at most 1."""
        above = target > 1
        count = F.where(above, target, F.ones_like(target))
        term = F.elemwise_mul(count, F.log(count)) - count + 0.5 * F.log(count * (2 * math.pi))
        return F.where(above, term, F.zeros_like(target))
