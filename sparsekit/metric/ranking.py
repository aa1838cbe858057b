"""Metrics of rankings: the area under the receiver operating characteristic curve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.errors import DTypeError, ShapeError, expected
from .base import Arrays, LateMetric, Names, check_label_shapes, pairs, register

__all__ = ["AUC"]

#: Number of scores that are collected before equal scores are merged.
PENDING = 1 << 20


class _Scores(NamedTuple):
    """Scores, and the number of negative and of positive samples with each."""

    values: Any
    negatives: Any
    positives: Any


class _Ranking:
    """All scores so far; equal scores are merged from time to time."""

    def __init__(self) -> None:
        self.pending: list[_Scores] = []
        self.size = 0

    def joined(self, scores: _Scores) -> _Ranking:
        """This ranking, with the scores of a batch."""
        self.pending.append(scores)
        self.size += len(scores.values)
        if self.size > PENDING and len(self.pending) > 1:
            self.merge()
        return self

    def merge(self) -> _Scores:
        """Merge everything into distinct scores in ascending order with their counts."""
        values, places = np.unique(np.concatenate([scores.values for scores in self.pending]), return_inverse=True)
        counts = [np.bincount(places, np.concatenate([scores[kind] for scores in self.pending]), len(values)).astype(np.int64)
                  for kind in (1, 2)]
        self.pending, self.size = [_Scores(values, *counts)], 0
        return self.pending[0]

    def value(self) -> float:
        """The fraction of pairs of a positive and a negative with the higher score for the positive; ties count half."""
        if not self.pending:
            return float("nan")
        _values, negatives, positives = self.merge()
        below = np.cumsum(negatives) - negatives
        total = 2 * int(positives.sum()) * int(negatives.sum())
        return int((positives * (2 * below + negatives)).sum()) / total if total else float("nan")


@register
class AUC(LateMetric):
    """The area under the ROC curve of two classes, exact over all batches; not in MXNet.

    The area is the fraction of pairs of a positive and a negative sample with the higher score for the positive, where ties
    count half (J. Hanley and B. McNeil 1982).  It is nan if one class is missing.  All distinct scores are kept in memory.

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

    larger_is_better = True
    _record = _Ranking

    def __init__(self, name: str = "auc", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch of labels 0 and 1 (batch,), and of scores (batch,), (batch, 1) or, for both classes, (batch, 2)."""
        for label, pred in pairs(labels, preds):
            if pred.ndim > 2 or (pred.ndim == 2 and pred.shape[1] not in (1, 2)):
                raise ShapeError(expected("The shape of the predictions", "(batch,) or (batch, 2)", pred.shape),
                                 hint="pass the scores of the positive class, or of both classes.")
            scores, label = (pred if pred.ndim == 1 else pred[:, -1]), label.ravel()
            check_label_shapes(label, scores)
            if not np.isin(label, (0, 1)).all():
                raise ShapeError(f"Labels of AUC must be 0 or 1, got {label[~np.isin(label, (0, 1))][0]}.",
                                 hint="(label > 0) converts -1 and 1 to 0 and 1.")
            if np.isnan(scores).any():
                raise DTypeError("The scores of AUC must not be nan.", hint="check whether the training diverged.")
            record = _Scores(scores.astype(np.float64), (label == 0).astype(np.int64), (label == 1).astype(np.int64))
            self._join(record, len(label))

    def get(self) -> tuple[str, float]:
        """The name and the area since the last ``reset_local``."""
        return self.name, self._local.value()

    def get_global(self) -> tuple[str, float]:
        """The name and the area since the last ``reset``."""
        return self.name, self._global.value()
