"""A training step as one program: forward pass, backward pass and updates of weights, or the updates alone.

All of it is traced.  The first run is Python's; from then on a table runs it on a CPU, and captured graphs on a GPU.
"""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import SparsekitError
from ..base.faults import is_a_handlers
from ..base.forking import load
from ..base.refusal import Refused
from ..base.written import written
from ..kernels import for_device
from ..storage import RowSparse
from . import device, graph, hooks
from .arrays import require_arrays, wrap, wrap_as
from .cached_op import copied_from_table, traced_gradients
from .cuda_graphs import Replay, gathered
from .dispatch import KERNEL_ERRORS, Plan, invoke, plan_for
from .op import Call, find
from .program import Program, ToldPlace, go_on, numbered, run_in_python
from .spec import Spec
from .trace import Tracer
from .workspace import Workspace, copied

if TYPE_CHECKING:
    from ..base.context import Context
    from ..base.types import Attrs
    from ..storage.types import Store
    from .arrays import Layout
    from .graph import Variable
    from .hooks import Event
    from .op import Op
    from .program import Told
    from .table.table import Table
    from .table.timed import TimedRows
    from .trace import Step
    from .types import ArrayFunctions, ArrayObject, Slots

_store_of = operator.attrgetter("_store")

#: Bytes of an array that are kept at most so that its update can be undone.
UNDONE = 1 << 16

#: What there is to undo while no update runs.
_NOTHING: tuple[int, list[Callable[[], None]]] = -1, []

#: Frames between the line that calls a ``TrainStep`` and the recorder.
DEPTH = 8


class Update:
    """The update of one weight.

    Parameters
    ----------
    op : Op
        An optimizer's step.
    arrays : sequence of NDArray
        Weight, gradient and states.  The gradient is the buffer's; the step reads what the backward pass computed.
    attrs : dict
        Attributes of the operator.
    name : str
        Of the parameter, for messages.

    Attributes
    ----------
    call : Call
        What runs: the operator with its numbers as the last input, if they are known apart.
    numbers : NDArray or None
        The numbers on the device, which each run reads.
    """

    def __init__(self, op: Op, arrays: Sequence[ArrayObject], attrs: Attrs, name: str) -> None:
        self.op, self.weight, self.gradient, self.states, self.name = op, arrays[0], arrays[1], tuple(arrays[2:]), name
        self.call = Call(op.with_numbers(), dict(op.bind(attrs).attrs))
        self.numbers: ArrayObject | None = None
        self._branch = self._branch_of(self.call.attrs)

    # object: values of attributes
    def _branch_of(self, attrs: Attrs) -> tuple[object, ...]:
        """What the rule of the step decides by, beside its numbers."""
        step = getattr(self.op, "step", None)
        return attrs.get("lazy_update"), None if step is None else step.idle(attrs)

    def accepts(self, op: Op, arrays: Sequence[ArrayObject], attrs: Attrs) -> bool:
        """Take over new attributes; False if the update has become another one."""
        if op is not self.op or arrays[0] is not self.weight or len(arrays) != len(self.states) + 2 or any(
                array is not state for array, state in zip(arrays[2:], self.states, strict=True)):
            return False
        self.call.attrs.update(attrs)
        return self._branch_of(self.call.attrs) == self._branch

    def numbers_now(self) -> Any:  # Any: an array, or None for an operator whose numbers are not known apart
        """The numbers that follow from the attributes."""
        step: Any = getattr(self.op, "step", None)  # Any: an UpdateRule
        return None if self.call.op.plain is None else step.numbers(self.weight.dtype, self.call.attrs)


