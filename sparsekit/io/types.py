"""Type aliases of data sources; imported only under ``TYPE_CHECKING``, as ``base.types``."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TypeAlias

__all__ = ["TextLike"]

#: Source of text: a path, an open file, or lines.
TextLike: TypeAlias = str | PathLike[str] | Iterable[str | bytes]
