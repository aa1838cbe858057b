"""The words of optimizers in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

from ..lr_scheduler import LRScheduler
from ..ndarray.ndarray import NDArray
from ..symbol.symbol import Symbol

__all__ = ["Basic", "Factors", "Index", "Indices", "Names", "Parameter", "Parameters", "Precise", "Rated", "Settings", "State",
           "Weights"]


class Parameter(Protocol):
    """What is read of a gluon parameter."""

    @property
    def name(self) -> str:
        """What the profiler calls the owner of a state."""
    @property
    def lr_mult(self) -> float:
        """Factor of the learning rate."""
    @property
    def wd_mult(self) -> float:
        """Factor of the weight decay."""


#: What tells one weight from the others: its number, or its name.
Index: TypeAlias = int | str

#: One weight's, or those of several.
Indices: TypeAlias = Index | list[Index] | list[int] | list[str] | tuple[Index, ...]

#: One array, or those of several weights.
Weights: TypeAlias = NDArray | Sequence[NDArray]

#: What an optimizer keeps of a weight.
State: TypeAlias = "NDArray | list[State] | tuple[State, ...] | None"

#: Names of weights, factors of their rates, and parameters, by ``Index``.
Names: TypeAlias = Mapping[Any, str]  # Any: a mapping of numbers alone would be refused, as keys are invariant
Factors: TypeAlias = Mapping[Any, float]  # Any: as above
Parameters: TypeAlias = Mapping[Any, Parameter]  # Any: as above


class Basic(TypedDict, total=False):
    """Arguments of ``Optimizer`` that every optimizer passes on."""

    rescale_grad: float
    param_idx2name: Names | None
    wd: float
    clip_gradient: float | None
    lr_scheduler: LRScheduler | None
    sym: Symbol | None
    begin_num_update: int
    param_dict: Parameters | None


class Precise(Basic, total=False):
    """Those of an optimizer that names ``learning_rate`` itself."""

    multi_precision: bool


class Rated(Basic, total=False):
    """Those of an optimizer that names ``multi_precision`` itself."""

    learning_rate: float | None


class Settings(Precise, total=False):
    """Those of one that names none of them."""

    learning_rate: float | None
