"""The words for compatibility names in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..base.types import Array
from ..ndarray.ndarray import NDArray
from ..storage.types import Store

__all__ = ["Arrays", "Given", "GivenStores", "Tolerance"]

#: Arguments, states, gradients or outputs of a symbol, in their order or by name.
Arrays: TypeAlias = Sequence[NDArray | Array] | Mapping[str, NDArray | Array]

#: A tolerance, or tolerances by element type.  Any: whatever numpy takes for an element type.
Tolerance: TypeAlias = float | Mapping[Any, float] | None

#: What a rule row of an operator with any number of dense inputs is given: the inputs, then the attributes.
#: Any: each operator has attributes of its own.
Given: TypeAlias = tuple[*tuple[Array, ...], dict[str, Any]]

#: The same, of inputs in any storage.
GivenStores: TypeAlias = tuple[*tuple[Store, ...], dict[str, Any]]
