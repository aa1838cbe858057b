"""A training step on a GPU as captured graphs: the same operators that ``whole_step.py`` and ``step_table.py`` lower to tables.

What cannot be captured, such as a row-sparse gradient, whose size is read back, runs by itself behind the graphs.  The numbers
of the updates lie on the device, where graphs find the latest ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import capture
from ..base.refusal import Refused
from ..kernels import for_device
from ..storage import stype_of
from . import device, hooks
from .apart import NORM, reason_for_update
from .arrays import wrap
from .cuda_graphs import Replay, Workspace, copied, gathered, parts_of
from .dispatch import KERNEL_ERRORS, Plan, named_error, plan_for
from .op import Call
from .program import _Instruction, _numbered, _run_step
from .spec import Spec
from .step_table import StepTable, Update
from .whole_step import WholeStep

if TYPE_CHECKING:
    from ..base.types import Array
    from ..kernels.types import Kernels
    from .op import Op
    from .types import ArrayObject, Slots

__all__ = ["GraphStep", "GraphUpdates"]


class _Numbered:
    """The kernels of a GPU, of which optimizers' steps take their numbers from the device.

    Parameters
    ----------
    k : Kernels
    numbers : Array
        The numbers on the device, float64.
    like : Array
        The same in ordinary memory, in the type that the rule asks for.
    """

    device, numbers = "gpu", None

    def __init__(self, k: Kernels, numbers: Array, like: Array) -> None:
        self._k, self._there, self._like, self.xp = k, numbers, like, k.xp

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: which kernel it is, is known at run time alone
        kernel: Callable[..., Any] = getattr(self._k, name)  # Any: the same
        if name.startswith("update_"):
            return functools.partial(self._update, kernel)
        return kernel

    # Any: what a kernel returns; object: as the kernels take them
    def _update(self, kernel: Callable[..., Any], step: object, weight: Array, *arguments: object) -> None:
        *arrays, given, states = arguments
        numbers: Any = given  # Any: an array
        if numbers.shape == self._like.shape and numbers.dtype == self._like.dtype:
            numbers = self._there
        else:
            capture.refuse("an optimizer's numbers are computed by the host at every step")
        kernel(step, weight, *arrays, numbers, states)


class _Graphs(StepTable):
    """What updates and whole steps share: the instructions, and the graphs of them."""

    _replay: Replay

    def _instructions_of(self, values: Slots, updates: Sequence[Update], slots: Sequence[tuple[int, int]]) -> list[_Instruction]:
        """The updates as instructions, whose weights and gradients are in these slots."""
        self._updates, found = list(updates), [update.numbers() for update in updates]
        sizes = [0 if numbers is None else numbers.shape[0] for numbers in found]
        with device.current(self.ctx):
            self._there = for_device("gpu").xp.empty(sum(sizes), np.float64)
        self.renew_numbers()
        made, begin = [], 0
        for update, (weight, gradient), numbers, size in zip(updates, slots, found, sizes, strict=True):
            states = []
            for state in update.states:
                states.append(len(values))
                self._states.append((len(values), state))
                values.append(state._store)
            places = (weight, gradient, *states)
            plan = plan_for(update.call, tuple([stype_of(values[slot]) for slot in places]), self.ctx)
            if numbers is not None:
                with device.current(self.ctx):
                    kernels: Any = _Numbered(plan.k, self._there[begin:begin + size], numbers)  # Any: they stand for Kernels
                plan = plan.on(kernels)
            begin += size
            made.append(_Instruction.beside(plan, places, (len(values),), update.name))
            values.append(update.weight._store)
        return made

    def _replayed(self, order: list[_Instruction], updates: list[_Instruction], values: Slots, kept: set[int],
                  verdicts: dict[_Instruction, str], gradients: dict[int, int]) -> None:
        """Have the graphs of all instructions."""
        for update, step in zip(self._updates, updates, strict=True):
            sparse = any(len(parts_of(values[slot])) > 1 for slot in step.places)
            reason = reason_for_update(step.plan, update.numbers(), sparse, "gpu")
            if reason:
                verdicts[step] = reason
        instructions = gathered(order, verdicts)
        self._pass_names = {step: self._pass_of(number) for number, step in enumerate(order)}
        self._replay = Replay(instructions, instructions, kept, self.ctx, verdicts, _run_step, gradients)
        self._standing += self._states
        self._template = [None] * len(values)
        self._results = {step.place for step in updates}
        self._workspace_now = Workspace(self.ctx)

    def renew_numbers(self) -> None:
        """Send the numbers of all updates to the device."""
        found = [numbers.astype(np.float64) for update in self._updates if (numbers := update.numbers()) is not None]
        if found:
            with device.current(self.ctx):
                there: Any = self._there  # Any: cupy's, which takes arrays of numpy by ``set``
                there.set(np.concatenate(found))

    def __call__(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """Run the step on the arrays that it brings; returns its results."""
        values, replay = self._stores(arrays), self._replay
        self.began, replay.at = True, -1
        try:
            hooks.ignore_fp_errors(replay.run, values, self._workspace_now, self._buffers())
        except Exception as error:
            self.updating = replay.at in self._results
            step = next((one for one in replay.instructions if one.place == replay.at), None)
            if step is None or not isinstance(error, KERNEL_ERRORS):
                raise
            raise named_error(step.plan.call, [values[slot] for slot in step.places], error) from error
        self.updating, self.updated = True, len(self._updates)
        self._gradients.computed = {slot: values[slot] for slot in self._outside}
        with device.current(self.ctx):
            return [wrap(copied(values[slot]), self.ctx) for slot in self._outputs]

    def _buffers(self) -> Sequence[ArrayObject | None]:
        """For each input the array that its dense gradient is left in."""
        return []

    @property
    def reasons(self) -> list[tuple[str, str, str]]:
        """Pass, operator, and why it runs by itself; empty for what is in a graph."""
        return [(self._pass_names[step], step.plan.call.op.label, reason)
                for step, reason in zip(self._replay.instructions, self._replay.how(), strict=True)]

    def _pass_of(self, number: int) -> str:
        return "update"


class GraphUpdates(_Graphs):
    """The updates of an optimizer's step."""

    def lower(self, updates: Sequence[Update]) -> None:
        """Have the graphs."""
        values: Slots = []
        for update in updates:
            for array in (update.weight, update.gradient):
                self._standing.append((len(values), array))
                values.append(array._store)
        steps = self._instructions_of(values, updates, [(2 * number, 2 * number + 1) for number in range(len(updates))])
        self._replayed(steps, steps, values, set(), {}, {})


