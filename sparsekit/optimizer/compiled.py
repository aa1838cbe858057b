"""A training step by one program, together with the optimizer's own code for what its updates depend on."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVarTuple

from ..base.changes import SettingsDict, changes
from ..base.forking import load
from ..base.refusal import Refused
from ..core import hooks
from ..core.apart import switched_off

if TYPE_CHECKING:
    from ..core.step_program import StepProgram
    from .optimizer import Decisive, Optimizer
    from .updater import Updater

#: What a kind of steps is made of.
Given = TypeVarTuple("Given")

#: Types of settings that do not change by themselves, or mark it.
_MARKED = (bool, int, float, str, type(None), SettingsDict)

#: Steps in Python, for each kind of batch, before one is lowered.
BEFORE_LOWERING = 2

#: How often updates that do not take their arrays are traced.
MOST = 8


def can_be_timed() -> bool:
    """Whether a table can read the clock between its operators."""
    timed: Any = load("sparsekit.core.table.timed")  # Any: a module of tables, which are imported when there is use for them
    return timed.clock() is not None


def reason_against(optimizer: Optimizer, device: str = "cpu") -> str:
    """Why no step with this optimizer can be compiled now, whose gradients it computes; empty if one can."""
    return reason_now(device) or reason_of(optimizer)


def reason_now(device: str) -> str:
    """Why no step can be compiled now, whatever the optimizer."""
    reason = switched_off(device)
    if reason:
        return reason
    if hooks.sink is not None and device == "gpu":
        return "a profiler records each operator, of which a graph does not tell"
    if hooks.sink is not None and not can_be_timed():
        return "a profiler records each operator, and the clock cannot be read in a table"
    if hooks.state.recording or hooks.state.tracing:
        return "it is part of what is recorded"
    return ""


def reason_of(optimizer: Optimizer, gradients: bool = False) -> str:
    """Why no step with this optimizer can be compiled, as long as ``changes.settings`` stays; empty if one can.

    ``gradients`` says whether these have been computed when the step begins.
    """
    if optimizer._is_exact:
        return f"{type(optimizer).__name__} with lazy_update='exact' brings rows up to date before they are read"
    if not optimizer._calls_once:
        name, why = type(optimizer).__name__, optimizer._why_not
        return f"{name} {why}" if why else f"the update of {name} is not the library's own"
    if optimizer._needs_gradients and (not gradients or hooks.sink is not None):
        return f"{type(optimizer).__name__} reads the values of gradients before it updates"
    return ""


class CompiledStep:
    """A training step by a program, together with the optimizer's own code for what its updates depend on.

    Parameters
    ----------
    step_program : StepProgram
        Which gets the updates with the first step.
    updater : Updater
    names : dict
        Names of the weights by their index in the optimizer.

    Attributes
    ----------
    keys : list
        The indices in the order in which a run updates the weights.
    latest : object
        What ``changes.settings`` was at the last run, if that tells of each change of what the updates depend on; else None.
        While it is the same, optimizer and states are as they were.
    """

    # Any: indices are numbers or names
    def __init__(self, step_program: StepProgram, updater: Updater, names: dict[Any, str]) -> None:
        self.step_program, self.updater, self.optimizer, self.states = step_program, updater, updater.optimizer, updater.states
        self._names = names
        self._settings: tuple[Decisive, object] | None = None  # object: multipliers
        self._indices = [*names]
        self.keys: list[Any] = []  # Any: indices
        self._kept: list[Any] = []  # Any: states
        # How often each weight has been updated, if all as often as the one updated most, in these counts; else -1.
        self._even, self._counted = -1, updater.optimizer._index_update_count
        self._state = vars(updater.optimizer)
        self.latest: object = None  # object: a mark

    def holds(self) -> bool:
        """Whether optimizer and states are those that the step was traced with."""
        return (self.updater.optimizer is self.optimizer and self.updater.states is self.states and self.optimizer._is_as_defined
                and len(self.states) == len(self._kept) and all(map(operator.is_, self.states.values(), self._kept)))

    def _marks_changes(self) -> bool:
        """Whether whatever the numbers of updates depend on leaves the mark ``changes.settings`` when it changes."""
        if self._settings is None or type(self.states) is not SettingsDict:
            return False
        return all(type(value) in _MARKED for value in self._settings[0].values_of(vars(self.optimizer)))

    def _now(self, multipliers: object) -> tuple[Decisive, object] | None:  # object: what is compared
        """What the numbers of all updates depend on; None if that changes with each step."""
        settings = self.optimizer._decisive
        return None if settings is None else (settings, multipliers)

    def _as_before(self, multipliers: object, unmoved: bool) -> bool:  # object: what is compared
        """Whether the numbers of all updates are the last ones."""
        if self._settings is None:
            return False
        decisive, before = self._settings
        return (unmoved or self.optimizer._decided_by(decisive)) and multipliers == before

    def _counts(self) -> tuple[dict[Any, int], list[Any]]:  # Any: indices; values of attributes
        optimizer = self.optimizer
        return dict(optimizer._index_update_count), [getattr(optimizer, name) for name in optimizer._counted]

    def _count(self, before: tuple[dict[Any, int], list[Any]] | None, count: int) -> None:  # Any: the same
        """Count an update of every weight, from these counts on or, if all are even, to this count; may be said twice."""
        state, counts = self._state, self._counted
        if before is None:
            # Into the dictionary, as attributes that users set mark changes.
            state["num_update"] = count
            for index in self._indices:
                counts[index] = count
            self._even = count
            return
        self._restore(before)
        optimizer = self.optimizer
        optimizer._update_count(self._indices)
        counts = optimizer._index_update_count
        even = all(counts[index] == optimizer.num_update for index in self._indices)
        self._even, self._counted = optimizer.num_update if even else -1, counts

    def _restore(self, counts: tuple[dict[Any, int], list[Any]]) -> None:  # Any: the same
        """Undo the counts of updates that were not made."""
        self.optimizer._index_update_count.clear()
        self.optimizer._index_update_count.update(counts[0])
        vars(self.optimizer).update(zip(self.optimizer._counted, counts[1], strict=True))

    # Any: arrays; object: what is compared
    def __call__(self, arrays: Sequence[Any], update: Callable[[], None], multipliers: object = None,
                 after: Callable[[bool, bool], None] | None = None) -> list[Any] | None:  # Any: arrays
        """Make a step; None, and nothing has been done, if it must be traced anew.

        Parameters
        ----------
        arrays : sequence of NDArray
            What the step brings.
        update : callable
            Calls the updater for every weight.
        multipliers : object
            What updates depend on beside the optimizer.
        after : callable, optional
            ``after(computed, lost)`` is called behind the run, perhaps twice: whether it has computed all gradients, and whether
            it has failed when it had begun to overwrite the gradients of the last one.

        Raises
        ------
        Refused
            If the updates cannot be traced.
        """
        step_program, state, results = self.step_program, self._state, None
        step_program.forget()
        latest = changes.settings
        unmoved = latest is self.latest
        same = self._as_before(multipliers, unmoved)
        even = same and state["num_update"] == self._even and state["_index_update_count"] is self._counted
        before, count, failed = None if even else self._counts(), self._even + 1, True
        try:
            try:
                if same or self._renewed(update, multipliers, arrays):
                    results = step_program(arrays)
                failed = False
            finally:
                self._settle(same, before, count, failed, after)
        except BaseException:  # an interrupt may have hit what is noted after a run
            self._settle(same, before, count, True, after)
            raise
        if not unmoved:
            self.latest = latest if self._marks_changes() else None
        return results

    # object: what is compared; Any: arrays
    def _renewed(self, update: Callable[[], None], multipliers: object, arrays: Sequence[Any]) -> bool:
        """Compute the numbers of all updates, which are traced before the first step; False if they have become others."""
        self._settings = None  # until all is done
        step_program = self.step_program
        try:
            collected = self.optimizer._collect(update)
        except Exception:  # of a schedule, for example, before which the gradients are computed
            if step_program.steps:
                step_program.send_back(arrays)
            raise
        if step_program.program is None:
            kind = load("sparsekit.core.step_program").Update
            step_program.add_updates([kind(entry.op, entry.arrays, entry.attrs, self._names[entry.key]) for entry in collected])
            self.keys = [collected[number].key for number in step_program.order]
            self._kept = [*self.states.values()]
        elif len(collected) != len(step_program.updates) or not all(
                update.accepts(entry.op, entry.arrays, entry.attrs)
                for update, entry in zip(step_program.updates, collected, strict=True)):
            return False
        step_program.renew_numbers()
        self._settings = self._now(multipliers)
        return True

    # Any: as in ``_count``
    def _settle(self, same: bool, before: tuple[dict[Any, int], list[Any]] | None, count: int, failed: bool,
                after: Callable[[bool, bool], None] | None) -> None:
        """Have counts and gradients be as the run has left the weights, whether it has failed or not; may be said twice."""
        step_program = self.step_program
        step_program.settle()
        if step_program.updating and same:
            self._count(before, count)
        elif not step_program.updating and before is not None:
            self._restore(before)
        if step_program.updating and step_program.updated < len(self.keys):
            counts = self.optimizer._index_update_count
            for index in self.keys[step_program.updated:]:
                if before is None:
                    counts[index] = count - 1
                elif index in before[0]:
                    counts[index] = before[0][index]
                else:
                    counts.pop(index, None)
            self._even = -1
        if after is not None:
            after(step_program.computed, failed and step_program.began)


class RepeatedStep(ABC, Generic[*Given]):
    """A step that runs in Python a few times, and by a program from then on.

    Attributes
    ----------
    step : CompiledStep or None
    reason : str
        Why it runs in Python; empty if it does not, or not yet.
    tries : int
        How often it has been traced in vain; no more than ``MOST`` times.
    """

    def __init__(self) -> None:
        self.step: CompiledStep | None = None
        self.reason = ""
        self.tries = self._runs = 0

    def repeat(self, updater: Updater, *arguments: *Given) -> bool:
        """Make the step by a program; False, and nothing has been done, if it must be made in Python."""
        step = self.step
        if step is not None:
            if step.updater is updater and (step.latest is changes.settings or step.holds()) and self._made(step, *arguments):
                return True
            self.step, self._runs = None, BEFORE_LOWERING  # traced anew at once: a setting or a state has changed
        self._runs += 1
        if self._runs <= BEFORE_LOWERING or self.tries >= MOST:
            return False
        compiled = self._program(updater, *arguments)
        if isinstance(compiled, str):
            self.reason, self.tries = compiled, MOST
            return False
        try:
            self._made(compiled, *arguments)
        except Refused as error:  # Python tells of arrays that an update does not take, and they may be replaced
            self.reason, self.tries, self._runs = str(error), self.tries + 1, 0
            return False
        self.reason = compiled.step_program.refused
        if self.reason:
            self.tries = MOST
        elif compiled.step_program.steps or compiled.step_program.updates:  # there are none if all rates are 0
            self.step = compiled
        return True

    @abstractmethod
    def _program(self, updater: Updater, *arguments: *Given) -> CompiledStep | str:
        """A new program, or the reason why there is none."""

    @abstractmethod
    def _made(self, step: CompiledStep, *arguments: *Given) -> bool:
        """Make a step by a program; False, and nothing has been done, if it must be traced anew."""
