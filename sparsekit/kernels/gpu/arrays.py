"""The array module that operators see on a GPU: cupy, with what they need of numpy beyond it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

__all__ = ["Arrays"]


class Arrays:
    """cupy's names; a few behave as numpy's where cupy's do not."""

    def __init__(self) -> None:
        self._cupy: Any = importlib.import_module("cupy")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cupy, name)
        setattr(self, name, found)
        return found

    def repeat(self, array: Any, repeats: Any, axis: int | None = None) -> Any:
        """``numpy.repeat``; counts that lie on the device stay there, but for their sum, which is the size of the result."""
        if not isinstance(repeats, self.ndarray) or repeats.ndim == 0 or axis is not None:
            return self._cupy.repeat(self.asarray(array), repeats if not isinstance(repeats, self.ndarray) else
                                     repeats.tolist(), axis)
        ends = self.cumsum(repeats.astype(np.int64, copy=False))
        total = int(ends[-1]) if ends.size else 0
        places = self.searchsorted(ends, self.arange(total, dtype=np.int64), side="right")
        return self.asarray(array).reshape(-1)[places]
