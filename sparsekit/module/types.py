"""The words for modules in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from ..io.data import DataBatch, DataDesc
from ..ndarray.ndarray import NDArray
from ..optimizer import Optimizer
from ..symbol.executor import Executor

__all__ = ["Batch", "Callbacks", "Descriptions", "Gradients", "Logger", "Monitor", "Names", "OptimizerLike",
           "OptimizerParams", "Requests", "RowIds", "Values"]

#: A batch, or one for each context.
Batch: TypeAlias = DataBatch | list[DataBatch]

#: What is called during training: nothing, one function, or several.
Callbacks: TypeAlias = Callable[..., Any] | Sequence[Callable[..., Any]] | None

#: Names and shapes of data or labels.  Any: a plain tuple may say the element type and the layout too.
Descriptions: TypeAlias = Sequence[DataDesc | tuple[Any, ...]] | None


class Monitor(Protocol):
    """What is shown the arrays of executors: ``mx.mon.Monitor``, or a class of one's own with its methods."""

    def install(self, exe: Executor) -> None:
        """Watch an executor."""

    def tic(self) -> None:
        """Begin a batch."""

    def toc_print(self) -> None:
        """End a batch, and tell what it was shown."""


#: Gradients of a module's outputs.
Gradients: TypeAlias = NDArray | Sequence[NDArray] | None

#: What is told of training: a logger, or the module ``logging``.
Logger: TypeAlias = logging.Logger | ModuleType

#: Names of inputs, parameters or states.
Names: TypeAlias = Sequence[str] | None

#: What an optimizer may be given as.
OptimizerLike: TypeAlias = str | Optimizer

#: An optimizer's arguments, by name or in pairs.  Any: each has its own type.
OptimizerParams: TypeAlias = Mapping[str, Any] | Sequence[tuple[str, Any]]

#: What a backward pass does to gradients: to all, to each argument's, or by name.
Requests: TypeAlias = str | Sequence[str] | Mapping[str, str]

#: What gives the rows that a batch needs, by parameter.
RowIds: TypeAlias = Callable[[Any], Mapping[str, Any]] | None  # Any: a batch of any iterator, and an array or several

#: Arrays of parameters or states by name.
Values: TypeAlias = Mapping[str, NDArray] | None
