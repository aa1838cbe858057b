"""Memory for one run of a program, and the arrays that stores consist of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.context import Context
from ..storage import CSR, RowSparse
from . import device

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..base.types import Array
    from ..kernels.types import ArrayModule
    from ..storage.types import Store
    from .cuda_graphs import Replay
    from .program import Program
    from .table.table import Table
    from .trace import AbstractArray
    from .types import ArrayObject

    #: The gradient buffers of the inputs that want one.
    Buffers: TypeAlias = Sequence[ArrayObject | None]


class Workspace:
    """Memory for one run of a program, and the graphs that work in it.

    Attributes
    ----------
    memory : dict of int to array
        By the slot of the result that it is for.
    replays : dict
        The ``Replay`` of each program that ran in this workspace; empty on a CPU.
    tables : dict
        The ``Table`` of each program that runs as one in this workspace; empty on a GPU.
    ran : int
        How many steps of the program have run, in their order.
    again : bool
        Whether it has served a run before.
    lent : dict of int to array
        Arrays of other programs' graphs that a backward pass reads, by identity: the next run may well find them there.
    """

    __slots__ = ("again", "ctx", "lent", "memory", "ran", "replays", "tables")

    def __init__(self, ctx: Context) -> None:
        self.ctx, self.ran, self.again = ctx, 0, False
        self.lent: dict[int, Array] = {}
        self.memory: dict[int, Array] = {}
        self.replays: dict[Program, Replay] = {}
        self.tables: dict[Program, Table] = {}

    def room(self, slot: int, spec: AbstractArray, xp: ArrayModule) -> Array:
        """The memory for a result."""
        memory = self.memory.get(slot)
        if memory is None:
            with device.current(self.ctx):
                memory = self.memory[slot] = xp.empty(spec.shape, spec.dtype)
        return memory

    def keeps(self, array: Array) -> bool:
        """Whether an array lies in memory that the next run uses."""
        base = array.base
        if base is not None:
            for table in self.tables.values():
                if id(base) in table.held:
                    return True
            for memory in self.memory.values():
                if base is memory:
                    return True
        return bool(self.replays) and any(id(array) in replay.own or id(base) in replay.own for replay in self.replays.values())


def parts_of(store: Store) -> list[Any]:  # Any: arrays, or outlines of them
    """The arrays that a store consists of."""
    if isinstance(store, CSR):
        return [store.data, store.indices, store.indptr]
    return [store.data, store.indices] if isinstance(store, RowSparse) else [store]


def copied(store: Store) -> Store:
    """A copy of a store in memory of its own."""
    result: Store = rebuilt(store, [part.copy() for part in parts_of(store)])
    return result


def rebuilt(like: Store, parts: Sequence[Any]) -> Any:  # Any: arrays, or outlines of them in a table; and a store of these
    """A store of the same kind and shape, made of other arrays."""
    if isinstance(like, CSR):
        return CSR(parts[0], parts[1], parts[2], like.shape, check=False)
    return RowSparse(parts[0], parts[1], like.shape, check=False) if isinstance(like, RowSparse) else parts[0]
