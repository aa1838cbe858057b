"""Programs: operators resolved once, and run again and again without looking anything up.

A program is made of what a ``Tracer`` noted, for arrays of given shapes, element types and storage types.  Every
operator in it is still an event of its own for the profiler.
"""

from __future__ import annotations

import bisect
import functools
import operator
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..base.config import config
from ..base.errors import GradientError
from ..base.faults import is_a_handlers
from ..base.forking import load
from ..base.scoped import Scoped
from . import device, graph, hooks
from .apart import NOT_YET, reason_apart, switched_off
from .arrays import wrap
from .cuda_graphs import Replay, Workspace, copied, parts_of, rebuilt
from .dispatch import KERNEL_ERRORS, Plan, compute, fits, invoke, named_error, plan_for, recorded, run
from .graph import ProgramNode
from .spec import Spec
from .trace import TRACE, AbstractArray, Step, Tracer, TracingError

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import CodeType
    from typing import TypeAlias

    from ..base.context import Context
    from ..base.types import Attrs, DType
    from ..kernels.types import Kernels
    from ..storage.types import Store
    from .cuda_graphs import Buffers
    from .graph import Loans, Node
    from .table.arrays import Outline
    from .table.table import Lowered, Table
    from .table.timed import Account, TimedRows
    from .types import ArrayFunctions, ArrayObject, Numbered, Ran, Slots

    #: Called after each operator with how many ran, and what gives the array of a slot.
    Watch: TypeAlias = Callable[[int, Callable[[int], ArrayObject]], None]

    #: ``Sink.op``.
    Told: TypeAlias = Callable[[Ran, int, int, Sequence[Store], Sequence[Store], Numbered | None], None]

    #: An instruction as the loop reads it; see ``_Instruction.code``.  Any: the kernel and its arguments.
    Code: TypeAlias = tuple[Callable[..., Any], Callable[[Slots], tuple[Any, ...]], int, "_Instruction | None"]  # Any: as above

__all__ = ["Program", "kind_of"]

P = ParamSpec("P")
T = TypeVar("T")

_clock = time.perf_counter_ns

#: Package of the tables, which is imported when a program has run often enough.
_TABLE = "sparsekit.core.table"

#: Bytes from which the memory of a result is kept for the next run; below, the allocator does as well.
LARGE = 1 << 16

#: Runs whose memory is kept.
FRAMES = 4

#: Runs in Python before a pass is lowered to a table: one that runs once or twice would not earn the time of that.
BEFORE_LOWERING = 2


class _Link:
    """What the recorder reads of a node: the number that ties a gradient's event to its operator's."""

    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id = -1


class _Instruction:
    """A step with its kernel.

    Attributes
    ----------
    general : bool
        Whether it takes more than a call of its kernel: a fallback, a cast, a result to be noted, several results.
    buffer : int or None
        Number of the kept memory that the kernel writes its result into, which is the result's slot.
    target : int or None
        Number of the input whose gradient this is, and whose gradient buffer may take the result.
    link : int
        Which of the program's operators this is, or is the gradient of; -1 for none.
    spent : tuple of int
        Slots that nothing reads afterwards.
    unrepeatable : bool
        Whether the same inputs need not give the same again: it may draw random numbers, or writes to its inputs.
    draws : bool
        Whether it does draw random numbers, in the mode in which it was traced.
    """

    __slots__ = ("buffer", "draws", "general", "layer", "link", "outputs", "place", "places", "plan", "specs", "spent", "target",
                 "unrepeatable")

    def __init__(self, step: Step, plan: Plan, link: int) -> None:
        self.plan, self.layer, self.link, self.specs = plan, step.layer, link, step.outputs
        self.places = tuple(store.slot for store in step.inputs)
        self.outputs = tuple(store.slot for store in step.outputs)
        self.place = self.outputs[0] if self.outputs else -1
        self.general = plan.fallback or bool(plan.dense) or plan.cast is not None or plan.call.outputs != 1
        self.unrepeatable = bool(plan.op.draws(plan.attrs, True) or plan.op.mutates)
        self.draws = plan.op.draws(plan.attrs, step.training)
        self.buffer: int | None = None
        self.target: int | None = None
        self.spent: tuple[int, ...] = ()

    @classmethod
    def beside(cls, plan: Plan, places: tuple[int, ...], outputs: tuple[int, ...], layer: str) -> _Instruction:
        """An instruction that no program has traced; a single result lies where an input does."""
        made = object.__new__(cls)
        made.plan, made.places, made.outputs, made.place, made.layer = plan, places, outputs, outputs[0], layer
        made.link, made.specs, made.spent, made.buffer, made.target = -1, (), (), None, None
        made.general = plan.fallback or plan.cast is not None or len(outputs) > 1
        made.unrepeatable, made.draws = True, False
        return made

    def reason_apart(self, ctx: Context) -> str:
        """Why it runs outside tables and graphs, if that is known beforehand; else an empty string."""
        return reason_apart(self.plan, [spec.stype for spec in self.specs], self.draws, ctx.device_type)

    def code(self, fixed: Callable[[Attrs | Kernels], int]) -> Code:
        """The instruction as the loop reads it: the kernel, what takes its arguments out of the stores, the result's slot.

        The last item is the instruction itself if a plain call is not enough.  ``fixed(value)`` gives the slot of an
        argument that is not an array.
        """
        plan, places = self.plan, self.places
        direct = getattr(plan.k.xp, plan.ufunc) if plan.ufunc and len(places) == 2 else None
        special = self.general or self.buffer is not None or self.target is not None or self.spent
        arguments = places if direct else (fixed(plan.k), *places, fixed(plan.attrs))
        return direct or plan.function, operator.itemgetter(*arguments), self.place, self if special else None


