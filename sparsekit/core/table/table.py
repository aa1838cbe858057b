"""Tables that can run: the rows of some instructions, with their words and memory."""

from __future__ import annotations

import bisect
import ctypes
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.config import config
from ...base.faults import is_a_handlers
from ...base.forking import load
from ...base.refusal import Refused, reason_of, refusals
from ...storage import CSR, RowSparse, stype_of
from .. import hooks
from ..apart import CATCHES
from ..dispatch import compute, note_results
from ..workspace import copied, parts_of, rebuilt
from .arrays import Outline, Size
from .builder import PAUSE, Builder, Origin
from .kernel_calls import TableKernels
from .machine import compiled, type_word
from .timed import TimedRows

if TYPE_CHECKING:
    from ...base.types import Array, DType, Shape
    from ..program import Program
    from ..types import Sink, Slots
    from .timed import Account

#: Elements that rows may touch before Python looks for signals; some milliseconds of work.
BETWEEN_PAUSES = 1 << 22

#: Bytes below which a sparse gradient is copied from the memory of a table: new memory for the next run would take longer.
SMALL = 1 << 16

#: The column of the last row that says how far a run came.
REACHED = 1

#: Bytes of a cache line, at which buffers begin.
LINE = 64


class _Bound(NamedTuple):
    """Arrays that are bound together: those that the run brings, or the results of an operator that Python ran.

    Attributes
    ----------
    slots : tuple of int
    first : int
        Place of their first array among all that are bound.
    stores_of : callable
        Gives the stores of the slots, of those of all.
    parts : list of (int, callable)
        Places of sparse stores among them, the last first, and what gives their arrays.
    arrays : list of (int, int, int, int, dtype, int)
        For each array: its word for the address, its word for the length of the first axis or 0, that length if it is fixed
        or -1, the root whose size it is or -1, the element type, its bytes or those of each unit of such a length.
    """

    slots: tuple[int, ...]
    first: int
    stores_of: Callable[[Slots], tuple[Any, ...]]  # Any: stores
    parts: list[tuple[int, Callable[[Any], tuple[Any, ...]]]]  # Any: a store, and its arrays
    arrays: list[tuple[int, int, int, int, DType, int]]


#: What gives the arrays of a sparse store.
_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {  # Any: a store, and its arrays
    CSR: operator.attrgetter(*CSR.components), RowSparse: operator.attrgetter(*RowSparse.components)}


