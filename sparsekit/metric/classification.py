"""Metrics of classification: accuracy, F1, correlation, perplexity and cross-entropy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..base.errors import ParameterError, ShapeError, expected
from ..core import indices
from .base import Arrays, AveragedMetric, EvalMetric, LateMetric, Names, alias, check_label_shapes, classes_at, pairs, register

if TYPE_CHECKING:

    from ..base.types import Array


__all__ = ["F1", "MCC", "PCC", "Accuracy", "CrossEntropy", "NegativeLogLikelihood", "Perplexity", "TopKAccuracy"]


def _classes(labels: Arrays, preds: Arrays, axis: int) -> Iterator[tuple[Array, Array]]:
    """Pairs of classes and predicted classes, one-dimensional; the largest of scores along ``axis`` is that of the class."""
    for label, pred in pairs(labels, preds):
        if pred.shape != label.shape:
            if not -pred.ndim <= axis < pred.ndim:
                raise ShapeError(f"axis={axis} is out of range for predictions of shape {pred.shape}.",
                                 hint="pass the axis of the classes, or predicted classes with the shape of the labels.")
            pred = pred.argmax(axis=axis)
        label, pred = label.astype(np.int64).ravel(), pred.astype(np.int64).ravel()
        check_label_shapes(label, pred)
        yield label, pred


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The fraction of correct predictions.

    Parameters
    ----------
    axis : int
        Axis of the classes, along which the largest score is the predicted class.  Predictions with the shape of the labels
        are classes already.  Default 1.
    name : str
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> accuracy = mx.metric.Accuracy()
    >>> accuracy.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
    >>> accuracy.get()
    ('accuracy', 0.6666666666666666)
    """

    larger_is_better = True

    def __init__(self, axis: int = 1, name: str = "accuracy", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of classes, and of predicted classes or scores (batch, classes, …)."""
        for label, pred in _classes(labels, preds, self.axis):
            self._add(int((pred == label).sum()), len(pred))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The fraction of labels that are among the ``top_k`` classes with the largest scores.

    Parameters
    ----------
    top_k : int
        At least 2.  The default of 1, as in MXNet, raises.
    name : str
        ``_{top_k}`` is appended to it.
    output_names, label_names : list of str, optional

    Raises
    ------
    SparsekitError
        If ``top_k`` is below 2.
    """

    larger_is_better = True

    def __init__(self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Names = None,
                 label_names: Names = None) -> None:
        if top_k <= 1:
            raise ParameterError(expected("top_k", "at least 2", top_k), hint="use Accuracy for top_k=1.")
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k
        if not self.name.endswith(f"_{top_k}"):
            self.name += f"_{top_k}"

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of classes (batch,) and scores (batch, classes)."""
        for label, pred in pairs(labels, preds):
            if pred.ndim != 2:
                raise ShapeError(expected("The shape of the predictions", "(batch, classes)", pred.shape),
                                 hint="pass one score for each class.")
            check_label_shapes(label, pred)
            count = min(pred.shape[1], self.top_k)
            best = np.argpartition(pred.astype(np.float32), pred.shape[1] - count, axis=1)[:, pred.shape[1] - count:]
            self._add(int((best == label.astype(np.int64).reshape(-1, 1)).sum()), len(pred))


class _Confusion(NamedTuple):
    """Numbers of samples by predicted class and class; as many classes as have occurred, and at least two."""

    counts: Any = np.zeros((2, 2), np.int64)

    @classmethod
    def of(cls, label: Array, pred: Array) -> Self:
        """The numbers of a batch of classes."""
        count: int = max(2, int(max(pred.max(), label.max())) + 1)
        places = classes_at(pred, count) * count + classes_at(label, count)
        return cls(np.bincount(places, minlength=count * count).reshape(count, count))

    def joined(self, other: _Confusion) -> Self:
        """The numbers of the samples of both."""
        count = max(len(self.counts), len(other.counts))
        if count == len(self.counts) == len(other.counts):
            return type(self)(self.counts + other.counts)
        wide = [np.pad(confusion.counts, (0, count - len(confusion.counts))) for confusion in (self, other)]
        return type(self)(wide[0] + wide[1])

    def value(self) -> float:
        """Matthews' coefficient of any number of classes; nan if all predictions or labels are of one class."""
        matrix = self.counts.astype(np.float64)
        total, predicted, true = matrix.sum(), matrix.sum(axis=1), matrix.sum(axis=0)
        variances = (predicted * (total - predicted)).sum() * (true * (total - true)).sum()
        covariance = (matrix.diagonal() * total - predicted * true).sum()
        return float(covariance / math.sqrt(variances)) if variances else float("nan")


class _Precision(_Confusion):
    """Of two classes, as ``F1`` sums them up."""

    def value(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are 0."""
        (_, missed), (wrong, right) = self.counts.tolist()
        return float(2 * right / (2 * right + wrong + missed)) if right else 0.0


class _Correlation(_Confusion):
    """Of two classes, as ``MCC`` sums them up."""

    def value(self) -> float:
        """Matthews' coefficient of two classes; factors of zero are omitted from the denominator, as in MXNet."""
        (tn, fn), (fp, tp) = self.counts.tolist()
        factors = [tp + fp, tp + fn, tn + fp, tn + fn]
        return float((tp * tn - fp * fn) / math.sqrt(math.prod(factor for factor in factors if factor)))


class _Binary(AveragedMetric):
    """Base of metrics of two classes."""

    larger_is_better = True

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of labels 0 and 1 (batch,) and scores (batch, 2)."""
        record = self._record()
        for label, pred in pairs(labels, preds):
            if pred.ndim != 2:
                raise ShapeError(expected("The shape of the predictions", "(batch, 2)", pred.shape),
                                 hint="pass the scores of the two classes.")
            check_label_shapes(label, pred)
            label = label.astype(np.int64).reshape(len(pred))
            if len(np.unique(label)) > 2:
                raise ShapeError(f"{type(self).__name__} currently only supports binary classification.",
                                 hint="use PCC for more than two classes.")
            if len(label):
                record = record.joined(self._record.of(label == 1, pred.argmax(axis=1) == 1))
        self._take(record, int(record.counts.sum()))


@register
class F1(_Binary):
    """The harmonic mean of precision and recall, for two classes.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        Whether to average the values of the batches, or to compute one value over all samples.
    """

    _record = _Precision

    def __init__(self, name: str = "f1", output_names: Names = None, label_names: Names = None, average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_Binary):
    """Matthews' correlation coefficient, for two classes: https://en.wikipedia.org/wiki/Phi_coefficient.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        Whether to average the values of the batches, or to compute one value over all samples.
    """

    _record = _Correlation

    def __init__(self, name: str = "mcc", output_names: Names = None, label_names: Names = None, average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)


@register
class PCC(LateMetric):
    """Matthews' correlation coefficient of any number of classes: J. Gorodkin 2004, doi:10.1016/j.compbiolchem.2004.09.006.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    has_global_stats : bool
        Keep a global total for ``get_global``.  Default True.
    """

    larger_is_better = True
    _record = _Confusion

    def __init__(self, name: str = "pcc", output_names: Names = None, label_names: Names = None,
                 has_global_stats: bool = True) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of classes, and of predicted classes or scores (batch, classes)."""
        confusion = _Confusion()
        for label, pred in _classes(labels, preds, 1):
            if len(label):
                confusion = confusion.joined(_Confusion.of(label, pred))
        self._join(confusion, 1)


@register
class Perplexity(EvalMetric):
    """Perplexity: ``exp`` of the mean negative log-likelihood of the labels; probabilities below 1e-10 count as 1e-10.

    A label outside the classes is clipped to the nearest class, as in MXNet, with an ``IndexWarning``;
    ``config.indices = "error"`` makes this an error.

    Parameters
    ----------
    ignore_label : int or None
        Label that is ignored, such as that of padding.
    axis : int
        Axis of the classes.  Default -1.
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, ignore_label: int | None, axis: int = -1, name: str = "perplexity", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True)
        self.ignore_label, self.axis = ignore_label, axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of classes (batch, …) and probabilities (batch, …, classes)."""
        for label, pred in pairs(labels, preds):
            if label.size * pred.shape[self.axis] != pred.size:
                raise ShapeError(f"Shape mismatch: labels {label.shape} and predictions {pred.shape}.",
                                 hint="pass one label for each vector of probabilities.")
            pred = np.moveaxis(pred, self.axis, -1).reshape(label.size, -1)
            label = label.ravel()
            counts = np.ones(len(label), bool) if self.ignore_label is None else label != self.ignore_label
            classes = label[counts].astype(np.int64)
            indices.check(classes, pred.shape[1], "Perplexity: the label", "classes",
                          f"labels run from 0 to {pred.shape[1] - 1}; ignore_label= leaves one out.")
            chosen = pred[counts, np.clip(classes, 0, pred.shape[1] - 1)]
            self._add(-float(np.log(np.maximum(chosen, 1e-10)).sum(dtype=np.float64)), int(counts.sum()))

    def _value(self, total: float, count: int) -> float:
        return math.exp(total / count) if count else float("nan")


class _LogLikelihood(EvalMetric):
    """Base of metrics that are the mean of ``-log(probability of the label + eps)``."""

    def __init__(self, eps: float, name: str, output_names: Names, label_names: Names) -> None:
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of classes (batch,) and probabilities (batch, classes)."""
        for label, pred in pairs(labels, preds):
            label = label.ravel()
            if pred.ndim != 2 or len(label) != len(pred):
                raise ShapeError(f"{len(label)} labels need predictions of shape ({len(label)}, classes), got {pred.shape}.",
                                 hint="pass one probability for each class.")
            chosen = pred[np.arange(len(label)), classes_at(label, pred.shape[1])]
            self._add(-float(np.log(chosen + self.eps).sum(dtype=np.float64)), len(label))


@register
@alias("ce")
class CrossEntropy(_LogLikelihood):
    """The mean cross-entropy: ``-log(probability of the label + eps)``.

    Parameters
    ----------
    eps : float
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LogLikelihood):
    """The mean negative log-likelihood: ``-log(probability of the label + eps)``.

    Parameters
    ----------
    eps : float
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, eps: float = 1e-12, name: str = "nll-loss", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(eps, name, output_names, label_names)
