"""The words for sources of data in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TypeAlias

__all__ = ["TextLike"]

#: What a text is read from: a path, an open file, or lines.
TextLike: TypeAlias = str | PathLike[str] | Iterable[str | bytes]