class _ToldPlace(Scoped):
    """Where the operators of a pass are noted.

    Parameters
    ----------
    last : tuple of (str, int) or None
        Layer and number of the node that a backward pass ends with, to which what is done with the gradients belongs too; no
        number if that is not known.  None for a forward pass.
    link : _Link
        Stands for that node.
    """

    def __init__(self, last: tuple[str, int] | None, link: _Link) -> None:
        self._last, self._link = last, link

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
            state.layer, self._link.id = self._last
            state.node = self._link


class _Pass:
    """The instructions of one direction: forward, or backward from some of the results.

    Attributes
    ----------
    heads : list of AbstractArray or None
        Stands for the gradient at each result; None where no gradient arrives, and in the forward pass.
    gradients : list of int or None
        Slot of the gradient of each input, None for one that no gradient flows to.
    last : tuple of (str, int)
        Layer and number of the operator that ran first, whose gradient is computed last.
    runs : int
        How often it ran in Python, on a CPU.
    lowered : Lowered or None
        Its rows, once it has run ``BEFORE_LOWERING`` times.
    targets : list of (int, int, Outline)
        Of its rows, slots of dense gradients that are written to arrays that a run brings, with the numbers of the inputs that
        they are of, and what these arrays must be like.
    account : Account or None
        What these are for a profiler, once one has recorded them.
    """

    __slots__ = ("account", "code", "gradients", "heads", "instructions", "last", "lowered", "name", "runs", "targets")

    def __init__(self, name: str, instructions: list[_Instruction], fixed: Callable[[Attrs | Kernels], int],
                 heads: Sequence[AbstractArray | None] = (), gradients: Sequence[int | None] = ()) -> None:
        self.name, self.instructions, self.heads, self.gradients = name, instructions, heads, gradients
        self.code = [instruction.code(fixed) for instruction in instructions]
        self.last = "", -1
        self.runs = 0
        self.lowered: Lowered | None = None
        self.targets: list[tuple[int, int, Outline]] = []
        self.account: Account | None = None


class _Run:
    """The stores of one run, kept for its backward pass."""

    __slots__ = ("arrays", "first", "values", "workspace")

    def __init__(self, arrays: Sequence[ArrayObject], values: Slots, workspace: Workspace, first: int) -> None:
        # Any: as given, and None once released; ``_send_back`` refuses then, so that what it calls needs not ask again.
        self.arrays: Any = arrays
        self.values: Any = values  # Any: as above
        self.workspace, self.first = workspace, first


def kind_of(array: ArrayObject) -> tuple[Hashable, ...]:
    """What a program depends on of an array: layout, element type, and whether and where its gradient goes."""
    entry = array._entry
    if entry is None or not hooks.state.recording:
        return array._layout, array.dtype
    gradient = entry[0].grad
    return array._layout, array.dtype, "" if gradient is None else gradient.stype


class _Arrived(NamedTuple):
    """Where gradients are when a backward pass begins: storage type and element type of each, None where none is.

    Attributes
    ----------
    heads : tuple
        At each result.
    held : tuple
        At each input, from what ran later; empty if that is added afterwards.
    """

    heads: tuple[tuple[str, DType] | None, ...]
    held: tuple[tuple[str, DType] | None, ...] = ()


