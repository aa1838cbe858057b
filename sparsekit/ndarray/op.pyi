"""Operators of ``mx.nd.op``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .ndarray import NDArray
from .sparse import CSRNDArray, RowSparseNDArray
from ..compat.operator import Custom as Custom
from .operators import *

_Out: TypeAlias = NDArray | Sequence[NDArray] | None

@overload
def transpose(data: CSRNDArray, axes: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def transpose(data: NDArray, axes: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy with the axes reversed, or in the order ``axes``."""
