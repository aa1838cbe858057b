"""What operators are applied to, in annotations; imported ``if TYPE_CHECKING`` alone, as ``base.types``.

``ndarray.methods`` and ``symbol.methods`` give arrays and symbols their operators when they are imported, from tables, which
``tests/ndarray/test_arguments.py`` holds these declarations against.
"""

# mypy: disable-error-code="empty-body"
# The bodies are where the tables are.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeAlias

from ..base.context import Context
from ..base.types import Array, Attrs, DType, Scalar, Shape
from ..storage.types import Store
from .arrays import Layout
from .graph import Node
from .hooks import Densification, Event
from .op import Op, Want
from .table.timed import TimedRows

#: Arguments of a kernel of an operator with any number of dense inputs: the inputs, then the attributes.
#: Any: attributes differ between operators.
Given: TypeAlias = tuple[*tuple[Array, ...], dict[str, Any]]

#: ``Given`` for inputs of any storage type.
GivenStores: TypeAlias = tuple[*tuple[Store, ...], dict[str, Any]]


class Tensor:
    """An array or a symbol: what gradient rules and hybrid blocks compute with, whichever of the two they are given."""

    __slots__ = ()
    stype: str

    @property
    def shape(self) -> Shape: ...

    abs: Callable[..., Self]
    arccos: Callable[..., Self]
    arccosh: Callable[..., Self]
    arcsin: Callable[..., Self]
    arcsinh: Callable[..., Self]
    arctan: Callable[..., Self]
    arctanh: Callable[..., Self]
    argmax: Callable[..., Self]
    argmax_channel: Callable[..., Self]
    argmin: Callable[..., Self]
    argsort: Callable[..., Self]
    astype: Callable[..., Self]
    broadcast_axes: Callable[..., Self]
    broadcast_like: Callable[..., Self]
    broadcast_to: Callable[..., Self]
    cbrt: Callable[..., Self]
    ceil: Callable[..., Self]
    clip: Callable[..., Self]
    cos: Callable[..., Self]
    cosh: Callable[..., Self]
    cumsum: Callable[..., Self]
    degrees: Callable[..., Self]
    depth_to_space: Callable[..., Self]
    diag: Callable[..., Self]
    dot: Callable[..., Self]
    erf: Callable[..., Self]
    exp: Callable[..., Self]
    expand_dims: Callable[..., Self]
    expm1: Callable[..., Self]
    fix: Callable[..., Self]
    flatten: Callable[..., Self]
    flip: Callable[..., Self]
    floor: Callable[..., Self]
    gamma: Callable[..., Self]
    gammaln: Callable[..., Self]
    log: Callable[..., Self]
    log10: Callable[..., Self]
    log1p: Callable[..., Self]
    log2: Callable[..., Self]
    log_softmax: Callable[..., Self]
    max: Callable[..., Self]
    mean: Callable[..., Self]
    min: Callable[..., Self]
    moments: Callable[..., Sequence[Self]]
    nanprod: Callable[..., Self]
    nansum: Callable[..., Self]
    norm: Callable[..., Self]
    one_hot: Callable[..., Self]
    ones_like: Callable[..., Self]
    pad: Callable[..., Self]
    pick: Callable[..., Self]
    prod: Callable[..., Self]
    radians: Callable[..., Self]
    rcbrt: Callable[..., Self]
    reciprocal: Callable[..., Self]
    relu: Callable[..., Self]
    repeat: Callable[..., Self]
    reshape: Callable[..., Self]
    reshape_like: Callable[..., Self]
    rint: Callable[..., Self]
    round: Callable[..., Self]
    rsqrt: Callable[..., Self]
    shape_array: Callable[..., Self]
    sigmoid: Callable[..., Self]
    sign: Callable[..., Self]
    sin: Callable[..., Self]
    sinh: Callable[..., Self]
    size_array: Callable[..., Self]
    slice: Callable[..., Self]
    slice_axis: Callable[..., Self]
    slice_like: Callable[..., Self]
    softmax: Callable[..., Self]
    softmin: Callable[..., Self]
    sort: Callable[..., Self]
    space_to_depth: Callable[..., Self]
    split: Callable[..., Self]
    split_v2: Callable[..., Self]
    sqrt: Callable[..., Self]
    square: Callable[..., Self]
    squeeze: Callable[..., Self]
    sum: Callable[..., Self]
    swapaxes: Callable[..., Self]
    take: Callable[..., Self]
    tan: Callable[..., Self]
    tanh: Callable[..., Self]
    tile: Callable[..., Self]
    topk: Callable[..., Self]
    tostype: Callable[..., Self]
    transpose: Callable[..., Self]
    trunc: Callable[..., Self]
    zeros_like: Callable[..., Self]

    def __add__(self, other: Operand) -> Self: ...
    def __radd__(self, other: Operand) -> Self: ...
    def __sub__(self, other: Operand) -> Self: ...
    def __rsub__(self, other: Operand) -> Self: ...
    def __mul__(self, other: Operand) -> Self: ...
    def __rmul__(self, other: Operand) -> Self: ...
    def __truediv__(self, other: Operand) -> Self: ...
    def __rtruediv__(self, other: Operand) -> Self: ...
    def __mod__(self, other: Operand) -> Self: ...
    def __rmod__(self, other: Operand) -> Self: ...
    def __pow__(self, other: Operand) -> Self: ...
    def __rpow__(self, other: Operand) -> Self: ...
    def __eq__(self, other: Operand) -> Self: ...  # type: ignore[override]  # object's gives a bool
    def __ne__(self, other: Operand) -> Self: ...  # type: ignore[override]  # object's gives a bool
    def __gt__(self, other: Operand) -> Self: ...
    def __ge__(self, other: Operand) -> Self: ...
    def __lt__(self, other: Operand) -> Self: ...
    def __le__(self, other: Operand) -> Self: ...
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __matmul__(self, other: Operand) -> Self: ...
    def __getitem__(self, index: Any) -> Tensor: ...  # Any: whatever numpy takes for an index
    def __iter__(self) -> Iterator[Self]: ...


