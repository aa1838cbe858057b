"""Tables under a profiler: their rows with readings of the clock in between, and what a recorder is told of a run.

A run reads the clock when it begins and when it ends, by a row like any other, a call of the C library's ``clock_gettime``.
Between operators it reads the processor's counter of cycles, which takes a quarter of the time; ``Account.read`` tells the
times.  A run copies the readings and the sizes that it found; the recorder makes the usual events of them later, one for each
operator.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.forking import load
from ...storage import stype_of
from .. import hooks
from ..hooks import Event, Piece, Recipe
from ..workspace import parts_of
from .arrays import Size
from .builder import PAUSE
from .machine import compiled, compiled_counter

if TYPE_CHECKING:
    from ...base.types import Array
    from ..dispatch import Plan
    from ..types import ArrayObject, Slots
    from .arrays import Outline
    from .builder import Origin
    from .table import Lowered, Table

#: Number of the clock that ``time.perf_counter_ns`` reads, by platform.
CLOCKS = {"linux": 1, "darwin": 8}

#: Words of a reading of the clock: seconds and nanoseconds.
READING = 2

#: Words behind the readings of the counter: the clock just before the first of them, the clock again later, and the counter
#: just after that.
ANCHORS = 2 * READING + 1

#: How often the counter is compared with the clock before it is used.
COMPARISONS = 64

#: Columns of a row; see ``table_rows``.
_OPERATOR = 6


@functools.cache
def clock() -> tuple[int, int] | None:
    """Address of ``clock_gettime`` and the number of the clock to read; None where readings would not agree with Python's."""
    number = CLOCKS.get(sys.platform)
    if number is None:
        return None
    try:
        function = ctypes.CDLL(None).clock_gettime
    except (OSError, AttributeError):
        return None
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    reading = np.zeros(READING, np.int64)
    # As a row calls it: with the five words that an inner loop of numpy gets.
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 5)(address)
    for _ in range(3):
        before = time.perf_counter_ns()
        failed = call(number, reading.ctypes.data, 0, 0, 0)
        if failed or not before <= int(reading[0]) * 10**9 + int(reading[1]) <= time.perf_counter_ns():
            return None
    return address, number


@functools.cache
def counter() -> int:
    """Address of what a row calls to read the counter: the processor's cycles, or the clock where these do not go with it."""
    clock_call = clock()
    assert clock_call is not None, "the caller has asked for it"
    cycles = compiled_counter(None) if platform.machine() in ("x86_64", "AMD64") else 0  # others may not let programs read it
    return cycles if cycles and _goes_with_the_clock(cycles) else compiled_counter(clock_call)


def _goes_with_the_clock(address: int) -> bool:
    """Whether a counter and the clock advance together."""
    count, call = ctypes.c_int64(), ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 5)(address)
    before, counts, after = np.zeros((3, COMPARISONS))
    for number in range(COMPARISONS):
        before[number] = time.perf_counter_ns()
        call(ctypes.addressof(count), 0, 0, 0, 0)
        after[number], counts[number] = time.perf_counter_ns(), count.value
    middle, spread = (before + after) / 2, (after - before) / 2
    if not counts[0] < counts[-1]:
        return False
    told = middle[0] + (counts - counts[0]) * ((middle[-1] - middle[0]) / (counts[-1] - counts[0]))
    return bool((abs(told - middle) <= spread + spread[0] + spread[-1]).all())


