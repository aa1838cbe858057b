"""The operators as functions of arrays, made from the registry when first asked for."""

from __future__ import annotations

from typing import Any

from .. import ops as _ops  # noqa: F401 - declares the operators
from ..core.dispatch import invoke
from ..core.function import make_function
from ..core.op import find

__all__ = ["F"]


class Functions:
    """Namespace of all operators; what gradient rules see as ``F``."""

    def __getattr__(self, name: str) -> Any:
        function = make_function(find(name), invoke, "sparsekit.ndarray", name)
        setattr(self, name, function)
        return function


F: Any = Functions()
