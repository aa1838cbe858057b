"""Programs: steps over numbered slots, resolved once, and run again and again without looking anything up.

A program is what a ``Tracer`` noted.  What is to be known of its steps beside their calls (kernels, lifetimes, what has memory of
its own) passes over the list find.  Python runs a program here, a table on a CPU (``table``), and captured graphs on a GPU
(``cuda_graphs``).  Every step is an event of its own for the profiler, whatever runs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from ..base.scoped import Scoped
from . import graph, hooks
from .apart import reason_apart
from .dispatch import KERNEL_ERRORS, compute, fits, named_error, plan_for, run
from .workspace import parts_of, rebuilt

if TYPE_CHECKING:
    from types import CodeType
    from typing import TypeAlias

    from ..base.context import Context
    from ..storage.types import Store
    from .dispatch import Plan
    from .table.table import Lowered, Table
    from .table.timed import Account, TimedRows
    from .trace import AbstractArray, Note, Step
    from .types import Numbered, Ran, Slots
    from .workspace import Buffers, Workspace

    #: ``Sink.op``.
    Told: TypeAlias = Callable[[Ran, int, int, Sequence[Store], Sequence[Store], Numbered | None], None]

P = ParamSpec("P")
T = TypeVar("T")

_clock = time.perf_counter_ns

#: Bytes from which the memory of a result is kept for the next run; below, the allocator does as well.
LARGE = 1 << 16


class Program:
    """Steps on stores in slots.

    Parameters
    ----------
    name : str
        What it is, for profiles.
    ctx : Context
        Where it runs.
    steps : sequence of Step
    specs : sequence of AbstractArray
        What is in each slot.
    results : set of int
        Slots that others read after a run, whose stores may not lie in memory that the next run uses.
    kept : set of int
        Slots that are read after a run, ``results`` among them.
    gradients : sequence of int or None
        Slot of the gradient of each input; None for one that no gradient flows to.

    Attributes
    ----------
    plans : list of Plan
        How each step runs.
    general : list of bool
        Whether a step takes more than a call of its kernel: a fallback, a cast, a result to be noted, several results.
    reasons : list of str
        Why a step cannot run in a table or a graph, as far as that is known beforehand; else an empty string.
    spent : list of tuple of int
        Large slots that nothing reads after a step.
    rooms : set of int
        Slots whose memory is kept from run to run.
    targets : dict of int to int
        Slots that may be computed into the gradient buffer of an input, with the number of the input.
    shown : dict of int to Plan
        What a recorder is told of an update, whose last input is its numbers.
    runs : int
        How often it ran in Python.
    lowered : Lowered or None
        Its rows, once it has been lowered.
    account : Account or None
        What these are for a profiler, once one has recorded them.
    """

    def __init__(self, name: str, ctx: Context, steps: Sequence[Step], specs: Sequence[AbstractArray], results: set[int],
                 kept: set[int], gradients: Sequence[int | None] = ()) -> None:
        self.name, self.ctx, self.steps, self.specs = name, ctx, list(steps), specs
        self.results, self.kept, self.gradients = results, kept, gradients
        self.plans = [_planned(step, specs, ctx) for step in self.steps]
        self.general = [plan.fallback or bool(plan.dense) or plan.cast is not None or plan.call.outputs != 1
                        for plan in self.plans]
        self.reasons = [reason_apart(plan, step.note.lane, [specs[slot].stype for slot in step.inputs],
                                     [specs[slot].stype for slot in step.outputs],
                                     plan.op.draws(plan.attrs, step.note.training), ctx.device_type)
                        for step, plan in zip(self.steps, self.plans, strict=True)]
        self.spent = lifetimes(self)
        direct = {step.outputs[0] for step, plan, general in zip(self.steps, self.plans, self.general, strict=True)
                  if plan.takes_out and not general}
        self.rooms = {slot for slot in direct - results if _is_large(specs[slot]) and specs[slot].stype == "default"}
        read = self.read
        self.targets = {slot: number for slot, number in numbered(gradients).items() if slot in direct and slot not in read}
        self.shown: dict[int, Plan] = {}
        self.runs = 0
        self.lowered: Lowered | None = None
        self.account: Account | None = None

    @property
    def written(self) -> set[int]:
        """The slots that its steps write."""
        return {slot for step in self.steps for slot in step.outputs}

    @property
    def read(self) -> set[int]:
        """The slots that its steps read."""
        return {slot for step in self.steps for slot in step.inputs}

    def told_of(self, number: int) -> tuple[Plan, tuple[int, ...]]:
        """What a recorder is told of a step, and the slots of its inputs."""
        shown, inputs = self.shown.get(number), self.steps[number].inputs
        return (self.plans[number], inputs) if shown is None else (shown, inputs[:-1])

    def named(self, number: int, values: Slots, error: Exception) -> Exception:
        """The named error for what a kernel of a step has raised; -1 is for no step."""
        if not 0 <= number < len(self.steps):  # between steps, where a signal's handler may raise anything
            return error
        return named_error(self.plans[number].call, [values[slot] for slot in self.steps[number].inputs], error)


def lifetimes(program: Program) -> list[tuple[int, ...]]:
    """For each step the large stores, of those that the program makes, that nothing reads afterwards."""
    seen, written = set(program.kept), program.written
    released = []
    for step in reversed(program.steps):
        last = {slot for slot in (*step.inputs, *step.outputs)
                if slot in written and slot not in seen and _is_large(program.specs[slot])}
        released.append(tuple(sorted(last)))
        seen |= last
    return released[::-1]


def numbered(gradients: Sequence[int | None]) -> dict[int, int]:
    """For each slot that is the gradient of one input, the number of that."""
    return {slot: number for number, slot in enumerate(gradients) if slot is not None and gradients.count(slot) == 1}


def _is_large(spec: AbstractArray) -> bool:
    return spec.stype != "default" or spec.nbytes >= LARGE


def _planned(step: Step, specs: Sequence[AbstractArray], ctx: Context) -> Plan:
    """How a step runs, in the mode in which it was traced."""
    inputs = [specs[slot] for slot in step.inputs]
    plan = plan_for(step.call, tuple([spec.stype for spec in inputs]), ctx, step.call.op.meeting([spec.dtype for spec in inputs]))
    if step.note.training is hooks.state.training:
        return plan
    plan.ufunc, plan.training = "", step.note.training
    return plan.with_function(_in_mode(plan.function, step.note.training))


def _in_mode(function: Callable[P, T], training: bool) -> Callable[P, T]:
    """A kernel that runs as in training, or as in prediction."""

    def run(*arguments: P.args, **keywords: P.kwargs) -> T:
        before = hooks.state.training
        try:
            hooks.state.training = training
            return function(*arguments, **keywords)
        finally:
            hooks.state.training = before

    return run


# Python runs a program


def execute(program: Program, number: int, values: Slots, workspace: Workspace, buffers: Buffers = (), told: Told | None = None,
            link: Numbered | None = None) -> None:
    """Run a step in Python.

    Parameters
    ----------
    number : int
    values : list
        The stores by slot.
    workspace : Workspace
    buffers : sequence, optional
        For each input the array that its gradient may be computed into, or None.
    told : callable, optional
        ``Sink.op`` of a recorder.
    link : optional
        What ties a gradient's event to its operator's.
    """
    step, plan = program.steps[number], program.plans[number]
    stores, out = tuple([values[slot] for slot in step.inputs]), None
    if program.general[number]:
        result = run(plan, stores, None, link)
        for slot, store in zip(step.outputs, result if isinstance(result, tuple) else (result,), strict=True):
            values[slot] = store
        return
    place = step.outputs[0]
    if place in program.rooms:
        out = workspace.room(place, program.specs[place], plan.k.xp)
    elif place in program.targets and program.targets[place] < len(buffers) and (
            buffer := buffers[program.targets[place]]) is not None and graph.is_written(buffer):
        out = buffer._store
        if not fits(out, plan, stores):
            out = None
    start = _clock()
    store = values[place] = compute(plan, stores, out)
    if told is not None:
        shown, inputs = program.told_of(number)
        told(shown, start, _clock(), stores[:len(inputs)], (store,), link)


def run_in_python(program: Program, values: Slots, workspace: Workspace, buffers: Buffers = (), told: Told | None = None,
                  first: int = 0, keeping: bool = False, numbers: range | None = None) -> None:
    """Run steps in Python, and count them in the workspace; ``execute`` says what the parameters are.

    Parameters
    ----------
    first : int, optional
        Number of the node of the first step for a recorder; 0 if none is recorded.
    keeping : bool, optional
        Leave an example of each store that nothing reads afterwards, for a table.
    numbers : range, optional
        Which of the steps; all by default.
    """
    state, number, link = hooks.state, -1, Link()
    lane = state.lane
    try:
        for number in range(len(program.steps)) if numbers is None else numbers:
            note = program.steps[number].note
            if told is not None:
                state.layer, state.lane = note.layer, note.lane or lane
            execute(program, number, values, workspace, buffers, told, link.to(first, note))
            workspace.ran = number + 1
            for slot in program.spent[number]:
                values[slot] = _example_of(values[slot]) if keeping else None
    except KERNEL_ERRORS as error:
        raise program.named(number, values, error) from error
    finally:
        state.lane = lane


def go_on(program: Program, table: Table, place: int, values: Slots, workspace: Workspace, buffers: Buffers = (),
          rows: TimedRows | None = None, told: Told | None = None, before: Callable[[int, Slots], None] | None = None) -> None:
    """Have Python run the step at which a run of a table has stopped, and go on; ``workspace.ran`` says which step Python runs.

    Parameters
    ----------
    table : Table
    place : int
        The row at which it has stopped.
    rows : TimedRows, optional
        What tells a recorder of the run.
    before : callable, optional
        ``before(number, values)`` is called before each step that Python runs.
    """
    state, link, first = hooks.state, Link(), 0 if rows is None else rows.first
    lane, workspace.ran = state.lane, -1

    def run_one(number: int, values: Slots) -> None:
        if before is not None:
            before(number, values)
        workspace.ran, note = number, program.steps[number].note
        if rows is not None:
            state.layer, state.lane = note.layer, note.lane or lane
        execute(program, number, values, workspace, buffers, told, link.to(first, note))
        for slot in program.spent[number]:
            values[slot] = None

    try:
        table.go_on(place, values, run_one, rows)
    except KERNEL_ERRORS as error:
        raise program.named(workspace.ran, values, error) from error
    finally:
        state.lane = lane


class Link:
    """What the recorder reads of a node: the number that ties a gradient's event to its operator's."""

    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id = -1

    def to(self, first: int, note: Note) -> Link | None:
        """The link of a step whose program has its nodes from ``first`` on; None if it has none."""
        if not first or note.link < 0:
            return None
        self.id = first + note.link
        return self


class ToldPlace(Scoped):
    """Where the steps of a program are told of.

    Parameters
    ----------
    last : tuple of (str, int) or None
        Layer and number of the node that a backward pass ends with, to which what is done with the gradients belongs too; no
        number if that is not known.  None for a forward pass.
    """

    def __init__(self, last: tuple[str, int] | None) -> None:
        self._last = last

    def _before(self) -> tuple[str, tuple[CodeType, int] | None]:
        return hooks.state.layer, hooks.state.caller

    def _enter(self, before: tuple[str, tuple[CodeType, int] | None]) -> None:
        if self._last is None and before[1] is None:
            hooks.state.caller = hooks.caller(depth=4)

    def _leave(self, before: tuple[str, tuple[CodeType, int] | None], kind: type[BaseException] | None) -> None:
        state = hooks.state
        layer, state.caller = before
        if self._last is None:
            state.layer = layer
        elif self._last[1]:
            link = Link()
            state.layer, link.id = self._last
            state.node = link


def _example_of(store: Store) -> Store:
    """A store of the same kind, types and sizes, without memory for its elements."""
    parts = [np.broadcast_to(np.zeros((), part.dtype), part.shape) if isinstance(part, np.ndarray) else part
             for part in parts_of(store)]
    example: Store = rebuilt(store, parts)
    return example
