"""The words of ``compat.test_utils`` in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..base.types import Array
from ..ndarray.ndarray import NDArray

__all__ = ["Arrays", "Tolerance"]

#: Arguments, states, gradients or outputs of a symbol, in their order or by name.
Arrays: TypeAlias = Sequence[NDArray | Array] | Mapping[str, NDArray | Array]

#: A tolerance, or tolerances by element type.  Any: whatever numpy takes for an element type.
Tolerance: TypeAlias = float | Mapping[Any, float] | None
