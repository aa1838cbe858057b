"""CUDA graphs: pieces of a program on a GPU are captured once, and then launched as a whole.

The first run is a rehearsal, in which everything is compiled.  The second captures: arrays that were the same objects
before keep their place, others get a buffer that each run copies into.  What cannot be captured runs by itself in between,
and says why: sizes that are read back, random numbers, what cupy refuses.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import capture
from ..base.refusal import Refused, reason_of, refusals
from ..kernels import for_device
from . import device
from .apart import BETWEEN, CATCHES, NOT_YET, SIZES_CHANGE
from .program import Program, execute, numbered
from .workspace import Workspace, copied, parts_of

if TYPE_CHECKING:
    from ..base.types import Array, DType, Shape
    from ..storage.types import Store
    from .trace import Step
    from .types import Slots
    from .workspace import Buffers

#: Captures of one piece of a program; then it runs operator by operator.
TRIES = 4

#: Replays after which captures that were lost before are forgotten: by then they have paid for one more.
STEADY = 64


class _Moved(Exception):
    """A captured piece does not fit the arrays of a run: for slots, whether these have other sizes."""

    def __init__(self, slots: dict[int, bool]) -> None:
        super().__init__()
        self.slots = slots


class _Unfit(Exception):
    """A step could not be captured; without a number the whole piece could not."""

    def __init__(self, number: int | None, reason: str) -> None:
        super().__init__()
        self.number, self.reason = number, reason


class _Asked(NamedTuple):
    """Work that a step asks for, and that a graph before it can do: ``make(part, *arguments)`` for a part of a store."""

    make: Callable[..., Any]  # Any: what ``capture.ahead`` was given
    slot: int
    part: int
    arguments: tuple[object, ...]  # object: as above


class Replay:
    """A program in one workspace: pieces that are launched whole, and steps that run by themselves.

    Parameters
    ----------
    program : Program
        Its ``reasons`` say what runs by itself; they grow.
    workspace : Workspace

    Attributes
    ----------
    own : dict of int to array
        Arrays that the graphs use, by their identity.
    launched : int
        Runs that replayed.
    """

    def __init__(self, program: Program, workspace: Workspace) -> None:
        self.program, self._workspace, self._reasons = program, workspace, program.reasons
        self._gradients = numbered(program.gradients)
        self.own: dict[int, Array] = {}
        self.launched = 0
        self._seen: dict[int, Store] | None = None
        self._varying: set[int] = set()
        self._made: dict[int, Store] = {}
        self._asked: dict[int, list[_Asked]] = {}
        self._ahead: dict[Any, Any] = {}  # Any: as ``capture.state.done``, what graphs have done ahead in this run
        self._pieces: list[_Piece | int] | None = None
        self._tries = self._steady = 0

    def run(self, values: Slots, buffers: Buffers) -> None:
        """Run once: rehearse, capture or replay."""
        self._ahead.clear()
        self._workspace.ran = 0
        with device.current(self.program.ctx):
            if self._pieces is not None:
                self._replay(self._pieces, values, buffers)
            elif self._seen is None:
                self._rehearse(values, buffers)
            else:
                self._capture(values, buffers)

    def _rehearse(self, values: Slots, buffers: Buffers) -> None:
        self._seen = dict(enumerate(values))
        for number in range(len(self.program.steps)):
            self._alone(number, values, buffers)
        self._seen.update({slot: self._workspace.memory[slot] for slot in self.program.rooms})

    def _replay(self, pieces: list[_Piece | int], values: Slots, buffers: Buffers) -> None:
        self._steady += 1
        for piece in pieces:
            if not isinstance(piece, _Piece):
                self._alone(piece, values, buffers)
                continue
            try:
                piece.launch(values, buffers)
                self._workspace.ran = piece.numbers.stop
                self._take_ahead(piece, values)
            except _Moved as moved:
                self._adapt(piece, moved, values)
                for number in piece.numbers:
                    self._alone(number, values, buffers)
        self.launched += 1

    def _execute(self, number: int, values: Slots, buffers: Buffers) -> None:
        """Run a step, and forget what nothing reads afterwards."""
        execute(self.program, number, values, self._workspace, buffers)
        for slot in self.program.spent[number]:
            values[slot] = None

    def _alone(self, number: int, values: Slots, buffers: Buffers) -> None:
        """Run a step by itself; before it is captured, note what it asks for."""
        self._workspace.ran = number
        if self._pieces is not None:
            with device.rehearsal(done=self._ahead):
                self._execute(number, values, buffers)
            self._workspace.ran = number + 1
            return
        place_of = {id(part): (slot, place) for slot in self.program.steps[number].inputs
                    for place, part in enumerate(parts_of(values[slot]))}
        asked: list[capture.Asked] = []
        with device.rehearsal(done=self._ahead, asked=asked):
            self._execute(number, values, buffers)
        self._workspace.ran = number + 1
        requests = [_Asked(make, *place_of[id(array)], arguments) for make, array, arguments in asked if id(array) in place_of]
        if requests or number not in self._asked:
            self._asked[number] = requests

    def _take_ahead(self, piece: _Piece, values: Slots) -> None:
        """Have what a launch has done ahead, unless that was of other arrays than those of this run."""
        moved = [slot for slot, parts in piece.foreseen.items() if not _are(parts_of(values[slot]), parts)]
        if moved:
            self._varying.update(moved)
            self._pieces = None
        else:
            self._ahead.update(piece.ahead)

    def _adapt(self, piece: _Piece, moved: _Moved, values: Slots) -> None:
        """Note the arrays that a captured piece did not fit, so that the next run captures again."""
        self._pieces = None
        self._tries = 1 if self._steady > STEADY else self._tries + 1
        self._steady = 0
        for slot, sizes in moved.slots.items():
            if sizes:
                self._refuse([number for number in piece.numbers if slot in self.program.steps[number].inputs], SIZES_CHANGE)
            elif not any(map(self._workspace.keeps, parts_of(values[slot]))):
                self._varying.add(slot)
        if self._tries >= TRIES:
            self._refuse([number for number, reason in enumerate(self._reasons) if not reason],
                         f"its arrays changed places in {TRIES} runs")

    def _refuse(self, numbers: Iterable[int], reason: str) -> None:
        """Have steps run by themselves."""
        for number in numbers:
            self._reasons[number] = reason

    def _capture(self, values: Slots, buffers: Buffers) -> None:
        """Capture as many steps as possible in pieces as long as possible, and launch each piece at once."""
        seen, at, count = self._seen or {}, 0, len(self.program.steps)
        self._made = {}
        pieces: list[_Piece | int] = []
        self.own.clear()
        while at < count:
            end = at
            while end < count and not self._reasons[end]:
                end += 1
            if end - at < 2:  # a graph of one step saves no time
                self._alone(at, values, buffers)
                pieces.append(at)
                at += 1
                continue
            try:
                piece = self._captured(range(at, end), seen, values, buffers)
            except _Unfit as refused:
                self._refuse(range(at, end) if refused.number is None else [at + refused.number], refused.reason)
                continue
            piece.launch(values, buffers)
            self._workspace.ran = end
            self._take_ahead(piece, values)
            self._made.update(piece.results | piece.copied)
            pieces.append(piece)
            at = end
        self._seen, self._pieces = {}, pieces

    def _captured(self, numbers: range, seen: dict[int, Store], values: Slots, buffers: Buffers) -> _Piece:
        program = self.program
        steps = [program.steps[number] for number in numbers]
        inside = {slot for step in steps for slot in step.outputs}
        read = dict.fromkeys(slot for step in steps for slot in step.inputs if slot not in inside)
        written = {step.inputs[place]: number for number, step in enumerate(steps)
                   for place in step.call.op.written(step.call.attrs)}
        for slot in written:
            if slot in read and len(parts_of(values[slot])) > 1:
                raise _Unfit(written[slot], "it writes to a sparse array, whose components may be replaced")
        piece, local = _Piece(numbers), values[:]
        for slot in read:
            store = values[slot]
            if self._stays(slot, store, seen.get(slot, store)):
                piece.bound[slot] = parts_of(store)
                continue
            self._varying.add(slot)
            if slot in written:
                raise _Unfit(written[slot], "it writes to an array that is different at every run")
            piece.copied[slot] = local[slot] = copied(store)
        targets = [self._gradients[slot] for slot in inside if slot in self._gradients]
        piece.targets = {number: _target(buffers, number) for number in targets}
        asked = [request for request in self._foreseen(range(numbers.stop, len(program.steps)))
                 if request.slot in inside or request.slot in read
                 or self._stays(request.slot, values[request.slot], seen.get(request.slot))]
        piece.foreseen = {request.slot: parts_of(values[request.slot]) for request in asked
                          if request.slot not in {*inside, *read}}
        piece.graph = self._graph(piece, asked, local, buffers)
        others = {slot for number, step in enumerate(program.steps) if number not in numbers for slot in step.inputs}
        piece.results = {slot: local[slot] for slot in inside & (others | program.kept) if local[slot] is not None}
        outside = {id(target) for target in piece.targets.values()} | {
            id(part) for parts in piece.bound.values() for part in parts}
        for store in (*piece.results.values(), *piece.copied.values()):
            for part in parts_of(store):
                self.own.update({id(array): array for array in (part, part.base)
                                 if array is not None and id(array) not in outside})
        return piece

    def _stays(self, slot: int, store: Store, before: Store | None) -> bool:
        """Whether a store will be in the same place at the next run, as far as one can tell from that of the last run."""
        if self._made.get(slot) is store:
            return True
        return slot not in self._varying and (before is store or any(
            self._workspace.keeps(part) or id(part) in self._workspace.lent for part in parts_of(store)))

    def _foreseen(self, later: range) -> list[_Asked]:
        """What those of later steps that run by themselves ask for, of stores that none of them makes."""
        outputs = {slot for number in later for slot in self.program.steps[number].outputs}
        return [request for number in later if self._reasons[number] for request in self._asked.get(number, ())
                if request.slot not in outputs]

    def _graph(self, piece: _Piece, asked: Sequence[_Asked], local: Slots, buffers: Buffers) -> device.Captured:
        """The graph of a piece, with what is asked for ahead if that can be captured."""
        at, first = -1, local[:]

        def work() -> None:
            nonlocal at
            for number in piece.numbers:
                at, before = number - piece.numbers.start, refusals.count
                self._execute(number, local, buffers)
                if refusals.count != before:
                    raise Refused(CATCHES)
                self._deliver(number, local, buffers)
            at += 1
            for request in asked:
                part = parts_of(local[request.slot])[request.part]
                piece.ahead[request.make, id(part), request.arguments] = part, request.make(part, *request.arguments)
            at += 1

        try:
            return device.captured(work)
        except Exception as error:  # the step runs by itself, and raises there if it fails again
            if asked and at == len(piece.numbers):
                piece.ahead.clear()
                local[:] = first
                return self._graph(piece, (), local, buffers)
            raise _Unfit(at if at < len(piece.numbers) else None, reason_of(error)) from error

    def _deliver(self, number: int, local: Slots, buffers: Buffers) -> None:
        """Copy dense gradients that a step has made into their buffers, if there are such, as a part of the graph."""
        for slot in self.program.steps[number].outputs:
            target: Any = _target(buffers, self._gradients.get(slot, len(buffers)))  # Any: an array, or None
            gradient = local[slot]
            if target is not None and target is not gradient and _sizes(target) == _sizes(gradient):
                target[...] = gradient
                local[slot] = target

    def how(self) -> list[str]:
        """For each step: ``""`` if it is replayed, else why it runs by itself."""
        if self._pieces is None:
            waiting = "the next run captures it" if self._seen is not None else NOT_YET
            return [reason or waiting for reason in self._reasons]
        alone = {piece for piece in self._pieces if not isinstance(piece, _Piece)}
        return ["" if number not in alone else reason or BETWEEN for number, reason in enumerate(self._reasons)]


class _Piece:
    """The steps of one CUDA graph.

    Attributes
    ----------
    bound : dict of int to list of array
        What is read where it lies; a sparse store is its components, which may be replaced.
    copied : dict of int to store
        Buffers that each run copies a store into.
    targets : dict of int to store
        Gradient buffers that are written, by the number of the input.
    made : dict of int to store
        Results that other steps read, written by each launch.
    foreseen : dict of int to list of array
        What only work that is done ahead reads, where it lies.
    ahead : dict
        What each launch does ahead of steps behind it, as ``capture.state.done`` has it.
    graph : Captured
        Set when the work has been captured.
    """

    graph: device.Captured

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers
        self.bound: dict[int, list[Array]] = {}
        self.copied: dict[int, Store] = {}
        self.targets: dict[int, Store | None] = {}
        self.results: dict[int, Store] = {}
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
        for slot, store in (*self.copied.items(), *self.results.items()):  # a backward pass reads what was copied where it lies
            values[slot] = store


def gathered(program: Program) -> list[int]:
    """The steps in an order in which those that run by themselves come late, so that fewer graphs do the others."""
    numbers: list[int] = []
    waiting: list[int] = []
    for number, reason in enumerate(program.reasons):
        if reason:
            waiting.append(number)
            continue
        if any(_depend(program.steps[number], program.steps[other]) for other in waiting):
            numbers += waiting
            waiting.clear()
        numbers.append(number)
    return numbers + waiting


def _depend(later: Step, earlier: Step) -> bool:
    """Whether one step reads or writes what the other writes, or writes what it reads."""
    writes, wrote = (set(step.outputs) | {step.inputs[place] for place in step.call.op.written(step.call.attrs)}
                     for step in (later, earlier))
    return not (writes.isdisjoint((*earlier.inputs, *wrote)) and wrote.isdisjoint(later.inputs))


def _target(buffers: Buffers, number: int) -> Store | None:
    buffer = buffers[number] if number < len(buffers) else None
    return None if buffer is None else buffer._store


def _are(parts: Sequence[Array], others: Sequence[Array]) -> bool:
    """Whether these are the same arrays."""
    return all(map(operator.is_, parts, others))


def _sizes(store: Store) -> list[tuple[Shape, DType]]:
    return [(part.shape, part.dtype) for part in parts_of(store)]
