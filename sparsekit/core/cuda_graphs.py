"""CUDA graphs: pieces of a program on a GPU are captured once, and then launched as a whole.

The first run is a rehearsal, in which everything is compiled.  The second captures: arrays that were the same objects
before keep their place, others get a buffer that each run copies into.  What cannot be captured runs by itself in between,
and says why: sizes that are read back, random numbers, what cupy refuses.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..base import capture
from ..base.context import Context
from ..base.refusal import Refused, reason_of, refusals
from ..kernels import for_device
from ..storage import CSR, RowSparse
from . import device
from .apart import BETWEEN, CATCHES, NOT_YET, SIZES_CHANGE

if TYPE_CHECKING:
    from ..base.types import Array, DType, Shape
    from ..kernels.types import ArrayModule
    from ..storage.types import Store
    from .program import _Instruction, _Pass
    from .table.table import Table
    from .trace import AbstractArray
    from .types import ArrayObject, Slots

    #: The gradient buffers of the inputs that want one.
    Buffers: TypeAlias = Sequence[ArrayObject | None]

    #: Runs one instruction.
    Execute: TypeAlias = Callable[[_Instruction, Slots, "Workspace", Buffers], None]


__all__ = ["Replay", "Workspace", "copied", "gathered", "parts_of", "rebuilt"]

#: Captures of one piece of a program; then it runs operator by operator.
TRIES = 4

#: Replays after which captures that were lost before are forgotten: by then they have paid for one more.
STEADY = 64


class Workspace:
    """Memory for one run of a program, and the graphs that work in it.

    Attributes
    ----------
    memory : dict of int to array
        By the slot of the result that it is for.
    replays : dict
        The ``Replay`` of each pass of the program that ran in this workspace; empty on a CPU.
    tables : dict
        The ``Table`` of each pass that runs as one in this workspace; empty on a GPU.
    again : bool
        Whether it has served a run before.
    lent : dict of int to array
        Arrays of other programs' graphs that a backward pass reads, by identity: the next run may well find them there.
    """

    __slots__ = ("again", "ctx", "lent", "memory", "replays", "tables")

    def __init__(self, ctx: Context) -> None:
        self.ctx, self.again = ctx, False
        self.lent: dict[int, Array] = {}
        self.memory: dict[int, Array] = {}
        self.replays: dict[_Pass, Replay] = {}
        self.tables: dict[_Pass, Table] = {}

    def room(self, slot: int, spec: AbstractArray, xp: ArrayModule) -> Array:
        """The memory for a result."""
        found = self.memory.get(slot)
        if found is None:
            with device.current(self.ctx):
                found = self.memory[slot] = xp.empty(spec.shape, spec.dtype)
        return found

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


class _Moved(Exception):
    """A captured piece does not fit the arrays of a run: for slots, whether these have other sizes."""

    def __init__(self, slots: dict[int, bool]) -> None:
        super().__init__()
        self.slots = slots


class _Unfit(Exception):
    """An instruction could not be captured; without a number the whole piece could not."""

    def __init__(self, number: int | None, reason: str) -> None:
        super().__init__()
        self.number, self.reason = number, reason


class _Asked(NamedTuple):
    """Work that an instruction asks for, and that a graph before it can do: ``make(part, *arguments)`` for a part of a store."""

    make: Callable[..., Any]  # Any: what ``capture.ahead`` was given
    slot: int
    part: int
    arguments: tuple[object, ...]  # object: as above


class Replay:
    """One direction of a program in one workspace: pieces that are launched whole, and instructions that run by themselves.

    Parameters
    ----------
    instructions : sequence of instruction
    outside : sequence of instruction
        All instructions that may read what these make, these included.
    kept : set of int
        Slots that are read when the program has run.
    ctx : Context
    verdicts : dict of instruction to str
        Why instructions run by themselves; shared by all workspaces of a program, and grows.
    execute : function
        ``execute(instruction, values, workspace, buffers)`` runs one.
    gradients : dict of int to int
        For slots of gradients the numbers of the inputs that they are of: a dense one is left in the buffer of its input, if
        there is one, by the graph that computes it.

    Attributes
    ----------
    own : dict of int to array
        Arrays that the graphs use, by their identity.
    launched : int
        Runs that replayed.
    at : int
        Place of the result of the instruction that runs, for the wording of errors.
    """

    def __init__(self, instructions: Sequence[_Instruction], outside: Sequence[_Instruction], kept: set[int], ctx: Context,
                 verdicts: dict[_Instruction, str], execute: Execute, gradients: dict[int, int]) -> None:
        self.instructions, self.outside, self.kept, self.ctx, self.gradients = instructions, outside, kept, ctx, gradients
        self.verdicts, self.execute = verdicts, execute
        self.own: dict[int, Array] = {}
        self.launched, self.at = 0, -1
        self._seen: dict[int, Store] | None = None
        self._varying: set[int] = set()
        self._made: dict[int, Store] = {}
        self._asked: dict[_Instruction, list[_Asked]] = {}
        self._ahead: dict[Any, Any] = {}  # Any: as ``capture.state.done``, what graphs have done ahead in this run
        self._pieces: list[_Piece | _Instruction] | None = None
        self._tries = self._steady = 0

    def run(self, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Run once: rehearse, capture or replay."""
        self._ahead.clear()
        with device.current(self.ctx):
            if self._pieces is not None:
                self._replay(self._pieces, values, workspace, buffers)
            elif self._seen is None:
                self._rehearse(values, workspace, buffers)
            else:
                self._capture(values, workspace, buffers)

    def _rehearse(self, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        self._seen = dict(enumerate(values))
        for instruction in self.instructions:
            self._alone(instruction, values, workspace, buffers)
        self._seen.update({step.place: workspace.memory[step.buffer] for step in self.instructions if step.buffer is not None})

    def _replay(self, pieces: list[_Piece | _Instruction], values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        self._steady += 1
        for piece in pieces:
            if not isinstance(piece, _Piece):
                self._alone(piece, values, workspace, buffers)
                continue
            try:
                piece.launch(values, buffers)
                self._take_ahead(piece, values)
            except _Moved as moved:
                self._adapt(piece, moved, values, workspace)
                for instruction in piece.instructions:
                    self._alone(instruction, values, workspace, buffers)
        self.launched += 1

    def _alone(self, instruction: _Instruction, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Run an instruction by itself; before it is captured, note what it asks for."""
        self.at = instruction.place
        if self._pieces is not None:
            with device.rehearsal(done=self._ahead):
                self.execute(instruction, values, workspace, buffers)
            return
        place_of = {id(part): (slot, number) for slot in instruction.places for number, part in enumerate(parts_of(values[slot]))}
        asked: list[capture.Asked] = []
        with device.rehearsal(done=self._ahead, asked=asked):
            self.execute(instruction, values, workspace, buffers)
        found = [_Asked(make, *place_of[id(array)], arguments) for make, array, arguments in asked if id(array) in place_of]
        if found or instruction not in self._asked:
            self._asked[instruction] = found

    def _take_ahead(self, piece: _Piece, values: Slots) -> None:
        """Have what a launch has done ahead, unless that was of other arrays than those of this run."""
        moved = [slot for slot, parts in piece.foreseen.items() if not _are(parts_of(values[slot]), parts)]
        if moved:
            self._varying.update(moved)
            self._pieces = None
        else:
            self._ahead.update(piece.ahead)

    def _adapt(self, piece: _Piece, moved: _Moved, values: Slots, workspace: Workspace) -> None:
        """Note the arrays that a captured piece did not fit, so that the next run captures again."""
        self._pieces = None
        self._tries = 1 if self._steady > STEADY else self._tries + 1
        self._steady = 0
        for slot, sizes in moved.slots.items():
            if sizes:
                self.verdicts.update({step: SIZES_CHANGE for step in piece.instructions if slot in step.places})
            elif not any(map(workspace.keeps, parts_of(values[slot]))):
                self._varying.add(slot)
        if self._tries >= TRIES:
            reason = f"its arrays changed places in {TRIES} runs"
            self.verdicts.update({step: reason for step in self.instructions if step not in self.verdicts})

    def _capture(self, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Capture as many instructions as possible in pieces as long as possible, and launch each piece at once."""
        seen, at = self._seen or {}, 0
        self._made = {}
        pieces: list[_Piece | _Instruction] = []
        self.own.clear()
        while at < len(self.instructions):
            end = at
            while end < len(self.instructions) and self.instructions[end] not in self.verdicts:
                end += 1
            if end - at < 2:  # a graph of one instruction saves no time
                instruction = self.instructions[at]
                self._alone(instruction, values, workspace, buffers)
                pieces.append(instruction)
                at += 1
                continue
            try:
                piece = self._captured(self.instructions[at:end], self.instructions[end:], seen, values, workspace, buffers)
            except _Unfit as refused:
                steps = self.instructions[at:end] if refused.number is None else [self.instructions[at + refused.number]]
                self.verdicts.update(dict.fromkeys(steps, refused.reason))
                continue
            piece.launch(values, buffers)
            self._take_ahead(piece, values)
            self._made.update(piece.made | piece.copied)
            pieces.append(piece)
            at = end
        self._seen, self._pieces = {}, pieces

    def _captured(self, steps: Sequence[_Instruction], later: Sequence[_Instruction], seen: dict[int, Store], values: Slots,
                  workspace: Workspace, buffers: Buffers) -> _Piece:
        inside = {slot for step in steps for slot in step.outputs}
        read = dict.fromkeys(slot for step in steps for slot in step.places if slot not in inside)
        written = {step.places[place]: number for number, step in enumerate(steps)
                   for place in step.plan.op.written(step.plan.attrs)}
        for slot in written:
            if slot in read and len(parts_of(values[slot])) > 1:
                raise _Unfit(written[slot], "it writes to a sparse array, whose components may be replaced")
        piece, local = _Piece(steps), values[:]
        for slot in read:
            store = values[slot]
            if self._stays(slot, store, seen.get(slot, store), workspace):
                piece.bound[slot] = parts_of(store)
                continue
            self._varying.add(slot)
            if slot in written:
                raise _Unfit(written[slot], "it writes to an array that is different at every run")
            piece.copied[slot] = local[slot] = copied(store)
        numbers = [self.gradients[slot] for slot in inside if slot in self.gradients]
        piece.targets = {number: _target(buffers, number) for number in numbers}
        asked = [one for one in self._foreseen(later) if one.slot in inside or one.slot in read
                 or self._stays(one.slot, values[one.slot], seen.get(one.slot), workspace)]
        piece.foreseen = {one.slot: parts_of(values[one.slot]) for one in asked if one.slot not in {*inside, *read}}
        piece.graph = self._graph(piece, asked, local, workspace, buffers)
        others = {slot for step in self.outside if step not in steps for slot in step.places}
        piece.made = {slot: local[slot] for slot in inside & (others | self.kept) if local[slot] is not None}
        outside = {id(target) for target in piece.targets.values()} | {
            id(part) for parts in piece.bound.values() for part in parts}
        for store in (*piece.made.values(), *piece.copied.values()):
            for part in parts_of(store):
                self.own.update({id(array): array for array in (part, part.base)
                                 if array is not None and id(array) not in outside})
        return piece

    def _stays(self, slot: int, store: Store, before: Store | None, workspace: Workspace) -> bool:
        """Whether a store will be in the same place at the next run, as far as one can tell from that of the last run."""
        if self._made.get(slot) is store:
            return True
        return slot not in self._varying and (before is store or any(
            workspace.keeps(part) or id(part) in workspace.lent for part in parts_of(store)))

    def _foreseen(self, later: Sequence[_Instruction]) -> list[_Asked]:
        """What those of later instructions that run by themselves ask for, of stores that none of them makes."""
        made = {slot for step in later for slot in step.outputs}
        return [one for step in later if step in self.verdicts for one in self._asked.get(step, ()) if one.slot not in made]

    def _graph(self, piece: _Piece, asked: Sequence[_Asked], local: Slots, workspace: Workspace, buffers: Buffers
               ) -> device.Captured:
        """The graph of a piece, with what is asked for ahead if that can be captured."""
        at, first = -1, local[:]

        def work() -> None:
            nonlocal at
            for number, step in enumerate(piece.instructions):
                at, before = number, refusals.count
                self.execute(step, local, workspace, buffers)
                if refusals.count != before:
                    raise Refused(CATCHES)
                self._deliver(step, local, buffers)
            at += 1
            for one in asked:
                part = parts_of(local[one.slot])[one.part]
                piece.ahead[one.make, id(part), one.arguments] = part, one.make(part, *one.arguments)
            at += 1

        try:
            return device.captured(work)
        except Exception as error:  # the instruction runs by itself, and raises there if it fails again
            if asked and at == len(piece.instructions):
                piece.ahead.clear()
                local[:] = first
                return self._graph(piece, (), local, workspace, buffers)
            number = at if at < len(piece.instructions) else None
            raise _Unfit(number, reason_of(error)) from error

    def _deliver(self, step: _Instruction, local: Slots, buffers: Buffers) -> None:
        """Copy dense gradients that an instruction has made into their buffers, if there are such, as a part of the graph."""
        for slot in step.outputs:
            target: Any = _target(buffers, self.gradients.get(slot, len(buffers)))  # Any: an array, or None
            made = local[slot]
            if target is not None and target is not made and _sizes(target) == _sizes(made):
                target[...] = made
                local[slot] = target

    def how(self) -> list[str]:
        """For each instruction: ``""`` if it is replayed, else why it runs by itself."""
        if self._pieces is None:
            waiting = "the next run captures it" if self._seen is not None else NOT_YET
            return [self.verdicts.get(step, waiting) for step in self.instructions]
        alone = {piece for piece in self._pieces if not isinstance(piece, _Piece)}
        return ["" if step not in alone else self.verdicts.get(step, BETWEEN)
                for step in self.instructions]


class _Piece:
    """The instructions of one CUDA graph.

    Attributes
    ----------
    bound : dict of int to list of array
        What is read where it lies; a sparse store is its components, which may be replaced.
    copied : dict of int to store
        Buffers that each run copies a store into.
    targets : dict of int to store
        Gradient buffers that are written, by the number of the input.
    made : dict of int to store
        Results that other instructions read, written by each launch.
    foreseen : dict of int to list of array
        What only work that is done ahead reads, where it lies.
    ahead : dict
        What each launch does ahead of instructions behind it, as ``capture.state.done`` has it.
    graph : Captured
        Set when the work has been captured.
    """

    graph: device.Captured

    def __init__(self, instructions: Sequence[_Instruction]) -> None:
        self.instructions = instructions
        self.bound: dict[int, list[Array]] = {}
        self.copied: dict[int, Store] = {}
        self.targets: dict[int, Store | None] = {}
        self.made: dict[int, Store] = {}
        self.foreseen: dict[int, list[Array]] = {}
        self.ahead: dict[Any, Any] = {}  # Any: as there

    def launch(self, values: Slots, buffers: Buffers) -> None:
        """Queue the work for these stores, and put the results among them; raise ``_Moved`` where it does not fit."""
        moved = {slot: [part.shape for part in parts_of(values[slot])] != [part.shape for part in parts]
                 for slot, parts in self.bound.items() if not _are(parts_of(values[slot]), parts)}
        moved.update({slot: True for slot, store in self.copied.items() if _sizes(values[slot]) != _sizes(store)})
        if moved or any(_target(buffers, number) is not target for number, target in self.targets.items()):
            raise _Moved(moved)
        if self.copied:
            pairs = [zip(parts_of(store), parts_of(values[slot]), strict=True) for slot, store in self.copied.items()]
            for_device("gpu").xp.copy_each(list(itertools.chain(*pairs)))
        self.graph.launch()
        for slot, store in (*self.copied.items(), *self.made.items()):  # a backward pass reads what was copied where it lies
            values[slot] = store


def gathered(instructions: Sequence[_Instruction], alone: Container[_Instruction]) -> list[_Instruction]:
    """The instructions in an order in which those that run by themselves come late, so that fewer graphs do the others."""
    made: list[_Instruction] = []
    waiting: list[_Instruction] = []
    for step in instructions:
        if step in alone:
            waiting.append(step)
            continue
        if any(_depend(step, other) for other in waiting):
            made += waiting
            waiting.clear()
        made.append(step)
    return made + waiting


def _depend(later: _Instruction, earlier: _Instruction) -> bool:
    """Whether one instruction reads or writes what the other writes, or writes what it reads."""
    writes, wrote = (set(step.outputs) | {step.places[place] for place in step.plan.op.written(step.plan.attrs)}
                     for step in (later, earlier))
    return not (writes.isdisjoint((*earlier.places, *wrote)) and wrote.isdisjoint(later.places))


def _target(buffers: Buffers, number: int) -> Store | None:
    buffer = buffers[number] if number < len(buffers) else None
    return None if buffer is None else buffer._store


def parts_of(store: Store) -> list[Any]:  # Any: arrays, or outlines of them
    """The arrays that a store consists of."""
    if isinstance(store, CSR):
        return [store.data, store.indices, store.indptr]
    return [store.data, store.indices] if isinstance(store, RowSparse) else [store]


def _are(parts: Sequence[Array], others: Sequence[Array]) -> bool:
    """Whether these are the same arrays."""
    return all(map(operator.is_, parts, others))


def _sizes(store: Store) -> list[tuple[Shape, DType]]:
    return [(part.shape, part.dtype) for part in parts_of(store)]


def copied(store: Store) -> Store:
    """A copy of a store in memory of its own."""
    made: Store = rebuilt(store, [part.copy() for part in parts_of(store)])
    return made


def rebuilt(like: Store, parts: Sequence[Any]) -> Any:  # Any: arrays, or outlines of them in a table; and a store of these
    """A store of the same kind and shape, made of other arrays."""
    if isinstance(like, CSR):
        return CSR(parts[0], parts[1], parts[2], like.shape, check=False)
    return RowSparse(parts[0], parts[1], like.shape, check=False) if isinstance(like, RowSparse) else parts[0]
