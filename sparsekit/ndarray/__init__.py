"""Arrays and the operators on them: ``mx.nd``."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import wrap
from ..core.op import registry as _registry
from . import sparse
from .arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)
from .creation import arange, array, empty, from_numpy, full, ones, waitall, zeros
from .functions import F as _F
from .ndarray import NDArray
from .sparse import BaseSparseNDArray, CSRNDArray, RowSparseNDArray


def __getattr__(name: str) -> Any:
    """An operator as a function, made when first asked for."""
    if name not in _registry:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = getattr(_F, name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for name in _registry if not name.startswith("_"))})


__all__ = ["BaseSparseNDArray", "CSRNDArray", "NDArray", "RowSparseNDArray", "add", "arange", "array", "divide", "empty",
           "equal", "from_numpy", "full", "greater", "greater_equal", "lesser", "lesser_equal", "maximum", "minimum",
           "modulo", "multiply", "not_equal", "ones", "power", "sparse", "subtract", "true_divide", "waitall", "wrap", "zeros"]
