"""Types of annotations."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Rows", "Values"]

#: Rows as scikit-learn takes them: a matrix of scipy, an array, a list, a DataFrame.
Rows: TypeAlias = Any
#: Numbers or labels, one a row, as scikit-learn takes them.
Values: TypeAlias = Any
