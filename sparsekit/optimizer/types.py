"""Type aliases of optimizers; imported only under ``TYPE_CHECKING``, as ``base.types``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

from ..lr_scheduler import LRScheduler
from ..ndarray.ndarray import NDArray
from ..symbol.symbol import Symbol


class Parameter(Protocol):
    """The attributes of a Gluon parameter that optimizers read."""

    @property
    def name(self) -> str:
        """Name of the owner of a state in profiles."""
    @property
    def lr_mult(self) -> float:
        """Factor of the learning rate."""
    @property
    def wd_mult(self) -> float:
        """Factor of the weight decay."""


#: Identifier of a weight: its number or its name.
Index: TypeAlias = int | str

#: Identifier of one weight or of several.
Indices: TypeAlias = Index | list[Index] | list[int] | list[str] | tuple[Index, ...]

#: Array of one weight, or arrays of several.
Weights: TypeAlias = NDArray | Sequence[NDArray]

#: State that an optimizer keeps for a weight.
State: TypeAlias = "NDArray | list[State] | tuple[State, ...] | None"

#: Names of weights, factors of their rates, and parameters, by ``Index``.
Names: TypeAlias = Mapping[Any, str]  # Any: keys are invariant, so ``Mapping[Index, str]`` would exclude ``dict[int, str]``
Factors: TypeAlias = Mapping[Any, float]  # Any: as above
Parameters: TypeAlias = Mapping[Any, Parameter]  # Any: as above


class Basic(TypedDict, total=False):
    """Arguments that every optimizer passes on to ``Optimizer``."""

    rescale_grad: float
    param_idx2name: Names | None
    wd: float
    clip_gradient: float | None
    lr_scheduler: LRScheduler | None
    sym: Symbol | None
    begin_num_update: int
    param_dict: Parameters | None


class Precise(Basic, total=False):
    """Arguments that an optimizer with its own parameter ``learning_rate`` passes on."""

    multi_precision: bool


class Rated(Basic, total=False):
    """Arguments that an optimizer with its own parameter ``multi_precision`` passes on."""

    learning_rate: float | None


class Settings(Precise, total=False):
    """Arguments that an optimizer with neither parameter passes on."""

    learning_rate: float | None
