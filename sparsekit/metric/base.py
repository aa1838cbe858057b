"""The base class and the registry of metrics, composite metrics, and checks of labels and predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from ..base.arguments import unmasked
from ..base.errors import DTypeError, RowIndexError, ShapeError, UnknownNameError, UnsupportedError, expected
from ..base.registry import Registry
from ..ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..base.types import Array

Result = TypeVar("Result")

#: Labels or predictions: one array, or several.
Arrays: TypeAlias = "NDArray | Array | Sequence[NDArray | Array]"
#: Argument of ``create``.  Any: a function of the user, a result of ``get_config``, and a list of all of these.
MetricLike: TypeAlias = "EvalMetric | type[EvalMetric] | str | Callable[..., Any] | Mapping[str, Any] | Sequence[Any]"
#: Names of the arrays that a metric uses.
Names: TypeAlias = "Sequence[str] | None"


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Raise ``ShapeError`` if the numbers of labels and predictions differ.

    Parameters
    ----------
    labels, preds : array or list of arrays
    wrap : bool
        Return single arrays in lists.  Default False.
    shape : bool
        Compare the shapes instead of the lengths.  Default False.

    Returns
    -------
    tuple
        Labels and predictions.

    Raises
    ------
    ShapeError
        If the lengths or shapes differ.
    """
    compared = (tuple(labels.shape), tuple(preds.shape)) if shape else (_read(len, labels), _read(len, preds))
    if compared[0] != compared[1]:
        raise ShapeError(f"Shape of labels {compared[0]} does not match shape of predictions {compared[1]}.",
                         hint="pass one label for each prediction.")
    if wrap:
        labels, preds = _listed(labels), _listed(preds)
    return labels, preds


def _read(read: Callable[[Arrays], Result], arrays: Arrays) -> Result:
    """``read(arrays)``, by ``len`` or ``list``; raises ``DTypeError`` for an object that is not a list."""
    try:
        return read(arrays)
    except Exception as error:  # whatever the object raises
        raise DTypeError(expected("An argument of a metric", "a list of arrays", type(arrays)),
                         hint="pass [mx.nd.array(values)].") from error


def _listed(arrays: Arrays) -> Sequence[Any]:
    return [arrays] if isinstance(arrays, (NDArray, np.ndarray)) else arrays


def _numbers(array: object) -> Array:
    """The values of an ``NDArray`` or a numpy array, as a numpy array."""
    if isinstance(array, NDArray):
        return array.asnumpy()
    if isinstance(array, (np.ndarray, np.generic)):
        return np.asarray(unmasked(array))
    raise DTypeError(expected("An argument of a metric", "an array", type(array)), hint="pass mx.nd.array(values).")


def pairs(labels: Arrays, preds: Arrays) -> Iterable[tuple[Any, Any]]:
    """Pairs of an array of labels and its array of predictions, as numpy arrays."""
    labels, preds = check_label_shapes(labels, preds, True)
    return [(_numbers(label), _numbers(pred)) for label, pred in zip(_read(list, labels), _read(list, preds), strict=True)]


def classes_at(label: Array, count: int) -> Array:
    """Labels as int64 class numbers; raises ``RowIndexError`` if one is not from 0 to ``count`` - 1."""
    classes = label.astype(np.int64)
    wrong = classes[(classes < 0) | (classes >= count)]
    if wrong.size:
        raise RowIndexError(f"Label {wrong[0]} is out of range for {count} classes.", hint=f"labels run from 0 to {count - 1}.")
    return classes


class Record(Protocol):
    """What a recorded metric keeps of batches."""

    def value(self) -> float:
        """The metric of all of it."""