class Lowered:
    """Rows for a program, and stores of the kinds that ``values`` has.

    Parameters
    ----------
    program : Program
    values : list of store
        The stores after a run in Python, by slot.
    fixed : set of int
        Slots whose stores are the same at every run.
    late : set of int, optional
        Slots of results that ``store`` is asked for, if they are read at all.
    targets : sequence of int, optional
        Slots of dense results that a run has arrays for, to be written there.
    brought : sequence of int, optional
        Slots of the stores that a run brings, in their order, for ``Table.begin``; by default those that are read.
    handed : set of int, optional
        Slots of sparse results that ``Table.take`` is asked for.

    Attributes
    ----------
    reasons : list of str
        For each step why Python runs it; empty for what was lowered.
    stores : dict of int to store
        By slot, made of outlines.
    """

    def __init__(self, program: Program, values: Slots, fixed: set[int], late: set[int] | None = None,
                 targets: Sequence[int] = (), handed: Iterable[int] = (), brought: Sequence[int] | None = None) -> None:
        self.program, self.settings = program, config.decisive
        self.builder = builder = Builder()
        self.stores: dict[int, Any] = {}  # Any: stores of outlines
        self.exits: dict[int, _Bound] = {}
        self.reasons: list[str] = []
        self.roots = self.bound = 0
        computed, kept = program.written, program.kept
        read = sorted(program.read - computed)
        for slot in read:
            if slot in fixed:
                self.stores[slot] = rebuilt(values[slot], [builder.constant(part) for part in parts_of(values[slot])])
        if brought is None:
            brought = [slot for slot in read if slot not in fixed]
        self.entry = self._bind([*brought, *targets], values)
        #: By slot, what stands for the arrays that are written to.
        self.targets: dict[int, Outline] = {slot: self.stores.pop(slot) for slot in targets}
        kernels = TableKernels(builder)
        self._needed = kept | program.read  # others are released as soon as they are computed
        for number in range(len(program.steps)):
            builder.operator = number
            self.reasons.append(self._lower_or_leave(number, kernels, values))
            if builder.work >= BETWEEN_PAUSES and number + 1 < len(program.steps):
                builder.work = 0
                builder.stop(PAUSE)
        for slot in kept & computed:
            for part in parts_of(self.stores[slot]):
                part.origin.kept = True
        origins = {slot: [part.origin for part in parts_of(self.stores[slot])] for slot in kept & computed}
        if any(0 <= origin.number < len(self.entry.arrays) for slot in late or () for origin in origins.get(slot, ())):
            raise Refused("a gradient is one of the arrays that it is computed from")
        for slot, target in self.targets.items():
            self._redirect(slot, target)
        #: Those of the late slots whose stores are buffers of the table.
        self.in_table = {slot for slot in late or () if all(origin.kind == "buffer" for origin in origins.get(slot, ()))}
        #: By slot, the origins of what a run can give away: each array has memory of its own.
        self.handed = {slot: origins[slot] for slot in handed if slot in origins and self._has_its_own(slot, origins)}
        #: Slots that are read after a run, and were lowered.
        self.results = sorted(slot for number, step in enumerate(program.steps) for slot in step.outputs
                              if not self.reasons[number] and slot in kept and slot not in self.in_table
                              and slot not in self.handed and not self.written(slot))
        #: Steps that make dense of a sparse array what the ledger is told after each run.
        self.noted = [number for number, plan in enumerate(program.plans) if plan.dense and not self.reasons[number]]
        self.image = _Image(self)

    def _has_its_own(self, slot: int, origins: dict[int, list[Origin]]) -> bool:
        """Whether each array of a store is a buffer of unknown size that nothing else lies in."""
        return all(part.origin.kind == "buffer" and part.origin.roots and part.dynamic and not part.offset and part.contiguous
                   and sum(part.origin is origin for held in origins.values() for origin in held) == 1
                   for part in parts_of(self.stores[slot]))

    def _redirect(self, slot: int, target: Outline) -> None:
        """Have the array that a run brings be the memory of a result, if the result is a buffer of its own."""
        result = self.stores[slot]
        origin = result.origin if isinstance(result, Outline) else None
        if (origin is None or origin.kind != "buffer" or origin.roots or result.offset or result.dynamic or not result.contiguous
                or result.nbytes != origin.nbytes):
            return
        origin.kind, origin.number = "target", target.origin.number
        origin.pointers[:0] = target.origin.pointers
        self.builder.origins.remove(target.origin)

    def written(self, slot: int) -> bool:
        """Whether the result is written to an array that the run brings."""
        return slot in self.targets and self.stores[slot].origin.kind == "target"

    def _bind(self, slots: Sequence[int], values: Slots) -> _Bound:
        """Outlines for the stores of slots that are bound while the table runs."""
        parts_at = [(place, _PARTS[type(values[slot])]) for place, slot in enumerate(slots) if type(values[slot]) in _PARTS]
        bound = _Bound(tuple(slots), self.bound, _getter_of(slots), parts_at[::-1], [])
        for slot in slots:
            store: Any = values[slot]  # Any: a store
            if store is None:
                raise Refused("a store that it reads was released")
            sized = isinstance(store, np.ndarray) or (isinstance(store, RowSparse) and store.complete)
            stored = None if sized else self.builder.size((self._root(len(parts_of(store)[0])),))
            parts = []
            for place, part in enumerate(parts_of(store)):
                shape, length = list(part.shape), 0
                fixed = part.shape[0] if not isinstance(store, np.ndarray) and (stored is None or place == 2) else -1
                if stored is not None and place < 2:
                    shape[0] = stored
                    length = self.builder.word() if place else stored.word
                parts.append(self.builder.input(self.bound, part.dtype, shape))
                self.bound += 1
                word = self.builder.word()
                parts[-1].origin.pointers.append((word, 0))
                root = stored.roots[0] if stored is not None and length else -1
                units = shape[1:] if length else shape
                nbytes = 0 if any(isinstance(unit, Size) for unit in units) else math.prod(units) * part.dtype.itemsize
                bound.arrays.append((word, length, fixed, root, part.dtype, nbytes))
            self.stores[slot] = rebuilt(store, parts)
        return bound

    def _root(self, example: int) -> int:
        self.builder.examples[self.roots] = example
        self.roots += 1
        return self.roots - 1

    def _lower_or_leave(self, number: int, kernels: TableKernels, values: Slots) -> str:
        """Lower a step, or have Python run it; returns the reason for that."""
        builder, reason, step = self.builder, self.program.reasons[number], self.program.steps[number]
        rows = len(builder.rows)
        if not reason:
            try:
                self._lower(number, kernels)
                return ""
            except Exception as error:  # whatever a rule raises on outlines, Python runs the operator instead
                if is_a_handlers(error, [self.program.plans[number].function]):
                    raise
                reason = reason_of(error)
        del builder.rows[rows:]
        builder.stop(number)
        for slot in step.inputs:
            for part in parts_of(self.stores[slot]):
                part.origin.used(number)
        self.exits[number] = self._bind([slot for slot in step.outputs if slot in self._needed], values)
        return reason

    def _lower(self, number: int, kernels: Any) -> None:  # Any: stands for Kernels
        step, specs = self.program.steps[number], self.program.specs
        stores = [self.stores[slot] for slot in step.inputs]
        for part in (part for store in stores for part in parts_of(store)):
            part.origin.used(self.builder.operator)
        before = refusals.count
        output = hooks.ignore_fp_errors(compute, self.program.plans[number].on(kernels), stores)
        if refusals.count != before:
            raise Refused(CATCHES)
        results = output if isinstance(output, tuple) else (output,)
        for slot, result in zip(step.outputs, results, strict=True):
            spec: Any = specs[slot]  # Any: it stands for a store
            if any(not isinstance(part, Outline) for part in parts_of(result)):
                raise Refused("its result was made while it was lowered")
            if stype_of(result) != stype_of(spec) or result.dtype != spec.dtype or not _same(result.shape, spec.shape):
                raise Refused(f"its result is {result.dtype} of shape {result.shape}, not {spec.dtype} of shape {spec.shape}")
            for part in parts_of(result):
                part.origin.used(self.builder.operator)
        self.stores.update(zip(step.outputs, results, strict=True))


