"""The words for blocks in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

from ..base.types import DTypeLike, ShapeLike
from ..core.types import Tensor
from ..initializer.base import InitLike
from .parameter import ParameterDict


class BlockOptions(TypedDict, total=False):
    """What every block takes by name."""

    prefix: str | None
    params: ParameterDict | None


class LayerOptions(BlockOptions, total=False):
    """What every recurrent layer takes by name."""

    use_sequence_length: bool


class Examples(Protocol):
    """What a data set may be: an array, a list, or anything else with a length that takes numbers in brackets."""

    def __len__(self) -> int: ...
    def __getitem__(self, idx: int, /) -> object: ...  # Any: an example of any kind


class SizedIterable(Protocol):
    """What a sampler may be: it gives the numbers of examples, or lists of them, and says how many."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...  # Any: a number, or a list of numbers


#: States of a recurrent network, in the order of its ``state_info()``.
States: TypeAlias = Sequence[Tensor]

#: Sequences as one array, or step by step.
Sequences: TypeAlias = Tensor | Sequence[Tensor]


class HybridizeOptions(TypedDict, total=False):
    """What ``hybridize`` takes by name."""

    backend: str | None
    clear: bool
    static_alloc: bool
    static_shape: bool
    inline_limit: int
    forward_bulk_size: int | None
    backward_bulk_size: int | None


class ParameterOptions(TypedDict, total=False):
    """What ``Parameter`` takes by name."""

    grad_req: str
    shape: ShapeLike | None
    dtype: DTypeLike
    lr_mult: float
    wd_mult: float
    init: InitLike
    allow_deferred_init: bool
    differentiable: bool
    stype: str
    grad_stype: str


class LayerParameterOptions(ParameterOptions, total=False):
    """What layers pass to ``ParameterDict.get`` beside that."""

    transposed: bool
