"""What a run of a step gave: losses, weights and gradients as numpy arrays, memory and bytes from its profile."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..gluon.parameter import Parameter
from ..ndarray.ndarray import NDArray
from ..profiler import Profiler
from .effects import Watched
from .states import apart, taken

if TYPE_CHECKING:
    from ..profiler.profile import Profile
    from .program import Clone, Program

__all__ = ["COUNTED", "READERS", "Run", "Weight", "initial", "run"]

#: Lanes whose operators are counted: what copies, reads and compiles differs from run to run.
COUNTED = ("forward", "backward", "update", "convert")

Values = npt.NDArray[Any]  # Any: numbers of any type


@dataclass
class Weight:
    """The values of one parameter, and its gradient if it has one."""

    name: str
    values: Values
    gradient: Values | None = None


@dataclass
class Run:
    """What some steps gave.

    Attributes
    ----------
    losses : list of list of ndarray
        The numbers that each step returned.
    weights : dict
        ``id`` of the program's parameter -> ``Weight`` after the last step.
    touched : dict
        ``id`` of a matrix of PyTorch -> in how many backward passes its gradient had each row, and the number of passes.
    profile : Profile
    shifted : bool
        Whether row numbers that the program repeats were others in each step.
    """

    profile: Profile
    losses: list[list[Values]] = field(default_factory=list)
    weights: dict[int, Weight] = field(default_factory=dict)
    touched: dict[int, tuple[Values, int]] = field(default_factory=dict)
    shifted: bool = False

    @property
    def peak(self) -> int:
        """Bytes of arrays at the peak."""
        return int(self.profile.memory["peak_bytes"])

    @property
    def moved(self) -> int:
        """Bytes that operators read and wrote."""
        return sum(row["bytes"] for row in self.profile.totals if row["lane"] in COUNTED)

    @property
    def operators(self) -> int:
        """Operators that ran."""
        return sum(row["calls"] for row in self.profile.totals if row["lane"] in COUNTED)

    @property
    def densified(self) -> int:
        """Implicit conversions from sparse to dense."""
        return self.profile.densified


#: Functions that read the weights of a clone, ``(id of the original, Weight)`` each; other libraries add theirs.
READERS: list[Callable[[Clone], Iterator[tuple[int, Weight]]]] = []

#: Functions that begin to watch a clone for a run, and give a function that is called with the number of each step before it;
#: other libraries add theirs.
WATCHERS: list[Callable[[Clone, Run], Callable[[int], None]]] = []

#: Functions that turn what a step returned into numpy arrays, or give None; other libraries add theirs.
NUMBERS: list[Callable[[Any], Values | None]] = []  # Any: what a step returned


def numbers_of(value: object) -> Iterator[Values]:
    """The numbers in what a step returned, as copies."""
    for reader in NUMBERS:
        found = reader(value)
        if found is not None:
            yield found
            return
    if isinstance(value, NDArray):
        yield np.array(value.asnumpy())
    elif isinstance(value, np.ndarray):
        yield value.copy()
    elif isinstance(value, numbers.Number):
        yield np.asarray(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from numbers_of(item)


def _parameters(clone: Clone) -> Iterator[tuple[int, Weight]]:
    for original, copy in clone.copies(Parameter):
        if not copy._arrays:
            continue
        turn = np.transpose if id(original) in clone.transposed else np.asarray
        values = np.array(turn(copy.list_data()[0].asnumpy()))
        gradient = np.array(turn(copy.list_grad()[0].asnumpy())) if copy.grad_req != "null" else None
        yield id(original), Weight(copy.name, values, gradient)


def _variables(clone: Clone) -> Iterator[tuple[int, Weight]]:
    """Arrays of the program that have a gradient, and belong to no parameter."""
    owned = {id(array) for parameter, _ in clone.copies(Parameter) for array in parameter._arrays.values()}
    for original, copy in clone.copies(NDArray):
        if id(original) not in owned and copy._entry is not None and copy.grad is not None:
            yield id(original), Weight(clone.program.path_of(original), copy.asnumpy().copy(), copy.grad.asnumpy().copy())


READERS += [_parameters, _variables]


def weights_of(clone: Clone) -> dict[int, Weight]:
    """The weights of a clone."""
    return {key: weight for reader in READERS for key, weight in reader(clone)}


def initial(program: Program) -> dict[int, Weight]:
    """The weights before the first step."""
    return weights_of(program.clone())


def run(clone: Clone, steps: int, shifted: bool = False) -> Run:
    """Make some steps under a profiler, and read what they gave; ``shifted`` ones get other row numbers where all repeat them.

    Raises
    ------
    SideEffect
        If the step does something outside of itself.
    """
    put = taken()
    try:
        with apart():
            profile = Profiler(torch="torch" in sys.modules)
            found = Run(profile, shifted=shifted)
            watchers = [watch(clone, found) for watch in WATCHERS]
            with Watched():
                profile.start()
                try:
                    for number in range(steps):
                        if number:
                            profile.pause()
                        for begin in watchers:
                            begin(number)
                        if number:
                            profile.resume()
                        value = clone.step()
                        profile.pause()
                        found.losses.append(list(numbers_of(value)))
                        del value
                        profile.resume()
                finally:
                    profile.stop()
            found.weights = weights_of(clone)
            return found
    finally:
        put()
