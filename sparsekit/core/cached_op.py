"""What a function of arrays computes, as programs: it is traced once, and runs as one operator of the graph from then on.

MXNet calls it a cached operator.  Every operator in it is still an event of its own for the profiler.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.config import config
from ..base.errors import GradientError
from ..base.faults import is_a_handlers
from ..base.forking import load
from . import device, graph, hooks
from .apart import NOT_YET, switched_off
from .arrays import wrap
from .cuda_graphs import Replay
from .dispatch import KERNEL_ERRORS, invoke, recorded
from .graph import ProgramNode
from .program import Program, ToldPlace, go_on, numbered, run_in_python
from .spec import Spec
from .trace import TRACE, Step, Tracer, TracingError
from .workspace import Workspace, copied, parts_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..base.types import DType
    from ..storage.types import Store
    from .graph import Loans
    from .program import Told
    from .table.table import Lowered, Table
    from .table.timed import TimedRows
    from .types import ArrayFunctions, ArrayObject, Entry, Slots
    from .workspace import Buffers

_clock = time.perf_counter_ns

#: Package of the tables, which is imported when a program has run often enough.
_TABLE = "sparsekit.core.table"

#: Runs whose memory is kept.
FRAMES = 4

#: Runs in Python before a pass is lowered to a table: one that runs once or twice would not earn the time of that.
BEFORE_LOWERING = 2


class _Backward(NamedTuple):
    """A backward pass.

    Attributes
    ----------
    program : Program
    heads : list of int or None
        Slot of the gradient at each result, and at each input; None where no gradient arrives.
    last : tuple of (str, int)
        Layer and number of the operator that ran first, whose gradient is computed last.
    """

    program: Program
    heads: list[int | None]
    last: tuple[str, int]


def kinds_of(arrays: Iterable[ArrayObject]) -> tuple[Hashable, ...]:
    """What a program depends on of each array: its layout, and whether and where its gradient goes."""
    recording = hooks.state.recording
    kinds: list[Hashable] = []
    for array in arrays:
        entry = array._entry
        if entry is None or not recording:
            kinds.append(array._layout)
        else:
            gradient = entry[0].grad
            kinds.append((array._layout, "" if gradient is None else gradient.stype))
    return tuple(kinds)


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


class CachedOp:
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
    forward : Program
    whole : _Backward or None
        The backward pass from dense gradients at all results.
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
        self.steps = tracer.steps
        self.workspaces: list[Workspace] = []
        self.passes: dict[_Arrived, _Backward | None] = {}
        #: The same by the layouts of the gradients.  Any: layouts, which are found by identity, or None
        self._passes: dict[tuple[Any, ...], _Backward | None] = {}
        self._lock = threading.Lock()
        seen = {*self.outputs, *self.inputs}
        #: Stores that a gradient must not be, since others have them.
        self._foreign = {*self.inputs, *tracer.constants}
        self.whole: _Backward | None = None
        self.error: Exception | None = None
        if any(self.entries):
            seen.update(*[step.outputs for step in self.steps if _is_unrepeatable(step)])
            arrived = _Arrived(tuple([entry and ("default", spec.dtype)
                                      for entry, spec in zip(self.entries, self.specs, strict=True)]))
            try:
                self.whole = self.passes[arrived] = self._backward(arrived)
            except Exception as error:  # of no harm to those who ask for no gradient, or for another
                rules = [step.call.op.gradient_function for step in self.steps]
                if is_a_handlers(error, [rule for rule in rules if rule is not None]):
                    raise
                self.error = error.with_traceback(None)
                seen.update(*[step.outputs for step in self.steps])
        kept = seen | (self.whole.program.read if self.whole else set())
        self.forward = self._have_room(Program("forward", self.ctx, self.steps, tracer.specs, seen, kept))
        self._gone = self.forward.written - kept
        self.reached = self.whole.program.gradients if self.whole else tracer.buffers

    def _backward(self, arrived: _Arrived) -> _Backward:
        """The backward pass from the gradients that arrive."""
        tracer = self.tracer
        with tracer.at_work():
            heads = [kind and tracer.abstract_store(Spec(spec.shape, kind[1], kind[0]))
                     for spec, kind in zip(self.specs, arrived.heads, strict=True)]
            held = [kind and tracer.abstract_store(Spec(array.shape, kind[1], kind[0]))
                    for array, kind in zip(tracer.arrays, arrived.held, strict=False)]
            pairs = [(entry, wrap(head, TRACE)) for entry, head in
                     zip((*self.entries, *[array._entry for array in tracer.arrays]), (*heads, *held), strict=False)
                     if entry and head]
            steps, gradients, last = traced_gradients(tracer, pairs, self.F)
        wanted = {slot for slot in gradients if slot is not None}
        program = self._have_room(Program("backward", self.ctx, steps, tracer.specs, wanted, wanted, gradients))
        return _Backward(program, [None if head is None else head.slot for head in (*heads, *held)], last)

    def _have_room(self, program: Program) -> Program:
        """Have room and constants for what was traced last."""
        self.empty = self.empty + [None] * (len(self.tracer.specs) - len(self.empty))
        for slot, store in self.tracer.constants.items():
            if self.empty[slot] is None:
                self.empty[slot] = device.onto(store, self.ctx)
        return program

    # running

    def __call__(self, arrays: Sequence[ArrayObject]) -> list[ArrayObject]:
        """Run it on arrays of the kinds that it was made for, recorded as one node; a list of the results."""
        values, sources = self.empty[:], []
        for slot, array, gradient in zip(self.inputs, arrays, self.reached, strict=True):
            missed = array._layout.missed
            values[slot] = array._store if missed is None else missed.store_in(self, slot, arrays)
            sources.append(None if gradient is None else array._entry)
        try:
            workspace = self.workspaces.pop()
        except IndexError:
            workspace = Workspace(self.ctx)
        rows, first = None, 0
        if hooks.sink is None:
            self._execute(self.forward, values, workspace, ())
        else:
            first = graph.reserve()
            rows = self._execute_told(self.forward, None, values, workspace, (), first)
        node = ProgramNode(self, sources, len(self.outputs), arrays, values, workspace, first) if any(self.entries) else None
        results: list[ArrayObject] = []
        for slot, entry in zip(self.outputs, self.entries, strict=True):
            place = None if node is None or entry is None else (node, len(results))
            results.append(wrap(_own(values[slot], workspace), self.ctx, place))
        if rows is not None:
            _finish(rows, values, self.inputs, arrays, [(slot, result._store)
                                                        for slot, result in zip(self.outputs, results, strict=True)])
        if node is None:
            self._give_back(workspace)
        return results

    def send_back(self, node: ProgramNode, gradients: Sequence[ArrayObject | None], buffers: Buffers, retain: bool,
                   held: Sequence[ArrayObject | None], loans: Loans) -> list[ArrayObject | None]:
        """Gradients of the inputs, from those of the results.

        They may be written to ``buffers``; ``held`` are those at the inputs already, which they add to; ``loans`` says which
        may stay in the workspace until the backward pass is over.
        """
        if node.stores is None:
            raise GradientError("This graph was already used for a backward pass, and its saved arrays are gone.",
                                hint="call backward(retain_graph=True) the first time.")
        backward, arrived = None, (*gradients, *held)
        if not hooks.state.recording:
            key = tuple([None if gradient is None else gradient._layout for gradient in arrived])
            backward = self._passes.get(key)
            if backward is None:
                backward = self._passes[key] = self._backward_from(_Arrived(*[
                    tuple([None if gradient is None else (gradient.stype, gradient._store.dtype) for gradient in group])
                    for group in (gradients, held)]))
        input_gradients = (self._send_back_recorded(node, gradients, held) if backward is None
                           else self._send_back_through(backward, node, arrived, buffers, retain, loans))
        if not retain:
            self.release(node, loans)
        return input_gradients

    def _send_back_through(self, backward: _Backward, node: ProgramNode, gradients: Sequence[ArrayObject | None],
                           buffers: Buffers, retain: bool, loans: Loans) -> list[ArrayObject | None]:
        """The same by a backward pass of the program."""
        values, workspace = node.stores[:] if retain else node.stores, node.workspace
        workspace.lent = loans.arrays
        if len(values) < len(self.empty):
            values += self.empty[len(values):]
        for head, gradient in zip(backward.heads, gradients, strict=True):
            if head is not None and gradient is not None:
                values[head] = gradient._store
        program, rows = backward.program, None
        if hooks.sink is None:
            self._execute(program, values, workspace, buffers)
        else:
            rows = self._execute_told(program, backward.last, values, workspace, buffers, node.first)
        input_gradients: list[ArrayObject | None] = []
        for slot, buffer, entry in zip(program.gradients, buffers, loans.entries, strict=True):
            if slot is None:
                input_gradients.append(None)
            elif buffer is not None and values[slot] is buffer._store:
                input_gradients.append(buffer)
            else:
                input_gradients.append(wrap(self._gradient(slot, program, values, workspace, loans, entry), self.ctx))
        if rows is not None:
            pairs = zip(program.gradients, input_gradients, strict=True)
            _finish(rows, values, (), (), [(slot, gradient._store) for slot, gradient in pairs
                                           if slot is not None and gradient is not None])
        return input_gradients

    def _gradient(self, slot: int, backward: Program, values: Slots, workspace: Workspace, loans: Loans,
                  entry: Entry | None) -> Store:
        """The gradient in a slot, in memory of its own, or of a graph that lends it to the program that it goes to."""
        store = values[slot]
        if store is None:  # it is still in the table
            taken: Store = workspace.tables[backward].take(slot)
            return taken
        if workspace.replays and entry is not None and isinstance(entry[0], ProgramNode) and slot not in self._foreign:
            loans.lend(store, parts_of(store))
            lent: Store = store
            return lent
        with device.current(self.ctx):
            copied: Store = store.copy() if slot in self._foreign else _own(store, workspace)
            return copied

    def _backward_from(self, arrived: _Arrived) -> _Backward | None:
        """The backward pass from these gradients; None if it reads values, or what the forward pass does not leave."""
        if arrived not in self.passes:
            with self._lock:
                if arrived not in self.passes:
                    self.passes[arrived] = self._found(arrived)
        return self.passes[arrived]

    def _found(self, arrived: _Arrived) -> _Backward | None:
        try:
            backward = self._backward(arrived)
        except TracingError:
            return None
        return None if backward.program.read & self._gone else backward

    def _send_back_recorded(self, node: ProgramNode, gradients: Sequence[ArrayObject | None], held: Sequence[ArrayObject | None]
                            ) -> list[ArrayObject | None]:
        """The same one operator at a time, recorded anew as the trace was, so that the gradients have gradients."""
        traced = [entry[0] for entry in self.entries if entry]
        if any(node.function is not None for node in graph.order(traced)[0]):
            raise GradientError("A hybridized block that calls an autograd.Function gives no gradients of gradients.",
                                hint="leave out hybridize() for the block that calls it.")
        nodes = {self.tracer.step_of(node): node for node in graph.order(traced)[0] if node.call is not None}
        values: list[Any] = [None] * len(self.empty)  # Any: an array once there is one
        for slot in self.tracer.constants:
            values[slot] = wrap(self.empty[slot], self.ctx)
        for slot, array in zip(self.inputs, node.arrays, strict=True):
            values[slot] = array
        before = hooks.state.recording
        try:
            hooks.state.recording = True
            for number, step in enumerate(self.steps):
                call = step.call
                sources = nodes[number].inputs if number in nodes else [None] * len(step.inputs)
                inputs = tuple([values[slot] if source is not None else wrap(values[slot]._store, self.ctx)
                                for slot, source in zip(step.inputs, sources, strict=True)])
                if _is_unrepeatable(step):
                    results = [_own(node.stores[slot], node.workspace) for slot in step.outputs]
                    result = recorded(call, inputs, results, self.ctx)
                else:
                    result = invoke(call, inputs, ctx=self.ctx)
                for slot, array in zip(step.outputs, result if isinstance(result, list) else [result], strict=False):
                    values[slot] = array
        finally:
            hooks.state.recording = before
        heads = [*[values[slot]._entry for slot in self.outputs], *[array._entry for array in node.arrays]]
        pairs = [(entry, gradient) for entry, gradient in zip(heads, (*gradients, *held), strict=False)
                 if entry is not None and gradient is not None]
        wanted = [None if there is None else array._entry for there, array in zip(self.reached, node.arrays, strict=True)]
        input_gradients = graph.backward([entry for entry, _ in pairs], [gradient for _, gradient in pairs], self.F, wrap, True,
                                         [entry for entry in wanted if entry is not None])
        return [entry and input_gradients.get(entry) for entry in wanted]

    def explained(self) -> list[dict[str, str]]:
        """For each operator: the pass, and why it runs by itself; ``""`` if a table or a captured graph does it."""
        against = switched_off(self.ctx.device_type)
        programs = dict.fromkeys((self.forward, *[backward.program for backward in self.passes.values() if backward is not None]))
        return [{"pass": program.name, "op": step.call.op.label, "reason": against or reason}
                for program in programs for step, reason in zip(program.steps, self._reasons(program), strict=True)]

    def _reasons(self, program: Program) -> list[str]:
        """Why each operator of a pass runs by itself."""
        waiting = NOT_YET
        if self.ctx.device_type == "gpu":
            replay = next((workspace.replays[program] for workspace in reversed(self.workspaces)
                           if program in workspace.replays), None)
            if replay is not None:
                return replay.how()
        else:
            if program.lowered is not None:
                return program.lowered.reasons
            waiting = f"a table is made when it has run {BEFORE_LOWERING} times"
        return [waiting] * len(program.steps)

    def release(self, node: ProgramNode, loans: Loans | None = None) -> None:
        """Give up what one run keeps for its backward pass; memory of graphs, when the pass that may read it is over."""
        if node.stores is not None:
            node.stores = node.arrays = None
            if loans is not None and node.workspace.replays:
                loans.ends.append(functools.partial(self._give_back, node.workspace))
            else:
                self._give_back(node.workspace)

    def _give_back(self, workspace: Workspace) -> None:
        if hooks.sink is not None:
            for table in workspace.tables.values():
                table.released(hooks.sink)
        if len(self.workspaces) < FRAMES:
            workspace.again, workspace.lent = True, {}
            self.workspaces.append(workspace)

    def _execute(self, program: Program, values: Slots, workspace: Workspace, buffers: Buffers, first: int = 0,
                 rows: TimedRows | None = None, told: Told | None = None) -> bool:
        """Run a pass; gives whether it ran by a table.

        Where that tells a recorder, ``told``, it does so by ``rows``; ``first`` is the number of the node of its first operator.
        """
        table = workspace.tables.get(program) if config.tables and (told is None or rows is not None) else None
        if table is not None:
            lowered = table.lowered
            for slot, like in lowered.targets.items():  # gradients go to their buffers if they fit, else to new arrays
                buffer = buffers[program.gradients.index(slot)] if buffers else None
                store = None if buffer is None else buffer._store
                fitting = isinstance(store, np.ndarray) and store.dtype == like.dtype
                values[slot] = store if fitting else np.empty(like.shape, like.dtype)
            place = table.begin(list(lowered.entry.stores_of(values)), rows)
            if place == table.end and rows is None:
                table.finish(values)
                return True
            if place >= 0:
                hooks.ignore_fp_errors(go_on, program, table, place, values, workspace, buffers, rows, told)
                return True
        hooks.ignore_fp_errors(self._run, program, values, workspace, buffers, first, told)
        return False

    def _execute_told(self, program: Program, last: tuple[str, int] | None, values: Slots, workspace: Workspace,
                      buffers: Buffers, first: int) -> TimedRows | None:
        """Run a pass, of which a recorder is told; gives what is left to tell, if it ran by a table.

        ``last`` is as in ``_Backward``, and None for the forward pass.
        """
        sink, rows = hooks.sink, None
        assert sink is not None, "the caller has asked"
        if last is not None:
            last = (last[0], first + last[1]) if first and last[1] >= 0 else ("", 0)
        with ToldPlace(last):
            if config.tables and program in workspace.tables and load(f"{_TABLE}.timed").clock() is not None:
                rows = self._timed(workspace.tables[program], program, first)
            return rows if self._execute(program, values, workspace, buffers, first, rows, sink.op) else None

    def _run(self, program: Program, values: Slots, workspace: Workspace, buffers: Buffers, first: int,
             told: Told | None) -> None:
        """Run a pass by graphs or in Python, and have a table for the next run when it is time for that."""
        if self.ctx.device_type == "gpu":
            if config.cuda_graphs and told is None:
                self._replay(program, values, workspace, buffers)
                return
            with device.current(self.ctx):
                run_in_python(program, values, workspace, buffers, told, first)
            return
        if not config.tables or program in workspace.tables or not self._lowers(program, workspace):
            run_in_python(program, values, workspace, buffers, told, first)
            return
        if program.lowered is None:
            examples = values[:]  # the table's exits need an example of each result
            run_in_python(program, examples, workspace, buffers, told, first, keeping=True)
            values[:] = examples
        else:
            run_in_python(program, values, workspace, buffers, told, first)
        start = _clock()
        self._have_table(program, values, workspace, buffers)
        if hooks.sink is not None:
            hooks.sink.span("lower to a table", "compile", start, _clock(), {"pass": program.name})

    def _replay(self, program: Program, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        if program not in workspace.replays:
            workspace.replays[program] = Replay(program, workspace)
        try:
            workspace.replays[program].run(values, buffers)
        except KERNEL_ERRORS as error:
            raise program.named(workspace.ran, values, error) from error

    def _lowers(self, program: Program, workspace: Workspace) -> bool:
        """Whether a pass has run often enough for a table, here too.

        Of many runs that are alive at once, most have a workspace that serves once; a table would not earn the time of making it.
        """
        if program.runs < BEFORE_LOWERING or not workspace.again or switched_off("cpu"):
            program.runs += 1
            return False
        return True

    def _have_table(self, program: Program, values: Slots, workspace: Workspace, buffers: Buffers) -> None:
        """Make the table of a pass, which has run on these stores and, if it is the first, released none."""
        if program.lowered is None:
            program.lowered = self._lowered(program, values, buffers)
        for slot in program.rooms:  # memory that only Python used
            workspace.memory.pop(slot, None)
        workspace.tables[program] = load(f"{_TABLE}.table").Table(program.lowered)

    def _timed(self, table: Table, program: Program, first: int) -> TimedRows:
        """The rows of a pass that tell a recorder of a run."""
        if program.account is None:
            program.account = load(f"{_TABLE}.timed").Account(program.lowered)
        timed = table.timed(program.account)
        timed.start(program.account.events, first)
        return timed

    def _lowered(self, program: Program, examples: Slots, buffers: Buffers) -> Lowered:
        """The rows of a pass, which write gradients to the buffers that there are."""
        number_of = {slot: number for slot, number in numbered(program.gradients).items() if slot in program.written}
        targets = [slot for slot, number in number_of.items()
                   if number < len(buffers) and (buffer := buffers[number]) is not None
                   and isinstance(buffer._store, np.ndarray) and isinstance(examples[slot], np.ndarray)]
        sparse = {slot for slot in number_of if not isinstance(examples[slot], np.ndarray)}
        lowered: Lowered = load(f"{_TABLE}.table").Lowered(program, examples, set(self.tracer.constants), targets=targets,
                                                           handed=sparse)
        return lowered


def traced_gradients(tracer: Tracer, pairs: Sequence[tuple[Any, ArrayObject]], F: ArrayFunctions  # Any: entries
                     ) -> tuple[list[Step], list[int | None], tuple[str, int]]:
    """Trace a backward pass, while the tracer is at work.

    Parameters
    ----------
    tracer : Tracer
    pairs : sequence of (entry, NDArray)
        The gradient at each entry.
    F : namespace
        Where gradient rules find operators.

    Returns
    -------
    steps : list of Step
    gradients : list of int or None
        Slot of the gradient of each input.
    last : tuple of (str, int)
        As in ``_Backward``.
    """
    forward, tracer.steps = tracer.steps, []
    before = tracer.lane, hooks.state.recording
    for buffer in tracer.buffers:
        if buffer is not None:
            buffer.gradient = buffer.node = None
    try:
        tracer.lane, hooks.state.recording = "backward", False
        tracer.nodes.clear()
        graph.backward([entry for entry, _ in pairs], [head for _, head in pairs], F, wrap, retain=True)
        steps = tracer.steps
    finally:
        tracer.steps = forward
        tracer.lane, hooks.state.recording = before
    nodes = [*tracer.nodes, *[buffer.node for buffer in tracer.buffers if buffer is not None and buffer.node is not None]]
    last = min(nodes, key=lambda node: node.id, default=None)
    return steps, [None if buffer is None or buffer.gradient is None else buffer.gradient._store.slot
                   for buffer in tracer.buffers], (
        ("", -1) if last is None else (last.layer, tracer.step_of(last)))


def _is_unrepeatable(step: Step) -> bool:
    """Whether the same inputs need not give the same again: it may draw random numbers, or writes to its inputs."""
    return bool(step.call.op.draws(step.call.attrs, True) or step.call.op.mutates)


def _finish(told: TimedRows, values: Slots, slots: Sequence[int], arrays: Sequence[ArrayObject],
            results: Iterable[tuple[int, Store]]) -> None:
    """Tell a recorder the rest of a table's run, whose ``results`` are those that left it."""
    recipes = told.account.recipes
    left = {slot: store for slot, store in results if slot in recipes and store is not values[slot]}
    told.finish(values, slots, arrays, [(slot, values[slot]) for slot in told.account.results if slot not in left],
                tuple(left), tuple(left.values()))


def _own(store: Store, workspace: Workspace) -> Store:
    """The store, copied if it lies in memory that the next run uses, or may do so."""
    if workspace.replays:
        if any(map(workspace.keeps, parts_of(store))):
            with parts_of(store)[0].device:  # cupy's, on a GPU
                return copied(store)
        return store
    if isinstance(store, np.ndarray):
        return store if store.base is None else copied_from_table(store)  # a part of other memory, as a table's is
    return copied(store) if any(map(workspace.keeps, parts_of(store))) else store


def copied_from_table(store: Store) -> Store:
    """A copy of a store that lies in memory of a table, for which ``why_dense()`` has the same answer."""
    duplicate = store.copy()
    if hooks.densified and isinstance(store, np.ndarray) and isinstance(duplicate, np.ndarray):
        hooks.flowed(store, duplicate)
    return duplicate
