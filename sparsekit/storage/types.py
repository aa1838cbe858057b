"""Type aliases of stores; imported only under ``TYPE_CHECKING``, as ``base.types``."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from ..base.types import Array
from .csr import CSR
from .row_sparse import RowSparse

#: Store of a sparse array.
Sparse: TypeAlias = CSR | RowSparse

#: Store of any array.
Store: TypeAlias = Array | CSR | RowSparse

#: Store of a weight, its gradient or an optimizer state.
Weight: TypeAlias = Array | RowSparse

#: A store type that a function takes and returns.
StoreT = TypeVar("StoreT", bound=Store)
