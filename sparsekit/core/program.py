"""Programs: operators resolved once, and run again and again without looking anything up.

A program is made of what a ``Tracer`` noted, for arrays of given shapes, element types and storage types.  Every
operator in it is still an event of its own for the profiler.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.config import config
from ..base.errors import GradientError
from ..kernels import for_device
from . import device, graph, hooks
from .arrays import wrap
from .dispatch import KERNEL_ERRORS, Plan, fits, invoke, named_error, plan_for, run, written_dense
from .graph import ProgramNode
from .replay import Frame, Replay, copied, parts_of, reason_against
from .spec import Spec
from .trace import TRACE, Outline, Step, Tracer

__all__ = ["Program"]

_clock = time.perf_counter_ns

#: Bytes from which the memory of a result is kept for the next run; below, the allocator does as well.
LARGE = 1 << 16

#: Runs whose memory is kept.
FRAMES = 4


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
        Number of the memory that the kernel writes its result into.
    target : int or None
        Number of the input whose gradient this is, and whose gradient buffer may take the result.
    link : int
        Which of the program's operators this is, or is the gradient of; -1 for none.
    spent : tuple of int
        Slots that nothing reads afterwards.
    """

    __slots__ = ("buffer", "general", "layer", "link", "outputs", "place", "places", "plan", "specs", "spent", "target")

    def __init__(self, step: Step, plan: Plan, link: int) -> None:
        self.plan, self.layer, self.link, self.specs = plan, step.layer, link, step.outputs
        self.places = tuple(store.slot for store in step.inputs)
        self.outputs = tuple(store.slot for store in step.outputs)
        self.place = self.outputs[0] if self.outputs else -1
        self.general = plan.fallback or bool(plan.dense) or plan.cast is not None or plan.call.outputs != 1
        self.buffer: int | None = None
        self.target: int | None = None
        self.spent: tuple[int, ...] = ()

    def code(self) -> tuple[Any, ...]:
        """The instruction as the loop reads it; the last item is itself if a plain call is not enough."""
        plan, places = self.plan, self.places
        direct = getattr(plan.k.xp, plan.ufunc) if plan.ufunc and len(places) == 2 else None
        special = self.general or self.buffer is not None or self.target is not None or self.spent
        return (direct or plan.function, None if direct else plan.k, plan.attrs, len(places), *(*places, -1, -1)[:2], places,
                self.place, self if special else None)