def _same_memory(left: Array, right: Array) -> bool:
    return left.__array_interface__["data"][0] == right.__array_interface__["data"][0] and (
        left.shape == right.shape and left.strides == right.strides and left.dtype == right.dtype)


def _same(shape: Sequence[Any], expected: Shape) -> bool:  # Any: lengths
    return len(shape) == len(expected) and all(
        isinstance(length, int) and length == wanted for length, wanted in zip(shape, expected, strict=True))


class _Image:
    """What is the same in every table of one lowered program: words, rows, and where addresses go.

    Attributes
    ----------
    words, rows : ndarray
    own, memory : ndarray
        (n, 2): words that hold an address, and the offset from the words, or from the table's memory.
    nbytes : int
        Bytes of that memory.
    grown : list of Origin
        Buffers whose size is known while the table runs only.
    patches : dict of tuple to (int, int)
        By the slots that are bound together: word of the block of patches, and how many.
    after : dict of int to int
        The row behind each operator.
    """

    def __init__(self, lowered: Lowered) -> None:
        builder = lowered.builder
        self._builder, self._own = builder, list(builder.own)
        inputs = {origin.number: origin for origin in builder.origins if origin.kind in ("input", "target")}
        self.patches: dict[tuple[int, ...], tuple[int, int]] = {}
        for bound in (lowered.entry, *lowered.exits.values()):
            patches: list[tuple[int, int, int, int]] = []
            for place, (word, length, _, _, _, _) in enumerate(bound.arrays):
                patches += [(target, word, 1, offset) for target, offset in inputs[bound.first + place].pointers[1:]]
                patches += [(patch.word, length, patch.factor, 0) for patch in builder.patches.get(length, ())]
            self.patches[bound.slots] = self._block(patches)
        rows = []
        kernels: Any = load("sparsekit.kernels.cpu.table_rows")  # Any: a module of kernels
        word_type = load("numba").types.int64
        patch = compiled(kernels.patch_words, (word_type, word_type))
        for row in builder.rows:
            rows.append(row[:8])
            if row.size >= 0 and builder.patches[row.size]:
                block, count = self._block([(entry.word, row.size, entry.factor, 0) for entry in builder.patches[row.size]])
                data = builder.block([0, count])
                self._own.append((data, 8 * block))
                rows.append((patch.adapter, patch.target, data, -1, -1, 0, row.operator, 0))
        self.after = {row[6]: place + 1 for place, row in enumerate(rows)}
        # The last row is the end, and says how far a run came.
        self.rows = np.array([*rows, (0, 0, -1, -1, -1, 0, PAUSE, 0)], np.int64)
        self.words = np.array(builder.words, np.int64)
        buffers = [origin for origin in builder.origins if origin.kind == "buffer" and origin.last >= 0]
        fixed = [origin for origin in buffers if not origin.roots]
        offsets, self.nbytes = _placed(fixed, [origin.nbytes for origin in fixed], len(lowered.program.steps))
        self.offset_of = dict(zip(map(id, fixed), offsets, strict=True))
        self.memory = _pairs((word, base + offset) for origin, base in zip(fixed, offsets, strict=True)
                             for word, offset in origin.pointers)
        self.own = _pairs(self._own)
        self.grown = [origin for origin in buffers if origin.roots]
        for origin in builder.origins:
            if origin.array is not None:
                for word, offset in origin.pointers:
                    self.words[word] = origin.array.ctypes.data + offset

    def _block(self, patches: Sequence[tuple[int, int, int, int]]) -> tuple[int, int]:
        """Words that say what ``patch_words`` does, and how many patches they are."""
        block = self._builder.block([number for patch in patches for number in (0, 0, *patch[2:])])
        for place, (target, source, _, _) in enumerate(patches):
            self._own += [(block + 4 * place, 8 * target), (block + 4 * place + 1, 8 * source)]
        return block, len(patches)


