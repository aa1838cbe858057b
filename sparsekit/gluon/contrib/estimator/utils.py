"""Checks of metrics and handlers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....base.errors import ParameterError, expected
from ....base.warn import warn_user
from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss

if TYPE_CHECKING:
    from ...loss import Loss

__all__ = ["better", "check_handler_metrics", "larger_is_better", "listed_metrics", "suggested_metric"]


def listed_metrics(metrics: object) -> list[EvalMetric]:
    """Metrics as a new list; a composite metric becomes its parts.

    Raises
    ------
    ParameterError
        If anything else is among them.
    """
    if isinstance(metrics, CompositeEvalMetric):
        return [leaf for metric in metrics.metrics for leaf in listed_metrics(metric)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    listed = list(metrics) if isinstance(metrics, (list, tuple)) else metrics or []
    if not isinstance(listed, list) or not all(isinstance(metric, EvalMetric) for metric in listed):
        raise ParameterError(expected("metrics", "a metric or a list of metrics", metrics),
                             hint="mx.metric.Accuracy(), for example.")
    return listed


def suggested_metric(loss: Loss) -> EvalMetric | None:
    """The metric that goes with a loss; None if no metric does."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None


def check_handler_metrics(handler: object, metrics: Iterable[EvalMetric]) -> None:
    """Raise ``ParameterError`` if a handler's metrics or its ``monitor`` are not among those of the estimator."""
    of_estimator = set(metrics)
    for name in dir(handler):
        if "metric" not in name and name != "monitor":
            continue
        value = getattr(handler, name)
        for metric in value if isinstance(value, list) else [value]:
            if isinstance(metric, EvalMetric) and metric not in of_estimator:
                raise ParameterError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the known training "
                    "and validation metrics.", hint="use metrics of estimator.train_metrics and estimator.val_metrics.")


def larger_is_better(kind: str, metric: EvalMetric, mode: str) -> bool:
    """Whether ``mode`` takes larger values of a metric for better ones; ``"auto"`` goes by its class, and warns."""
    if mode not in ("auto", "min", "max"):
        warn_user(f"{kind} mode {mode} is unknown, fallback to auto mode. It uses max mode for f1 and accuracy metric "
                      "comparison and min mode otherwise", RuntimeWarning)
        mode = "auto"
    if mode != "auto":
        return mode == "max"
    name, larger = str(metric.get()[0]), metric.larger_is_better
    used, other, fixed, by = ("greater", "less", "max", "min") if larger else ("less", "greater", "min", "max")
    warn_user(f"`{used}` operator will be used to determine if {name} has improved. Please specify `mode='{by}'` to use the "
                  f"`{other}` operator. Specify `mode='{fixed}'` to disable this warning.", UserWarning)
    return larger


def better(value: float, best: float, larger: bool) -> bool:
    """Whether a value is better than the best before."""
    return value > best if larger else value < best
