"""A training step as one table: forward pass, backward pass and updates of the weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.forking import load
from ..base.refusal import Refused
from ..kernels import for_device
from ..storage import stype_of
from . import device, graph, hooks
from .arrays import wrap
from .dispatch import Plan, plan_for, run
from .op import Call, find
from .program import _Link, _run_step, _run_told, copied_from_table
from .spec import Spec
from .step_table import StepTable, lane
from .table.table import Lowered, Step

if TYPE_CHECKING:
    from .cuda_graphs import Workspace
    from .graph import Variable
    from .op import Op
    from .program import Program, _Instruction, _Pass
    from .step_table import Update
    from .table.timed import Place
    from .trace import AbstractArray
    from .types import ArrayObject, Slots

__all__ = ["WholeStep"]


class WholeStep(StepTable):
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
    writers : list of (NDArray, Variable, callable or None)
        The held arrays that have gradients, where these go, and what writes the gradient of such a variable to its buffer; None
        where the step itself does.
    updating : bool
        Whether the last run has updated weights, or had begun to when it failed.
    """

    name = "whole step"

    def __init__(self, program: Program, arrays: Sequence[ArrayObject], given: int,
                 clip: Op | None = None, variables: Sequence[Variable | None] | None = None) -> None:
        super().__init__(program.ctx)
        self.program, self.given, self._clip = program, given, clip
        entries = [None if array._entry is None else array._entry[0] for array in arrays] if variables is None else variables
        #: Any: variables, or None for an array without a gradient.
        self._variables: list[Any] = [None if one is None or one.grad is None else one for one in entries]
        self.held = list(arrays[given:])
        self._inputs, self._outputs, self._nodes = program.inputs[:given], program.outputs, len(program.steps)
        self._workspace: Workspace = program._workspace()
        self._values: Slots = []
        self._instructions: list[_Instruction | None] = []
        self.writers: list[tuple[ArrayObject, Variable, Callable[[Variable], None] | None]] = []

    def rehearse(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject]:
        """Run forward and backward pass in Python, and put the gradients into their buffers; returns the program's results."""
        program, whole = self.program, self.program.whole
        assert whole is not None, "the caller has asked for it"
        values = program.empty[:]
        for slot, array in zip(program.inputs, arrays, strict=True):
            values[slot] = array._store
        first = graph.reserve() if hooks.sink is not None else 0
        self._rehearse(program.forward, values, first)
        for slot, head in self._heads():
            values[head.slot] = run(self._begin(), [values[slot]])
        self._values = values
        with lane("backward"), device.current(program.ctx):
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
        steps = [begins.pop(0) if one is None
                 else Step(one.plan, one.places, one.outputs, one.specs, one.reason_apart(self.ctx))
                 for one in self._instructions]
        slot_of = {id(array): slot for slot, array in zip(program.inputs[self.given:], self.held, strict=True)}
        gradient_of = dict(zip(program.inputs, whole.gradients, strict=True))
        changed: dict[int, int] = {} if self._clip is None else self._add_clipping(
            self._clip, steps, values, [gradient_of[slot_of[id(update.weight)]] for update in updates])
        slots = []
        for update in updates:
            weight = slot_of[id(update.weight)]
            gradient: Any = gradient_of[weight]  # Any: a slot, since the caller has checked it
            slots.append((weight, changed.get(gradient, gradient)))
            found, buffer = values[slots[-1][1]], update.gradient._store
            if type(found) is not type(buffer) or found.dtype != buffer.dtype:
                raise Refused(f"the gradient of {update.name} is computed as {stype_of(found)} {found.dtype}")
        self._add_updates(steps, values, updates, slots)
        made = [changed.get(slot, slot) for slot in whole.gradients if slot is not None]
        gradients = set(made)
        fixed = {*program.tracer.constants, *self._written_anew}
        having: list[tuple[Any, ArrayObject, Any]] = [  # Any: a slot; a variable with a buffer
            (changed.get(slot, slot), array, variable)
            for slot, array, variable in zip(whole.gradients[self.given:], self.held, self._variables[self.given:], strict=True)
            if slot is not None and variable is not None]
        buffer_of = {slot: variable.grad for slot, _, variable in having}
        targets = [slot for slot, buffer in buffer_of.items()
                   if isinstance(buffer._store, np.ndarray) and isinstance(values[slot], np.ndarray)
                   and buffer._store.flags.carray and buffer.dtype == values[slot].dtype and made.count(slot) == 1]
        sparse = {slot for slot, _, variable in having if variable.grad.stype != "default" and made.count(slot) == 1}
        self._standing = list(zip(program.inputs[self.given:], self.held, strict=True))
        order = [*self._inputs, *[slot for slot, _ in (*self._standing, *self._states)]]
        lowered = Lowered(steps, values, fixed, {*program.outputs, *gradients}, gradients, targets, sparse, order)
        written = {slot for slot in targets if lowered.written(slot)}
        self._outside = gradients - lowered.in_table - written
        self._make(lowered, values, fixed, [(slot, buffer_of[slot]) for slot in targets])
        for slot, value in program._fixed.values():
            self._template[slot] = value
        assert self._table is not None, "it has been made"
        self._workspace.tables[program.forward] = self._table
        self._values = []
        self._workspace.memory.clear()  # of the rehearsal
        self.writers = [(array, variable, None if slot in written else functools.partial(self._gradients.write, slot))
                        for slot, array, variable in having]

    def _add_clipping(self, op: Op, steps: list[Step], values: Slots, gradients: Sequence[int | None]) -> dict[int, int]:
        """Have an operator clip the gradients behind the backward pass; gives the slots of what they become."""
        places = tuple([slot for slot in gradients if slot is not None])
        self._more_numbers = [len(values)]
        values.append(np.ones(1))
        outputs = tuple(range(len(values), len(values) + len(places)))
        values += [values[slot] for slot in places]
        plan = Plan(Call(op, {}), op.rules[0], False, None, for_device("cpu"))
        steps.append(Step(plan, (*places, *self._more_numbers), outputs, tuple([Spec.of(values[slot]) for slot in places])))
        return dict(zip(places, outputs, strict=True))

    def limit(self, norm: float) -> None:
        """Set the largest norm that the gradients may have together."""
        self._template[self._more_numbers[0]][0] = norm

    def _places(self) -> list[Place]:
        module = load("sparsekit.core.table.timed")
        begin = len(self.program.forward.instructions) + len(self._heads()) - 1
        places = [module.Place("backward" if number > begin else "", "" if step is None else step.layer,
                               -1 if step is None else step.link) for number, step in enumerate(self._instructions)]
        return places + [module.Place("", "", -1)] * (self._first - len(places))  # what changes the gradients

    def _execute(self, number: int, values: Slots) -> None:
        instruction = self._instruction(number)
        if instruction is None:
            super()._execute(number, values)
        else:
            _run_step(instruction, values, self._workspace, ())

    def _execute_told(self, number: int, values: Slots, first: int) -> None:
        sink, instruction = hooks.sink, self._instruction(number)
        if sink is None or instruction is None:
            super()._execute_told(number, values, first)
        else:
            _run_told(instruction, sink.op, values, self._workspace, (), first, _Link())
            for slot in instruction.spent:
                values[slot] = None

    def _instruction(self, number: int) -> _Instruction | None:
        """The program's instruction; None for an operator that is not the program's."""
        return self._instructions[number] if number < len(self._instructions) else None

    @property
    def reasons(self) -> list[tuple[str, str, str]]:
        """Pass, operator, and why Python runs it; empty for what is in the table."""
        forward = len(self.program.forward.instructions) + len(self._heads())
        passes = ["forward"] * forward + ["backward"] * (self._first - forward) + ["update"] * len(self._updates)
        return [(name, step.plan.call.op.label, reason)
                for name, step, reason in zip(passes, self.lowered.steps, self.lowered.reasons, strict=True)]
