"""Type aliases of initializers; imported only under ``TYPE_CHECKING``, as ``base.types``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .base import Initializer

__all__ = ["InitLike"]

#: Argument of ``create``; None for the default.  Any: a function of the user, which takes a description and an array.
InitLike: TypeAlias = Initializer | type[Initializer] | str | Callable[..., Any] | None
