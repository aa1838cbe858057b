"""The base class of metrics, their registry, composites, and how labels and predictions arrive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import unmasked
from ..base.errors import DTypeError, RowIndexError, ShapeError, SparsekitError, UnknownNameError, expected
from ..base.registry import Registry
from ..ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import Array
    from .types import Arrays, MetricLike, Names


__all__ = ["CompositeEvalMetric", "EvalMetric", "alias", "check_label_shapes", "classes_at", "create", "pairs", "register"]


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Raise unless there are as many labels as predictions.

    Parameters
    ----------
    labels, preds : array or list of arrays
    wrap : bool
        Put single arrays in lists.
    shape : bool
        Compare the whole shapes, not only the lengths.

    Returns
    -------
    tuple
        Labels and predictions.

    Raises
    ------
    ShapeError
    """
    found = (tuple(labels.shape), tuple(preds.shape)) if shape else (len(labels), len(preds))
    if found[0] != found[1]:
        raise ShapeError(f"Shape of labels {found[0]} does not match shape of predictions {found[1]}.",
                         hint="give one label for each prediction.")
    if wrap:
        labels, preds = _listed(labels), _listed(preds)
    return labels, preds


def _listed(arrays: Arrays) -> Sequence[Any]:
    return [arrays] if isinstance(arrays, (NDArray, np.ndarray)) else arrays


def _numbers(array: object) -> Array:
    """The values of an array of either library."""
    if isinstance(array, NDArray):
        return array.asnumpy()
    if isinstance(array, (np.ndarray, np.generic)):
        return np.asarray(unmasked(array))
    raise DTypeError(expected("An argument of a metric", "an array", type(array)), hint="mx.nd.array(values) makes one.")


def pairs(labels: Arrays, preds: Arrays) -> Iterable[tuple[Any, Any]]:
    """Each array of labels with its array of predictions, as numpy arrays."""
    labels, preds = check_label_shapes(labels, preds, True)
    return [(_numbers(label), _numbers(pred)) for label, pred in zip(labels, preds, strict=True)]


def classes_at(label: Array, count: int) -> Array:
    """Labels as class numbers, which are from 0 to ``count`` - 1.

    Raises
    ------
    RowIndexError
        If one is not.
    """
    classes = label.astype(np.int64)
    wrong = classes[(classes < 0) | (classes >= count)]
    if wrong.size:
        raise RowIndexError(f"Label {wrong[0]} is out of range for {count} classes.", hint=f"labels run from 0 to {count - 1}.")
    return classes


