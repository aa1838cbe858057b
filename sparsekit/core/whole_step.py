"""A training step as one table: forward pass, backward pass and updates of the weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import for_device
from ..storage import stype_of
from . import hooks
from .arrays import wrap
from .dispatch import KERNEL_ERRORS, Plan, compute, named_error, plan_for
from .op import Call
from .program import _reason_for_python, _run_step, copied_from_table
from .table.refusal import Refused
from .table.table import Lowered, Step, Table

if TYPE_CHECKING:
    from ..base.types import Attrs
    from .cuda_graphs import Workspace
    from .graph import Variable
    from .op import Op
    from .program import Program
    from .types import ArrayObject, Slots

__all__ = ["Update", "WholeStep"]


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
    writers : list of (NDArray, callable)
        The held arrays that have gradients, and what writes these to their buffers.
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
        self.updating = False
        #: Writes the gradient of each held array that has one, by its place.
        self.writers: list[tuple[ArrayObject, Callable[[], None]]] = []

    def rehearse(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject]:
        """Run forward and backward pass in Python, and put the gradients into their buffers; returns the program's results."""
        program, whole = self.program, self.program.whole
        assert whole is not None, "the caller has asked for it"
        values = program.empty[:]
        for slot, array in zip(program.inputs, arrays, strict=True):
            values[slot] = array._store
        hooks.ignore_fp_errors(program._loop_keeping, program.forward, values, self._workspace, ())
        for head in whole.heads:
            if head is not None:
                values[head.slot] = np.ones(head.shape, head.dtype)
        hooks.ignore_fp_errors(program._loop_keeping, whole, values, self._workspace, ())
        self._values = values
        for slot, variable in zip(whole.gradients, self._variables, strict=True):
            if slot is not None and variable is not None:
                variable.late = None
                variable.grad._receive(wrap(values[slot].copy(), program.ctx), False, "backward")
                variable.fresh = True
        return [wrap(copied_from_table(values[slot]), program.ctx) for slot in program.outputs]

    def lower(self, updates: Sequence[Update]) -> None:
        """Make the table, with the stores of the rehearsal as examples."""
        program, whole, values = self.program, self.program.whole, self._values
        assert whole is not None, "as above"
        steps = [Step(one.plan, one.places, one.outputs, one.specs, _reason_for_python(one))
                 for one in (*program.forward.instructions, *whole.instructions)]
        self._computed_until = len(steps)
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
        gradients = {changed.get(slot, slot) for slot in whole.gradients if slot is not None}
        fixed = {*program.tracer.constants, *[head.slot for head in whole.heads if head is not None]}
        self.lowered = Lowered(steps, values, fixed, {*program.outputs, *gradients}, gradients)
        self._table = Table(self.lowered)
        self._until = self._table.first_row(self._first)
        self._outside = gradients - self.lowered.in_table
        self._standing = [*zip(program.inputs[self.given:], self.held, strict=True), *self._states]
        self._workspace.tables[program.forward] = self._table
        self._template: Slots = [None] * len(values)
        for slot in (*fixed, *[place for place in self._numbers if place >= 0]):
            self._template[slot] = values[slot]
        for slot, value in program._fixed.values():
            self._template[slot] = value
        self._values = []
        self.writers = [(array, functools.partial(self._write, changed.get(slot, slot), variable))
                        for slot, array, variable in zip(whole.gradients[self.given:], self.held, self._variables[self.given:],
                                                         strict=True)
                        if slot is not None and variable is not None]

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

    def renew_numbers(self) -> None:
        """Compute the numbers of all updates from their attributes."""
        for update, place in zip(self._updates, self._numbers, strict=True):
            if place >= 0:
                self._template[place] = update.numbers()

    def __call__(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """Run the step on the arrays that it brings; returns the program's results.

        None, and nothing has been done, if the arrays are of another kind.
        """
        program, table = self.program, self._table
        assert table is not None, "the step has been lowered"
        values = self._template[:]
        for slot, array in zip(program.inputs, arrays, strict=False):
            values[slot] = array._store
        for slot, array in self._standing:
            values[slot] = array._store
        try:
            fits = hooks.ignore_fp_errors(self._run, table, values)
        finally:
            self.updating = table.take_reached() > self._until
            if self.updating:
                self._computed = {slot: values[slot] for slot in self._outside}
        return [wrap(copied_from_table(values[slot]), program.ctx) for slot in program.outputs] if fits else None

    def _run(self, table: Table, values: Slots) -> bool:
        number = -1

        def execute(at: int, values: Slots) -> None:
            nonlocal number
            number = at
            step = self.lowered.steps[at]
            if at < self._computed_until:
                _run_step(self._instruction(at), values, self._workspace, ())
            else:
                made = compute(step.plan, [values[slot] for slot in step.places])
                values_of = made if isinstance(made, tuple) else (made,)
                for slot, store in zip(step.outputs, values_of, strict=True):
                    values[slot] = store

        try:
            return table.run(values, execute)
        except Exception as error:
            if number >= self._first:
                done = ", ".join(update.name for update in self._updates[: number - self._first]) or "none"
                error.add_note(f"Parameters updated before the error: {done}.")
            if not isinstance(error, KERNEL_ERRORS):
                raise
            step = self.lowered.steps[number]
            raise named_error(step.plan.call, [values[slot] for slot in step.places], error) from error

    def _instruction(self, number: int) -> Any:  # Any: an instruction of the program
        forward = self.program.forward.instructions
        whole = self.program.whole
        assert whole is not None, "as above"
        return forward[number] if number < len(forward) else whole.instructions[number - len(forward)]

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
        forward = len(self.program.forward.instructions)
        passes = ["forward"] * forward + ["backward"] * (self._first - forward) + ["update"] * len(self._updates)
        return [(name, step.plan.call.op.label, reason)
                for name, step, reason in zip(passes, self.lowered.steps, self.lowered.reasons, strict=True)]
