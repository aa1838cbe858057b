"""Blocks and losses of one function, which tests write instead of classes."""

from collections.abc import Callable
from typing import Any

import sparsekit as mx


class Computes(mx.gluon.HybridBlock):
    """A function of arrays and parameters, which are named with their shapes, or with what ``params.get`` takes."""

    def __init__(self, function: Callable[..., Any], prefix: str | None = None, **parameters: Any) -> None:
        super().__init__(prefix=prefix)
        self.function = function
        with self.name_scope():
            for name, given in parameters.items():
                setattr(self, name, self.params.get(name, **given if isinstance(given, dict) else {"shape": given}))

    def hybrid_forward(self, F: Any, *arrays: Any, **parameters: Any) -> Any:
        return self.function(F, *arrays, **parameters)


class Loss(mx.gluon.loss.Loss):
    """A function of what blocks are given, the output and the label."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(None, 0)
        self.function = function

    def hybrid_forward(self, F: Any, *arrays: Any) -> Any:
        return self.function(F, *arrays)
