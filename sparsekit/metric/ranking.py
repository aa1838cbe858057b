"""Metrics of rankings: the area under the receiver operating characteristic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import DTypeError, ShapeError, expected
from .base import EvalMetric, check_label_shapes, pairs, register

if TYPE_CHECKING:

    from .types import Arrays, Names


__all__ = ["AUC"]

#: Scores that wait unsorted, before they are counted by value.
WAITING = 1 << 20


class _Scores(NamedTuple):
    """Distinct scores in ascending order, and how many samples of each class have them."""

    values: Any
    negatives: Any
    positives: Any


class _Ranking:
    """All scores so far; equal ones are kept once, with two counts."""

    def __init__(self) -> None:
        self.waiting: list[_Scores] = []
        self.size = 0

    def add(self, scores: _Scores) -> None:
        self.waiting.append(scores)
        self.size += len(scores.values)
        if self.size > WAITING and len(self.waiting) > 1:
            self.counted()

    def counted(self) -> _Scores:
        """Everything in one."""
        values, places = np.unique(np.concatenate([scores.values for scores in self.waiting]), return_inverse=True)
        counts = [np.bincount(places, np.concatenate([scores[kind] for scores in self.waiting]), len(values)).astype(np.int64)
                  for kind in (1, 2)]
        self.waiting, self.size = [_Scores(values, *counts)], 0
        return self.waiting[0]

    def area(self) -> float:
        """The share of pairs of a positive and a negative in which the positive is higher; equal ones count half."""
        if not self.waiting:
            return float("nan")
        _values, negatives, positives = self.counted()
        below = np.cumsum(negatives) - negatives
        total = 2 * int(positives.sum()) * int(negatives.sum())
        return int((positives * (2 * below + negatives)).sum()) / total if total else float("nan")


@register
class AUC(EvalMetric):
    """The area under the receiver operating characteristic of two classes, exact over all batches; not in MXNet.

    It is the share of pairs of a positive and a negative sample in which the positive has the higher score, where equal
    scores count half (J. Hanley and B. McNeil 1982); nan where one class is missing.  All distinct scores are kept.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> auc = mx.metric.AUC()
    >>> auc.update(mx.nd.array([0, 0, 1, 1]), mx.nd.array([0.1, 0.4, 0.35, 0.8]))
    >>> auc.get()
    ('auc', 0.75)
    """

    def __init__(self, name: str = "auc", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch of labels 0 and 1 (batch,), and scores (batch,), (batch, 1) or, of both classes, (batch, 2)."""
        for label, pred in pairs(labels, preds):
            if pred.ndim > 2 or (pred.ndim == 2 and pred.shape[1] not in (1, 2)):
                raise ShapeError(expected("The shape of the predictions", "(batch,) or (batch, 2)", pred.shape),
                                 hint="they are scores.")
            scores, label = (pred if pred.ndim == 1 else pred[:, -1]), label.ravel()
            check_label_shapes(label, scores)
            if not np.isin(label, (0, 1)).all():
                raise ShapeError(f"Labels of AUC must be 0 or 1, got {label[~np.isin(label, (0, 1))][0]}.",
                                 hint="(label > 0) makes 0 and 1 of -1 and 1.")
            if np.isnan(scores).any():
                raise DTypeError("The scores of AUC must not be nan.", hint="look for a training that diverged.")
            found = _Scores(scores.astype(np.float64), (label == 0).astype(np.int64), (label == 1).astype(np.int64))
            self._ranking.add(found)
            self._global_ranking.add(found)
            self.num_inst += len(label)
            self.global_num_inst += len(label)

    @property
    def sum_metric(self) -> float:
        """The area times the number of samples."""
        return self._ranking.area() * float(self.num_inst)

    @property
    def global_sum_metric(self) -> float:
        """The area times the number of samples, since the last ``reset``."""
        return self._global_ranking.area() * float(self.global_num_inst)

    def get(self) -> tuple[str, float]:
        """The name and the area since the last ``reset_local``."""
        return self.name, self._ranking.area()

    def get_global(self) -> tuple[str, float]:
        """The name and the area since the last ``reset``."""
        return self.name, self._global_ranking.area()

    def reset(self) -> None:
        """Start again."""
        self._global_ranking, self.global_num_inst = _Ranking(), 0
        self.reset_local()

    def reset_local(self) -> None:
        """Start again, but for what ``get_global`` gives."""
        self._ranking, self.num_inst = _Ranking(), 0
