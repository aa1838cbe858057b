"""Type aliases of this package; imported under ``TYPE_CHECKING`` only, as ``base.types``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..base.types import Array
from ..ndarray.ndarray import NDArray

#: Arguments, states, gradients or outputs of a symbol, in order or by name.
Arrays: TypeAlias = Sequence[NDArray | Array] | Mapping[str, NDArray | Array]

#: A tolerance, or tolerances by element type.  Any: anything that numpy accepts as an element type.
Tolerance: TypeAlias = float | Mapping[Any, float] | None
