"""Arrays as a recorder notes them: allocations, views of them, and sparse arrays made of them.

Each caches what was found out about it, so that readers of many events look nothing up twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..core import hooks

if TYPE_CHECKING:
    import weakref

    from ..base.types import Array, DType, Shape

#: Kind of an origin without a sparse array: an operator without inputs made the array dense.
CREATED = "created"

#: Priority of the kinds of origins: an array computed from several reports the highest.
RANKS = {CREATED: 0, hooks.ASKED: 1, hooks.NATURAL: 2, hooks.FALLBACK: 2}


class Origin(NamedTuple):
    """Where a dense array came from: the operator that made it, or what it was computed from, of a sparse one.

    Attributes
    ----------
    kind : str
        One of the kinds of ``hooks.Densification``, or ``CREATED``.
    op, line : str
    source : str
        Storage type of the sparse array.
    shape : tuple of int
    """

    kind: str
    op: str
    line: str
    source: str
    shape: Shape


#: The components of each storage type; from ``coo`` on those that only PyTorch has.
COMPONENTS = {"csr": ("data", "indices", "indptr"), "row_sparse": ("data", "indices"), "coo": ("data", "indices"),
              "csc": ("data", "indices", "indptr"), "bsr": ("data", "indices", "indptr"), "bsc": ("data", "indices", "indptr")}


class AllocationKind:
    """The common properties of the allocations that an operator makes repeatedly.

    Attributes
    ----------
    role, owner, layer : str
        What it serves as, for whom, and where it was met first.
    stype, shape, component
        The whole array that it is a component of.
    number : int
        Number of the kind that decides its size; see ``memory_timeline``.
    bytes : int
    """

    __slots__ = ("bytes", "component", "layer", "number", "owner", "role", "shape", "stype")

    def __init__(self, role: str, owner: str, layer: str, stype: str, shape: Shape, component: str) -> None:
        self.role, self.owner, self.layer = role, owner, layer
        self.stype, self.shape, self.component = stype, shape, component
        self.number = self.bytes = 0


#: Kind of an allocation whose memory was not counted.
UNCOUNTED = AllocationKind("", "", "", "", (), "")


class Allocation:
    """A dense array that owns its memory.

    Attributes
    ----------
    reference : weakref.ref
        Kept alive, so that its address stays unique.
    shape, dtype
    number : int
        Of its description in a log; 0 before it has one.
    known : bool
        Whether the memory it takes was counted; then ``kind`` says as what, ``born`` is the running number of the
        allocation, 0 if it was there before the run, and ``time`` when that was, in nanoseconds.
    given : (role, owner) or None
        The role that was assigned to it.
    freed : bool
    marks : list of int
        Numbers that stand for it in notes.
    origin : Origin or None
        Where its values came from, if an operator that was recorded made them.
    conversion : int or None
        Number of the event that made a sparse array dense, if these are its values or as many values computed from them.
    maker : int
        Number of the event that wrote it last; -1 if none did that was recorded.
    """

    __slots__ = ("born", "conversion", "dtype", "freed", "given", "kind", "known", "maker", "marks", "number", "origin",
                 "reference", "shape", "time")
    stype = "default"
    parts: tuple[Entry, ...] = ()

    def __init__(self, reference: weakref.ref[Array] | None, shape: Shape, dtype: DType, marks: list[int]) -> None:
        self.reference, self.shape, self.dtype, self.marks = reference, shape, dtype, marks
        self.number = self.born = self.time = 0
        self.known = self.freed = False
        self.given: tuple[str, str] | None = None
        self.kind = UNCOUNTED
        self.origin: Origin | None = None
        self.conversion: int | None = None
        self.maker = -1

    def owners(self) -> tuple[tuple[Allocation, str], ...]:
        """The allocations that the array lies in, with the component each is."""
        return ((self, "data"),)


class View:
    """A dense array in memory that another array owns; ``owner`` is None if the memory is not tracked."""

    __slots__ = ("dtype", "known", "marks", "number", "owner", "reference", "shape")
    stype = "default"
    parts: tuple[Entry, ...] = ()

    def __init__(self, owner: Allocation | None, shape: Shape, dtype: DType | None,
                 reference: weakref.ref[Array] | None = None) -> None:
        self.owner, self.shape, self.dtype, self.reference = owner, shape, dtype, reference
        self.marks: list[int] = []
        self.number, self.known = 0, owner is None

    def owners(self) -> tuple[tuple[Allocation, str], ...]:
        """The allocation that it lies in."""
        return () if self.owner is None else ((self.owner, "data"),)


class Sparse:
    """A sparse array with the components it had: ``given`` is a lasting (role, owner), or None."""

    __slots__ = ("given", "known", "number", "parts", "shape", "stype")

    def __init__(self, stype: str, shape: Shape, parts: tuple[Entry, ...], given: tuple[str, str] | None) -> None:
        self.stype, self.shape, self.parts, self.given = stype, shape, parts, given
        self.number, self.known = 0, False

    def owners(self) -> tuple[tuple[Allocation, str], ...]:
        """The allocations of its components."""
        return tuple([(owner, name) for name, part in zip(COMPONENTS.get(self.stype, ()), self.parts, strict=False)
                      for owner, _ in part.owners()])


#: What stands for an array in an event.
Entry: TypeAlias = Allocation | View | Sparse
