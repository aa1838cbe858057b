"""Updates of weights as a table, alone or behind what computes the gradients."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.forking import load
from ..base.scoped import Assigned
from ..storage import stype_of
from . import device, graph, hooks
from .apart import reason_for_update
from .arrays import wrap, wrap_as
from .cuda_graphs import parts_of
from .dispatch import KERNEL_ERRORS, compute, named_error, plan_for, run
from .op import Call
from .program import copied_from_table
from .spec import Spec
from .table.table import Lowered, Step, Table

if TYPE_CHECKING:
    from ..base.context import Context
    from ..base.types import Attrs
    from ..storage.types import Store
    from .arrays import Layout
    from .dispatch import Plan
    from .graph import Variable
    from .hooks import Event
    from .op import Op
    from .table.timed import Account, Place, TimedRows
    from .types import ArrayObject, Slots

__all__ = ["StepTable", "Update", "lane"]


def lane(name: str, layer: str = "") -> Assigned:
    """Where the operators of a thread belong inside a block; no name leaves the lane."""
    state = hooks.state
    return Assigned(state, lane=name or state.lane, layer=layer or state.layer, node=state.node)


#: The store of an array.
_store_of = operator.attrgetter("_store")

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


class Gradients:
    """What writes the gradients of a table's last run to their buffers.

    Variables refer to it: it refers to none of the arrays that they belong to.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.table: Table | None = None
        self.computed: dict[int, Any] = {}  # Any: stores of gradients that are not in the table, by slot

    def write(self, slot: int, variable: Variable) -> None:
        """Put the gradient of a slot into the buffer of a variable."""
        if self.table is not None or slot in self.computed:
            store = self.computed.get(slot)
            dense = variable.grad.stype == "default"
            if store is not None:
                if not dense or not isinstance(store, np.ndarray):
                    with device.current(self._ctx):
                        store = store.copy()  # a sparse buffer takes the arrays themselves
            elif self.table is None:
                return
            elif dense:
                store = self.table.store(slot)
            else:
                store = self.table.take(slot)
            variable.grad._receive(wrap(store, self._ctx), False, "backward")


