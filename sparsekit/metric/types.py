"""The words for metrics in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..base.types import Array
from ..ndarray.ndarray import NDArray
from .base import EvalMetric

__all__ = ["Arrays", "MetricLike", "Names"]

#: Labels or predictions: one array, or several.
Arrays: TypeAlias = NDArray | Array | Sequence[NDArray | Array]

#: What ``create`` makes a metric of.  Any: a function of one's own, what ``get_config`` gave, and a list of all of these.
MetricLike: TypeAlias = EvalMetric | type[EvalMetric] | str | Callable[..., Any] | Mapping[str, Any] | Sequence[Any]

#: Names of the arrays that a metric takes.
Names: TypeAlias = Sequence[str] | None