class Program:
    """What a function of arrays computes, and its gradient, for arrays of one kind each.

    Parameters
    ----------
    tracer : Tracer
        After the function ran at work.
    results : sequence of NDArray
        What it gave.
    F : namespace
        Where gradient rules find operators.
    part : bool
        Whether it is a part of a larger whole whose gradients are to be summed in the order of the operators, as if they
        were one program.

    Attributes
    ----------
    error : Exception or None
        Why there is no backward pass; ``backward()`` raises that.
    """

    def __init__(self, tracer: Tracer, results: Sequence[ArrayObject], F: ArrayFunctions, part: bool = False) -> None:
        self.ctx, self.F, self.tracer, self.part = tracer.ctx, F, tracer, part
        lifted = [array if array._ctx is TRACE else tracer.lift(array) for array in results]
        self.inputs = [array._store.slot for array in tracer.arrays]
        self.outputs = [array._store.slot for array in lifted]
        self.specs = [Spec.of(array) for array in lifted]
        self.empty: Slots = []
        self.entries = [array._entry if tracer.recording else None for array in lifted]
        self.steps = list(tracer.steps)
        self.workspaces: list[Workspace] = []
        self.passes: dict[_Arrived, _Pass | None] = {}
        #: The same by the layouts of the gradients.  Any: layouts, which are found by identity, or None
        self._passes: dict[tuple[Any, ...], _Pass | None] = {}
        self._fixed: dict[int, tuple[int, Attrs | Kernels]] = {}
        self._lock = threading.Lock()
        self._verdicts: dict[_Instruction, str] = {}
        instructions = [_Instruction(step, _planned(self._plan(step), step.training), number)
                        for number, step in enumerate(self.steps)]
        self._kept: set[int] = {*self.outputs, *self.inputs}
        #: Stores that a gradient must not be, since others have them.
        self._foreign = {*self.inputs, *tracer.constants}
        self.whole: _Pass | None = None
        self.error: Exception | None = None
        if any(self.entries):
            self._kept.update(*[step.outputs for step in instructions if step.unrepeatable])
            arrived = _Arrived(tuple([entry and ("default", spec.dtype)
                                      for entry, spec in zip(self.entries, self.specs, strict=True)]))
            try:
                self.whole = self.passes[arrived] = self._backward(arrived)
            except Exception as error:  # of no harm to those who ask for no gradient, or for another
                rules = [step.call.op.gradient_function for step in self.steps]
                if is_a_handlers(error, [rule for rule in rules if rule is not None]):
                    raise
                self.error = error.with_traceback(None)
                self._kept.update(*[step.outputs for step in instructions])
        self._give_buffers(instructions, self._kept)
        left = self._kept | _read(self.whole.instructions if self.whole else ())
        self._gone = {slot for step in instructions for slot in step.outputs} - left
        _mark_spent(instructions, left)
        self.reached = self.whole.gradients if self.whole else tracer.buffers
        self.forward = self._made_ready(_Pass("forward", instructions, self._slot_of))

    def _backward(self, arrived: _Arrived) -> _Pass:
        """The backward pass from the gradients that arrive."""
        tracer = self.tracer
        tracer.steps = []
        for buffer in tracer.buffers:
            if buffer is not None:
                buffer.made = buffer.node = None
        with tracer.at_work():
            hooks.state.recording = False
            heads = [kind and tracer.abstract_store(Spec(spec.shape, kind[1], kind[0]))
                     for spec, kind in zip(self.specs, arrived.heads, strict=True)]
            held = [kind and tracer.abstract_store(Spec(array.shape, kind[1], kind[0]))
                    for array, kind in zip(tracer.arrays, arrived.held, strict=False)]
            pairs = [(entry, wrap(head, TRACE)) for entry, head in
                     zip((*self.entries, *[array._entry for array in tracer.arrays]), (*heads, *held), strict=False)
                     if entry and head]
            graph.backward([entry for entry, _ in pairs], [head for _, head in pairs], self.F, wrap, retain=True)
        gradients: list[int | None] = [None if buffer is None or buffer.made is None else buffer.made._store.slot
                                       for buffer in tracer.buffers]
        links = _links(self.steps, [entry[0] for entry, _ in pairs])
        nodes = [one.node for one in (*tracer.steps, *tracer.buffers) if one is not None and one.node is not None]
        last = min(nodes, key=lambda node: node.id, default=None)
        instructions = [_Instruction(step, self._plan(step), links.get(step.node, -1)) for step in tracer.steps]
        kept = self._kept | {slot for slot in gradients if slot is not None}
        _give_targets(instructions, gradients)
        self._give_buffers(instructions, kept)
        _mark_spent(instructions, kept)
        made = _Pass("backward", instructions, self._slot_of, [*heads, *held], gradients)
        if last is not None:
            made.last = last.layer, links.get(last, -1)
        return self._made_ready(made)

    def _slot_of(self, value: Attrs | Kernels) -> int:
        """The slot of an argument that is not an array, the same at every run."""
        if id(value) not in self._fixed:
            self._fixed[id(value)] = self.tracer.slots, value
            self.tracer.slots += 1
        return self._fixed[id(value)][0]

    def _made_ready(self, one: _Pass) -> _Pass:
        """Have room and constants for what was traced last, and know what a GPU cannot capture of it."""
        self.empty = self.empty + [None] * (self.tracer.slots - len(self.empty))
        for slot, store in self.tracer.constants.items():
            if self.empty[slot] is None:
                self.empty[slot] = device.onto(store, self.ctx)
        for slot, value in self._fixed.values():
            self.empty[slot] = value
        if self.ctx.device_type == "gpu":
            found = {step: step.reason_apart(self.ctx) for step in one.instructions}
            self._verdicts.update({step: reason for step, reason in found.items() if reason})
        return one

    def _plan(self, step: Step) -> Plan:
        places = step.call.op.meeting([store.dtype for store in step.inputs])
        return plan_for(step.call, tuple(store.stype for store in step.inputs), self.ctx, places)

    def _give_buffers(self, instructions: list[_Instruction], kept: set[int]) -> None:
        """Keep the memory of large dense results that nobody outside gets to see."""
        for instruction in instructions:
            if instruction.general or not instruction.plan.takes_out or instruction.place in kept:
                continue
            spec = instruction.specs[0]
            if spec.stype == "default" and spec.nbytes >= LARGE:
                instruction.buffer = spec.slot

    # running

    def __call__(self, arrays: Sequence[ArrayObject], watch: Watch | None = None) -> list[ArrayObject]:
        """Run it on arrays of the kinds that it was made for, recorded as one node; a list of the results.

        ``watch(number, array_of)`` is called after each operator of the forward pass, with the number of those that ran;
        ``array_of(slot)`` gives any array that has been computed.
        """
        values = self.empty[:]
        for slot, array in zip(self.inputs, arrays, strict=True):
            missed = array._layout.missed
            values[slot] = array._store if missed is None else missed.store_in(self, slot, arrays)
        workspace = self._workspace()
        first = graph.reserve() if hooks.sink is not None else 0
        told = None
        if watch is None:
            told = self._execute(self.forward, values, workspace, (), first)
        else:
            self._execute_watched(watch, values, workspace, first)
        stores = [_own(values[slot], workspace) for slot in self.outputs]
        if told is not None:
            _finish(told, values, self.inputs, arrays, zip(self.outputs, stores, strict=True))
        if not any(self.entries):
            self._give_back(workspace)
            return [wrap(store, self.ctx) for store in stores]
        kept = _Run(arrays, values, workspace, first)
        entries = tuple([None if there is None else array._entry for there, array in zip(self.reached, arrays, strict=True)])
        node = ProgramNode(functools.partial(self._send_back, kept), entries, len(stores), self.ctx, self.part,
                           functools.partial(self._release, kept))
        return [wrap(store, self.ctx, entry and (node, place))
                for place, (store, entry) in enumerate(zip(stores, self.entries, strict=True))]

    def _execute_watched(self, watch: Watch, values: Slots, workspace: Workspace, first: int) -> None:
        """Run the forward pass one operator at a time, so that ``watch`` runs where user code does."""
        state, told = hooks.state, _Link()
        before = state.recording, state.layer
        state.recording = False
        try:
            for number, instruction in enumerate(self.forward.instructions, 1):
                state.layer = instruction.layer
                try:
                    if hooks.sink is None:
                        hooks.ignore_fp_errors(_run_special, instruction, values, workspace, ())
                    else:
                        hooks.ignore_fp_errors(_run_told, instruction, hooks.sink.op, values, workspace, (), first, told)
                except KERNEL_ERRORS as error:
                    raise self._named(instruction.place, values, error) from error
                watch(number, lambda slot: wrap(_own(values[slot], workspace), self.ctx))
        finally:
            state.recording, state.layer = before
        for instruction in self.forward.instructions:
            for slot in instruction.spent:
                values[slot] = None

    def _send_back(self, kept: _Run, given: Sequence[ArrayObject | None], buffers: Buffers, retain: bool,
                   held: Sequence[ArrayObject | None], loans: Loans) -> list[ArrayObject | None]:
        """Gradients of the inputs, from those of the results.

        They may be written to ``buffers``; ``held`` are those at the inputs already, which they add to; ``loans`` says which
        may stay in the workspace until the backward pass is over.
        """
        if kept.values is None:
            raise GradientError("This graph was already used for a backward pass, and its saved arrays are gone.",
                                hint="call backward(retain_graph=True) the first time.")
        backward = None
        if not hooks.state.recording:
            key = tuple([None if gradient is None else gradient._layout for gradient in (*given, *held)])
            backward = self._passes.get(key)
            if backward is None:
                backward = self._passes[key] = self._backward_from(_Arrived(*[
                    tuple([None if gradient is None else (gradient.stype, gradient._store.dtype) for gradient in group])
                    for group in (given, held)]))
        made = (self._send_back_recorded(kept, given, held) if backward is None
                else self._send_back_through(backward, kept, (*given, *held), buffers, retain, loans))
        if not retain:
            self._release(kept, loans)
        return made

    def _send_back_through(self, backward: _Pass, kept: _Run, given: Sequence[ArrayObject | None], buffers: Buffers,
                           retain: bool, loans: Loans) -> list[ArrayObject | None]:
        """The same by a backward pass of the program."""
        values, kept.workspace.lent = kept.values[:] if retain else kept.values, loans.arrays
        if len(values) < len(self.empty):
            values += self.empty[len(values):]
        for head, gradient in zip(backward.heads, given, strict=True):
            if head is not None and gradient is not None:
                values[head.slot] = gradient._store
        told = self._execute(backward, values, kept.workspace, buffers, kept.first)
        with device.current(self.ctx):
            made = [None if slot is None else buffer if buffer is not None and values[slot] is buffer._store
                    else wrap(self._gradient(slot, backward, values, kept.workspace, loans if to_program else None), self.ctx)
                    for slot, buffer, to_program in zip(backward.gradients, buffers, loans.takers, strict=True)]
        if told is not None:
            found = zip(backward.gradients, made, strict=True)
            _finish(told, values, (), (), [(slot, gradient._store) for slot, gradient in found
                                           if slot is not None and gradient is not None])
        return made

    def _gradient(self, slot: int, backward: _Pass, values: Slots, workspace: Workspace, loans: Loans | None) -> Store:
        """The gradient in a slot, in memory of its own, or of a graph that lends it."""
        store = values[slot]
        if store is None:  # it is still in the table
            given: Store = workspace.tables[backward].take(slot)
            return given
        if loans is not None and workspace.replays and slot not in self._foreign:
            loans.lend(store, parts_of(store))
            lent: Store = store
            return lent
        copied: Store = store.copy() if slot in self._foreign else _own(store, workspace)
        return copied

    def _backward_from(self, arrived: _Arrived) -> _Pass | None:
        """The backward pass from these gradients; None if it reads values, or what the forward pass does not leave."""
        if arrived not in self.passes:
            with self._lock:
                if arrived not in self.passes:
                    self.passes[arrived] = self._found(arrived)
        return self.passes[arrived]

    def _found(self, arrived: _Arrived) -> _Pass | None:
        try:
            made = self._backward(arrived)
        except TracingError:
            return None
        return None if _read(made.instructions) & self._gone else made

    def _send_back_recorded(self, kept: _Run, given: Sequence[ArrayObject | None], held: Sequence[ArrayObject | None]
                            ) -> list[ArrayObject | None]:
        """The same one operator at a time, recorded anew as the trace was, so that the gradients have gradients."""
        traced = [entry[0] for entry in self.entries if entry]
        if any(node.function is not None for node in graph.order(traced)[0]):
            raise GradientError("A hybridized block that calls an autograd.Function gives no gradients of gradients.",
                                hint="leave out hybridize() for the block that calls it.")
        nodes = {place: node for node, place in _links(self.steps, traced).items() if node is not None}
        values: list[Any] = [None] * len(self.empty)  # Any: an array once there is one
        for slot in self.tracer.constants:
            values[slot] = wrap(self.empty[slot], self.ctx)
        for slot, array in zip(self.inputs, kept.arrays, strict=True):
            values[slot] = array
        before, hooks.state.recording = hooks.state.recording, True
        try:
            for number, instruction in enumerate(self.forward.instructions):
                call = instruction.plan.call
                sources = nodes[number].inputs if number in nodes else [None] * len(instruction.places)
                inputs = tuple([values[slot] if source is not None else wrap(values[slot]._store, self.ctx)
                                for slot, source in zip(instruction.places, sources, strict=True)])
                if instruction.unrepeatable:
                    results = [_own(kept.values[slot], kept.workspace) for slot in instruction.outputs]
                    made = recorded(call, inputs, results, self.ctx)
                else:
                    made = invoke(call, inputs, ctx=self.ctx)
                for slot, array in zip(instruction.outputs, made if isinstance(made, list) else [made], strict=False):
                    values[slot] = array
        finally:
            hooks.state.recording = before
        heads = [*[values[slot]._entry for slot in self.outputs], *[array._entry for array in kept.arrays]]
        pairs = [(entry, gradient) for entry, gradient in zip(heads, (*given, *held), strict=False)
                 if entry is not None and gradient is not None]
        wanted = [None if there is None else array._entry for there, array in zip(self.reached, kept.arrays, strict=True)]
        found = graph.backward([entry for entry, _ in pairs], [gradient for _, gradient in pairs], self.F, wrap, True,
                               [entry for entry in wanted if entry is not None])
        return [entry and found.get(entry) for entry in wanted]

    def _workspace(self) -> Workspace:
        """Memory for one run."""
        try:
            return self.workspaces.pop()
        except IndexError:
            return Workspace(self.ctx)

    def explained(self) -> list[dict[str, str]]:
        """For each operator: the pass, and why it runs by itself; ``""`` if a table or a captured graph does it."""
        against = switched_off(self.ctx.device_type)
        passes = [one for one in dict.fromkeys((self.forward, *self.passes.values())) if one is not None]
        return [{"pass": one.name, "op": step.plan.call.op.label, "reason": against or reason}
                for one in passes for step, reason in zip(one.instructions, self._reasons(one), strict=True)]

    def _reasons(self, one: _Pass) -> list[str]:
        """Why each operator of a pass runs by itself."""
        waiting = NOT_YET
        if self.ctx.device_type == "gpu":
            replay = next((workspace.replays[one] for workspace in reversed(self.workspaces) if one in workspace.replays), None)
            if replay is not None:
                return replay.how()
        else:
            if one.lowered is not None:
                return one.lowered.reasons
            waiting = f"a table is made when it has run {BEFORE_LOWERING} times"
        return [waiting] * len(one.instructions)

    def _release(self, kept: _Run, loans: Loans | None = None) -> None:
        """Give up what one run keeps for its backward pass; memory of graphs, when the pass that may read it is over."""
        if kept.values is not None:
            kept.values = kept.arrays = None
            if loans is not None and kept.workspace.replays:
                loans.ends.append(functools.partial(self._give_back, kept.workspace))
            else:
                self._give_back(kept.workspace)

    def _give_back(self, workspace: Workspace) -> None:
        if hooks.sink is not None:
            for table in workspace.tables.values():
                table.released(hooks.sink)
        if len(self.workspaces) < FRAMES:
            workspace.again, workspace.lent = True, {}
            self.workspaces.append(workspace)

    def _execute(self, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers, first: int) -> TimedRows | None:
        """Run a pass; gives what is left to tell a recorder, if it ran by a table."""
        if (sink := hooks.sink) is not None:
            return self._execute_told(sink.op, one, values, workspace, buffers, first)
        if self.ctx.device_type == "gpu" and config.cuda_graphs:
            hooks.ignore_fp_errors(self._replay, self._replay_of(one, workspace), values, workspace, buffers)
        elif self.ctx.device_type == "gpu" or not config.tables:
            with device.current(self.ctx):
                hooks.ignore_fp_errors(self._loop, one.code, values, workspace, buffers)
        elif (table := workspace.tables.get(one)) is not None:
            self._run_table(table, one, values, workspace, buffers)
        elif not self._lowers(one, workspace):
            hooks.ignore_fp_errors(self._loop, one.code, values, workspace, buffers)
        else:
            if one.lowered is None:
                examples = values[:]  # the table's exits need an example of each result
                hooks.ignore_fp_errors(self._loop_keeping, one, examples, workspace, buffers)
                values[:] = examples
            else:
                hooks.ignore_fp_errors(self._loop, one.code, values, workspace, buffers)
            self._have_table(one, values, workspace, buffers)
        return None

    def _execute_told(self, op: Told, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers, first: int
                      ) -> TimedRows | None:
        """The same under a profiler."""
        tables = self.ctx.device_type != "gpu" and config.tables
        if tables and (table := workspace.tables.get(one)) is not None and load(f"{_TABLE}.timed").clock() is not None:
            told = self._timed(table, one, first)
            if hooks.ignore_fp_errors(self._run_table_told, table, told, op, one, values, workspace, buffers, first):
                return told
        lowers = tables and one not in workspace.tables and self._lowers(one, workspace)
        hooks.ignore_fp_errors(self._loop_told, op, one, values, workspace, buffers, first, lowers and one.lowered is None)
        if lowers:
            start = _clock()
            self._have_table(one, values, workspace, buffers)
            if hooks.sink is not None:
                hooks.sink.span("lower to a table", "compile", start, _clock(), {"pass": one.name})
        return None

    def _lowers(self, one: _Pass, workspace: Workspace) -> bool:
        """Whether a pass has run often enough for a table, here too.

        Of many runs that are alive at once, most have a workspace that serves once; a table would not earn the time of making it.
        """
        if one.runs < BEFORE_LOWERING or not workspace.again or switched_off("cpu"):
            one.runs += 1
            return False
        return True

    def _have_table(self, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Make the table of a pass, which has run on these stores and, if it is the first, released none."""
        if one.lowered is None:
            one.lowered = self._lowered(one, values, buffers)
            one.targets = [(slot, one.gradients.index(slot), like) for slot, like in one.lowered.targets.items()]
        for instruction in one.instructions:  # memory that only Python used
            if instruction.buffer is not None:
                workspace.memory.pop(instruction.buffer, None)
        workspace.tables[one] = load(f"{_TABLE}.table").Table(one.lowered)

    def _timed(self, table: Table, one: _Pass, first: int) -> TimedRows:
        """The rows of a pass that tell a recorder of a run."""
        if one.account is None:
            assert one.lowered is not None, "there is a table of it"
            module = load(f"{_TABLE}.timed")
            one.account = module.Account(one.lowered, [module.Place("", step.layer, step.link) for step in one.instructions])
        timed = table.timed(one.account)
        timed.start(one.account.events, first)
        return timed

    def _run_table_told(self, table: Table, told: TimedRows, op: Told, one: _Pass, values: Slots, workspace: Workspace,
                        buffers: Buffers, first: int) -> bool:
        """Run a pass by its table under the profiler; False if its arrays do not fit."""
        at, link = -1, _Link()

        def execute(number: int, values: Slots) -> None:
            nonlocal at
            instruction = one.instructions[number]
            at, hooks.state.layer = instruction.place, instruction.layer
            _run_told(instruction, op, values, workspace, buffers, first, link)
            for slot in instruction.spent:
                values[slot] = None

        self._aim(one, values, buffers)
        with self._told_place(one, first, link):
            try:
                return table.run(values, execute, told)
            except KERNEL_ERRORS as error:
                raise self._named(at, values, error) from error

    def _lowered(self, one: _Pass, examples: Slots, buffers: Buffers) -> Lowered:
        """The rows of a pass, which write gradients to the buffers that there are."""
        module = load(f"{_TABLE}.table")
        steps = [module.Step(step.plan, step.places, step.outputs, step.specs, step.reason_apart(self.ctx))
                 for step in one.instructions]
        made = {slot for step in one.instructions for slot in step.outputs}
        kept = made - self._gone if one is self.forward else {slot for slot in one.gradients if slot is not None}
        targets = [slot for slot, buffer in zip(one.gradients, buffers, strict=False)
                   if slot in made and buffer is not None and isinstance(buffer._store, np.ndarray)
                   and isinstance(examples[slot], np.ndarray) and one.gradients.count(slot) == 1]
        sparse = {slot for slot in made.intersection(kept) if one is not self.forward and one.gradients.count(slot) == 1
                  and not isinstance(examples[slot], np.ndarray)}
        found: Lowered = module.Lowered(steps, examples, set(self.tracer.constants), kept, targets=targets, handed=sparse)
        return found

    def _aim(self, one: _Pass, values: Slots, buffers: Buffers) -> None:
        """Have the arrays at hand that the table of a pass writes gradients to: their buffers if they fit, else new ones."""
        for slot, number, like in one.targets:
            buffer = buffers[number] if buffers else None
            store = None if buffer is None else buffer._store
            fitting = isinstance(store, np.ndarray) and store.dtype == like.dtype
            values[slot] = store if fitting else np.empty(like.shape, like.dtype)

    def _loop_keeping(self, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Run a pass in Python, and leave an example of each store that nothing reads afterwards."""
        at = -1
        try:
            for instruction in one.instructions:
                at = instruction.place
                _run_special(instruction, values, workspace, buffers)
                for slot in instruction.spent:
                    values[slot] = _example_of(values[slot])
        except KERNEL_ERRORS as error:
            raise self._named(at, values, error) from error

    def _run_table(self, table: Table, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Run a pass by its table."""
        if one.targets:
            self._aim(one, values, buffers)
        place = table.begin_on(values)
        if place == table.end:
            table.finish(values)
        elif place < 0:
            hooks.ignore_fp_errors(self._loop, one.code, values, workspace, buffers)
        else:
            hooks.ignore_fp_errors(self._go_on, table, place, one, values, workspace, buffers)

    def _go_on(self, table: Table, place: int, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Have Python run the operators of a pass that its table does not."""
        at = -1

        def execute(number: int, values: Slots) -> None:
            nonlocal at
            at = one.instructions[number].place
            _run_step(one.instructions[number], values, workspace, buffers)

        try:
            table.go_on(place, values, execute)
        except KERNEL_ERRORS as error:
            raise self._named(at, values, error) from error

    def _replay_of(self, one: _Pass, workspace: Workspace) -> Replay:
        if one not in workspace.replays:
            whole = self.whole.instructions if self.whole else []
            read = {head.slot for head in one.heads if head} | {slot for slot in one.gradients if slot is not None}
            workspace.replays[one] = Replay(one.instructions, [*self.forward.instructions, *whole, *one.instructions],
                                        self._kept | read, self.ctx, self._verdicts, _run_step, _numbered(one.gradients))
        return workspace.replays[one]

    def _loop(self, code: list[Code], values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        place = -1
        try:
            for function, arguments, place, special in code:
                if special is None:
                    values[place] = function(*arguments(values))
                else:
                    _run_step(special, values, workspace, buffers)
        except KERNEL_ERRORS as error:
            raise self._named(place, values, error) from error

    def _replay(self, replay: Replay, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        try:
            replay.run(values, workspace, buffers)
        except KERNEL_ERRORS as error:
            raise self._named(replay.at, values, error) from error

    def _loop_told(self, op: Told, one: _Pass, values: Slots, workspace: Workspace, buffers: Buffers,
                   first: int, keeping: bool = False) -> None:
        """The same under the profiler: every operator is an event, on the line that called the program."""
        state, at, told = hooks.state, -1, _Link()
        with self._told_place(one, first, told):
            try:
                for instruction in one.instructions:
                    at, state.layer = instruction.place, instruction.layer
                    _run_told(instruction, op, values, workspace, buffers, first, told)
                    for slot in instruction.spent:
                        values[slot] = _example_of(values[slot]) if keeping else None
            except KERNEL_ERRORS as error:
                raise self._named(at, values, error) from error

    def _told_place(self, one: _Pass, first: int, told: _Link) -> _ToldPlace:
        """Where the operators of a pass belong, and what is done with its results."""
        if one is self.forward:
            return _ToldPlace(None, told)
        return _ToldPlace((one.last[0], first + one.last[1]) if first and one.last[1] >= 0 else ("", 0), told)

    def _named(self, place: int, values: Slots, error: Exception) -> Exception:
        passes = (self.forward, *self.passes.values())
        instruction = next((step for one in passes if one for step in one.instructions if step.place == place), None)
        if instruction is None:  # between operators, where a signal's handler may raise anything
            return error
        return named_error(instruction.plan.call, [values[slot] for slot in instruction.places], error)


def _planned(plan: Plan, training: bool) -> Plan:
    """The plan, whose kernel runs in the mode in which it was traced, if that is not the one in which the program was made."""
    if training is hooks.state.training:
        return plan
    plan.ufunc, plan.training = "", training
    return plan.with_function(_in_mode(plan.function, training))


def _in_mode(function: Callable[P, T], training: bool) -> Callable[P, T]:
    """A kernel that runs as in training, or as in prediction."""

    def run(*arguments: P.args, **more: P.kwargs) -> T:
        before, hooks.state.training = hooks.state.training, training
        try:
            return function(*arguments, **more)
        finally:
            hooks.state.training = before

    return run


def _run_special(instruction: _Instruction, values: Slots, workspace: Workspace, buffers: Buffers,
                 link: Numbered | None = None) -> None:
    """Run an instruction that is more than a call of its kernel."""
    plan, stores, out = instruction.plan, [values[slot] for slot in instruction.places], None
    if instruction.general:
        made = run(plan, tuple(stores), None, link)
        for slot, store in zip(instruction.outputs, made if isinstance(made, tuple) else (made,), strict=True):
            values[slot] = store
        return
    if instruction.buffer is not None:
        out = workspace.room(instruction.buffer, instruction.specs[0], plan.k.xp)
    elif instruction.target is not None and instruction.target < len(buffers) and (
            buffer := buffers[instruction.target]) is not None and graph.is_written(buffer):
        out = buffer._store
        if not fits(out, plan, stores):
            out = None
    values[instruction.place] = compute(plan, stores, out)


def _run_told(instruction: _Instruction, op: Told, values: Slots, workspace: Workspace, buffers: Buffers, first: int,
              told: _Link) -> None:
    """Run any instruction, and report it by ``op``, tied to the operator whose gradient it is."""
    plan, places, link = instruction.plan, instruction.places, None
    if instruction.link >= 0 and first:
        link, told.id = told, first + instruction.link
    if instruction.general:
        _run_special(instruction, values, workspace, buffers, link)
        return
    stores = tuple([values[slot] for slot in places])
    start = _clock()
    if instruction.buffer is None and instruction.target is None:
        values[instruction.place] = compute(plan, stores)
    else:
        _run_special(instruction, values, workspace, buffers)
    op(plan, start, _clock(), stores, (values[instruction.place],), link)


def _finish(told: TimedRows, values: Slots, slots: Sequence[int], arrays: Sequence[ArrayObject],
            results: Iterable[tuple[int, Store]]) -> None:
    """Tell a recorder the rest of a table's run, whose ``results`` are those that left it."""
    recipes = told.account.recipes
    left = {slot: store for slot, store in results if slot in recipes and store is not values[slot]}
    told.finish(values, slots, arrays, [(slot, values[slot]) for slot in told.account.results if slot not in left],
                tuple(left), tuple(left.values()))


def _run_step(instruction: _Instruction, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
    """Run any instruction, and forget what nothing reads afterwards."""
    _run_special(instruction, values, workspace, buffers)
    for slot in instruction.spent:
        values[slot] = None


def _example_of(store: Store) -> Store:
    """A store of the same kind, types and sizes, without memory for its elements."""
    parts = [np.broadcast_to(np.zeros((), part.dtype), part.shape) if isinstance(part, np.ndarray) else part
             for part in parts_of(store)]
    made: Store = rebuilt(store, parts)
    return made


def _own(store: Store, workspace: Workspace) -> Store:
    """The store, copied if it lies in memory that the next run uses."""
    if workspace.replays:
        if any(map(workspace.keeps, parts_of(store))):
            with parts_of(store)[0].device:  # cupy's, on a GPU
                return copied(store)
        return store
    if isinstance(store, np.ndarray):
        return copied_from_table(store) if store.base is not None and workspace.keeps(store) else store
    return copied(store) if any(map(workspace.keeps, parts_of(store))) else store


def copied_from_table(store: Store) -> Store:
    """A copy of a store that lies in memory of a table, for which ``why_dense()`` has the same answer."""
    made = store.copy()
    if hooks.made and isinstance(store, np.ndarray) and isinstance(made, np.ndarray):
        hooks.flowed(store, made)
    return made


def _numbered(gradients: Sequence[int | None]) -> dict[int, int]:
    """For each slot that is the gradient of one input, the number of that."""
    return {slot: number for number, slot in enumerate(gradients) if slot is not None and gradients.count(slot) == 1}


def _give_targets(instructions: list[_Instruction], gradients: Sequence[int | None]) -> None:
    """Note which instruction may write into the gradient buffer of an input."""
    number_of, read = _numbered(gradients), _read(instructions)
    for instruction in instructions:
        number = number_of.get(instruction.place)
        if number is not None and instruction.plan.takes_out and not instruction.general and instruction.place not in read:
            instruction.target = number


def _links(steps: list[Step], heads: Iterable[Node]) -> dict[Node | None, int]:
    """The place of the step that each recorded node is: a node has its number just before its step."""
    numbers = [step.number for step in steps]
    return {node: bisect.bisect(numbers, node.id) for node in graph.order(heads)[0] if node.call is not None}


def _read(instructions: Iterable[_Instruction]) -> set[int]:
    """The slots that instructions read."""
    return {slot for instruction in instructions for slot in instruction.places}


def _mark_spent(instructions: list[_Instruction], kept: set[int]) -> None:
    """Note after which instruction nothing reads a large store any more."""
    seen = set(kept)
    large = {spec.slot for instruction in instructions for spec in instruction.specs
             if spec.stype != "default" or spec.nbytes >= LARGE}
    for instruction in reversed(instructions):
        last = {slot for slot in (*instruction.places, *instruction.outputs) if slot in large and slot not in seen}
        instruction.spent = tuple(sorted(last))
        seen |= last
