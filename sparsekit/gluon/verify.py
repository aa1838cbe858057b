"""Whether a compiled step does what the plain lines do, and if not, what its program may have kept from when it was traced."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import UnsupportedError
from ..base.nested import flatten
from ..ndarray.ndarray import NDArray
from ..optimizer.states import arrays_of

if TYPE_CHECKING:
    from ..core.step_program import StepProgram
    from ..core.trace import Tracer
    from .block import Block
    from .trainer import Trainer


class Verification(NamedTuple):
    """What ``TrainStep.verify`` found.

    Attributes
    ----------
    result : NDArray, or list or tuple of NDArray
        What the step returned.
    differs : str
        The first array that is not, bit by bit, what the plain lines computed, and by how much; empty if there is none.
    reason : str
        Why it may differ; or, if nothing does, why nothing was compiled.
    """

    result: Any  # Any: nested as the loss returns it
    differs: str
    reason: str

    @property
    def equal(self) -> bool:
        """Whether all arrays are the same."""
        return not self.differs

    def __repr__(self) -> str:
        outcome = f"{self.differs} differs from the plain lines" if self.differs else "equal to the plain lines, bit by bit"
        return f"{outcome}: {self.reason}" if self.reason else outcome


def copied(net: Block, loss: Block | None, trainer: Trainer) -> tuple[Block, Block | None, Trainer]:
    """A deep copy of net, loss and trainer.

    Raises
    ------
    UnsupportedError
        If something in them cannot be copied.
    """
    try:
        return copy.deepcopy((net, loss, trainer))
    except Exception as error:
        raise UnsupportedError(f"The net, the loss or the trainer cannot be copied: {type(error).__name__}: {error}.",
                               hint="keep files, locks and generators outside of blocks.") from error


# Any: what a step returned, and its trainer
def first_difference(compiled: tuple[Any, Trainer], plain: tuple[Any, Trainer]) -> str:
    """The first array of two steps that differs, and how; empty if none does."""
    pairs = list(zip_longest(_named_arrays(*compiled), _named_arrays(*plain)))
    if len(_results_of(compiled[0])) != len(_results_of(plain[0])) or None in pairs[-1]:
        return "the number of results"
    for (name, array), (_, other) in pairs:
        if how := _difference(array, other):
            return f"{name} ({how})"
    return ""


# object: nested as the loss returns it
def _named_arrays(result: object, trainer: Trainer) -> Iterator[tuple[str, NDArray]]:
    """All that a step computes, with names: the results, and gradient, value and state of each parameter."""
    for number, array in enumerate(_results_of(result)):
        yield f"result {number}" if number else "the loss", array
    for parameter in trainer._params:
        if parameter._arrays and parameter.grad_req != "null":
            for gradient in parameter.list_grad():
                yield f"the gradient of {parameter.name}", gradient
    for parameter in trainer._params:
        for values in parameter.list_data() if parameter._arrays else ():
            yield parameter.name, values
    for updater in trainer._updaters:
        for index, parameter in enumerate(trainer._params):
            yield from ((f"the state of {parameter.name}", state) for state in arrays_of(updater.states.get(index)))


def _results_of(result: object) -> list[NDArray]:  # object: nested as the loss returns it
    results: list[NDArray] = []
    flatten(result, NDArray, results, (type(None),))
    return results


def _difference(array: NDArray, other: NDArray) -> str:
    """How two arrays differ; empty if they are the same, bit by bit."""
    if array.stype != other.stype or array.dtype != other.dtype or array.shape != other.shape:
        return f"{array.stype} {array.dtype} {array.shape}; by the plain lines {other.stype} {other.dtype} {other.shape}"
    pairs = [(array, other)] if array.stype == "default" else [
        (getattr(array, name), getattr(other, name)) for name in array._store.components]
    for compiled, plain in ((left.asnumpy(), right.asnumpy()) for left, right in pairs):
        if compiled.shape != plain.shape:
            return f"it stores {compiled.shape[0]:,} of what the plain lines store {plain.shape[0]:,}"
        if compiled.tobytes() != plain.tobytes():
            apart = compiled != plain
            largest = np.max(np.abs(compiled.astype(np.float64) - plain.astype(np.float64)))
            return f"{np.count_nonzero(apart):,} of {compiled.size:,} elements, by up to {largest:.3g}"
    return ""


def kept_from_trace(step_program: StepProgram, now: Tracer, outputs: list[int], batch_arrays: int) -> str:
    """What a program has kept that would be something else if it were traced now; empty if nothing would be.

    ``outputs`` are the slots of the results now, and ``batch_arrays`` is how many arrays each step brings.
    """
    steps = step_program.steps[:step_program.nodes]
    for step, again in zip(steps, now.steps, strict=False):
        before = f"{step.note.layer or 'the step'} computed {step.call.op.label}"
        if step.call.op is not again.call.op:
            return f"{before} when it was traced, and would compute {again.call.op.label} now"
        for name, value in step.call.attrs.items():
            if (held := again.call.attrs.get(name)) != value:
                return f"{before} with {name}={value!r} when it was traced, and would compute it with {name}={held!r} now"
        if step.inputs != again.inputs:
            return f"{before} of other arrays when it was traced than it would now"
    if len(steps) != len(now.steps):
        return f"{len(steps)} operators ran when it was traced, and {len(now.steps)} would run now"
    constants = zip(step_program.tracer.constants.values(), now.constants.values(), strict=False)
    if any(np.asarray(constant).tobytes() != np.asarray(other).tobytes() for constant, other in constants
           if isinstance(constant, np.ndarray)):
        return "an array that it made of Python's numbers when it was traced would have other values now"
    sources = zip_longest(step_program.sources, now.sources[batch_arrays:])
    if any(source is not other for source, other in sources):
        return "it read an array when it was traced, and would read another one now"
    return "" if step_program.outputs == outputs else "it returned other arrays when it was traced than it would now"
