"""The words for initializers in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .base import Initializer

__all__ = ["InitLike"]

#: What ``create`` makes an initializer of; None stands for the usual one.  Any: the array comes behind its description.
InitLike: TypeAlias = Initializer | type[Initializer] | str | Callable[..., Any] | None
