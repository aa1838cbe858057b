"""The base class of losses."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, Unpack

from ...base.errors import DTypeError, ShapeError
from ...core import indices
from ...ndarray.ndarray import NDArray
from ...symbol import Symbol
from ..block import HybridBlock
from ..utils import refuse_foreign

if TYPE_CHECKING:
    from ...core.types import Functions, Tensor
    from ..types import BlockOptions


class Loss(HybridBlock):
    """Base of the losses.

    A loss returns one value per sample.  ``sample_weight`` multiplies the elements before they are averaged over the
    other axes, with broadcasting: for ``pred`` of shape (64, 10), weights of the samples have shape (64, 1).  A weight of
    shape (64,) would be matched with the last axis.  As in MXNet, it is used if it can be broadcast, with an
    ``IndexWarning``; ``config.indices = "error"`` makes this an error.

    Parameters
    ----------
    weight : float or None
        Factor of the whole loss.
    batch_axis : int
        The axis of the samples.  The loss is averaged over all other axes.
    """

    def __init__(self, weight: Any, batch_axis: int, **kwargs: Unpack[BlockOptions]) -> None:  # Any: refused if no number
        super().__init__(**kwargs)
        if weight is not None and not isinstance(weight, numbers.Real):
            raise DTypeError(f"weight must be a number, not a {type(weight).__name__}.",
                             hint="weights of samples go to the call: loss(pred, label, sample_weight).")
        self._weight: Any = weight  # Any: a number of any kind, or None
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def forward(self, x: Tensor, *args: Tensor | None) -> Tensor:
        """The losses; labels and weights of numpy or scipy are refused with the line that makes arrays of them."""
        if not all(arg is None or isinstance(arg, (NDArray, Symbol)) for arg in args):
            refuse_foreign(self.name, args)
        return super().forward(x, *args)

    def _weighed(self, F: Functions, loss: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Multiply by the weights of the samples and of the loss."""
        if sample_weight is not None:
            unweighted, loss = loss, F.broadcast_mul(loss, sample_weight)
            self._look_at(sample_weight, unweighted)
        return loss if self._weight is None or self._weight == 1 else loss * self._weight

    def _look_at(self, weight: object, loss: Tensor) -> None:
        """Warn if weights of samples lie along another axis than the samples; the shape of a symbol is unknown."""
        shape, losses = getattr(weight, "shape", None), getattr(loss, "shape", None)
        if shape and losses and math.prod(shape) > 1 and len(shape) < len(losses) and shape == losses[:len(shape)]:
            right = (*shape, *[1] * (len(losses) - len(shape)))
            indices.notice(f"{type(self).__name__}: sample_weight", f"{type(self).__name__} was given a sample_weight of shape "
                           f"{shape}, which broadcasts along the last axes of the losses, of shape {losses}, so that no sample "
                           "is multiplied by its own weight alone", f"give it shape {right}, as weight.reshape({right}) has.",
                           ShapeError)

    def _finish(self, F: Functions, loss: Tensor, sample_weight: Tensor | None) -> Tensor:
        """Weigh, and average over everything but the samples."""
        return F.mean(self._weighed(F, loss, sample_weight), axis=self._batch_axis, exclude=True)


def like(F: Functions, label: Tensor, pred: Tensor) -> Tensor:
    """Reshape the label to the shape of the prediction; the shape of a symbol is unknown."""
    shape = getattr(pred, "shape", None)
    return label if shape is not None and getattr(label, "shape", None) == shape else F.reshape_like(label, pred)