class Gradients:
    """What writes the gradients of a step's last run to their buffers.

    Variables refer to it: it refers to none of the arrays that they belong to.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.table: Table | None = None
        self.computed: dict[int, Any] = {}  # Any: stores of gradients that are not in the table, by slot
        #: Slots of those that the table writes to their buffers.
        self.written: set[int] = set()

    def write(self, slot: int, variable: Variable) -> None:
        """Put the gradient of a slot into the buffer of a variable, if it is not there."""
        store, dense = self.computed.get(slot), variable.grad.stype == "default"
        if store is not None:
            if not dense or not isinstance(store, np.ndarray):
                with device.current(self._ctx):
                    store = store.copy()  # a sparse buffer takes the arrays themselves
        elif self.table is None or slot in self.written:
            return
        else:
            store = self.table.store(slot) if dense else self.table.take(slot)
        variable.grad._receive(wrap(store, self._ctx), False, "backward")


class StepProgram:
    """A training step.

    Parameters
    ----------
    tracer : Tracer
        After the forward pass was traced; new for updates alone.
    results : sequence of NDArray
        What that gave, traced; gradients begin at those that are recorded.
    held : sequence of NDArray
        The arrays that the tracer's come from, behind those that each step brings.
    variables : sequence of Variable or None
        For each of them where its gradient goes.
    F : namespace
        Where gradient rules find operators.
    clip : tuple of Op, optional
        What computes a factor from gradients and a limit, and what multiplies a gradient by it.
    clipped : sequence of NDArray, optional
        The held arrays whose gradients that is done to, in this order.

    Attributes
    ----------
    steps : list of Step
        Without the updates; those of the forward pass, ``nodes`` of them, come first.
    sources : list
        As the tracer has them, of the held arrays.
    gradients : list of int or None
        Slot of the gradient of each array of the tracer.
    program : Program or None
        Set by ``add_updates``.
    updates : list of Update
    order : list of int
        The updates in the order in which they run.
    writers : list of (NDArray, Variable, callable)
        The held arrays that have gradients, where these go, and what puts the gradient of such a variable into its buffer.
    refused : str
        Why there is no table, when the first run is over; else an empty string.
    updating : bool
        Whether the last run has updated weights, or had begun to when it failed.
    updated : int
        How many weights it has updated.
    computed : bool
        Whether it has computed all gradients.
    left : list of NDArray or None
        The results of a run that has failed when it had computed all gradients.
    began : bool
        Whether it has computed anything.
    """

    def __init__(self, tracer: Tracer, results: Sequence[ArrayObject] = (), held: Sequence[ArrayObject] = (),
                 variables: Sequence[Variable | None] = (), F: ArrayFunctions | None = None,
                 clip: tuple[Op, Op] | None = None, clipped: Sequence[ArrayObject] = ()) -> None:
        self.tracer, self.ctx, self.held, self.variables = tracer, tracer.ctx, list(held), list(variables)
        self._clip, self._clipped = clip, clipped
        self._given = len(tracer.arrays) - len(held)
        self._inputs = [array._store.slot for array in tracer.arrays[:self._given]]
        self.outputs = [array._store.slot for array in results]
        self.steps, self.nodes = list(tracer.steps), len(tracer.steps)
        self.sources = tracer.sources[self._given:]
        self.gradients: list[int | None] = [None] * len(tracer.arrays)
        if results and F is not None:
            self._send_back(results, F)
        self.program: Program | None = None
        self.updates: list[Update] = []
        self.order: list[int] = []
        self.writers: list[tuple[ArrayObject, Variable, Callable[[Variable], None]]] = []
        self.refused = ""
        #: Numbers of the first step that changes gradients, and of the first update.
        self._behind = self._first = 0
        self._limit: Any = None  # Any: an array
        self._norm = 1.0
        self._numbers: Any = None  # Any: the numbers of all updates, on a GPU
        self._workspace = Workspace(self.ctx)
        self._replay: Replay | None = None
        self._table: Table | None = None
        self._events: tuple[Event, ...] | None = None
        self._gradients = Gradients(self.ctx)
        #: Slots of gradients that are neither in the table nor written by it.
        self._outside: set[int] = set()
        self._template: Slots = []
        #: Arrays that are the same at every run, and the slots of these behind those of the arrays that a run brings.
        self._bound: list[ArrayObject] = []
        self._slots = self._inputs[:]
        #: Where dense gradients may be computed into, by input and by slot.
        self._buffers: list[ArrayObject | None] = []
        self._buffer_of: dict[int, ArrayObject] = {}
        self._layouts: dict[int, Layout] = {}
        #: By the slot of a clipped gradient that of the gradient before.
        self._unclipped: dict[int, int] = {}
        self.updating, self.updated, self.computed, self.began = False, 0, False, False
        self.left: list[ArrayObject] | None = None
        self._by_table = self._stopping = False
        #: In a run of Python's the number of an update, and what undoes it if it does not come to its end.
        self._undoing = _NOTHING
        #: The stores of the last run by slot, until it is known what to keep of them.
        self._running: Slots | None = None

    # tracing

    def _send_back(self, results: Sequence[ArrayObject], F: ArrayFunctions) -> None:
        """Trace the backward pass, from ones at the results."""
        tracer = self.tracer
        with tracer.at_work():
            entries = [result._entry for result in results if result._entry is not None]
            tracer.lane, hooks.state.recording = "backward", False
            heads = [invoke(find("ones_like").bind({}), (result,)) for result in results if result._entry is not None]
            begins = [step._replace(note=step.note._replace(lane="")) for step in tracer.steps[self.nodes:]]
            steps, self.gradients, _ = traced_gradients(tracer, list(zip(entries, heads, strict=True)), F)
        self.steps = [*self.steps, *begins, *steps]

    def add_updates(self, updates: Sequence[Update]) -> None:
        """Trace the updates, which makes the program.

        Raises
        ------
        Refused
            If a gradient is not computed as its buffer is, or an update does not take its arrays.
        """
        state, self.updates = hooks.state, list(updates)
        before = state.training, state.layer
        try:
            state.training = True
            self._prepare(self._with_updates(self._traced_updates()))
        except SparsekitError as error:
            if is_a_handlers(error, ()):
                raise
            raise Refused(error.message) from error
        finally:
            state.training, state.layer = before

    def _traced_updates(self) -> list[Step]:
        """The steps that change gradients, and those of the updates."""
        tracer, updates = self.tracer, self.updates
        for update in updates:
            require_arrays((update.weight, update.gradient, *update.states), f"an array of the update of {update.name}")
        held = {id(array): traced for array, traced in zip(self.held, tracer.arrays[self._given:], strict=True)}
        self._have_numbers()
        tracer.steps = []
        with tracer.at_work():
            tracer.lane, hooks.state.recording = "backward", False
            weights = [held[id(change.weight)] if id(change.weight) in held else tracer.lift(change.weight) for change in updates]
            gradients = [self._gradient_of(update, weight) for update, weight in zip(updates, weights, strict=True)]
            if self._clip is not None:
                clipped = self._scaled(*self._clip, [self._gradient_at(held[id(array)]) for array in self._clipped])
                gradients = [clipped.get(gradient._store.slot, gradient) for gradient in gradients]
            tracer.lane = "update"
            for update, weight, gradient in zip(updates, weights, gradients, strict=True):
                hooks.state.layer = update.name
                operands = (*update.states, *(() if update.numbers is None else (update.numbers,)))
                invoke(update.call, (weight, gradient, *map(tracer.lift, operands)))
        return tracer.steps

    def _with_updates(self, updates: Sequence[Step]) -> Program:
        """The program of all steps."""
        seen = {*self.outputs, *[slot for slot in self.gradients if slot is not None], *self._unclipped.values()}
        steps = [*self.steps, *updates]
        make = functools.partial(Program, "whole step" if self.steps else "update", self.ctx, specs=self.tracer.specs,
                                 results=seen, kept=seen, gradients=self.gradients)
        program, self.order = make(steps=steps), list(range(len(self.updates)))
        if self.ctx.device_type == "gpu":
            first, order = len(steps) - len(self.updates), gathered(program)
            self.order = [number - first for number in order if number >= first]
            program = make(steps=[steps[number] for number in order])
        return program

    def _gradient_of(self, update: Update, weight: ArrayObject) -> ArrayObject:
        """The gradient that an update reads, traced."""
        gradient = self._gradient_at(weight)
        if gradient is None:
            return self.tracer.lift(update.gradient)
        if (gradient.stype, gradient.dtype) != (update.gradient.stype, update.gradient.dtype):
            raise Refused(f"the gradient of {update.name} is computed as {gradient.stype} {gradient.dtype}")
        return gradient

    def _gradient_at(self, traced: ArrayObject) -> ArrayObject | None:
        """The gradient of a traced array; None if the program computes none."""
        place = next((place for place, array in enumerate(self.tracer.arrays[:len(self.gradients)]) if array is traced), None)
        buffer = None if place is None else self.tracer.buffers[place]
        return None if buffer is None else buffer.gradient

    def _scaled(self, factor: Op, scaled: Op, gradients: Sequence[ArrayObject | None]) -> dict[int, ArrayObject]:
        """Trace the clipping of gradients, which the step then leaves; gives these by the slots of what they were."""
        once = list({array._store.slot: array for array in gradients if array is not None}.values())
        with device.current(self.ctx):
            self._limit = for_device(self.ctx.device_type).xp.ones(1, np.float64) * self._norm
        by = invoke(Call(factor, {}), (*once, self.tracer.lift(wrap(self._limit, self.ctx))))
        clipped = {array._store.slot: invoke(Call(scaled, {}), (array, by)) for array in once}
        self._unclipped = {array._store.slot: slot for slot, array in clipped.items()}
        self.gradients = [slot if slot not in clipped else clipped[slot]._store.slot for slot in self.gradients]
        return clipped

    def _have_numbers(self) -> None:
        """Have arrays on the device for the numbers of the updates, which ``renew_numbers`` fills: on a GPU in one piece."""
        all_numbers = [update.numbers_now() for update in self.updates]
        if self.ctx.device_type != "gpu":
            for update, numbers in zip(self.updates, all_numbers, strict=True):
                update.numbers = None if numbers is None else wrap(np.empty_like(numbers), self.ctx)
            return
        with device.current(self.ctx):
            count = sum([len(numbers) for numbers in all_numbers if numbers is not None])
            self._numbers = for_device("gpu").xp.empty(count, np.float64)
            begin = 0
            for update, numbers in zip(self.updates, all_numbers, strict=True):
                if numbers is not None:
                    update.numbers = wrap(self._numbers[begin: begin + len(numbers)], self.ctx)
                    begin += len(numbers)

    def renew_numbers(self) -> None:
        """Compute the numbers of all updates from their attributes."""
        self._events = None
        if self._numbers is None:
            for update in self.updates:
                if update.numbers is not None:
                    update.numbers._store[...] = update.numbers_now()
            return
        numbers = [update.numbers_now().astype(np.float64) for update in self.updates if update.numbers is not None]
        if numbers:
            with device.current(self.ctx):
                self._numbers.set(np.concatenate(numbers))

    def limit(self, norm: float) -> None:
        """Set the largest norm that the gradients may have together, if they are clipped."""
        if self._limit is not None and norm != self._norm:
            with device.current(self.ctx):
                self._limit[0] = norm
        self._norm = norm

    def _prepare(self, program: Program) -> None:
        """Find what each run binds, and who writes the gradients."""
        tracer = self.tracer
        self._update_steps = [number for number, step in enumerate(program.steps) if step.note.lane == "update"]
        self._first = self._update_steps[0] if self._update_steps else len(program.steps)
        clipping = [number for number, step in enumerate(program.steps) if self._clip is not None and step.call.op in self._clip]
        self._behind = clipping[0] if clipping else self._first
        self._clipped_at = {slot: number for number in clipping for slot in program.steps[number].outputs}
        self._template = [None] * len(tracer.specs)
        for slot, store in tracer.constants.items():
            self._template[slot] = device.onto(store, self.ctx)
        slots = [array._store.slot for array in tracer.arrays]
        fixed = [id(update.numbers) for update in self.updates]
        self._fixed = set(tracer.constants)
        for slot, array in zip(slots[self._given:], [*self.held, *tracer.sources[self._given + len(self.held):]], strict=True):
            if id(array) in fixed or array._store is self._limit:
                self._template[slot] = array._store
                self._fixed.add(slot)
            else:
                self._slots.append(slot)
                self._bound.append(array)
        self._outside = {slot for slot in self.gradients if slot is not None}
        self._with_gradients = [(slot, array, variable) for slot, array, variable in
                        zip(self.gradients[self._given:], self.held, self.variables, strict=False)
                        if slot is not None and variable is not None]
        self.writers = [(array, variable, functools.partial(self._gradients.write, slot))
                        for slot, array, variable in self._with_gradients]
        self._plain = {at: plan_for(Call(update.op, update.call.attrs),
                                    tuple([program.specs[slot].stype for slot in program.steps[at].inputs[:-1]]), self.ctx)
                       for at, update in zip(self._update_steps, [self.updates[number] for number in self.order], strict=True)
                       if update.numbers is not None}
        if self.ctx.device_type == "gpu":
            once = numbered(self.gradients)
            self._buffer_of = {slot: variable.grad for slot, _, variable in self._with_gradients if slot in once
                               and Spec.of(variable.grad) == Spec.of(program.specs[slot]) and variable.grad.stype == "default"}
            self._buffers = [None if slot is None else self._buffer_of.get(slot) for slot in self.gradients]
            self._replay = Replay(program, self._workspace)
        self.program = program  # the last, as an interrupt may come before it

    # running

    def _stores(self, arrays: Sequence[ArrayObject]) -> Slots:
        """The stores that a run begins with, by slot."""
        values = self._template[:]
        for slot, array in zip(self._slots, (*arrays, *self._bound), strict=True):
            values[slot] = array._store
        return values

    def forget(self) -> None:
        """Begin a run, of which ``settle`` tells."""
        self.updating, self.updated, self.computed, self.began, self._running = False, 0, False, False, None
        self.left, self._stopping, self._undoing = None, False, _NOTHING
        self._workspace.ran = 0
        self._by_table = self._table is not None
        if self._table is not None:
            self._table.forget()

    def settle(self) -> None:
        """Note what a run has come to, whether it has failed or not; may be said twice."""
        table, program = self._table, self.program
        if program is None:
            return
        if self._by_table and table is not None:
            reached = table.reached()
            if not table.finished and reached > table.first_row(self._first):
                table.run_past_pause(reached)  # no signal comes between updates
                reached = table.reached()
            self.began, ran = reached > 0, -1
            if not table.finished:  # where Python has taken over for good, the table has come no further
                ran = max(table.operator_at(reached), self._workspace.ran) if reached else 0
        else:
            at = self._workspace.ran
            self.began, ran = at > 0, -1 if at == len(program.steps) and not self._stopping else at
        if ran >= 0 and ran == self._undoing[0]:
            for undo in self._undoing[1]:
                undo()
            ran += not self._undoing[1] and bool(written)
        if ran < 0:
            self.updating, self.updated, self.computed = True, len(self._update_steps), True
            if self._running is not None:
                computed = self._gradients.computed = {}
                for slot in self._outside:
                    if not self._is_delivered(slot):
                        computed[slot] = self._running[slot]
        else:
            self.updated = sum([at < ran for at in self._update_steps])
            self.updating, self.computed = self.updated > 0, ran >= self._behind
            if self.computed and self._running is not None:
                self._leave(ran, self._running)
        self._running = None

    def _leave(self, ran: int, values: Slots) -> None:
        """Have results and gradients of a run that has failed behind its backward pass, after so many steps."""

        def store_of(slot: int) -> Store:
            store = values[slot]
            if store is None and self._table is not None:
                store = self._table.store(slot)
            return copied(store)

        with device.current(self.ctx):
            self._gradients.computed = {
                slot: store_of(slot if self._clipped_at.get(slot, -1) < ran else self._unclipped[slot])
                for slot in self.gradients if slot is not None}
            self.left = [wrap(store_of(slot), self.ctx) for slot in self.outputs]

    def _is_delivered(self, slot: int) -> bool:
        """Whether the last run has computed a gradient into its buffer."""
        buffer = self._buffer_of.get(slot)
        return buffer is not None and self._running is not None and self._running[slot] is buffer._store

    def __call__(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """Run the step on the arrays that it brings; returns its results.

        None, and nothing has been done, if the arrays are of another kind.
        """
        table, program = self._table, self.program
        assert program is not None, "the updates have been added"
        if table is None:
            values = self._stores(arrays)
            self._run_first(program, values)
            return self._results(values)
        rows = None if hooks.sink is None else self._timed(table)
        self._running = self._template
        place = table.begin([*map(_store_of, arrays), *map(_store_of, self._bound)], rows)
        if place < 0:
            self._running = None
            return None
        if place == table.end and rows is None and not (table.lowered.noted or self._outside):
            results = []
            for slot in self.outputs:
                results.append(self._result(slot, table.store(slot)))
            table.let_go()
            return results
        values = self._running = self._stores(arrays)
        if place == (table.end if rows is None else rows.at[1]):
            table.finish(values)
        else:
            self._go_on(program, table, place, values, arrays, rows)
        results = self._results(values)
        if rows is not None:
            self._tell(rows, values, arrays, results)
        return results

    def send_back(self, arrays: Sequence[ArrayObject]) -> None:
        """Run the step as far as to the updates, whose numbers there are not."""
        if self.program is None:
            self.add_updates(())
        program = self.program
        assert program is not None, "it has just been made"
        values = self._running = self._stores(arrays)
        self._by_table, self._stopping = False, True

        def work(told: Told | None, first: int) -> None:
            with device.current(self.ctx):
                run_in_python(program, values, self._workspace, (), told, first, numbers=range(self._first))

        self._told(program, work)
        self._workspace.memory.clear()

    def _results(self, values: Slots) -> list[ArrayObject]:
        """The results of a run, in memory of their own."""
        if self._replay is not None:
            with device.current(self.ctx):
                return [wrap(copied(values[slot]), self.ctx) for slot in self.outputs]
        return [self._result(slot, values[slot]) for slot in self.outputs]

    def _result(self, slot: int, store: Store) -> ArrayObject:
        """A copy of what is in a slot."""
        duplicate, layout = copied_from_table(store), self._layouts.get(slot)
        if layout is None or duplicate.shape != layout.shape:
            layout = self._layouts[slot] = wrap(duplicate, self.ctx)._layout
        return wrap_as(duplicate, layout)

    def _run_first(self, program: Program, values: Slots) -> None:
        """Run the step by graphs, or in Python, and then make the table, with the stores of this run as examples."""
        self._running = values
        if self._replay is not None:
            self._told(program, lambda told, first: self._replayed(program, values, told, first))
            return
        self._told(program, lambda told, first: self._in_python(program, values, told, first))
        self.settle()
        if program.steps:
            start = time.perf_counter_ns()
            try:
                self._lower(program, values)
            except Refused as error:
                self.refused = str(error)
            if hooks.sink is not None:
                hooks.sink.span("lower to a table", "compile", start, time.perf_counter_ns(), {"pass": program.name})

    def _replayed(self, program: Program, values: Slots, told: Told | None, first: int) -> None:
        assert self._replay is not None, "the caller has asked"
        if told is not None:
            with device.current(self.ctx):
                run_in_python(program, values, self._workspace, self._buffers, told, first)
            return
        try:
            self._replay.run(values, self._buffers)
        except KERNEL_ERRORS as error:
            raise program.named(self._workspace.ran, values, error) from error

    def _in_python(self, program: Program, values: Slots, told: Told | None, first: int) -> None:
        run = functools.partial(run_in_python, program, values, self._workspace, (), told, first, keeping=True)
        run(numbers=range(self._first))
        for slot in self._outside:  # the updates may write to what they lie in
            values[slot] = copied(values[slot])
        for number in range(self._first, len(program.steps)):
            self._keep(number, values)
            run(numbers=range(number, number + 1))
        self._undoing = _NOTHING

    def _keep(self, number: int, values: Slots) -> None:
        """Keep what undoes a step that Python runs next, if it is an update."""
        assert self.program is not None, "it runs"
        written.forget()
        self._undoing = (number, _undoing(self.program, number, values)) if number >= self._first else _NOTHING

    def _told(self, program: Program, work: Callable[[Told | None, int], None]) -> None:
        """Do work of a run, whose steps a recorder is told of one by one."""
        sink, state = hooks.sink, hooks.state
        training = state.training
        try:
            state.training = True
            if sink is None:
                hooks.ignore_fp_errors(work, None, 0)
            else:
                self._show(program)
                with ToldPlace(None):
                    hooks.ignore_fp_errors(work, sink.op, graph.reserve() if self.nodes else 0)
        except Exception as error:
            self._explain(self._workspace.ran, error)
            raise
        finally:
            state.training = training

    def _explain(self, number: int, error: Exception) -> None:
        """Say in the error of a step which parameters were updated before it; what a kernel that fails has written, stays."""
        if not is_a_handlers(error, ()):
            self._undoing = _NOTHING
        if number > self._first:
            done = [self.updates[index].name for index, at in zip(self.order, self._update_steps, strict=True) if at < number]
            error.add_note(f"Parameters updated before the error: {', '.join(done)}.")
        elif self._first == number and self._update_steps:
            error.add_note("Parameters updated before the error: none.")

    def _lower(self, program: Program, values: Slots) -> None:
        """Make the table."""
        module = load("sparsekit.core.table.table")
        gradient_slots = {slot for slot in self.gradients if slot is not None}
        once = numbered(self.gradients)
        targets = [(slot, variable.grad) for slot, _, variable in self._with_gradients
                   if slot in once and isinstance(variable.grad._store, np.ndarray) and isinstance(values[slot], np.ndarray)
                   and variable.grad._store.flags.carray and variable.grad.dtype == values[slot].dtype]
        sparse = {slot for slot, _, variable in self._with_gradients if slot in once and variable.grad.stype != "default"}
        examples = values[:]
        for slot, array in zip(self._slots[self._given:], self._bound, strict=True):
            examples[slot] = array._store
        lowered = module.Lowered(program, examples, self._fixed, late=gradient_slots, targets=[slot for slot, _ in targets],
                                 handed=sparse, brought=self._slots)
        self._gradients.written = {slot for slot, _ in targets if lowered.written(slot)}
        table = module.Table(lowered)
        self._workspace.tables[program] = table
        self._workspace.memory.clear()  # of the first run
        program.lowered, self._gradients.table = lowered, table
        self._slots += [slot for slot, _ in targets]
        self._bound += [buffer for _, buffer in targets]
        self._outside = gradient_slots - lowered.in_table - self._gradients.written
        self._table = table

    def _go_on(self, program: Program, table: Table, place: int, values: Slots, arrays: Sequence[ArrayObject],
               rows: TimedRows | None) -> None:
        """Have Python run the step at which a run of the table has stopped, and go on."""
        state, told = hooks.state, None if rows is None or hooks.sink is None else hooks.sink.op
        layer, caller, training = state.layer, state.caller, state.training
        try:
            state.training = True
            if rows is not None:
                rows.bring(self._noted_slots, [*arrays, *self._noted_arrays])
                state.caller = caller or hooks.caller(depth=4)  # once for all that is told
            hooks.ignore_fp_errors(go_on, program, table, place, values, self._workspace, (), rows, told, self._keep)
            self._by_table, self._workspace.ran = False, len(program.steps)
        except Exception as error:
            self._explain(self._workspace.ran, error)
            raise
        finally:
            state.layer, state.caller, state.training = layer, caller, training
            if rows is not None:
                rows.bring((), ())

    # profiles

    def _show(self, program: Program) -> dict[int, Plan]:
        """What a recorder is told of the updates: it reads attributes later, so each change of them has plans of its own."""
        for at, plan in self._plain.items():
            program.shown[at] = plan.on(plan.k)
            program.shown[at].attrs = dict(plan.attrs)
        return program.shown

    def _timed(self, table: Table) -> TimedRows:
        """The rows that tell a recorder of a run."""
        events, program = self._events, self.program
        assert program is not None, "there is a table of it"
        account = program.account
        if events is None:
            shown = self._show(program)
            if account is None:
                names = {program.steps[at].inputs[1]: self.updates[number].name
                         for at, number in zip(self._update_steps, self.order, strict=True)}
                account = program.account = load("sparsekit.core.table.timed").Account(table.lowered, names)
                standing = [(slot, array) for slot, array in zip(self._slots[self._given:], self._bound, strict=True)
                            if slot in account.given]
                self._noted_slots = (*self._inputs, *[slot for slot, _ in standing])
                self._noted_arrays = [array for _, array in standing]
                self._noted_outputs = [place for place, slot in enumerate(self.outputs) if slot in account.recipes]
                self._noted_results = [self.outputs[place] for place in self._noted_outputs]
            events = self._events = account.with_plans(shown)
        assert account is not None, "the events are of it"
        timed = table.timed(account)
        timed.start(events, graph.reserve() if self.nodes else 0)
        return timed

    def _tell(self, told: TimedRows, values: Slots, arrays: Sequence[ArrayObject], results: Sequence[ArrayObject]) -> None:
        """Tell a recorder of a run, or of what is left of it."""
        sink = hooks.sink
        stores = [results[place]._store for place in self._noted_outputs]
        if told.begin or len(self._noted_slots) < len(told.account.given):
            slots, noted = ((), ()) if told.begin else (self._noted_slots, [*arrays, *self._noted_arrays])
            told.finish(values, slots, noted, (), self._noted_results, stores)
        elif sink is not None:
            sink.table(told, (told.events, 0, len(told.events), told.first), self._noted_slots, arrays, self._noted_results,
                       stores, (), (), self._noted_arrays, DEPTH)

    @property
    def reasons(self) -> list[tuple[str, str, str]]:
        """Pass, operator, and why it runs by itself; empty for what is in the table or a graph."""
        program = self.program
        if program is None:
            return []
        lowered = program.lowered
        reasons = (self._replay.how() if self._replay is not None
                   else [self.refused] * len(program.steps) if lowered is None else lowered.reasons)
        return [(step.note.lane or "forward", step.call.op.label, reason)
                for step, reason in zip(program.steps, reasons, strict=True)]


def _undoing(program: Program, number: int, values: Slots) -> list[Callable[[], None]]:
    """What undoes a step that writes to arrays in place: it keeps the rows that the step will write to, unless they are large.

    For larger ones their kernels say whether they have run; see ``base/written.py``.
    """
    step, plan = program.steps[number], program.plans[number]
    stores: list[Any] = [values[slot] for slot in step.inputs]  # Any: stores
    actions: list[Callable[[], None]] = []
    for place, by in plan.op.visits(plan.attrs, [program.specs[slot].stype for slot in step.inputs], True).writes.items():
        store = stores[place]
        array = store.data if isinstance(store, RowSparse) else store
        rows: Any = slice(None) if by is None else stores[by].indices  # Any: a slice, or an array
        if (array.nbytes if by is None else len(rows) * array[:1].nbytes) > UNDONE:
            return []
        if by is not None:  # the kernel refuses others
            rows = rows[(rows >= 0) & (rows < array.shape[0])]
        if isinstance(store, RowSparse) and not store.complete:
            kept: Any = copied(store)  # Any: a store of the same kind
            actions.append(functools.partial(store.replace, kept))
            continue
        actions.append(functools.partial(array.__setitem__, rows, array[rows].copy()))
    return actions