class Account:
    """What the steps of a lowered program are for a profiler.

    Parameters
    ----------
    lowered : Lowered
    parameters : dict of int to str, optional
        By the slot of a gradient, the name of the parameter.

    Attributes
    ----------
    events : tuple of Event
    recipes, constants : dict of int to Recipe
        By slot, for all that lowered operators make, and for what is the same at every run.
    sizes : list of int
        Words that hold the sizes.
    kept : frozenset of int
        Buffers that something reads after a run.
    readings : int
    given, results : tuple of int
        Slots of arrays that a run brings and operators read, and of those that others read in the table's memory afterwards.
    """

    def __init__(self, lowered: Lowered, parameters: dict[int, str] | None = None) -> None:
        steps = lowered.program.steps
        self.sizes: list[int] = []
        self.recipes: dict[int, Recipe] = {}
        self._lowered = lowered
        self._buffers: dict[int, tuple[Origin, int]] = {}  # by the address of its origin
        self._owners: dict[int, tuple[int, int]] = {}
        told = [lowered.program.told_of(number) for number in range(len(steps))]
        read = {slot for _, inputs in told for slot in inputs}.union(lowered.targets)
        self.given = tuple([slot for slot in lowered.entry.slots if slot in read])
        for slot in (*self.given, *[slot for bound in lowered.exits.values() for slot in bound.slots]):
            for place, part in enumerate(parts_of(lowered.stores[slot])):
                self._owners[id(part.origin)] = slot, place
        for step, reason in zip(steps, lowered.reasons, strict=True):
            if not reason:
                for slot in step.outputs:
                    self.recipes[slot] = self._recipe(slot, step.inputs, (parameters or {}).get(slot, ""))
        fixed = read.difference(lowered.entry.slots, lowered.program.written)
        self.constants = {slot: self._recipe(slot, (), "") for slot in fixed}
        freed: dict[int, list[int]] = {}
        for origin, number in self._buffers.values():
            freed.setdefault(len(steps) if origin.kept else origin.last, []).append(number)
        self.kept = frozenset(freed.pop(len(steps), ()))
        self.events = tuple([Event(plan, step.note.lane, step.note.layer, step.note.link, inputs, step.outputs,
                                   tuple(freed.get(number, ())))
                             for number, (step, (plan, inputs)) in enumerate(zip(steps, told, strict=True))])
        self.readings = len(self.events) + 1
        self.results = tuple(lowered.results)

    def _recipe(self, slot: int, places: Sequence[int], parameter: str) -> Recipe:
        store = self._lowered.stores[slot]
        outlines = parts_of(store)
        same = slot if self._lowered.written(slot) else -1
        if same < 0 and stype_of(store) == "default":
            for other in places:
                held = self._lowered.stores[other]
                if stype_of(held) == "default" and store.same_memory(held):
                    same = other
        shape = store.shape if stype_of(store) != "default" else ()
        return Recipe(stype_of(store), shape, tuple([self._piece(outline) for outline in outlines]), same, parameter)

    def _piece(self, outline: Outline) -> Piece:
        origin = outline.origin
        number = -1
        if origin.kind == "buffer":
            number = self._buffers.setdefault(id(origin), (origin, len(self._buffers)))[1]
        lengths = tuple([(self._size(length), length.factor) if isinstance(length, Size) else (-1, length)
                         for length in outline.shape])
        fixed = all(size < 0 for size, _ in lengths)
        return Piece(number, self._owners.get(id(origin), (-1, 0)), lengths,
                     tuple([length for _, length in lengths]) if fixed else None, outline.dtype)

    def _size(self, size: Size) -> int:
        if size.word not in self.sizes:
            self.sizes.append(size.word)
        return self.sizes.index(size.word)

    def read(self, noted: bytes) -> tuple[int, Array, list[int]]:
        """When a run began, the times of all readings, and the sizes; times as ``time.perf_counter_ns`` gives them."""
        count, readings = self.readings, np.frombuffer(noted, np.int64)
        seconds, nanoseconds, end_seconds, end_nanoseconds, counted = map(int, readings[count: count + ANCHORS])
        begin, cycles = seconds * 10**9 + nanoseconds, counted - int(readings[0])
        pace = (end_seconds * 10**9 + end_nanoseconds - begin) / cycles if cycles > 0 else 0.0
        times: Array = begin + ((readings[:count] - readings[0]) * pace).astype(np.int64)
        return begin, times, readings[count + ANCHORS:].tolist()

    def with_plans(self, plans: dict[int, Plan]) -> tuple[Event, ...]:
        """The events, with other plans for some steps."""
        return tuple([event._replace(plan=plans[number]) if number in plans else event
                      for number, event in enumerate(self.events)])


