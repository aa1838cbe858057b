"""The words for what views show in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

__all__ = ["Marks", "Records"]

#: What a profiler recorded, of one run or of several by name.  Any: the fields of a record differ.
Records: TypeAlias = Mapping[str, Iterable[Mapping[str, Any]] | None] | Iterable[Mapping[str, Any]] | None

#: What is marked on a timeline.  Any: as of records.
Marks: TypeAlias = Iterable[Mapping[str, Any]] | None
