"""The element types of arrays, MXNet's, and how an argument names one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DTypeError, shown

if TYPE_CHECKING:
    from .types import DType


__all__ = ["ELEMENT_TYPES", "MOST_AXES", "element_type", "joint_type"]

#: In the order of their numbers in MXNet's files.
ELEMENT_TYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


#: Axes that numpy 1 allows.
MOST_AXES = 32


def element_type(dtype: Any, default: Any = "float32") -> Any:
    """The numpy dtype that ``dtype`` stands for, in the byte order of the machine; ``default`` for None.

    Raises
    ------
    DTypeError
        If it is none, or one that arrays do not have: complex numbers, text, dates, objects.
    """
    try:
        found = np.dtype(default if dtype is None else dtype)
    except Exception:  # numpy asks objects for what they are, and they may raise anything
        raise DTypeError(f"{shown(dtype)} is no element type.", hint=f"use one of {', '.join(ELEMENT_TYPES)}.") from None
    if found.name not in ELEMENT_TYPES:
        raise DTypeError(f"Arrays hold real numbers or integers, not {found}.",
                         hint=f"cast to one of {', '.join(ELEMENT_TYPES)} first.")
    return found.newbyteorder("=")


def joint_type(*dtypes: DType) -> DType:
    """The element type that values of all these types meet in: numpy's, but int32 for int16, which arrays do not have."""
    found = np.result_type(*dtypes)
    return np.dtype(np.int32) if found == np.int16 else found