class EvalMetric:
    """Base of metrics: a value over all batches since the last reset.

    A subclass overrides ``update``, which adds the total and the count of a batch to ``sum_metric`` and ``num_inst``, for
    instance by ``_add``.  A local and a global total are kept: ``reset_local`` resets the local one, ``reset`` both.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
        Names of the arrays that ``update_dict`` uses; all by default.
    **kwargs
        Further arguments of the subclass, which ``get_config`` returns.  ``has_global_stats=True`` enables the global total.
    """

    #: Whether larger values are better; a class of metrics of which that is so says it.
    larger_is_better: ClassVar[bool] = False

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
        """The name of the class and its arguments, from which ``create`` makes an equal metric."""
        return {**self._kwargs, "metric": type(self).__name__, "name": self.name, "output_names": self.output_names,
                "label_names": self.label_names}

    def update_dict(self, label: dict[str, Any], pred: dict[str, Any]) -> None:
        """Add a batch, given as dictionaries of arrays by name."""
        self.update(_chosen(label, self.label_names, "label"), _chosen(pred, self.output_names, "output"))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch; for subclasses to override.

        Parameters
        ----------
        labels, preds : NDArray, or list of NDArray
            One array of labels for each array of predictions.
        """
        raise UnsupportedError(f"{type(self).__name__} does not define update().", hint="override update(self, labels, preds).")

    def _add(self, total: float, count: int) -> None:
        """Add the total and the count of a batch to the local and the global total."""
        self.sum_metric += total
        self.global_sum_metric += total
        self.num_inst += count
        self.global_num_inst += count

    def reset(self) -> None:
        """Reset the local and the global total."""
        self.global_num_inst, self.global_sum_metric = 0, 0.0
        self.reset_local()

    def reset_local(self) -> None:
        """Reset the local total."""
        self.num_inst: Any = 0
        self.sum_metric = 0.0

    def _value(self, total: float, count: int) -> float:
        value: Any = total / count if count else float("nan")  # Any: functions of arrays give arrays of one element
        number: float = value.item() if getattr(value, "size", 0) == 1 else value
        return number

    def get(self) -> tuple[Any, Any]:
        """The name and the value since the last ``reset_local``; nan without any batch."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """The name and the value since the last ``reset``; without a global total, those of ``get``."""
        return (self.name, self._value(self.global_sum_metric, self.global_num_inst)) if self._has_global_stats else self.get()

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value since the last ``reset_local``."""
        return _zipped(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value since the last ``reset``."""
        return _zipped(*self.get_global())


class RecordedMetric(EvalMetric):
    """Base of metrics whose value comes from a record of all batches, rather than from a mean over batches.

    The class of the record is ``_record``.  Made without arguments, it is a record of no batch; ``joined(other)`` is that of the
    batches of both, and ``value()`` the metric's value.
    """

    _record: ClassVar[type[Any]]
    _local: Any
    _global: Any

    def _join(self, record: object, count: int) -> None:  # object: a record
        """Add the record of a batch to the local and the global one; the batch counts as ``count``."""
        self._local, self._global = self._local.joined(record), self._global.joined(record)
        self.num_inst += count
        self.global_num_inst += count
        self._sum_up()

    def _sum_up(self) -> None:
        """Note the values."""
        self.sum_metric = self._local.value() * self.num_inst
        self.global_sum_metric = self._global.value() * self.global_num_inst

    def reset(self) -> None:
        """Reset the local and the global total."""
        self._global = self._record()
        super().reset()

    def reset_local(self) -> None:
        """Reset the local total."""
        self._local = self._record()
        super().reset_local()


class AveragedMetric(RecordedMetric):
    """Base of metrics that are a mean of the values of batches (macro), or one value over all samples (micro)."""

    def __init__(self, name: str, output_names: Names, label_names: Names, average: str) -> None:
        UnknownNameError.check("average", average, ("macro", "micro"))
        self.average = average
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def _take(self, record: Record, count: int) -> None:
        """Add the record of a batch."""
        if self.average == "macro":
            self._add(record.value(), 1)
        else:
            self._join(record, count)


class LateMetric(RecordedMetric):
    """Base of recorded metrics whose value is computed when it is asked for, rather than for each batch."""

    def _sum_up(self) -> None:
        """Note nothing."""

    @property
    def sum_metric(self) -> float:
        """The value since the last ``reset_local``, times the count."""
        return float(self._local.value() * self.num_inst)

    @property
    def global_sum_metric(self) -> float:
        """The value since the last ``reset``, times the count."""
        return float(self._global.value() * self.global_num_inst)

    def reset(self) -> None:
        """Reset the local and the global total."""
        self.global_num_inst, self._global = 0, self._record()
        self.reset_local()

    def reset_local(self) -> None:
        """Reset the local total."""
        self.num_inst, self._local = 0, self._record()


def _zipped(name: Sequence[str] | str, value: float | Sequence[float]) -> list[tuple[str, Any]]:
    names, values = (part if isinstance(part, list) else [part] for part in (name, value))
    return list(zip(names, values, strict=True))


def _chosen(arrays: dict[str, Any], names: Names, kind: str) -> list[Any]:
    if names is None:
        return list(arrays.values())
    for name in names:
        UnknownNameError.check(kind, name, arrays)
    return [arrays[name] for name in names]


_registry = Registry(EvalMetric, "metric")
register, alias = _registry.register, _registry.alias


def create(metric: object, *args: object, **kwargs: object) -> EvalMetric:
    """Make a metric.

    Parameters
    ----------
    metric : str, type, callable, list, dict or EvalMetric
        A name or a class of a metric; a function of label and prediction, for a ``CustomMetric``; a list of these, for a
        ``CompositeEvalMetric``; or a result of ``get_config``.  An instance is returned unchanged.
    *args, **kwargs
        Arguments of the class.

    Raises
    ------
    UnknownNameError
        If no metric has this name.

    Examples
    --------
    >>> mx.metric.create(["acc", "ce"]).get()
    (['accuracy', 'cross-entropy'], [nan, nan])
    """
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for part in metric:
            composite.add(create(part, *args, **kwargs))
        return composite
    if callable(metric) and not isinstance(metric, (type, EvalMetric)):
        metric, args = "custommetric", (metric, *args)
    created: EvalMetric = _registry.create(metric, *args, **kwargs)
    return created


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one.

    Parameters
    ----------
    metrics : list, optional
        Metrics, or arguments of ``create``.
    name : str
    output_names, label_names : list of str, optional
        Names of the arrays that ``update_dict`` passes to the metrics; all by default.

    Examples
    --------
    >>> both = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), "f1"])
    """

    def __init__(self, metrics: Sequence[MetricLike] | None = None, name: str = "composite", output_names: Names = None,
                 label_names: Names = None) -> None:
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: object) -> None:
        """Append a metric, or the result of ``create`` for the argument."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at a position; raises ``RowIndexError`` if it is out of range."""
        try:
            return self.metrics[index]
        except IndexError:
            raise RowIndexError(f"Metric index {index} is out of range for {len(self.metrics)} metrics.",
                                hint="metrics are numbered from 0.") from None

    def update_dict(self, labels: dict[str, Any], preds: dict[str, Any]) -> None:
        """Add a batch, given as dictionaries of arrays by name, to all metrics."""
        if self.label_names is not None:
            labels = {name: array for name, array in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: array for name, array in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch to all metrics."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Reset the local and the global totals of all metrics."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Reset the local totals of all metrics."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[Any, Any]:
        """Lists of all names and all values since the last ``reset_local``."""
        return _joined(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[Any, Any]:
        """Lists of all names and all values since the last ``reset``."""
        return _joined(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the composite, with the configuration of each metric under ``metrics``."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _joined(results: Iterable[tuple[Any, Any]]) -> tuple[list[str], list[Any]]:
    names, values = [], []
    for name, value in results:
        names.extend(name if isinstance(name, list) else [name])
        values.extend(value if isinstance(value, list) else [value])
    return names, values
