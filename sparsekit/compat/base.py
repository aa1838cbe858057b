"""Names of ``mxnet.base`` that programs import: tuples of types, and ``NotImplementedForSymbol``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from ..base.errors import NotImplementedForSymbol

__all__ = ["NotImplementedForSymbol", "classproperty", "data_dir", "integer_types", "mx_real_t", "numeric_types", "py_slice",
           "py_str", "string_types"]

#: Default element type of arrays.
mx_real_t = np.float32
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)
string_types = (str,)
#: Programs whose star imports hide ``slice`` take it from ``mxnet.ndarray.ndarray``.
py_slice = slice


T = TypeVar("T")


class classproperty(Generic[T]):
    """A property of a class: ``@classproperty`` in front of a function that gets the class."""

    def __init__(self, fget: Callable[[Any], T]) -> None:  # Any: the class that has the property
        self.fget = fget
        self.__doc__ = fget.__doc__

    def __get__(self, instance: object, owner: type) -> T:  # object: an instance of that class, or None
        return self.fget(owner)


def _as_list(obj: object) -> list[Any] | tuple[Any, ...]:  # Any: items of all kinds
    """The list or tuple itself, or anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def data_dir() -> str:
    """The folder for what programs download: that of ``MXNET_HOME``, or ``~/.mxnet``."""
    return os.environ.get("MXNET_HOME") or os.path.join(os.path.expanduser("~"), ".mxnet")


def py_str(x: bytes | str) -> str:
    """Decode bytes as UTF-8; names that MXNet's library gives as bytes are text already, and stay as they are."""
    return x.decode("utf-8") if isinstance(x, bytes) else x
