"""Losses of pairs and triples, for metric learning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Unpack

from ...base.checks import number
from ...base.errors import ShapeError
from .base import Loss, like

if TYPE_CHECKING:
    from ...base.types import Scalar
    from ...core.types import Functions, Tensor
    from ...ndarray.ndarray import NDArray
    from ..types import BlockOptions


class TripletLoss(Loss):
    """``max(0, |positive - pred|² - |negative - pred|² + margin)``, one value per sample.

    Parameters
    ----------
    margin : float
        Margin by which the squared distance of the negative example should exceed that of the positive one.
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, margin: float = 1, weight: Scalar | None = None, batch_axis: int = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Functions, pred: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        near = F.square(F.elemwise_sub(like(F, positive, pred), pred))
        far = F.square(F.elemwise_sub(like(F, negative, pred), pred))
        loss = F.relu(F.sum(F.elemwise_sub(near, far), axis=self._batch_axis, exclude=True) + self._margin)
        return self._weighed(F, loss)


class CosineEmbeddingLoss(Loss):
    """``1 - cos`` of the angle between two vectors that belong together, ``max(0, cos - margin)`` of others.

    The call takes ``input1`` and ``input2`` of shape (batch, size), and one label per pair: 1 for vectors that belong together,
    -1 for others.

    Parameters
    ----------
    weight : float or None
    batch_axis : int
        As for every loss.
    margin : float
        From -1 to 1.

    Returns
    -------
    NDArray
        The losses, of shape (batch, 1).
    """

    def __init__(self, weight: Scalar | None = None, batch_axis: int = 0, margin: float = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Functions, input1: Tensor, input2: Tensor, label: Tensor,
                       sample_weight: Tensor | None = None) -> Tensor:
        label = F.reshape(label, shape=(-1, 1))
        cosine = _cosine(F, like(F, input1, input2), input2)
        loss = (1 - cosine) * (label == 1) + F.relu((label == -1) * (cosine - self._margin))
        return self._weighed(F, loss, sample_weight)


def _cosine(F: Functions, x: Tensor, y: Tensor) -> Tensor:
    """Cosine of the angle of vectors along the last axis; 0 for vectors of length 0."""
    lengths = F.elemwise_mul(_column(F, F.norm(x, axis=-1)), _column(F, F.norm(y, axis=-1)))
    return F.elemwise_div(_column(F, F.sum(F.elemwise_mul(x, y), axis=-1)), F.clip(lengths, a_min=1e-12, a_max=math.inf))


def _column(F: Functions, values: Tensor) -> Tensor:
    return F.reshape(values, shape=(-1, 1))


class SDMLLoss(Loss):
    """Smoothed deep metric learning: each vector should be nearer to its own partner than to other vectors.

    D. Bonadiman et al.: Large Scale Question Paraphrase Retrieval with Smoothed Deep Metric Learning, 2019.

    The call takes two arrays of shape (batch, size).  Row i of the first array and row i of the second are a pair.

    Parameters
    ----------
    smoothing_parameter : float
        Total probability that label smoothing gives to the other rows; below 1.
    weight : float or None
    batch_axis : int
        Must be 0.
    """

    def __init__(self, smoothing_parameter: float = 0.3, weight: Scalar | None = 1.0, batch_axis: int = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        number("smoothing_parameter", smoothing_parameter, "at least 0 and below 1", lambda rate: 0 <= rate < 1, "0.3 is usual.")
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Functions, x1: NDArray, x2: NDArray) -> Tensor:
        if x1.shape != x2.shape or x1.ndim != 2 or x1.shape[0] < 2:
            raise ShapeError(f"SDMLLoss needs two arrays of one shape (batch, size), got {x1.shape} and {x2.shape}.",
                             hint="the batch must have at least two rows.")
        distances = F.sum(F.square(F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))), axis=2)
        labels = self._labels(F, x1)
        loss = F.elemwise_mul(labels, F.log(labels + 1e-12) - F.log_softmax(F.negative(distances), axis=1))
        return self._weighed(F, F.sum(loss, axis=0, exclude=True))

    def _labels(self, F: Functions, x: NDArray) -> Tensor:
        """The probabilities wanted: most for the partner, the rest shared by the others."""
        rows = x.shape[0]
        own = F.eye(rows, ctx=x.context, dtype=x.dtype)
        return own * (1 - self.smoothing_parameter) + (1 - own) * (self.smoothing_parameter / (rows - 1))