#: What Python's operators take beside a tensor.  Any: lists nest as deep as the array has axes.
Operand: TypeAlias = Tensor | Scalar | Array | Sequence[Any]


class ArrayObject(Tensor):
    """An array of ``ndarray``, as the core knows it."""

    __slots__ = ("_entry", "_layout", "_seen", "_store")
    _store: Any  # Any: a Store, whose kind ``stype`` tells; who reads a component knows which it is
    _layout: Layout
    _entry: Entry | None
    _seen: int

    @property
    def dtype(self) -> DType: ...
    @property
    def context(self) -> Context: ...
    @property
    def _ctx(self) -> Context: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    def _check_traced(self) -> None: ...
    def _receive(self, other: Self, add: bool = ..., by: str = ...) -> None: ...


class Member(Protocol):
    """What has a name among the operators: one of them, or a group such as ``contrib`` or ``linalg``."""

    def __call__(self, *args: object, **kwargs: object) -> Tensor: ...  # object: each operator checks its own
    def __getattr__(self, name: str) -> Member: ...


class Functions(Protocol):
    """Operators as functions of arrays or of symbols, by name: ``mx.nd``, ``mx.sym``, or what gradient rules are given."""

    def __getattr__(self, name: str) -> Member: ...


class ArrayFunctions(Protocol):
    """Operators as functions of arrays, by name: what gradient rules see as ``F``."""

    def __getattr__(self, name: str) -> Callable[..., ArrayObject]: ...


#: Where an array came from: a node of the graph, and the number of its output.
Entry: TypeAlias = tuple[Node, int]

#: What a program computes with, by slot: stores, and the arguments of kernels that are none.
Slots: TypeAlias = list[Any]  # Any: a store, kernels, attributes or None, and the instruction knows which


class Numbered(Protocol):
    """What ties a gradient's event to its operator's: a node, or a program's stand-in for one."""

    @property
    def id(self) -> int: ...


class Ran(Protocol):
    """What a recorder reads of an operator that ran: a ``Plan``, or what stands for one where a conversion has none."""

    @property
    def op(self) -> Op: ...
    @property
    def attrs(self) -> Attrs: ...
    @property
    def fallback(self) -> bool: ...
    @property
    def dense(self) -> str: ...


class Sink(Protocol):
    """A recorder; ``core.hooks`` says what its methods are told."""

    def op(self, plan: Ran, start: int, end: int, inputs: Sequence[Store], outputs: Sequence[Store],
           node: Numbered | None) -> None: ...
    def call(self, plan: Ran, start: int, end: int, inputs: Sequence[ArrayObject], array: ArrayObject,
             node: Numbered | None) -> None: ...
    def span(self, name: str, lane: str, start: int, end: int, args: Attrs) -> None: ...
    def read(self, name: str, start: int, arrays: Iterable[tuple[ArrayObject, str]], args: Attrs) -> None: ...
    def densify(self, record: Densification, store: Store) -> None: ...
    def flowed(self, source: Array, target: Array) -> None: ...
    def assign(self, array: ArrayObject, role: str, owner: str, mark: int = 0) -> None: ...
    def table(self, timed: TimedRows, ran: tuple[tuple[Event, ...], int, int, int], slots: Sequence[int],
              arrays: Sequence[ArrayObject], left: Sequence[int], results: Sequence[Store],
              stores: Sequence[tuple[int, Store]] = (), views: Sequence[tuple[int, Store]] = (),
              kept: Sequence[ArrayObject] = (), depth: int = 2) -> None: ...
    def freed(self, token: object) -> None: ...  # object: stands for the memory of a table


#: What a gradient rule gives for one input: its gradient, or something false where none is wanted.
Gradient: TypeAlias = ArrayObject | Want | bool | None

#: What a gradient rule gives: the gradient of the only input, or one for each.
Gradients: TypeAlias = Gradient | Sequence[Gradient]

#: What arrives at a gradient rule: the gradient of the only output or one for each, None for one that none came for.
Arriving: TypeAlias = ArrayObject | tuple[ArrayObject | None, ...] | None