class StepTable:
    """The updates of an optimizer's step, lowered to a table; a derived class puts what computes the gradients before them.

    Attributes
    ----------
    name : str
        What it is a table of, for profiles.
    ctx : Context
    updating : bool
        Whether the last run has updated weights, or had begun to when it failed.
    updated : int
        How many weights it has updated.
    began : bool
        Whether it has computed anything.
    """

    name = "update"

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self._updates: list[Update] = []
        self._numbers: list[int] = []
        self._states: list[tuple[int, ArrayObject]] = []
        #: Arrays that are the same at every run, by slot.
        self._standing: list[tuple[int, ArrayObject]] = []
        self._table: Table | None = None
        self._account: Account | None = None
        self._events: tuple[Event, ...] | None = None
        self._named: tuple[int, ...] = ()
        self._kept: list[ArrayObject] = []
        self._left: list[int] = []
        self._left_places: list[int] = []
        # What a derived class has beside the updates: how many operators stand before them, slots of the arrays that a run
        # brings, of its results and of numbers, and how many recorded nodes it makes.
        self._first, self._nodes = 0, 0
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._more_numbers: list[int] = []
        self._outside: set[int] = set()
        self._gradients = Gradients(ctx)
        self.updating, self.updated, self.began = False, 0, False
        #: The stores of the last run by slot, until it is known what to keep of them.
        self._running: Slots | None = None
        self._layouts: dict[int, Layout] = {}
        #: The results in the memory of the table, and their layouts, if they are the same at every run.  Any: stores
        self._same: list[tuple[Any, Layout]] = []

    def lower(self, updates: Sequence[Update]) -> None:
        """Make the table.

        Raises
        ------
        Refused
            If that cannot be done.
        """
        values: Slots = []
        for update in updates:
            for array in (update.weight, update.gradient):
                self._standing.append((len(values), array))
                values.append(array._store)
        steps: list[Step] = []
        self._add_updates(steps, values, updates, [(2 * number, 2 * number + 1) for number in range(len(updates))])
        order = [slot for slot, _ in (*self._standing, *self._states)]
        self._make(Lowered(steps, values, self._written_anew, set(), order=order), values, self._written_anew, [])

    def _add_updates(self, steps: list[Step], values: Slots, updates: Sequence[Update], slots: Sequence[tuple[int, int]]) -> None:
        """Add the instructions of updates, whose weights and gradients are in these slots."""
        self._updates, self._first = list(updates), len(steps)
        for update, (weight, gradient) in zip(updates, slots, strict=True):
            states = []
            for state in update.states:
                states.append(len(values))
                self._states.append((len(values), state))
                values.append(state._store)
            numbers, place = update.numbers(), -1
            if numbers is not None:
                place = len(values)
                values.append(numbers.copy())  # written to when they change
            self._numbers.append(place)
            places = (weight, gradient, *states)
            plan: Plan = plan_for(update.call, tuple([stype_of(values[slot]) for slot in places]), self.ctx)
            reason = reason_for_update(plan, numbers, False, "cpu")
            steps.append(Step(plan, places, (len(values),), (Spec.of(update.weight),), reason, place))
            values.append(update.weight._store)

    @property
    def _written_anew(self) -> set[int]:
        """Slots of the arrays of numbers, which stay where they are."""
        return {slot for slot in (*self._numbers, *self._more_numbers) if slot >= 0}

    def _make(self, lowered: Lowered, values: Slots, fixed: Iterable[int], targets: Sequence[tuple[int, ArrayObject]]) -> None:
        """Make the table of what was lowered.

        The slots ``fixed`` are the same at every run, and ``targets`` are the arrays that gradients are written to, by slot.
        """
        self.lowered, self._table = lowered, Table(lowered)
        self._gradients.table = self._table
        self._standing += [*self._states, *targets]
        self._template: Slots = [None] * len(values)
        for slot in fixed:
            self._template[slot] = values[slot]
        self._line_up()

    def _line_up(self) -> None:
        """Find the order in which a run binds its arrays, and whether it needs them by slot as well."""
        lowered = self.lowered
        self._quick = not (self._outside or lowered.noted or set(self._outputs).difference(lowered.results))
        brought = self._inputs
        sparse = {lowered.entry.slots[place]: parts for place, parts in lowered.entry.parts}
        standing = [(slot, array) for slot, array in self._standing if slot in lowered.entry.slots]
        self._parts = [sparse.get(slot) for slot in brought]
        self._dense = [array for slot, array in standing if slot not in sparse]
        self._sparse = [(array, sparse[slot]) for slot, array in standing if slot in sparse]
        places: dict[int, range] = {}
        start = 0
        for slot in (*brought, *[slot for slot, _ in standing if slot not in sparse],
                     *[slot for slot, _ in standing if slot in sparse]):
            count = len(parts_of(lowered.stores[slot])) if slot in sparse else 1
            places[slot] = range(start, start + count)
            start += count
        order = [place for slot in lowered.entry.slots for place in places[slot]]
        #: None if it is the order of the arrays that are brought and of those that stand.
        self._order = None if order == [*range(start)] else operator.itemgetter(*order)

    def renew_numbers(self) -> None:
        """Compute the numbers of all updates from their attributes."""
        self._events = None
        for update, place in zip(self._updates, self._numbers, strict=True):
            if place >= 0:
                self._template[place][...] = update.numbers()

    def __call__(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """Run the step on the arrays that it brings; returns its results.

        None, and nothing has been done, if the arrays are of another kind.
        """
        if not self._quick:
            return self._run_on_slots(arrays)
        table = self._table
        assert table is not None, "the step has been lowered"
        told = None if hooks.sink is None else self._timed(table)
        values, place = None, table.begin(self._all(arrays), told)
        if place < 0:
            return None
        if place == (table.end if told is None else told.at[1]):
            same = self._same
            results = [wrap_as(view.copy(), layout) for view, layout in same] if same and not hooks.made else self._copies(table)
            table.release()
        else:
            values, results = self._gone_on(table, place, arrays, told)
        if told is not None:
            self._tell(told, values, arrays, results)
        return results

    def _copies(self, table: Table) -> list[ArrayObject]:
        """The results of a run, copied out of the memory of the table."""
        found = [self._copied(slot, table.store(slot)) for slot in self._outputs]
        if all(slot in table.views for slot in self._outputs):
            self._same = [(table.views[slot], one._layout) for slot, one in zip(self._outputs, found, strict=True)]
        return found

    def _gone_on(self, table: Table, place: int, arrays: Sequence[ArrayObject], told: TimedRows | None
                 ) -> tuple[Slots, list[ArrayObject]]:
        """Have Python run the row at which a run has stopped, and go on; gives the stores by slot, and the results."""
        values = self._stores(arrays)
        self._in_training(functools.partial(table.go_on, place), values, arrays, told)
        return values, [self._copied(slot, values[slot]) for slot in self._outputs]

    def _all(self, arrays: Sequence[ArrayObject]) -> list[Any]:  # Any: arrays
        """What a run binds, in the table's order, if it brings these."""
        bound: list[Any] = []  # Any: as above
        for parts, array in zip(self._parts, arrays, strict=True):
            if parts is None:
                bound.append(array._store)
            else:
                bound += parts(array._store)
        bound += map(_store_of, self._dense)
        for array, parts in self._sparse:
            bound += parts(array._store)
        return bound if self._order is None else list(self._order(bound))

    def _copied(self, slot: int, store: Store) -> ArrayObject:
        """A result, copied out of the memory of the table."""
        made, layout = copied_from_table(store), self._layouts.get(slot)
        if layout is not None and made.shape == layout.shape:
            return wrap_as(made, layout)
        found: ArrayObject = wrap(made, self.ctx)
        self._layouts[slot] = found._layout
        return found

    def _in_training(self, run_table: Callable[..., bool], values: Slots, arrays: Sequence[ArrayObject],
                     told: TimedRows | None) -> bool:
        """Run a part of the table whose operators Python runs in training mode; it begins with these arrays."""
        state = hooks.state
        before = state.training, state.caller
        state.training = True
        if told is not None:
            told.bring(self._named, [*arrays, *self._kept])
            state.caller = state.caller or hooks.caller(depth=4)  # once for all that is told
        try:
            return hooks.ignore_fp_errors(self._run, run_table, values, told)
        finally:
            state.training, state.caller = before
            if told is not None:
                told.bring((), ())

    def forget(self) -> None:
        """Begin a run, of which ``settle`` tells."""
        self.updating, self.updated, self.began, self._running = False, 0, False, None
        if self._table is not None:
            self._table.forget()

    def settle(self) -> None:
        """Note what a run has come to, whether it has failed or not; may be said twice."""
        table = self._table
        if table is None:
            return
        reached = table.reached()
        if not table.finished and reached > table.first_row(self._first):
            table.run_past_pause(reached)  # no signal comes between updates
            reached = table.reached()
        self.began = reached > 0
        if table.finished:
            self.updating, self.updated = True, len(self._updates)
        else:
            self.updating = reached > table.first_row(self._first)
            self.updated = table.operator_at(reached) - self._first if self.updating else 0
        if self.updating and self._running is not None:
            self._gradients.computed = {slot: self._running[slot] for slot in self._outside}
        self._running = None

    def _stores(self, arrays: Sequence[ArrayObject]) -> Slots:
        """The stores that a run begins with, by slot."""
        values = self._template[:]
        for slot, array in zip(self._inputs, arrays, strict=False):
            values[slot] = array._store
        for slot, array in self._standing:
            values[slot] = array._store
        return values

    def _run_on_slots(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject] | None:
        """The same with the stores of all slots at hand, for a recorder or the ledger."""
        table = self._table
        assert table is not None, "the step has been lowered"
        values = self._running = self._stores(arrays)
        told = self._timed(table) if hooks.sink is not None else None
        if not self._in_training(table.run, values, arrays, told):
            return None
        results = [wrap(copied_from_table(values[slot]), self.ctx) for slot in self._outputs]
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
        timed.start(events, graph.reserve() if self._nodes else 0)
        return timed

    def _events_now(self) -> tuple[Event, ...]:
        """What the operators are for a recorder, which reads attributes later: each change of them has plans of its own."""
        if self._account is None:
            module = load("sparsekit.core.table.timed")
            places = [*self._places(), *[module.Place("update", update.name, -1) for update in self._updates]]
            gradients = {step.places[1]: update.name for step, update in zip(
                self.lowered.steps[self._first:], self._updates, strict=True)}
            self._account = module.Account(self.lowered, places, gradients)
            standing = [(slot, array) for slot, array in self._standing if slot in self._account.given]
            self._named = (*self._inputs, *[slot for slot, _ in standing])
            self._kept = [array for _, array in standing]
            self._left_places = [place for place, slot in enumerate(self._outputs) if slot in self._account.recipes]
            self._left = [self._outputs[place] for place in self._left_places]
        plans = {}
        for number, step in enumerate(self.lowered.steps[self._first:], self._first):
            plans[number] = step.plan.on(step.plan.k)
            plans[number].attrs = dict(step.plan.attrs)
        return self._account.with_plans(plans)

    def _places(self) -> list[Place]:
        """Where the operators before the updates belong."""
        return []

    def _tell(self, told: TimedRows, values: Slots | None, arrays: Sequence[ArrayObject], results: Sequence[ArrayObject]) -> None:
        """Tell a recorder of a run, or of what is left of it; ``values`` are the stores by slot, if they are at hand."""
        sink = hooks.sink
        stores = [results[place]._store for place in self._left_places]
        if told.begin or len(self._named) < len(told.account.given):
            found = self._stores(arrays) if values is None else values
            slots, given = ((), ()) if told.begin else (self._named, [*arrays, *self._kept])
            told.finish(found, slots, given, (), self._left, stores)
        elif sink is not None:
            sink.table(told, (told.events, 0, len(told.events), told.first), self._named, arrays, self._left, stores, (), (),
                       self._kept, DEPTH)

    def _run(self, run_table: Callable[[Slots, Callable[[int, Slots], None], TimedRows | None], bool], values: Slots,
             told: TimedRows | None) -> bool:
        number = -1

        def execute(at: int, values: Slots) -> None:
            nonlocal number
            number = at
            if told is None:
                self._execute(at, values)
                return
            with lane(*told.place(at)):
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
        self._put(number, compute(self.lowered.steps[number].plan, self._taken(number, values)), values)

    def _taken(self, number: int, values: Slots) -> list[Any]:  # Any: stores
        return [values[slot] for slot in self.lowered.steps[number].places]

    def _put(self, number: int, made: object, values: Slots) -> None:  # object: a store, or a tuple of several
        for slot, store in zip(self.lowered.steps[number].outputs, made if isinstance(made, tuple) else (made,), strict=True):
            values[slot] = store

    def _execute_told(self, number: int, values: Slots, first: int) -> None:
        """The same under a profiler; ``first`` is the number of the first recorded node."""
        events = self._events  # whose attributes stay
        plan = self.lowered.steps[number].plan if events is None else events[number].plan
        self._put(number, run(plan, self._taken(number, values)), values)