class _Run:
    """The stores of one run, kept for its backward pass."""

    __slots__ = ("arrays", "first", "frame", "values")

    def __init__(self, arrays: Sequence[Any], values: list[Any], frame: Frame, first: int) -> None:
        self.arrays: Any = arrays
        self.values: Any = values
        self.frame, self.first = frame, first


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
    """

    def __init__(self, tracer: Tracer, results: Sequence[Any], F: Any) -> None:
        self.ctx, self.F = tracer.ctx, F
        lifted = [array if array._ctx is TRACE else tracer.lift(array) for array in results]
        forward = list(tracer.steps)
        self.inputs = [array._store.slot for array in tracer.arrays]
        self.outputs = [array._store.slot for array in lifted]
        self.entries = [array._entry for array in lifted]
        self.heads: list[Outline] = []
        if tracer.recording and any(self.entries):
            self._trace_backward(tracer, lifted)
        else:
            self.entries = [None] * len(lifted)
        backward = tracer.steps[len(forward):]
        self.gradients: list[int | None] = [buffer.made._store.slot if buffer is not None and buffer.made is not None else None
                          for buffer in tracer.buffers] if self.heads else []
        self.empty: list[Any] = [None] * tracer.slots
        for slot, store in tracer.constants.items():
            self.empty[slot] = device.onto(store, self.ctx)
        self._resolve(forward, backward)
        self.frames: list[Frame] = []

    def _trace_backward(self, tracer: Tracer, results: Sequence[Any]) -> None:
        with tracer.at_work():
            hooks.state.recording = False
            self.heads = [tracer.outline(Spec(array.shape, array.dtype)) for array in results]
            pairs = [(entry, wrap(head, TRACE)) for entry, head in zip(self.entries, self.heads, strict=True) if entry]
            graph.backward([entry for entry, _ in pairs], [head for _, head in pairs], self.F, wrap, retain=True)

    def _resolve(self, forward: list[Step], backward: list[Step]) -> None:
        links = _links(forward, [entry[0] for entry in self.entries if entry])
        instructions = [_Instruction(step, self._plan(step), number) for number, step in enumerate(forward)]
        gradients = [_Instruction(step, self._plan(step), links.get(step.node, -1)) for step in backward]
        self.count = len(instructions)
        kept = {*self.outputs, *(slot for slot in self.gradients if slot is not None)}
        self.memory: list[tuple[Any, Any, Any]] = []
        self._give_targets(gradients)
        self._give_buffers([*instructions, *gradients], kept)
        _mark_spent(instructions, {*kept, *self.inputs, *(slot for step in gradients for slot in step.places)})
        _mark_spent(gradients, {*kept, *self.inputs})
        self.forward = [instruction.code() for instruction in instructions]
        self.backward = [instruction.code() for instruction in gradients]
        self._at = {instruction.place: instruction for instruction in (*instructions, *gradients)}
        self._instructions, self._gradients = instructions, gradients
        self._verdicts: dict[Any, str] = {}
        if self.ctx.device_type == "gpu":
            found = {step: reason_against(step) for step in (*instructions, *gradients)}
            self._verdicts = {step: reason for step, reason in found.items() if reason}
            self._kept = {*kept, *(head.slot for head in self.heads)}

    def _plan(self, step: Step) -> Plan:
        places = step.call.op.meeting([store.dtype for store in step.inputs])
        return plan_for(step.call, tuple(store.stype for store in step.inputs), self.ctx, places)

    def _give_targets(self, instructions: list[_Instruction]) -> None:
        """Note which instruction may write into the gradient buffer of an input."""
        number_of = {slot: number for number, slot in enumerate(self.gradients) if slot is not None}
        read = {slot for instruction in instructions for slot in instruction.places}
        for instruction in instructions:
            number = number_of.get(instruction.place)
            if (number is not None and instruction.plan.takes_out and not instruction.general
                    and instruction.place not in read and self.gradients.count(instruction.place) == 1):
                instruction.target = number

    def _give_buffers(self, instructions: list[_Instruction], kept: set[int]) -> None:
        """Keep the memory of large dense results that nobody outside gets to see."""
        for instruction in instructions:
            if instruction.general or not instruction.plan.takes_out or instruction.place in kept:
                continue
            spec = instruction.specs[0]
            if spec.stype == "default" and spec.nbytes >= LARGE:
                instruction.buffer = len(self.memory)
                self.memory.append((instruction.plan.k.xp, spec.shape, spec.dtype))

    # running

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run it on arrays of the kinds that it was made for, recorded as one node; a list of the results."""
        values = self.empty[:]
        for slot, array in zip(self.inputs, arrays, strict=True):
            values[slot] = array._store
        frame = self._frame()
        first = graph.reserve(self.count) if hooks.sink is not None else 0
        self._execute(self.forward, values, frame, (), first)
        stores = [_own(values[slot], frame) for slot in self.outputs]
        if not self.heads:
            self._give_back(frame)
            return [wrap(store, self.ctx) for store in stores]
        kept = _Run(arrays, values, frame, first)
        entries = tuple([None if slot is None else array._entry for slot, array in zip(self.gradients, arrays, strict=True)])
        node = ProgramNode(functools.partial(self._send_back, kept), entries, len(stores), self.ctx)
        return [wrap(store, self.ctx, entry and (node, place))
                for place, (store, entry) in enumerate(zip(stores, self.entries, strict=True))]

    def _send_back(self, kept: _Run, given: Sequence[Any], wants: Sequence[Any], retain: bool) -> list[Any]:
        """Gradients of the inputs, from those of the results."""
        if kept.values is None:
            raise GradientError("This graph was already used for a backward pass, and its saved arrays are gone.",
                                hint="call backward(retain_graph=True) the first time.")
        if hooks.state.recording:
            return self._send_back_recorded(kept.arrays, given)
        values, buffers = kept.values[:] if retain else kept.values, [want and want.out for want in wants]
        for head, gradient in zip(self.heads, given, strict=True):
            values[head.slot] = (gradient._store if gradient is not None and gradient.stype == "default"
                                 and gradient._store.dtype == head.dtype else _dense(gradient, head, self.ctx))
        self._execute(self.backward, values, kept.frame, buffers, kept.first)
        with device.current(self.ctx):
            made = [None if slot is None else buffer if buffer is not None and values[slot] is buffer._store
                    else wrap(_own(values[slot], kept.frame), self.ctx)
                    for slot, buffer in zip(self.gradients, buffers, strict=True)]
        if not retain:
            self._give_back(kept.frame)
            kept.values = kept.arrays = None
        return made

    def _send_back_recorded(self, arrays: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The same one operator at a time, so that the gradients have gradients."""
        values: list[Any] = [None if store is None else wrap(store, self.ctx) for store in self.empty]
        for slot, array in zip(self.inputs, arrays, strict=True):
            values[slot] = array
        for instruction in self._instructions:
            made = invoke(instruction.plan.call, tuple([values[slot] for slot in instruction.places]), ctx=self.ctx)
            for slot, array in zip(instruction.outputs, made if isinstance(made, list) else [made], strict=False):
                values[slot] = array
        heads = [values[slot]._entry for slot in self.outputs]
        pairs = [(entry, wrap(_dense(gradient, head, self.ctx), self.ctx) if gradient is None else gradient)
                 for entry, gradient, head in zip(heads, given, self.heads, strict=True) if entry is not None]
        wanted = [array._entry for slot, array in zip(self.gradients, arrays, strict=True) if slot is not None]
        found = graph.backward([entry for entry, _ in pairs], [gradient for _, gradient in pairs], self.F, wrap, True, wanted)
        return [None if slot is None else found.get(array._entry) for slot, array in zip(self.gradients, arrays, strict=True)]

    def _frame(self) -> Frame:
        """Memory for one run."""
        try:
            return self.frames.pop()
        except IndexError:
            with device.current(self.ctx):
                frame = Frame([xp.empty(shape, dtype) for xp, shape, dtype in self.memory])
        if self.ctx.device_type == "gpu":
            steps = {"forward": self._instructions, "backward": self._gradients}
            everything = [*self._instructions, *self._gradients]
            frame.replays = {name: Replay(found, everything, self._kept, self.ctx, self._verdicts, _run_step)
                             for name, found in steps.items()}
        return frame

    def replayed(self) -> list[dict[str, str]]:
        """For each operator on a GPU: the pass, and why it runs by itself; ``""`` if a captured graph does it."""
        frames = [frame for frame in self.frames if frame.replays]
        if not frames:
            return []
        return [{"pass": name, "op": step.plan.call.op.label, "reason": reason} for name, replay in frames[-1].replays.items()
                for step, reason in zip(replay.instructions, replay.how(), strict=True)]

    def _give_back(self, frame: Frame) -> None:
        if len(self.frames) < FRAMES:
            self.frames.append(frame)

    def _execute(self, code: list[Any], values: list[Any], frame: Frame, buffers: Sequence[Any], first: int) -> None:
        if hooks.sink is None and frame.replays and config.cuda_graphs:
            hooks.quietly(self._replay, frame.replays["forward" if code is self.forward else "backward"], values, frame, buffers)
        elif hooks.sink is None:
            hooks.quietly(self._loop, code, values, frame, buffers)
        else:
            hooks.quietly(self._loop_told, code, values, frame, buffers, first)

    def _loop(self, code: list[Any], values: list[Any], frame: list[Any], buffers: Sequence[Any]) -> None:
        place = -1
        try:
            for function, k, attrs, count, left, right, places, place, special in code:
                if special is not None:
                    _run_special(special, values, frame, buffers)
                    for slot in special.spent:
                        values[slot] = None
                elif k is None:
                    values[place] = function(values[left], values[right])
                elif count == 2:
                    values[place] = function(k, values[left], values[right], attrs)
                elif count == 1:
                    values[place] = function(k, values[left], attrs)
                else:
                    values[place] = function(k, *[values[slot] for slot in places], attrs)
        except KERNEL_ERRORS as error:
            raise self._named(place, values, error) from error

    def _replay(self, replay: Replay, values: list[Any], frame: Frame, buffers: Sequence[Any]) -> None:
        try:
            replay.run(values, frame, buffers)
        except KERNEL_ERRORS as error:
            raise self._named(replay.at, values, error) from error

    def _loop_told(self, code: list[Any], values: list[Any], frame: list[Any], buffers: Sequence[Any], first: int) -> None:
        """The same under the profiler: every operator is an event, on the line that called the program."""
        state, op, at, told = hooks.state, hooks.sink.op, -1, _Link()
        layer, caller = state.layer, state.caller
        if caller is None and code is self.forward:
            state.caller = hooks.caller()
        try:
            for instruction in self._instructions if code is self.forward else self._gradients:
                at, plan, places = instruction.place, instruction.plan, instruction.places
                link = None
                if instruction.link >= 0:
                    link, told.id = told, first + instruction.link
                state.layer = instruction.layer
                if instruction.general:
                    _run_special(instruction, values, frame, buffers, link)
                else:
                    count = len(places)
                    stores: Any = ((values[places[0]], values[places[1]]) if count == 2 else (values[places[0]],) if count == 1
                                   else tuple([values[slot] for slot in places]))
                    if instruction.buffer is None and instruction.target is None:
                        start = _clock()
                        made = plan.function(plan.k, *stores, plan.attrs)
                        op(plan, start, _clock(), stores, (made,), link)
                        values[at] = made
                    else:
                        start = _clock()
                        _run_special(instruction, values, frame, buffers)
                        op(plan, start, _clock(), stores, (values[at],), link)
                for slot in instruction.spent:
                    values[slot] = None
        except KERNEL_ERRORS as error:
            raise self._named(at, values, error) from error
        finally:
            state.layer, state.caller = layer, caller

    def _named(self, place: int, values: list[Any], error: Exception) -> Exception:
        instruction = self._at[place]
        return named_error(instruction.plan.call, [values[slot] for slot in instruction.places], error)


def _run_special(instruction: _Instruction, values: list[Any], frame: list[Any], buffers: Sequence[Any],
                 link: Any = None) -> None:
    """Run an instruction that is more than a call of its kernel."""
    plan, stores, out = instruction.plan, [values[slot] for slot in instruction.places], None
    if instruction.general:
        made = run(plan, tuple(stores), None, link)
        for slot, store in zip(instruction.outputs, made if isinstance(made, tuple) else (made,), strict=True):
            values[slot] = store
        return
    if instruction.buffer is not None:
        out = frame[instruction.buffer]
    elif instruction.target is not None and instruction.target < len(buffers) and buffers[instruction.target] is not None:
        out = buffers[instruction.target]._store
        if not fits(out, plan, stores):
            out = None
    if out is None:
        values[instruction.place] = plan.function(plan.k, *stores, plan.attrs)
    else:
        values[instruction.place] = plan.function(plan.k, *stores, plan.attrs, out=out)


def _run_step(instruction: _Instruction, values: list[Any], frame: list[Any], buffers: Sequence[Any]) -> None:
    """Run any instruction, and forget what nothing reads afterwards."""
    _run_special(instruction, values, frame, buffers)
    for slot in instruction.spent:
        values[slot] = None


def _own(store: Any, frame: Frame) -> Any:
    """The store, copied if it lies in memory that the next run uses."""
    if frame.replays:
        if any(map(frame.keeps, parts_of(store))):
            with parts_of(store)[0].device:
                return copied(store)
        return store
    base = getattr(store, "base", None)
    return store.copy() if base is not None and any(base is memory for memory in frame) else store


def _dense(gradient: Any, head: Outline, ctx: Any) -> Any:
    """The store of a gradient at a result: dense, and zeros where none arrived."""
    if gradient is None:
        with device.current(ctx):
            return for_device(ctx.device_type).xp.zeros(head.shape, head.dtype)
    store = gradient._store
    if gradient.stype != "default":
        k = for_device(ctx.device_type)
        store = written_dense("backward", store, k, "the gradient at the result of a hybridized block is taken dense")
    return store if store.dtype == head.dtype else store.astype(head.dtype)


def _links(forward: list[Step], heads: Iterable[Any]) -> dict[Any, int]:
    """The number of the step that each recorded node is."""
    found: dict[Any, int] = {}
    number = 0
    nodes = [node for node in reversed(graph.order(heads)[0]) if node.call is not None]
    for node in nodes:
        while number < len(forward) and forward[number].call is not node.call:
            number += 1
        found[node] = number
        number += 1
    return found


def _mark_spent(instructions: list[_Instruction], kept: set[int]) -> None:
    """Note after which instruction nothing reads a large store any more."""
    seen = set(kept)
    large = {spec.slot for instruction in instructions for spec in instruction.specs
             if spec.stype != "default" or spec.nbytes >= LARGE}
    for instruction in reversed(instructions):
        last = {slot for slot in (*instruction.places, *instruction.outputs) if slot in large and slot not in seen}
        instruction.spent = tuple(sorted(last))
        seen |= last
