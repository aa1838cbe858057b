"""The element types of arrays, which are those of MXNet, and the names that arguments may use for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import DTypeError, expected

if TYPE_CHECKING:
    from .types import DType

#: In the order of their numbers in MXNet's files.
ELEMENT_TYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


#: Axes that numpy 1 allows.
MOST_AXES = 32


def element_type(dtype: object, default: object = "float32") -> DType:  # object: whatever the user gave, to be checked
    """The numpy dtype that ``dtype`` stands for, in the byte order of the machine; ``default`` for None.

    Raises
    ------
    DTypeError
        If ``dtype`` is not an element type, or one that arrays do not support: complex numbers, text, dates, objects.
    """
    result: DType
    if isinstance(dtype, np.dtype):
        result = dtype
    else:
        try:
            result = np.dtype(default if dtype is None else dtype)  # type: ignore[call-overload]  # which raises for others
        except Exception:  # numpy calls methods of unknown objects, which may raise anything
            raise DTypeError(expected("dtype", "an element type", dtype),
                             hint=f"use one of {', '.join(ELEMENT_TYPES)}.") from None
    if result.name not in ELEMENT_TYPES:
        raise DTypeError(f"Arrays must hold real numbers or integers, got {result}.",
                         hint=f"cast to one of {', '.join(ELEMENT_TYPES)} first.")
    return result.newbyteorder("=")


def is_left_out(dtype: object) -> bool:  # object: as above
    """Whether no element type is asked for: None, or its name in symbols.  (``np.dtype("float64") == None`` is true.)"""
    return dtype is None or (isinstance(dtype, str) and dtype in ("None", "_Null"))


def joint_type(*dtypes: DType) -> DType:
    """The element type that values of all these types meet in: numpy's, but int32 for int16, which arrays do not have."""
    joint = np.result_type(*dtypes)
    return np.dtype(np.int32) if joint == np.int16 else joint