def _pairs(pairs: Iterable[tuple[int, int]]) -> Array:
    return np.array(list(pairs), np.int64).reshape(-1, 2)


def _placed(buffers: Sequence[Origin], sizes: Sequence[int], operators: int) -> tuple[list[int], int]:
    """Offsets of buffers in one piece of memory, which those share that are not in use at once; and its bytes."""
    offsets = [0] * len(buffers)
    taken: list[tuple[int, int, int, int]] = []  # start, end, first, last; in the order of the starts
    total = 0
    for place in sorted(range(len(buffers)), key=lambda index: -sizes[index]):  # the largest first, which leaves the fewest gaps
        origin = buffers[place]
        first, last = origin.first, operators if origin.kept else origin.last
        size = -(-max(sizes[place], 1) // LINE) * LINE
        start = 0
        for low, high, begins, ends in taken:
            if begins <= last and first <= ends:
                if low - start >= size:
                    break
                start = max(start, high)
        bisect.insort(taken, (start, start + size, first, last))
        offsets[place] = start
        total = max(total, start + size)
    return offsets, total


def _getter_of(slots: Sequence[int]) -> Callable[[Slots], tuple[Any, ...]]:  # Any: stores
    """What gives the stores of these slots, of those of all."""
    if len(slots) > 1:
        return operator.itemgetter(*slots)
    return lambda values: tuple([values[slot] for slot in slots])


def _arrays_of(bound: _Bound, values: Slots) -> list[Any]:  # Any: arrays
    """The arrays of the stores of some slots."""
    arrays = list(bound.stores_of(values))
    for place, parts in bound.parts:
        arrays[place: place + 1] = parts(arrays[place])
    return arrays


class Table:
    """A lowered program with words and memory of its own, which one thread at a time runs.

    Attributes
    ----------
    memory : ndarray
        The buffers of known size.
    rows : ndarray
        The calls; see ``table_rows``.
    end : int
        The last row.
    note : memoryview
        That row.
    finished : bool
        Whether the last run that ``reached`` told of came to the end.
    stops : int
        How often Python ran an operator that had been lowered, because it was large or failed.
    """

    def __init__(self, lowered: Lowered) -> None:
        self.lowered, self.image = lowered, lowered.image
        self._kernels: Any = load("sparsekit.kernels.cpu.table_rows")  # Any: a module of kernels
        self._run, self._bind = self._kernels.run_rows.dispatcher, self._kernels.bind_arrays.dispatcher
        self._words = self.image.words.copy()
        self._base: int = self._words.ctypes.data
        words: Any = self._words  # Any: numpy's stubs do not say that an array is a buffer
        self._word = memoryview(words)  # which takes less time for one word
        self.memory = np.empty(self.image.nbytes + LINE, np.uint8)
        #: Addresses of the arrays whose memory the next run uses.
        self.held = {id(self.memory)}
        self._start = -self.memory.ctypes.data % LINE
        self._words[self.image.own[:, 0]] = self.image.own[:, 1] + self._base
        self._words[self.image.memory[:, 0]] = self.image.memory[:, 1] + (self.memory.ctypes.data + self._start)
        self.rows = self.image.rows.copy()
        self.rows[:, 2:5] = np.where(self.rows[:, 2:5] >= 0, self.rows[:, 2:5] * 8 + self._base, 0)
        self.rows[self.rows[:, 0] == 0, 2:5] = 0
        self._kept_bytes = self.memory.nbytes
        self._capacity = [-1] * lowered.roots
        #: By the number of a buffer whose size was not known: the memory that it lies in, and where.
        self._grown: dict[int, tuple[Array, int]] = {}
        number_of = {id(origin): number for number, origin in enumerate(self.image.grown)}
        #: By slot, the numbers of the buffers that the run gives away with what lies in them, and by number their element types.
        self._handed = {slot: {number_of[id(origin)]: outline for origin, outline
                               in zip(origins, parts_of(lowered.stores[slot]), strict=True)}
                        for slot, origins in lowered.handed.items()}
        self._types = {number: outline.dtype for handed in self._handed.values() for number, outline in handed.items()}
        #: How many elements they have room for.
        self._elements: dict[int, int] = {}
        #: The memory of those that nothing has seen, between runs only: whoever pops it has all, another thread or the next run.
        self._free: list[dict[int, Array]] = [{}]
        #: All of it while a run has it, as long as none is renewed.
        self._held: dict[int, Array] = {}
        self._seen: set[int] = set()
        #: Stores that are the same at every run, by slot.  Any: stores
        self.views: dict[int, Any] = {}
        self._timed: TimedRows | None = None
        self.end, self.finished = len(self.rows) - 1, False
        self._last, self.note = self.rows, memoryview(self.rows[-1])
        self._first_rows: dict[tuple[bool, int], int] = {}
        #: The arrays that are bound: of the entry, and of the exits that have been passed, in their order.  Any: arrays
        self._arrays: list[Any] = []
        self._plans = {bound.slots: self._plan(bound) for bound in (lowered.entry, *lowered.exits.values())}
        self._words_at = {bound.slots: self._words_of(bound) for bound in (lowered.entry, *lowered.exits.values())}
        self._entry_words = (*self._words_at[lowered.entry.slots], len(lowered.targets))
        self._begin = self._kernels.begin_rows.compile((load("numba").types.int64,) * 8)
        #: Address of the first row, and the number of the last.
        self.at: tuple[int, int] = (self.rows.ctypes.data, self.end)
        self.stops = 0

    def _plan(self, bound: _Bound) -> Array:
        return np.array([(self._base + 8 * word, length and self._base + 8 * length, fixed, type_word(dtype), -1, nbytes)
                         for word, length, fixed, _, dtype, nbytes in bound.arrays], np.int64).reshape(-1, 6)

    def _words_of(self, bound: _Bound) -> tuple[int, int, int, int]:
        """What ``bind_arrays`` takes: the plan and how many rows it has, the block of patches and how many they are."""
        plan, (block, count) = self._plans[bound.slots], self.image.patches[bound.slots]
        return plan.ctypes.data, len(plan), self._base + 8 * block, count

    def timed(self, account: Account) -> TimedRows:
        """Its rows with readings of the clock."""
        if self._timed is None:
            self._timed = TimedRows(self, account)
        return self._timed

    @property
    def reserved(self) -> int:
        """Bytes that it keeps between runs."""
        return self._kept_bytes + sum([memory.nbytes for held in self._free for memory in held.values()])

    def released(self, sink: Sink) -> None:
        """Tell a recorder that nothing reads the memory any more until the next run."""
        if self._timed is not None:
            sink.freed(self._timed.token)

    def run(self, values: Slots, execute: Callable[[int, Slots], None], told: TimedRows | None = None) -> bool:
        """Run it on the stores of ``values``, which gets the results that are read afterwards.

        ``execute(number, values)`` runs one instruction in Python; ``told`` tells a recorder what runs before it.  Returns
        False, and has done nothing, if the stores are of another kind than those that it was made for, or settings have changed.
        """
        place = self.begin(list(self.lowered.entry.stores_of(values)), told)
        return place >= 0 and self.go_on(place, values, execute, told)

    def begin(self, arrays: list[Any], told: TimedRows | None = None) -> int:  # Any: stores, which become their arrays
        """Bind the stores of ``lowered.entry``, and run rows up to one that Python runs, or the end; returns where that is.

        The stores are those that the run brings, and those that it writes to.  -1, and nothing has been done, if they do not
        fit, or settings have changed.
        """
        lowered = self.lowered
        if lowered.settings != config.decisive:
            return -1
        for sparse, parts in lowered.entry.parts:
            arrays[sparse: sparse + 1] = parts(arrays[sparse])
        renewed = []
        if self._elements:
            held = self._held = self._take_free()
            if len(held) < len(self._elements):  # some were given away or seen, or the last run failed
                self._held = {}
                for number in self._elements:
                    if number not in held:
                        renewed.append((number, self._grown[number]))
                        self._renew(number)
            self._seen.clear()
        rows, at = (self.rows, self.at) if told is None else (told.rows, told.at)
        place: int = self._begin(id(arrays), *self._entry_words, *at)
        if place >= 0:
            self._arrays = arrays
        elif self._bound(lowered.entry, arrays):  # with more room, or copies
            place = self._run(rows, 0)
        else:
            for number, (memory, start) in renewed:  # what the last run left may still be asked for
                self._point_to(number, memory, start)
            return -1
        return place if place == at[1] or rows[place, 6] != PAUSE else self._advance(rows, place + 1)

    def _take_free(self) -> dict[int, Array]:
        """All memory that is free, which nobody else then has."""
        try:
            return self._free.pop()
        except IndexError:
            return {}

    def _advance(self, rows: Array, place: int) -> int:
        """Run rows up to one that Python runs, or the end."""
        while (place := self._run(rows, place)) < len(rows) - 1 and rows[place, 6] == PAUSE:
            place += 1
        return place

    def go_on(self, place: int, values: Slots, execute: Callable[[int, Slots], None], told: TimedRows | None = None) -> bool:
        """Have Python run the row at which a run has come to a stop, and run those behind it."""
        lowered, noted = self.lowered, 0
        rows, after = (self.rows, self.image.after) if told is None else (told.rows, told.after)
        while place < len(rows) - 1:
            number = int(rows[place, 6])
            self._read(number, values)
            noted = self._note_made(noted, number, values, told)
            if told is not None:
                told.before(number, values)
            execute(number, values)
            if number in lowered.exits:
                fits = self._bound(lowered.exits[number], _arrays_of(lowered.exits[number], values))
            else:
                self.stops += 1
                fits = self._take_over(number, values)
            if not fits:
                if told is not None:
                    told.over()
                self._finish(number + 1, values, execute)
                return True
            place = self._advance(rows, after[number])
        self.finish(values, noted, told)
        return True

    def finish(self, values: Slots, noted: int = 0, told: TimedRows | None = None) -> None:
        """Have the results at hand at the end of a run, let the arrays go that it was given, and have ready what may be taken.

        ``noted`` is how many steps the ledger has been told of.
        """
        lowered, views = self.lowered, self.views
        if lowered.noted:
            self._note_made(noted, len(lowered.program.steps), values, told)
        for slot in lowered.results:
            values[slot] = views[slot] if slot in views else self.store(slot)
        self.let_go()

    def let_go(self) -> None:
        """Let the arrays go that a run was given, and have ready what may be taken."""
        self._arrays = []
        if self._elements:
            free, seen = self._held, self._seen
            if seen or len(free) < len(self._elements):
                free = {}
                for number in self._elements:
                    if number not in seen:
                        free[number] = self._grown[number][0]
            self._free[:] = [free]

    def forget(self) -> None:
        """Have ``reached`` know nothing of the last run."""
        self.note[REACHED] = 0
        if self._timed is not None:
            self._timed.note[REACHED] = 0

    def reached(self) -> int:
        """The row that a run has come to since ``forget``; 0 if none has run, as if the stores did not fit."""
        reached: int = self.note[REACHED]
        self._last = self.rows
        if self._timed is not None and not reached:
            reached, self._last = self._timed.note[REACHED], self._timed.rows
        self.finished = reached == self._last.shape[0] - 1
        return reached

    def run_past_pause(self, place: int) -> None:
        """Run the rows behind one at which Python looks for signals, where an interrupt has come."""
        if self._last[place, 6] == PAUSE:
            self._advance(self._last, place + 1)

    def first_row(self, operator: int) -> int:
        """The first row of this operator and those behind it, among the rows of the last run."""
        rows = self._last
        key = rows is self.rows, operator
        if key not in self._first_rows:
            self._first_rows[key] = next((place for place, number in enumerate(rows[:-1, 6].tolist()) if number >= operator),
                                         rows.shape[0] - 1)
        return self._first_rows[key]

    def operator_at(self, place: int) -> int:
        """The operator of a row of the last run, or the next one; their number at the end."""
        if place == len(self._last) - 1:
            return len(self.lowered.program.steps)
        return next((number for number in self._last[place:-1, 6].tolist() if number >= 0), len(self.lowered.program.steps))

    def _note_made(self, first: int, number: int, values: Slots, told: TimedRows | None) -> int:
        """Tell the ledger of the instructions from ``first`` to ``number``, which Python runs; returns the one behind it."""
        noted, steps = [place for place in self.lowered.noted if first <= place < number], self.lowered.program.steps
        if noted and told is not None:  # a recorder must know the arrays
            told.upto(number, values, [(slot, self.store(slot)) for place in noted for slot in steps[place].outputs])
        for place in noted:
            step = steps[place]
            stores = [self.store(slot) if values[slot] is None else values[slot] for slot in step.inputs]
            note_results(self.lowered.program.plans[place], stores, tuple([self.store(slot) for slot in step.outputs]))
        return number + 1

    def _read(self, number: int, values: Slots) -> None:
        """Have the stores at hand that an instruction reads."""
        for slot in self.lowered.program.steps[number].inputs:
            if values[slot] is None:
                values[slot] = self.store(slot)

    def _finish(self, number: int, values: Slots, execute: Callable[[int, Slots], None]) -> None:
        """Run the remaining instructions in Python."""
        done = {slot for step in self.lowered.program.steps[:number] for slot in step.outputs}
        for slot in self.lowered.results:
            if slot in done and values[slot] is None:
                values[slot] = self.store(slot)
        for later in range(number, len(self.lowered.program.steps)):
            self._read(later, values)
            execute(later, values)

    def _bound(self, bound: _Bound, arrays: list[Any]) -> bool:  # Any: arrays
        """Bind these arrays; False if they do not fit."""
        words, written = self._words_at[bound.slots], len(self.lowered.targets) if bound is self.lowered.entry else 0
        for _ in range(2 * len(arrays) + 1):
            misfit = self._bind(id(arrays), *words, written)
            if misfit < 0:
                if bound is self.lowered.entry:
                    self._arrays = arrays
                else:
                    self._arrays[bound.first: bound.first + len(arrays)] = arrays
                return True
            if misfit >= len(arrays) - written:
                return False
            _, _, fixed, root, dtype, _ = bound.arrays[misfit]
            array = arrays[misfit]
            if array.dtype != dtype or not array.flags.aligned or (fixed >= 0 and array.shape[0] != fixed):
                return False
            if not array.flags.c_contiguous or type_word(array.dtype) != type_word(dtype):
                arrays[misfit] = np.array(array, dtype, order="C")
            elif root >= 0:
                self._grow(root, array.shape[0], bound)
        return False

    def _room(self, roots: tuple[int, ...], extra: int) -> int:
        """How large a size with these roots may be."""
        return sum(max(0, self._capacity[root]) for root in roots) + extra

    def _grow(self, root: int, count: int, bound: _Bound) -> None:
        """Have room for arrays whose size this root bounds; it is one of those of ``bound``."""
        self._capacity[root], self._held = count + count // 4 + LINE, {}
        grown = self.image.grown
        if bound is self.lowered.entry:  # nothing has run yet, so that all may share memory that are not in use at once
            places = [place for place, origin in enumerate(grown)
                      if place not in self._types and all(self._capacity[origin_root] >= 0 for origin_root in origin.roots)]
            sizes = [(self._room(grown[place].roots, grown[place].more) + 1) * grown[place].nbytes for place in places]
            offsets, total = _placed([grown[place] for place in places], sizes, len(self.lowered.program.steps))
            memory = np.empty(total + LINE, np.uint8)
            for place, offset in zip(places, offsets, strict=True):
                self._put(place, memory, offset)
        else:
            for place, origin in enumerate(grown):
                if root in origin.roots and place not in self._types:
                    self._put(place, np.empty((self._room(origin.roots, origin.more) + 1) * origin.nbytes + LINE, np.uint8), 0)
        elements = [(place, np.empty((self._room(origin.roots, origin.more) + 1) * origin.nbytes // dtype.itemsize, dtype))
                    for place, dtype in self._types.items() if root in (origin := grown[place]).roots]
        for place, memory in elements:  # only now that there is memory for all
            self._elements[place] = memory.size
            self._point_to(place, memory, 0)
        held = {id(memory): memory.nbytes for place, (memory, _) in self._grown.items() if place not in self._types}
        held[id(self.memory)] = self.memory.nbytes
        self.held, self._kept_bytes = set(held), sum(held.values())
        for binding in (self.lowered.entry, *self.lowered.exits.values()):
            for place, (_, _, _, other, _, _) in enumerate(binding.arrays):
                if other == root:
                    self._plans[binding.slots][place, 4] = self._capacity[root]

    def _put(self, place: int, memory: Array, offset: int) -> None:
        """Have a buffer whose size was not known lie in this memory."""
        self._point_to(place, memory, -memory.ctypes.data % LINE + offset)

    def _point_to(self, place: int, memory: Array, start: int) -> None:
        self._grown[place] = memory, start
        address = ctypes.c_int64.from_address(id(memory) + self._kernels.MEMORY).value + start  # sooner than memory.ctypes.data
        for word, offset in self.image.grown[place].pointers:
            self._word[word] = address + offset

    def _renew(self, place: int) -> None:
        """Have new memory for a buffer whose memory has been given away, or seen by something that may keep it."""
        self._point_to(place, np.empty(self._elements[place], self._types[place]), 0)

    def take(self, slot: int) -> Any:  # Any: a store
        """The store of a slot, which the next run leaves alone: its memory is given away if that can be, and copied otherwise."""
        handed, held = self._handed.get(slot), self._take_free()
        if handed is None or not held.keys() >= handed.keys():
            self._free[:] = [held]
            return copied(self.store(slot))
        arrays = []
        for place, outline in handed.items():
            memory, shape = held[place], self._shape_of(outline)
            if memory.nbytes < SMALL:
                arrays.append(memory[:math.prod(shape)].reshape(shape).copy())
            else:
                del held[place]
                memory.resize(shape, refcheck=False)  # ``_array`` has made no view of it
                arrays.append(memory)
        self._free[:] = [held]
        return rebuilt(self.lowered.stores[slot], arrays)

    def _take_over(self, number: int, values: Slots) -> bool:
        """Copy what Python computed for a lowered instruction to where the rows behind it read it; False if it has no room."""
        for slot in self.lowered.program.steps[number].outputs:
            if values[slot] is None:  # released, as nothing reads it
                continue
            outlines, parts = parts_of(self.lowered.stores[slot]), parts_of(values[slot])
            for outline, part in zip(outlines, parts, strict=True):
                size = outline.shape[0] if outline.dynamic else None
                if size is not None:
                    if part.shape[0] > self._room(size.roots, size.bound) * size.factor or part.shape[0] % size.factor:
                        return False
                    self._words[size.word] = part.shape[0] // size.factor
                    for patch in self.lowered.builder.patches[size.word]:
                        self._words[patch.word] = self._words[size.word] * patch.factor
            for outline, part in zip(outlines, parts, strict=True):
                target = self._array(outline)
                if outline.origin.kind in ("buffer", "target"):
                    np.copyto(target, part)
                elif not _same_memory(target, part) and not np.array_equal(target, part, equal_nan=True):
                    return False
        return True

    def store(self, slot: int) -> Any:  # Any: a store
        """The store of a slot, in the table's memory."""
        view = self.views.get(slot)
        if view is None:
            like = self.lowered.stores[slot]
            outlines = parts_of(like)
            view = rebuilt(like, [self._array(outline) for outline in outlines])
            if all(outline.origin.kind == "buffer" and not outline.origin.roots and not outline.dynamic for outline in outlines):
                self.views[slot] = view
        return view

    def _shape_of(self, outline: Outline) -> Shape:
        words, shape = self._word, []
        for length in outline.shape:
            shape.append(words[length.word] * length.factor if isinstance(length, Size) else length)
        return tuple(shape)

    def _array(self, outline: Outline) -> Array:
        origin, shape = outline.origin, self._shape_of(outline)
        memory: Any  # Any: an array
        if origin.kind == "buffer" and not origin.roots:
            memory, start = self.memory, self._start + self.image.offset_of.get(id(origin), 0)
        elif origin.kind == "buffer":
            number = next(number for number, grown in enumerate(self.image.grown) if grown is origin)
            memory, start = self._grown[number]
            if number in self._types:
                self._seen.add(number)
                for held in self._free:
                    held.pop(number, None)
        else:
            memory, start = (origin.array if origin.array is not None else self._arrays[origin.number]), 0
        if math.prod(shape) == 0:
            return np.empty(shape, outline.dtype)
        array: Array = np.ndarray(shape, outline.dtype, memory, start + outline.offset, outline.strides)
        return array