class EvalMetric:
    """Base of metrics: a value over all batches since the last reset.

    A subclass overrides ``update``, which adds to ``sum_metric`` and ``num_inst`` what a batch gives, by ``_add``.  Two
    totals are kept: ``reset_local`` restarts one, as loggers do from time to time, and ``reset`` both.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
        Which arrays ``update_dict`` takes; all by default.
    **kwargs
        What ``get_config`` is to give, so that ``create`` makes the same metric of it.
    """

    sum_metric: Any
    global_sum_metric: Any

    def __init__(self, name: str, output_names: Names = None, label_names: Names = None, **kwargs: object) -> None:
        self.name = str(name)
        self.output_names, self.label_names = output_names, label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """The class and its arguments; ``create`` makes the same metric of it."""
        return {**self._kwargs, "metric": type(self).__name__, "name": self.name, "output_names": self.output_names,
                "label_names": self.label_names}

    def update_dict(self, label: dict[str, Any], pred: dict[str, Any]) -> None:
        """Take in a batch whose arrays have names."""
        self.update(_chosen(label, self.label_names, "label"), _chosen(pred, self.output_names, "output"))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch; to be overridden.

        Parameters
        ----------
        labels, preds : NDArray, or list of NDArray
            As many arrays of labels as of predictions.
        """
        raise SparsekitError(f"{type(self).__name__} has no update().", hint="override update(self, labels, preds).")

    def _add(self, total: float, count: int) -> None:
        """Add what a batch gives to both totals."""
        self.sum_metric += total
        self.global_sum_metric += total
        self.num_inst += count
        self.global_num_inst += count

    def reset(self) -> None:
        """Start again."""
        self.global_num_inst, self.global_sum_metric = 0, 0.0
        self.reset_local()

    def reset_local(self) -> None:
        """Start again, but for what ``get_global`` gives."""
        self.num_inst: Any = 0
        self.sum_metric = 0.0

    def _value(self, total: float, count: int) -> float:
        return total / count if count else float("nan")

    def get(self) -> tuple[Any, Any]:
        """The name and the value since the last ``reset_local``; nan if there was no batch."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """The name and the value since the last ``reset``."""
        return (self.name, self._value(self.global_sum_metric, self.global_num_inst)) if self._has_global_stats else self.get()

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value."""
        return _zipped(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value since the last ``reset``."""
        return _zipped(*self.get_global())


def _zipped(name: Sequence[str] | str, value: float | Sequence[float]) -> list[tuple[str, Any]]:
    names, values = (part if isinstance(part, list) else [part] for part in (name, value))
    return list(zip(names, values, strict=True))


def _chosen(arrays: dict[str, Any], names: Names, kind: str) -> list[Any]:
    if names is None:
        return list(arrays.values())
    for name in names:
        if name not in arrays:
            raise UnknownNameError.of(kind, name, arrays)
    return [arrays[name] for name in names]


_registry = Registry(EvalMetric, "metric")
register, alias = _registry.register, _registry.alias


def create(metric: object, *args: object, **kwargs: object) -> EvalMetric:
    """The metric that something stands for.

    Parameters
    ----------
    metric : str, function, list, dict or EvalMetric
        A name; a function of label and prediction, which becomes a ``CustomMetric``; a list of these, which becomes a
        ``CompositeEvalMetric``; or what ``get_config`` gives.
    *args, **kwargs
        Arguments of the metric's class.

    Raises
    ------
    UnknownNameError
        If no metric has that name.

    Examples
    --------
    >>> mx.metric.create(["acc", "ce"]).get()
    (['accuracy', 'cross-entropy'], [nan, nan])
    """
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for one in metric:
            composite.add(create(one, *args, **kwargs))
        return composite
    if callable(metric) and not isinstance(metric, (type, EvalMetric)):
        metric, args = "custommetric", (metric, *args)
    found: EvalMetric = _registry.create(metric, *args, **kwargs)
    return found


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one.

    Parameters
    ----------
    metrics : list, optional
        What ``create`` takes.
    name : str
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> both = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), "f1"])
    """

    def __init__(self, metrics: Sequence[MetricLike] | None = None, name: str = "composite", output_names: Names = None,
                 label_names: Names = None) -> None:
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: object) -> None:
        """Append a metric, or what ``create`` takes."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """One of the metrics, by its number."""
        try:
            return self.metrics[index]
        except IndexError:
            raise RowIndexError(f"Metric index {index} is out of range 0 and {len(self.metrics)}.",
                                hint="metrics are numbered from 0.") from None

    def update_dict(self, labels: dict[str, Any], preds: dict[str, Any]) -> None:
        """Take in a batch whose arrays have names."""
        if self.label_names is not None:
            labels = {name: array for name, array in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: array for name, array in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Start all metrics again."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Start all metrics again, but for what ``get_global`` gives."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[Any, Any]:
        """Lists of all names and all values."""
        return _joined(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[Any, Any]:
        """Lists of all names and all values since the last ``reset``."""
        return _joined(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        """The configurations of all metrics, and the names."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _joined(found: Iterable[tuple[Any, Any]]) -> tuple[list[str], list[Any]]:
    names, values = [], []
    for name, value in found:
        names.extend(name if isinstance(name, list) else [name])
        values.extend(value if isinstance(value, list) else [value])
    return names, values
