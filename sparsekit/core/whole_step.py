"""A training step as one table: forward pass, backward pass and updates of the weights."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.forking import load
from ..kernels import for_device
from ..storage import stype_of
from . import graph, hooks
from .arrays import wrap
from .cuda_graphs import parts_of
from .dispatch import KERNEL_ERRORS, Plan, compute, named_error, plan_for, run
from .op import Call, find
from .program import _Link, _reason_for_python, _run_step, _run_told, copied_from_table
from .table.refusal import Refused
from .table.table import Lowered, Step, Table

if TYPE_CHECKING:
    from ..base.types import Attrs
    from .cuda_graphs import Workspace
    from .graph import Variable
    from .op import Op
    from .program import Program, _Instruction, _Pass
    from .table.timed import Account, Event, TimedRows
    from .trace import AbstractArray
    from .types import ArrayObject, Slots

__all__ = ["Update", "WholeStep"]


@contextlib.contextmanager
def _lane(name: str, layer: str = "") -> Iterator[None]:
    """Where the operators of a thread belong; no name leaves the lane."""
    state = hooks.state
    before = state.lane, state.layer, state.node
    state.lane, state.layer = name or state.lane, layer or state.layer
    try:
        yield
    finally:
        state.lane, state.layer, state.node = before


#: The store of an array.
_store_of = operator.attrgetter("_store")

#: Frames between the line that calls a ``TrainStep`` and the recorder.
DEPTH = 7


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
    """

    def __init__(self, op: Op, arrays: Sequence[ArrayObject], attrs: Attrs, name: str) -> None:
        self.op, self.weight, self.gradient, self.states, self.name = op, arrays[0], arrays[1], tuple(arrays[2:]), name
        self.call = Call(op, dict(op.bind(attrs).attrs))
        self._branch = self._branch_of(self.call.attrs)

    # object: values of attributes
    def _branch_of(self, attrs: Attrs) -> tuple[object, ...]:
        """What the rule of the step decides by, beside its numbers."""
        step = getattr(self.op, "step", None)
        return attrs.get("lazy_update"), None if step is None else step.idle(attrs)

    def accepts(self, op: Op, arrays: Sequence[ArrayObject], attrs: Attrs) -> bool:
        """Take over new attributes; False if the update has become another one."""
        if op is not self.op or arrays[0] is not self.weight or len(arrays) != len(self.states) + 2 or any(
                one is not other for one, other in zip(arrays[2:], self.states, strict=True)):
            return False
        self.call.attrs.update(attrs)
        return self._branch_of(self.call.attrs) == self._branch

    def numbers(self) -> Any:  # Any: an array, or None for an operator whose numbers are not known apart
        """The numbers that the kernel takes."""
        step = getattr(self.op, "step", None)
        return None if step is None else step.numbers(self.weight.dtype, self.call.attrs)