class TimedRows:
    """The rows of a table with readings of the clock, and what a recorder is told of each run.

    Attributes
    ----------
    account : Account
    rows : ndarray
    at : tuple of int
        Address of the first row, and the number of the last.
    after : dict of int to int
        For each operator the row at which a run goes on when Python has run it.
    token : object
        Stands for the table's memory in what a recorder keeps.
    events : tuple of Event
        Those of this run.
    begin : int
        The first of them that the recorder has not been told of.
    first : int
        Number of the first recorded node; 0 if none is recorded.
    note : memoryview
        The last of the rows, which says how far a run came.
    readings : ndarray
        Of the counter, ``ANCHORS`` words, and the sizes.
    """

    __slots__ = ("_brought", "_copies", "_given", "_last", "_run", "_table", "account", "after", "at", "begin", "events",
                 "first", "note", "readings", "rows", "token")

    def __init__(self, table: Table, account: Account) -> None:
        clock_call = clock()
        assert clock_call is not None, "the caller has asked for it"
        plain = table.rows
        self.token, self._table = object(), weakref.ref(table)  # which has this
        self._run, self.account = table._run, account
        self._brought: tuple[Sequence[int], Sequence[ArrayObject]] = ((), ())
        self.readings = np.zeros(account.readings + ANCHORS + len(account.sizes), np.int64)
        start, sizes = self.readings.ctypes.data, len(account.sizes)
        reading, count = functools.partial(_call, *clock_call), functools.partial(_call, counter())
        anchor = start + 8 * account.readings
        rows, self.after, plain_rows = [reading(anchor, PAUSE), count(start, 0, PAUSE)], {}, plain[:-1].tolist()
        place = 0
        for number in range(len(account.events)):
            last = max((at for at, row in enumerate(plain_rows) if row[_OPERATOR] == number), default=place - 1)
            rows += plain_rows[place: last + 1]
            place = last + 1
            self.after[number] = len(rows)
            rows.append(count(start + 8 * (number + 1), 0, number))
        rows += plain_rows[place:]
        # Once more, by which the counter is told in time.
        anchors = [reading(anchor + 8 * READING, PAUSE), count(anchor + 8 * 2 * READING, 0, PAUSE)]
        rows += anchors
        # The sizes, once they are all known.
        word = load("numba").types.int64
        patch = compiled(load("sparsekit.kernels.cpu.table_rows").patch_words, (word, word))
        copies = [[anchor + 8 * (ANCHORS + number), table._base + 8 * source, 1, 0]
                  for number, source in enumerate(account.sizes)]
        self._copies = np.array([*copies, [0, sizes, 0, 0]], np.int64)
        self._copies[-1, 0] = self._copies.ctypes.data
        rows.append(_call(patch.adapter, patch.target, self._copies[-1:].ctypes.data, PAUSE))
        self._last = np.array([*anchors, rows[-1], plain[-1].tolist()], np.int64)
        self.rows = np.array([*rows, plain[-1].tolist()], np.int64)
        self.note, self.at = memoryview(self.rows[-1]), (self.rows.ctypes.data, len(self.rows) - 1)
        self.start(account.events, 0)

    @property
    def reserved(self) -> int:
        """Bytes that the table keeps between runs."""
        table = self._table()
        return 0 if table is None else table.reserved

    def start(self, events: tuple[Event, ...], first: int) -> None:
        """Begin to tell of a run.

        Parameters
        ----------
        events : tuple of Event
            Those of the account, some with other plans.
        first : int
            Number of the first recorded node; 0 if none is recorded.
        """
        self.events, self.first, self.begin, self._given = events, first, 0, self.account.given

    def bring(self, slots: Sequence[int], arrays: Sequence[ArrayObject]) -> None:
        """Set the arrays in some slots; the next note names them by their marks instead of looking up their stores."""
        self._brought = slots, arrays

    # Any: stores
    def upto(self, number: int, values: Slots, views: Sequence[tuple[int, Any]]) -> None:
        """Tell what has run before an operator, with the arrays in the table's memory that others get to see."""
        self._run(self._last, 0)  # the rows at the end, which read the clock once more and copy the sizes
        self._tell(number, values, (), (), views, (), ())
        self.begin, self._given = number, ()

    def before(self, number: int, values: Slots) -> None:
        """Tell what ran before an operator that Python runs, whose stores are at hand."""
        event = self.events[number]
        self.upto(number, values, [(slot, values[slot]) for slot in dict.fromkeys(event.inputs) if slot in self.account.recipes])
        self.begin, self._given = number + 1, event.outputs

    def place(self, number: int) -> tuple[str, str]:
        """Lane and layer of an operator."""
        return self.events[number][1:3]

    def over(self) -> None:
        """Note that Python runs the rest."""
        self.begin = len(self.events)

    # Any: stores
    def finish(self, values: Slots, slots: Sequence[int] = (), arrays: Sequence[ArrayObject] = (),
               views: Sequence[tuple[int, Any]] = (), left: Sequence[int] = (),  # Any: as above
               results: Sequence[Any] = ()) -> None:  # Any: as above
        """Tell the rest.

        Parameters
        ----------
        values : list
            The stores of what the run brought.
        slots, arrays : sequence
            The arrays of some of them.
        views : sequence of (int, store)
            What others read later in the memory of the table.
        left, results : sequence
            Slots of what was copied from there, and the copies.
        """
        self._tell(len(self.events), values, slots, arrays, views, left, results)

    # Any: as above
    def _tell(self, end: int, values: Slots, slots: Sequence[int], arrays: Sequence[ArrayObject],
              views: Sequence[tuple[int, Any]], left: Sequence[int], results: Sequence[Any]) -> None:  # Any: as above
        sink = hooks.sink
        if not slots:
            (slots, arrays), self._brought = self._brought, ((), ())
        if sink is not None:
            stores = [(slot, values[slot]) for slot in self._given if slot not in slots and values[slot] is not None]
            sink.table(self, (self.events, self.begin, end, self.first), slots, arrays, left, results, stores, views)


def _call(function: int, context: int, data: int, operator: int) -> list[int]:
    return [function, context, data, 0, 0, 0, operator, 0]
