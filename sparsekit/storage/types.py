"""The words for stores in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from ..base.types import Array
from .csr import CSR
from .row_sparse import RowSparse

__all__ = ["Sparse", "Store", "StoreT", "Weight"]

#: What a sparse array is made of.
Sparse: TypeAlias = CSR | RowSparse

#: What any array is made of.
Store: TypeAlias = Array | CSR | RowSparse

#: What weights, their gradients and an optimizer's states are made of.
Weight: TypeAlias = Array | RowSparse

#: The store that a function is given and gives back.
StoreT = TypeVar("StoreT", bound=Store)