class WholeStep:
    """A program with its backward pass and updates, lowered to one table.

    Parameters
    ----------
    program : Program
        Its first result is the loss.
    arrays : sequence of NDArray
        Inputs of the program: those that each step brings, then those that stay, such as weights.
    given : int
        How many of them each step brings.
    variables : sequence of Variable or None, optional
        For each array where its gradient goes; by default the array itself says it.
    clip : Op, optional
        What changes the gradients before the updates; it takes them and an array with a number, which ``limit`` sets.

    Attributes
    ----------
    writers : list of (NDArray, callable or None)
        The held arrays that have gradients, and what writes these to their buffers; None where the step itself does.
    updating : bool
        Whether the last run has updated weights, or had begun to when it failed.
    """

    def __init__(self, program: Program, arrays: Sequence[ArrayObject], given: int,
                 clip: Op | None = None, variables: Sequence[Variable | None] | None = None) -> None:
        self.program, self.given, self._clip = program, given, clip
        entries = [None if array._entry is None else array._entry[0] for array in arrays] if variables is None else variables
        #: Any: variables, or None for an array without a gradient.
        self._variables: list[Any] = [None if one is None or one.grad is None else one for one in entries]
        self.held = list(arrays[given:])
        self._updates: list[Update] = []
        self._table: Table | None = None
        self._workspace: Workspace = program._workspace()
        self._values: Slots = []
        self._computed: dict[int, Any] = {}  # Any: stores of gradients that are not in the table, by slot
        self._instructions: list[_Instruction | None] = []
        self._numbers_now: list[Any] = []  # Any: arrays
        self._limit = -1
        self._account: Account | None = None
        self._brought: tuple[int, ...] = ()
        self._kept: list[ArrayObject] = []
        self._left: list[tuple[int, int]] = []
        self._events: tuple[Event, ...] | None = None
        self.updating = False
        self.writers: list[tuple[ArrayObject, Callable[[], None] | None]] = []

    def rehearse(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject]:
        """Run forward and backward pass in Python, and put the gradients into their buffers; returns the program's results."""
        program, whole = self.program, self.program.whole
        assert whole is not None, "the caller has asked for it"
        values = program.empty[:]
        for slot, array in zip(program.inputs, arrays, strict=True):
            values[slot] = array._store
        first = graph.reserve(len(program.steps)) if hooks.sink is not None else 0
        self._rehearse(program.forward, values, first)
        for slot, head in self._heads():
            values[head.slot] = run(self._begin(), [values[slot]])
        self._values = values
        with _lane("backward"):
            self._rehearse(whole, values, first)
            for slot, variable in zip(whole.gradients, self._variables, strict=True):
                if slot is not None and variable is not None:
                    variable.late = None
                    variable.grad._receive(wrap(values[slot].copy(), program.ctx), False, "backward")
                    variable.fresh = True
        return [wrap(copied_from_table(values[slot]), program.ctx) for slot in program.outputs]

    def _heads(self) -> list[tuple[int, AbstractArray]]:
        """Results that gradients begin at, by slot, with what stands for these."""
        whole = self.program.whole
        assert whole is not None, "as above"
        return [(slot, head) for slot, head in zip(self.program.outputs, whole.heads, strict=True) if head is not None]

    def _begin(self) -> Plan:
        """How a gradient begins."""
        return plan_for(find("ones_like").bind({}), ("default",), self.program.ctx)

    def _rehearse(self, one: _Pass, values: Slots, first: int) -> None:
        if hooks.sink is None:
            hooks.ignore_fp_errors(self.program._loop_keeping, one, values, self._workspace, ())
        else:
            hooks.ignore_fp_errors(self.program._loop_told, hooks.sink.op, one, values, self._workspace, (), first, True)

    def lower(self, updates: Sequence[Update]) -> None:
        """Make the table, with the stores of the rehearsal as examples."""
        program, whole, values = self.program, self.program.whole, self._values
        assert whole is not None, "as above"
        begins = [Step(self._begin(), (slot,), (head.slot,), (head,)) for slot, head in self._heads()]
        self._instructions = [*program.forward.instructions, *[None] * len(begins), *whole.instructions]
        steps = [begins.pop(0) if one is None else Step(one.plan, one.places, one.outputs, one.specs, _reason_for_python(one))
                 for one in self._instructions]
        slot_of = {id(array): slot for slot, array in zip(program.inputs[self.given:], self.held, strict=True)}
        gradient_of = dict(zip(program.inputs, whole.gradients, strict=True))
        changed: dict[int, int] = {} if self._clip is None else self._add_clipping(
            self._clip, steps, values, [gradient_of[slot_of[id(update.weight)]] for update in updates])
        self._first = len(steps)
        self._updates, self._numbers = list(updates), []
        self._states: list[tuple[int, ArrayObject]] = []
        for update in updates:
            weight = slot_of[id(update.weight)]
            gradient: Any = gradient_of[weight]  # Any: a slot, since the caller has checked it
            gradient = changed.get(gradient, gradient)
            found, buffer = values[gradient], update.gradient._store
            if type(found) is not type(buffer) or found.dtype != buffer.dtype:
                raise Refused(f"the gradient of {update.name} is computed as {stype_of(found)} {found.dtype}")
            states = []
            for state in update.states:
                states.append(len(values))
                self._states.append((len(values), state))
                values.append(state._store)
            numbers, place = update.numbers(), -1
            if numbers is not None:
                place = len(values)
                values.append(numbers)
            self._numbers.append(place)
            places = (weight, gradient, *states)
            plan: Plan = plan_for(update.call, tuple([stype_of(values[slot]) for slot in places]), program.ctx)
            reason = ("it changes storage types" if plan.fallback or plan.cast is not None
                      else "it draws random numbers" if plan.op.draws(plan.attrs, True)
                      else "" if numbers is not None else "its numbers are not known apart")
            steps.append(Step(plan, places, (len(values),), (update.weight._store,), reason, place))
            values.append(update.weight._store)
        made = [changed.get(slot, slot) for slot in whole.gradients if slot is not None]
        gradients = set(made)
        fixed = set(program.tracer.constants)
        having: list[tuple[Any, ArrayObject, Any]] = [  # Any: a slot; a variable with a buffer
            (changed.get(slot, slot), array, variable)
            for slot, array, variable in zip(whole.gradients[self.given:], self.held, self._variables[self.given:], strict=True)
            if slot is not None and variable is not None]
        buffer_of = {slot: variable.grad for slot, _, variable in having}
        targets = [slot for slot, buffer in buffer_of.items()
                   if isinstance(buffer._store, np.ndarray) and isinstance(values[slot], np.ndarray)
                   and buffer._store.flags.carray and buffer.dtype == values[slot].dtype and made.count(slot) == 1]
        self.lowered = Lowered(steps, values, fixed, {*program.outputs, *gradients}, gradients, targets)
        self._table = Table(self.lowered)
        written = {slot for slot in targets if self.lowered.written(slot)}
        self._outside = gradients - self.lowered.in_table - written
        self._standing = [*zip(program.inputs[self.given:], self.held, strict=True), *self._states,
                          *[(slot, buffer_of[slot]) for slot in targets]]
        self._workspace.tables[program.forward] = self._table
        self._template: Slots = [None] * len(values)
        for slot in (*fixed, *[place for place in self._numbers if place >= 0]):
            self._template[slot] = values[slot]
        for slot, value in program._fixed.values():
            self._template[slot] = value
        self._line_up()
        self._values = []
        self.writers = [(array, None if slot in written else functools.partial(self._write, slot, variable))
                        for slot, array, variable in having]

    def _line_up(self) -> None:
        """Find the order in which a run binds its arrays, and whether it needs them by slot as well."""
        lowered = self.lowered
        self._quick = not (self._outside or lowered.noted or set(self.program.outputs).difference(lowered.results))
        brought = self.program.inputs[:self.given]
        sparse = {slot: parts for slot, parts in lowered.entry.parts if parts is not None}
        standing = [(slot, array) for slot, array in self._standing if slot in lowered.entry.slots]
        self._parts = [sparse.get(slot) for slot in brought]
        self._dense = [array for slot, array in standing if slot not in sparse]
        self._sparse = [(array, sparse[slot]) for slot, array in standing if slot in sparse]
        places: dict[int, range] = {}
        start = 0
        for slot in (*brought, *[slot for slot, _ in standing if slot not in sparse],
                     *[slot for slot in (*self._numbers, self._limit) if slot >= 0],
                     *[slot for slot, _ in standing if slot in sparse]):
            count = len(parts_of(lowered.stores[slot])) if slot in sparse else 1
            places[slot] = range(start, start + count)
            start += count
        order = [place for slot in lowered.entry.slots for place in places[slot]]
        self._order = operator.itemgetter(*order)
        self._keep_numbers()

    def _add_clipping(self, op: Op, steps: list[Step], values: Slots, gradients: Sequence[int | None]) -> dict[int, int]:
        """Have an operator clip the gradients behind the backward pass; gives the slots of what they become."""
        places = tuple([slot for slot in gradients if slot is not None])
        self._limit = len(values)
        values.append(np.ones(1))
        outputs = tuple(range(len(values), len(values) + len(places)))
        values += [values[slot] for slot in places]
        plan = Plan(Call(op, {}), op.rules[0], False, None, for_device("cpu"))
        steps.append(Step(plan, (*places, self._limit), outputs, tuple([values[slot] for slot in places])))
        return dict(zip(places, outputs, strict=True))

    def limit(self, norm: float) -> None:
        """Set the largest norm that the gradients may have together."""
        self._template[self._limit] = np.full(1, norm)
        self._keep_numbers()

    def _keep_numbers(self) -> None:
        self._numbers_now = [self._template[slot] for slot in (*self._numbers, self._limit) if slot >= 0]

    def renew_numbers(self) -> None:
        """Compute the numbers of all updates from their attributes."""
        self._events = None
        for update, place in zip(self._updates, self._numbers, strict=True):
            if place >= 0:
                self._template[place] = update.numbers()
        self._keep_numbers()

    def __call__(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """Run the step on the arrays that it brings; returns the program's results.

        None, and nothing has been done, if the arrays are of another kind.
        """
        program, table = self.program, self._table
        assert table is not None, "the step has been lowered"
        if hooks.sink is not None or not self._quick:
            return self._run_on_slots(table, arrays)
        bound: list[Any] = []  # Any: arrays
        for array, parts in zip(arrays, self._parts, strict=True):
            if parts is None:
                bound.append(array._store)
            else:
                bound += parts(array._store)
        bound += map(_store_of, self._dense)
        bound += self._numbers_now
        for array, parts in self._sparse:
            bound += parts(array._store)
        try:
            stores = hooks.ignore_fp_errors(self._run_quickly, table, list(self._order(bound)), arrays)
        finally:
            self.updating = table.take_reached(self._first)
        return stores and [wrap(copied_from_table(store), program.ctx) for store in stores]

    # Any: arrays; stores
    def _run_quickly(self, table: Table, bound: list[Any], arrays: Sequence[ArrayObject]) -> list[Any] | None:
        """Run the table on arrays in its order; the stores by slot are made if Python must run a part of it."""
        place, outputs = table.begin(bound, table.rows), self.program.outputs
        if place < 0:
            return None
        if place == len(table.rows) - 1:
            found = [table.store(slot) for slot in outputs]
            table.release()
            return found
        values = self._stores(arrays)
        self._run(functools.partial(table.go_on, place), values, None)
        return [values[slot] for slot in outputs]

    def _stores(self, arrays: Sequence[ArrayObject]) -> Slots:
        """The stores that a run begins with, by slot."""
        values = self._template[:]
        for slot, array in zip(self.program.inputs, arrays, strict=False):
            values[slot] = array._store
        for slot, array in self._standing:
            values[slot] = array._store
        return values

    def _run_on_slots(self, table: Table, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """The same with the stores of all slots at hand, for a recorder or the ledger."""
        program, values = self.program, self._stores(arrays)
        told = self._timed(table) if hooks.sink is not None else None
        try:
            fits = hooks.ignore_fp_errors(self._run, table.run, values, told)
        finally:
            self.updating = table.take_reached(self._first)
            if self.updating:
                self._computed = {slot: values[slot] for slot in self._outside}
        if not fits:
            return None
        results = [wrap(copied_from_table(values[slot]), program.ctx) for slot in program.outputs]
        if told is not None:
            self._tell(told, values, arrays, results)
        return results

    def _timed(self, table: Table) -> TimedRows:
        """The rows that tell a recorder of a run."""
        events = self._events
        if events is None:
            events = self._events = self._events_now()
        assert self._account is not None, "the events are of it"
        timed = table.timed(self._account)
        timed.standing = self._kept
        timed.start(events, graph.reserve(len(self.program.steps)))
        return timed

    def _events_now(self) -> tuple[Event, ...]:
        """What the operators are for a recorder, which reads attributes later: each change of them has plans of its own."""
        if self._account is None:
            module = load("sparsekit.core.table.timed")
            begin = len(self.program.forward.instructions) + len(self._heads()) - 1
            places = [module.Place("backward" if number > begin else "", "" if step is None else step.layer,
                                   -1 if step is None else step.link) for number, step in enumerate(self._instructions)]
            places += [module.Place("", "", -1)] * (self._first - len(places))  # what changes the gradients
            places += [module.Place("update", update.name, -1) for update in self._updates]
            gradients = {step.places[1]: update.name for step, update in zip(
                self.lowered.steps[self._first:], self._updates, strict=True)}
            self._account = module.Account(self.lowered, places, gradients)
            standing = [(slot, array) for slot, array in self._standing if slot in self._account.given]
            self._brought = (*self.program.inputs[:self.given], *[slot for slot, _ in standing])
            self._kept = [array for _, array in standing]
            self._left = [(place, slot) for place, slot in enumerate(self.program.outputs) if slot in self._account.recipes]
        plans = {}
        for number, step in enumerate(self.lowered.steps[self._first:], self._first):
            plans[number] = step.plan.on(step.plan.k)
            plans[number].attrs = dict(step.plan.attrs)
        return self._account.with_plans(plans)

    def _tell(self, told: TimedRows, values: Slots, arrays: Sequence[ArrayObject], results: Sequence[ArrayObject]) -> None:
        """Tell a recorder of a run, or of what is left of it."""
        sink, left = hooks.sink, [slot for _, slot in self._left]
        stores = [results[place]._store for place, _ in self._left]
        if told.begin or len(self._brought) < len(told.account.given):
            told.finish(values, self._brought, arrays, (), left, stores)
        elif sink is not None:
            sink.table(told, (told.events, 0, len(told.events), told.first), self._brought, arrays, left, stores, depth=DEPTH)

    def _run(self, run_table: Callable[[Slots, Callable[[int, Slots], None], TimedRows | None], bool], values: Slots,
             told: TimedRows | None) -> bool:
        number = -1

        def execute(at: int, values: Slots) -> None:
            nonlocal number
            number = at
            if told is None:
                self._execute(at, values)
                return
            with _lane(*told.place(at)):
                self._execute_told(at, values, told.first)

        try:
            return run_table(values, execute, told)
        except Exception as error:
            if number >= self._first:
                done = ", ".join(update.name for update in self._updates[: number - self._first]) or "none"
                error.add_note(f"Parameters updated before the error: {done}.")
            if not isinstance(error, KERNEL_ERRORS):
                raise
            step = self.lowered.steps[number]
            raise named_error(step.plan.call, [values[slot] for slot in step.places], error) from error

    def _execute(self, number: int, values: Slots) -> None:
        """Run an operator in Python."""
        instruction = self._instruction(number)
        if instruction is not None:
            _run_step(instruction, values, self._workspace, ())
        else:
            self._put(number, compute(self.lowered.steps[number].plan, self._taken(number, values)), values)

    def _taken(self, number: int, values: Slots) -> list[Any]:  # Any: stores
        return [values[slot] for slot in self.lowered.steps[number].places]

    def _put(self, number: int, made: Any, values: Slots) -> None:  # Any: a store, or a tuple of several
        for slot, store in zip(self.lowered.steps[number].outputs, made if isinstance(made, tuple) else (made,), strict=True):
            values[slot] = store

    def _execute_told(self, number: int, values: Slots, first: int) -> None:
        """The same under a profiler."""
        sink, instruction = hooks.sink, self._instruction(number)
        if sink is None:
            self._execute(number, values)
        elif instruction is not None:
            _run_told(instruction, sink.op, values, self._workspace, (), first, _Link())
            for slot in instruction.spent:
                values[slot] = None
        else:
            self._put(number, run(self.lowered.steps[number].plan, self._taken(number, values)), values)

    def _instruction(self, number: int) -> _Instruction | None:
        """The program's instruction; None for an operator that is not the program's."""
        return self._instructions[number] if number < len(self._instructions) else None

    def _write(self, slot: int, variable: Any) -> None:  # Any: a Variable with a buffer
        """Put the gradient that the last run computed into its buffer."""
        if self._table is not None:
            store = self._computed.get(slot)
            store = self._table.store(slot) if store is None else store
            dense = isinstance(store, np.ndarray) and variable.grad.stype == "default"
            copied = store if dense else store.copy()  # a sparse buffer takes arrays themselves
            variable.grad._receive(wrap(copied, self.program.ctx), False, "backward")

    @property
    def reasons(self) -> list[tuple[str, str, str]]:
        """Pass, operator, and why Python runs it; empty for what is in the table."""
        forward = len(self.program.forward.instructions) + len(self._heads())
        passes = ["forward"] * forward + ["backward"] * (self._first - forward) + ["update"] * len(self._updates)
        return [(name, step.plan.call.op.label, reason)
                for name, step, reason in zip(passes, self.lowered.steps, self.lowered.reasons, strict=True)]
