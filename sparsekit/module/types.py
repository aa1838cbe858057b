"""Type aliases of modules; imported only under ``TYPE_CHECKING``, as ``base.types``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from ..io.data import DataBatch, DataDesc
from ..ndarray.ndarray import NDArray
from ..optimizer import Optimizer
from ..symbol.executor import Executor

#: A batch, or one for each context.
Batch: TypeAlias = DataBatch | list[DataBatch]

#: Callbacks of training: none, one function, or several.
Callbacks: TypeAlias = Callable[..., Any] | Sequence[Callable[..., Any]] | None

#: Names and shapes of data or labels.  Any: a plain tuple may also contain the dtype and the layout.
Descriptions: TypeAlias = Sequence[DataDesc | tuple[Any, ...]] | None


class Monitor(Protocol):
    """A monitor of the arrays of executors: ``mx.mon.Monitor``, or a class of the user with these methods."""

    def install(self, exe: Executor) -> None:
        """Monitor an executor."""

    def tic(self) -> None:
        """Begin a batch."""

    def toc_print(self) -> None:
        """End a batch, and print the statistics."""


#: Gradients of a module's outputs.
Gradients: TypeAlias = NDArray | Sequence[NDArray] | None

#: A logger, or the module ``logging``.
Logger: TypeAlias = logging.Logger | ModuleType

#: Names of inputs, parameters or states.
Names: TypeAlias = Sequence[str] | None

#: An optimizer, or the name of one.
OptimizerLike: TypeAlias = str | Optimizer

#: Arguments of an optimizer, by name or in pairs.  Any: each has its own type.
OptimizerParams: TypeAlias = Mapping[str, Any] | Sequence[tuple[str, Any]]

#: ``grad_req`` of all arguments, of each argument in order, or by name.
Requests: TypeAlias = str | Sequence[str] | Mapping[str, str]

#: A function that returns the row numbers that a batch needs, by parameter name.
RowIds: TypeAlias = Callable[[Any], Mapping[str, Any]] | None  # Any: a batch of any iterator, and an array or several

#: Arrays of parameters or states by name.
Values: TypeAlias = Mapping[str, NDArray] | None
