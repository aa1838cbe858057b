"""The processing of one batch in training and evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import autograd
from ....base.errors import ParameterError, RowIndexError, expected
from ....ndarray import NDArray, array
from ...loss import SoftmaxCrossEntropyLoss
from ...utils import split_and_load

if TYPE_CHECKING:
    from ....base.context import Context
    from ....base.types import Array
    from .estimator import Estimator
    from .types import Loaded, Outcome

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Trains and evaluates on a batch; subclasses may override ``fit_batch`` and ``evaluate_batch``.

    Parameters
    ----------
    class_weight : sequence of float, or dict of int to float, optional
        Weight of the samples of each class in training.  Classes that a dict does not name have weight 1.  The loss is called
        as ``loss(pred, label, weight)``.  Validation is not weighted.  MXNet has no such argument.

    Raises
    ------
    ParameterError
        If a weight is negative, or a class is not an integer of at least 0.

    Examples
    --------
    >>> from sparsekit.gluon.contrib.estimator import BatchProcessor
    >>> processor = BatchProcessor(class_weight={1: 5.0})
    """

    def __init__(self, class_weight: Sequence[float] | Mapping[int, float] | None = None) -> None:
        self.class_weight = None if class_weight is None else _listed_weights(class_weight)
        self._others = isinstance(class_weight, Mapping)

    def _get_data_and_label(self, batch: Loaded, ctx: list[Context], batch_axis: int = 0) -> tuple[list[Any], list[Any]]:
        """The first two parts of a batch, cut for the contexts."""
        return (split_and_load(batch[0], ctx_list=ctx, batch_axis=batch_axis),
                split_and_load(batch[1], ctx_list=ctx, batch_axis=batch_axis))

    def evaluate_batch(self, estimator: Estimator, val_batch: Loaded, batch_axis: int = 0) -> Outcome:
        """Compute predictions and losses of a batch.

        Parameters
        ----------
        estimator : Estimator
        val_batch : tuple
            Data and labels.
        batch_axis : int
            Axis along which a batch is cut for several contexts.

        Returns
        -------
        tuple of list
            Data, labels, predictions and losses, with an array for each context.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]

    def fit_batch(self, estimator: Estimator, train_batch: Loaded, batch_axis: int = 0) -> Outcome:
        """Compute predictions, losses and gradients of a batch.

        The estimator may run the whole step, including the update, as a ``TrainStep``; ``Estimator.explain`` says whether it
        does.  The results are then detached.

        Parameters
        ----------
        estimator : Estimator
        train_batch : tuple
            Data and labels.
        batch_axis : int
            Axis along which a batch is cut for several contexts.

        Returns
        -------
        tuple of list
            Data, labels, predictions and losses, with an array for each context.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        extra = [[] if self.class_weight is None else [self._weights(estimator, labels)] for labels in label]
        result = estimator._step(data, label, extra)
        if result is not None:
            loss, pred = result
            return data, label, [pred], [loss]
        with autograd.record():
            preds = [estimator.net(x) for x in data]
            losses = [estimator.loss(y_hat, y, *weights) for y_hat, y, weights in zip(preds, label, extra, strict=True)]
        for values in losses:
            if not isinstance(values, NDArray):
                raise ParameterError(expected("what the loss returns", "an array with the loss of each row", values),
                                     hint="return one array; several losses are added up to one.")
            values.backward()
        return data, label, preds, losses

    def _weights(self, estimator: Estimator, label: NDArray) -> NDArray:
        """The weights of the rows, in a shape that goes with the losses before they are averaged."""
        assert self.class_weight is not None
        softmax = estimator.loss if isinstance(estimator.loss, SoftmaxCrossEntropyLoss) else None
        if softmax is not None and not softmax._sparse_label:
            raise ParameterError("class_weight needs labels that are numbers of classes, and sparse_label=False takes "
                                 "probabilities.", hint="give the loss sparse_label=True, or leave out class_weight.")
        classes, most = label.asnumpy().astype(np.int64), self.class_weight.shape[0] - 1
        least, largest = (int(classes.min()), int(classes.max())) if classes.size else (0, 0)
        if least < 0 or (largest > most and not self._others):
            raise RowIndexError(f"Labels are from {least} to {largest}, and class_weight is for 0 to {most}.",
                                hint="give a weight for each class, or a dict.")
        weights = self.class_weight[np.minimum(classes, most)]
        if weights.ndim == 1:
            weights = weights[:, None]
        elif softmax is not None:
            weights = np.expand_dims(weights, softmax._axis)
        return array(weights, ctx=label.context, dtype=label.dtype if label.dtype in (np.float64, np.float16) else "float32")


def _listed_weights(class_weight: Sequence[float] | Mapping[int, float]) -> Array:
    """Weights as an array; that of a dict ends with the weight of all classes that it does not name."""
    if isinstance(class_weight, Mapping):
        wrong = [key for key in class_weight if not isinstance(key, (int, np.integer)) or key < 0]
        if wrong:
            raise ParameterError(expected("A class in class_weight", "an integer of at least 0", wrong[0]),
                                 hint="class_weight={0: 1.0, 1: 5.0}, for example.")
        values: Any = [class_weight.get(number, 1.0) for number in range(max(class_weight, default=-1) + 2)]
    else:
        values = class_weight
    try:
        weights = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        weights = np.full(1, np.nan)
    if weights.ndim != 1 or not weights.size or not (weights >= 0).all() or not np.isfinite(weights).all():
        raise ParameterError(expected("class_weight", "a number of at least 0 for each class", class_weight),
                             hint="class_weight=[1.0, 5.0], for example.")
    return weights
