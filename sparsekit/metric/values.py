"""Metrics of regression, correlation, losses, and custom functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..base.errors import ShapeError, UnsupportedError
from ..base.warn import warn_user
from ..ndarray.ndarray import NDArray
from .base import Arrays, AveragedMetric, EvalMetric, Names, alias, check_label_shapes, pairs, register

if TYPE_CHECKING:

    from ..base.types import Array


__all__ = ["MAE", "MSE", "RMSE", "Caffe", "CustomMetric", "Loss", "PearsonCorrelation", "Torch", "np"]


class _Distance(EvalMetric):
    """Base of metrics that are the mean over batches of a distance between labels and predictions."""

    def __init__(self, name: str, output_names: Names, label_names: Names) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    @staticmethod
    def _distance(difference: Array) -> float:
        return float(numpy.square(difference).mean(dtype=numpy.float64))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of numbers and predictions of the same shape; (batch,) and (batch, 1) are equivalent.

        Other shapes broadcast, with a warning.
        """
        for label, pred in pairs(labels, preds):
            label, pred = (array.reshape(-1, 1) if array.ndim == 1 else array for array in (label, pred))
            if label.shape != pred.shape:
                self._broadcast(label.shape, pred.shape)
            self._add(self._distance(label - pred), 1)

    def _broadcast(self, label: tuple[int, ...], pred: tuple[int, ...]) -> None:
        """Warn of shapes that only broadcast, and refuse those that do not."""
        hint = "pass one label for each predicted number."
        try:
            numpy.broadcast_shapes(label, pred)
        except ValueError:
            raise ShapeError(f"Labels of shape {label} do not match predictions of shape {pred}.", hint=hint) from None
        warn_user(f"{self.name} of labels of shape {label} and predictions of shape {pred} compares each with several: {hint}")


@register
class MAE(_Distance):
    """The mean absolute error of each batch, averaged over batches.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, name: str = "mae", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    @staticmethod
    def _distance(difference: Array) -> float:
        return float(numpy.abs(difference).mean(dtype=numpy.float64))


@register
class MSE(_Distance):
    """The mean squared error of each batch, averaged over batches.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, name: str = "mse", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class RMSE(_Distance):
    """The root mean squared error of each batch, averaged over batches.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, name: str = "rmse", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    @staticmethod
    def _distance(difference: Array) -> float:
        return math.sqrt(_Distance._distance(difference))


class _Moments(NamedTuple):
    """Number of pairs, means, and sums of products of deviations; merged as by T. Chan, G. Golub and R. LeVeque 1983."""

    size: int = 0
    means: Any = 0.0
    products: Any = 0.0

    def joined(self, other: _Moments) -> _Moments:
        count = self.size + other.size
        if not count:
            return self
        delta = other.means - self.means
        products = self.products + other.products + numpy.outer(delta, delta) * (self.size * other.size / count)
        return _Moments(count, self.means + delta * (other.size / count), products)

    def value(self) -> float:
        if self.size < 2:
            return float("nan")
        variances = self.products[0, 0] * self.products[1, 1]
        return float(self.products[0, 1] / math.sqrt(variances)) if variances else float("nan")


def _moments(label: Array, pred: Array) -> _Moments:
    both = numpy.stack([label.ravel(), pred.ravel()]).astype(numpy.float64)
    if not both.shape[1]:
        return _Moments()
    means = both.mean(axis=1)
    centred = both - means[:, None]
    return _Moments(both.shape[1], means, centred @ centred.T)


@register
@alias("pearsonr")
class PearsonCorrelation(AveragedMetric):
    """Pearson's correlation coefficient of labels and predictions.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        Whether to average the values of the batches, or to compute one value over all samples.
    """

    larger_is_better = True
    _record = _Moments

    def __init__(self, name: str = "pearsonr", output_names: Names = None, label_names: Names = None,
                 average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of numbers and predictions of the same shape."""
        for label, pred in pairs(labels, preds):
            check_label_shapes(label, pred, False, True)
            self._take(_moments(label, pred), 1)


@register
class Loss(EvalMetric):
    """The mean of the predictions, which are losses; the labels are ignored.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, name: str = "loss", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: object, preds: Arrays) -> None:
        """Add a batch of losses of any shape."""
        for _label, pred in pairs(preds, preds):
            self._add(float(pred.sum(dtype=numpy.float64)), pred.size)


@register
class Torch(Loss):
    """``Loss`` under the name ``torch``, as in MXNet; takes the same arguments."""

    def __init__(self, name: str = "torch", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """``Loss`` under the name ``caffe``, as in MXNet; takes the same arguments."""

    def __init__(self, name: str = "caffe", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(EvalMetric):
    """A metric from a function, averaged over batches.

    Parameters
    ----------
    feval : callable
        ``feval(label, pred)`` takes numpy arrays and returns a number, or a tuple of a sum and a count.
    name : str, optional
        Default: the name of the function.
    allow_extra_outputs : bool
        Allow more predictions than labels, and ignore the additional ones.  Default False.
    output_names, label_names : list of str, optional
    """

    def __init__(self, feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False,
                 output_names: Names = None, label_names: Names = None) -> None:
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names, feval=feval, allow_extra_outputs=allow_extra_outputs,
                         has_global_stats=True)
        self._feval, self._allow_extra_outputs = feval, allow_extra_outputs

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        if self._allow_extra_outputs:
            labels, preds = ([array] if isinstance(array, (NDArray, numpy.ndarray)) else list(array) for array in (labels, preds))
            preds = preds[:len(labels)]
        for label, pred in pairs(labels, preds):
            result = self._feval(label, pred)
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self) -> dict[str, Any]:
        """Not supported: a function cannot be serialized."""
        raise UnsupportedError("CustomMetric cannot be serialized: it is a function.", hint="make it again with mx.metric.np.")


def np(numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False) -> CustomMetric:
    """Make a metric from a function of numpy arrays.

    Parameters
    ----------
    numpy_feval : callable
        ``numpy_feval(label, pred)`` returns a number, or a tuple of a sum and a count.
    name : str, optional
        Default: the name of the function.
    allow_extra_outputs : bool
        Allow more predictions than labels, and ignore the additional ones.  Default False.

    Examples
    --------
    >>> import numpy
    >>> mx.metric.np(lambda label, pred: numpy.abs(label - pred).max(), name="worst").get()
    ('worst', nan)
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
