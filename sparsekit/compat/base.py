"""Names of ``mxnet.base`` that programs import: tuples of types, and ``NotImplementedForSymbol``."""

from __future__ import annotations

import numpy as np

from ..base.errors import NotImplementedForSymbol
from ..base.scoped import classproperty

__all__ = ["NotImplementedForSymbol", "classproperty", "integer_types", "mx_real_t", "numeric_types", "py_str", "string_types"]

#: Default element type of arrays.
mx_real_t = np.float32
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)
string_types = (str,)


def py_str(x: bytes) -> str:
    """Decode bytes as UTF-8."""
    return x.decode("utf-8")
