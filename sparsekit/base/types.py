"""The words of the annotations: what shapes, element types, arrays and attributes are.

Modules import them ``if TYPE_CHECKING`` alone, so that none of this costs anything at run time.  ``Store`` is in
``storage.types``, ``Kernels`` in ``kernels.types``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "JSON",
    "Array",
    "Attrs",
    "DType",
    "DTypeLike",
    "Decorator",
    "Foreign",
    "Indices",
    "Lock",
    "Plain",
    "Scalar",
    "Shape",
    "ShapeLike",
    "Values",
]

#: The lengths of an array's axes.
Shape: TypeAlias = tuple[int, ...]

#: What a caller may give for a shape; one number stands for one axis.
ShapeLike: TypeAlias = int | Sequence[int]

#: An element type.  Any: which one it is, is known at run time alone.
DType: TypeAlias = np.dtype[Any]

#: What a caller may give for an element type; None asks for the usual one.  ``npt.DTypeLike`` has also what only arrays of fields
#: take, and mypy tries each part of it with each signature of ``np.dtype``, which takes it long.
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | None

#: A dense array, numpy's or, on a GPU, cupy's.  Any: an operator computes in whatever element type its inputs have.
Array: TypeAlias = npt.NDArray[Any]

#: Stored values of a sparse array.  Any: numpy's own parameter of its numbers, their precision.
Values: TypeAlias = npt.NDArray[np.number[Any] | np.bool]

#: Places in an array: columns, rows and where rows start.  Any: numpy's own parameter, int32 or int64.
Indices: TypeAlias = npt.NDArray[np.signedinteger[Any]]

#: A single number.
Scalar: TypeAlias = bool | int | float | np.generic

#: An operator's attributes by name.  Any: each operator declares its own, with their defaults, and ``core.op`` checks them.
Attrs: TypeAlias = Mapping[str, Any]

#: An array of another library, or whatever a user gave in place of one.  Any: the library need not be installed.
Foreign: TypeAlias = Any

#: What JSON can say.
JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"

#: One record of plain data, as it goes to JSON.  Any: its fields differ from record to record.
Plain: TypeAlias = dict[str, Any]

#: What declares a function and gives it back.
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]  # Any: the kernels of all operators


class Lock(Protocol):
    """A lock of Python's or of numpy's."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:
        """Wait for it, and take it."""
    def release(self) -> None:
        """Let others have it."""
