"""Metrics of classes: how often a prediction is right, and how well it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ShapeError, SparsekitError, UnknownNameError, expected
from .base import EvalMetric, alias, check_label_shapes, classes_at, pairs, register

if TYPE_CHECKING:

    from ..base.types import Array
    from .types import Arrays, Names


__all__ = ["F1", "MCC", "PCC", "Accuracy", "CrossEntropy", "NegativeLogLikelihood", "Perplexity", "TopKAccuracy"]


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of predictions that are right.

    Parameters
    ----------
    axis : int
        Along which the largest score of a prediction is the class; predictions of the labels' shape are classes already.
    name : str
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> accuracy = mx.metric.Accuracy()
    >>> accuracy.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])])
    >>> accuracy.get()
    ('accuracy', 0.6666666666666666)
    """

    def __init__(self, axis: int = 1, name: str = "accuracy", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of classes, and of classes or scores (batch, classes, …)."""
        for label, pred in pairs(labels, preds):
            if pred.shape != label.shape:
                if not -pred.ndim <= self.axis < pred.ndim:
                    raise ShapeError(f"The predictions have shape {pred.shape}, and axis={self.axis}.",
                                     hint="axis is that of the classes; without scores, give labels of the same shape.")
                pred = pred.argmax(axis=self.axis)
            label, pred = label.astype(np.int64).ravel(), pred.astype(np.int64).ravel()
            check_label_shapes(label, pred)
            self._add(int((pred == label).sum()), len(pred))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of labels that are among the ``top_k`` largest scores.

    Parameters
    ----------
    top_k : int
        From 2; ``Accuracy`` is for one.
    name : str
        To which the number is added.
    output_names, label_names : list of str, optional
    """

    def __init__(self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Names = None,
                 label_names: Names = None) -> None:
        if top_k <= 1:
            raise SparsekitError(f"top_k is {top_k}; please use Accuracy if top_k is no more than 1.", hint="top_k is from 2.")
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k
        if not self.name.endswith(f"_{top_k}"):
            self.name += f"_{top_k}"

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of classes (batch,) and scores (batch, classes)."""
        for label, pred in pairs(labels, preds):
            if pred.ndim != 2:
                raise ShapeError(expected("The shape of the predictions", "(batch, classes)", pred.shape),
                                 hint="they are scores of the classes.")
            check_label_shapes(label, pred)
            count = min(pred.shape[1], self.top_k)
            best = np.argpartition(pred.astype(np.float32), pred.shape[1] - count, axis=1)[:, pred.shape[1] - count:]
            self._add(int((best == label.astype(np.int64).reshape(-1, 1)).sum()), len(pred))


class _Counts:
    """Right and wrong predictions of two classes."""

    def __init__(self) -> None:
        self.true_positives = self.false_positives = self.false_negatives = self.true_negatives = 0

    def add(self, true: Array, predicted: Array) -> None:
        self.true_positives += int((predicted & true).sum())
        self.false_positives += int((predicted & ~true).sum())
        self.false_negatives += int((~predicted & true).sum())
        self.true_negatives += int((~predicted & ~true).sum())

    @property
    def total(self) -> int:
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def f_score(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are 0."""
        right = 2 * self.true_positives
        return right / (right + self.false_positives + self.false_negatives) if right else 0.0

    @property
    def correlation(self) -> float:
        """Matthews' coefficient; factors of zero are left out of its denominator."""
        found, missed, alarms, passed = self.true_positives, self.false_negatives, self.false_positives, self.true_negatives
        factors = [found + alarms, found + missed, passed + alarms, passed + missed]
        return (found * passed - alarms * missed) / math.sqrt(math.prod(factor for factor in factors if factor))


class _Binary(EvalMetric):
    """A metric of two classes: a mean over batches (macro), or one value over all samples (micro)."""

    def __init__(self, name: str, output_names: Names, label_names: Names, average: str) -> None:
        if average not in ("macro", "micro"):
            raise UnknownNameError.of("average", average, ("macro", "micro"))
        self.average = average
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def _measure(self, counts: _Counts) -> float:
        raise SparsekitError(f"{type(self).__name__} does not define _measure().", hint="override _measure(self, counts).")

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of labels 0 and 1 (batch,) and scores (batch, 2)."""
        counts = [_Counts()] if self.average == "macro" else [self._counts, self._global_counts]
        for label, pred in pairs(labels, preds):
            if pred.ndim != 2:
                raise ShapeError(expected("The shape of the predictions", "(batch, 2)", pred.shape),
                                 hint="they are scores of the two classes.")
            check_label_shapes(label, pred)
            label = label.astype(np.int64).reshape(len(pred))
            if len(np.unique(label)) > 2:
                raise ShapeError(f"{type(self).__name__} currently only supports binary classification.",
                                 hint="PCC is for more classes.")
            for one in counts:
                one.add(label == 1, pred.argmax(axis=1) == 1)
        if self.average == "macro":
            self._add(self._measure(counts[0]) if counts[0].total else 0.0, 1)
            return
        self.num_inst, self.global_num_inst = (one.total for one in counts)
        self.sum_metric, self.global_sum_metric = (self._measure(one) * one.total if one.total else 0.0 for one in counts)

    def reset(self) -> None:
        """Start again."""
        self._global_counts = _Counts()
        super().reset()

    def reset_local(self) -> None:
        """Start again, but for what ``get_global`` gives."""
        self._counts = _Counts()
        super().reset_local()


@register
class F1(_Binary):
    """The harmonic mean of precision and recall, for two classes.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        The mean of the batches' values, or the value over all samples.
    """

    def __init__(self, name: str = "f1", output_names: Names = None, label_names: Names = None, average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)

    def _measure(self, counts: _Counts) -> float:
        return counts.f_score


@register
class MCC(_Binary):
    """Matthews' correlation coefficient, for two classes: https://en.wikipedia.org/wiki/Phi_coefficient.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        The mean of the batches' values, or the value over all samples.
    """

    def __init__(self, name: str = "mcc", output_names: Names = None, label_names: Names = None, average: str = "macro") -> None:
        super().__init__(name, output_names, label_names, average)

    def _measure(self, counts: _Counts) -> float:
        return counts.correlation


@register
class PCC(EvalMetric):
    """Matthews' correlation coefficient of any number of classes: J. Gorodkin 2004, doi:10.1016/j.compbiolchem.2004.09.006.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    has_global_stats : bool
    """

    _confusion: Any
    _global_confusion: Any

    def __init__(self, name: str = "pcc", output_names: Names = None, label_names: Names = None,
                 has_global_stats: bool = True) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of classes, and of classes or scores (batch, classes)."""
        for label, pred in pairs(labels, preds):
            if pred.shape != label.shape:
                pred = pred.argmax(axis=1)
            label, pred = label.astype(np.int64).ravel(), pred.astype(np.int64).ravel()
            check_label_shapes(label, pred)
            if not len(label):
                continue
            count: int = max(len(self._confusion), len(self._global_confusion), int(max(pred.max(), label.max())) + 1)
            found = np.bincount(classes_at(pred, count) * count + classes_at(label, count), minlength=count * count)
            found = found.reshape(count, count)
            self._confusion, self._global_confusion = (
                found + np.pad(before, (0, count - len(before))) for before in (self._confusion, self._global_confusion))
        self.num_inst += 1
        self.global_num_inst += 1

    @property
    def sum_metric(self) -> float:
        """The coefficient times the number of batches."""
        return _correlation(self._confusion) * float(self.num_inst)

    @property
    def global_sum_metric(self) -> float:
        """The coefficient times the number of batches, since the last ``reset``."""
        return _correlation(self._global_confusion) * float(self.global_num_inst)

    def reset(self) -> None:
        """Start again."""
        self.global_num_inst = 0
        self._global_confusion = np.zeros((2, 2), np.int64)
        self.reset_local()

    def reset_local(self) -> None:
        """Start again, but for what ``get_global`` gives."""
        self.num_inst = 0
        self._confusion = np.zeros((2, 2), np.int64)


def _correlation(confusion: Array) -> float:
    """The coefficient of a table of predictions by labels; nan where only one class occurs."""
    table = confusion.astype(np.float64)
    total, predicted, true = table.sum(), table.sum(axis=1), table.sum(axis=0)
    spread = (predicted * (total - predicted)).sum() * (true * (total - true)).sum()
    together = (table.diagonal() * total - predicted * true).sum()
    return float(together / math.sqrt(spread)) if spread else float("nan")


@register
class Perplexity(EvalMetric):
    """How many classes the predictions are as unsure as: ``exp`` of the mean negative log-likelihood of the labels.

    Parameters
    ----------
    ignore_label : int or None
        Labels that do not count, such as padding.
    axis : int
        That of the classes.
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(self, ignore_label: int | None, axis: int = -1, name: str = "perplexity", output_names: Names = None,
                 label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True)
        self.ignore_label, self.axis = ignore_label, axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of classes and probabilities (batch, classes), or of as many more axes as both have."""
        for label, pred in pairs(labels, preds):
            if label.size * pred.shape[self.axis] != pred.size:
                raise ShapeError(f"Shape mismatch: labels {label.shape} and predictions {pred.shape}.",
                                 hint="there is one label for each vector of probabilities.")
            pred = np.moveaxis(pred, self.axis, -1).reshape(label.size, -1)
            label = label.ravel()
            counts = np.ones(len(label), bool) if self.ignore_label is None else label != self.ignore_label
            chosen = pred[counts, classes_at(label[counts], pred.shape[1])]
            self._add(-float(np.log(np.maximum(chosen, 1e-10)).sum(dtype=np.float64)), int(counts.sum()))

    def _value(self, total: float, count: int) -> float:
        return math.exp(total / count) if count else float("nan")


class _LogLikelihood(EvalMetric):
    """The mean of ``-log`` of the probability of each label."""

    def __init__(self, eps: float, name: str, output_names: Names, label_names: Names) -> None:
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of classes (batch,) and probabilities (batch, classes)."""
        for label, pred in pairs(labels, preds):
            label = label.ravel()
            if pred.ndim != 2 or len(label) != len(pred):
                raise ShapeError(f"{len(label)} labels and predictions of shape {pred.shape} do not fit.",
                                 hint="predictions are probabilities (batch, classes).")
            chosen = pred[np.arange(len(label)), classes_at(label, pred.shape[1])]
            self._add(-float(np.log(chosen + self.eps).sum(dtype=np.float64)), len(label))


@register
@alias("ce")
class CrossEntropy(_LogLikelihood):
    """The mean cross entropy: ``-log(probability of the label + eps)``.

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
