"""Type aliases of metrics; imported only under ``TYPE_CHECKING``, as ``base.types``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..base.types import Array
from ..ndarray.ndarray import NDArray
from .base import EvalMetric

__all__ = ["Arrays", "MetricLike", "Names"]

#: Labels or predictions: one array, or several.
Arrays: TypeAlias = NDArray | Array | Sequence[NDArray | Array]

#: Argument of ``create``.  Any: a function of the user, a result of ``get_config``, and a list of all of these.
MetricLike: TypeAlias = EvalMetric | type[EvalMetric] | str | Callable[..., Any] | Mapping[str, Any] | Sequence[Any]

#: Names of the arrays that a metric uses.
Names: TypeAlias = Sequence[str] | None