class GraphStep(_Graphs, WholeStep):
    """A program with its backward pass and updates."""

    def lower(self, updates: Sequence[Update]) -> None:
        """Have the graphs, with the stores of the rehearsal as examples."""
        program, whole, values = self.program, self.program.whole, self._values
        assert whole is not None, "the caller has asked for it"
        slot_of = {id(array): slot for slot, array in zip(program.inputs[self.given:], self.held, strict=True)}
        gradient_of: dict[int, Any] = dict(zip(program.inputs, whole.gradients, strict=True))  # Any: slots, and None
        slots = [(weight, gradient_of[weight]) for weight in (slot_of[id(update.weight)] for update in updates)]
        for update, (_, gradient) in zip(updates, slots, strict=True):
            if Spec.of(wrap(values[gradient], self.ctx)) != Spec.of(update.gradient):
                found = values[gradient]
                raise Refused(f"the gradient of {update.name} is computed as {stype_of(found)} {found.dtype}")
        verdicts = dict(program._verdicts)
        before = [*program.forward.instructions, *whole.instructions]
        self._forward = len(program.forward.instructions)
        changed: dict[int, int] = {}
        if self._clip is not None:
            before.append(self._clipping(self._clip, values, [gradient for _, gradient in slots], changed))
            verdicts[before[-1]] = NORM
        self._first = len(before)
        steps = self._instructions_of(values, updates, [(weight, changed.get(gradient, gradient)) for weight, gradient in slots])
        self._made = [slot if slot is None else changed.get(slot, slot) for slot in whole.gradients]
        gradients = {slot for slot in self._made if slot is not None}
        self._standing = list(zip(program.inputs[self.given:], self.held, strict=True))
        self._replayed([*before, *steps], steps, values, {*program.outputs, *gradients}, verdicts, self._written())
        self._template[:len(program.empty)] = program.empty
        self._template.extend([None] * (len(values) - len(self._template)))
        if self._more_numbers:
            self._template[self._more_numbers[0]] = values[self._more_numbers[0]]
        for slot, head in self._heads():
            with device.current(self.ctx):
                self._template[head.slot] = program.forward.instructions[0].plan.k.xp.ones_like(values[slot])
        self._have_writers(gradients)
        self._values = []
        self._workspace.memory.clear()  # of the rehearsal

    def _clipping(self, op: Op, values: Slots, gradients: Sequence[int], changed: dict[int, int]) -> _Instruction:
        """What clips the gradients behind the backward pass; notes the slots of what they become."""
        places = tuple(dict.fromkeys(gradients))
        with device.current(self.ctx):
            limit = for_device("gpu").xp.ones(1, np.float64)
        self._more_numbers, self._limit = [len(values)], 1.0
        values.append(limit)
        outputs = tuple(range(len(values), len(values) + len(places)))
        values += [values[slot] for slot in places]
        changed.update(zip(places, outputs, strict=True))
        plan = Plan(Call(op, {}), op.rules[0], False, None, for_device("gpu"))
        return _Instruction.beside(plan, (*places, *self._more_numbers), outputs, "")

    def limit(self, norm: float) -> None:
        """Set the largest norm that the gradients may have together."""
        if norm != self._limit:
            with device.current(self.ctx):
                super().limit(norm)
            self._limit = norm

    def _written(self) -> dict[int, int]:
        """The gradients that graphs may write to the buffers of variables, with the numbers of these."""
        return {} if self._clip is not None else _numbered(self._made)

    def _have_writers(self, gradients: set[int]) -> None:
        """Find what puts gradients into the buffers of variables: the graphs those that are dense, which nothing else gets."""
        written = self._written()
        self._grads: list[Any] = [  # Any: arrays, or None
            variable.grad if variable is not None and slot in written and self._fits(variable.grad, slot) else None
            for slot, variable in zip(self._made, self._variables, strict=True)]
        self._outside = {slot for slot in gradients if slot not in written or self._grads[written[slot]] is None}
        having = zip(self._made[self.given:], self.held, self._variables[self.given:], strict=True)
        self.writers = [(array, variable, functools.partial(self._gradients.write, slot) if slot in self._outside else None)
                        for slot, array, variable in having if slot is not None and variable is not None]

    def _fits(self, buffer: ArrayObject, slot: int) -> bool:
        return buffer.stype == "default" and Spec.of(buffer) == Spec.of(wrap(self._values[slot], self.ctx))

    def _buffers(self) -> list[ArrayObject | None]:
        return self._grads

    def _pass_of(self, number: int) -> str:
        return "forward" if number < self._forward else "backward" if number < self._first else "update"
