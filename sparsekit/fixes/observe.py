"""What a run of a step gave: losses, weights and gradients as numpy arrays, memory and bytes from its profile."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..base.lazy import computed_once
from ..gluon.parameter import Parameter
from ..ndarray.ndarray import NDArray
from ..ndarray.sparse_creation import csr_matrix
from ..profiler.profile import Profile
from ..profiler.profiler import Profiler
from ..profiler.stored import Stored
from .effects import watched
from .torch_programs import Sizes, is_tensor, to_numpy, torch_of

if TYPE_CHECKING:
    from ..profiler.columns import Columns
    from .candidate import Candidate
    from .send import Variant

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
    tables : Columns
        Of the profile.
    start, weights : dict
        Key of each parameter -> ``Weight`` before the first step and after the last.
    losses : list of list of ndarray
        The numbers that each step returned.
    turned : Run or None
        Steps of the same program on other batches, if it repeats one.
    states : dict
        Name of an optimizer of PyTorch -> bytes of its state after each step from its beginning on, see ``note_states``.
    candidates : list of Candidate
        What could be tried, if the process that ran a script has looked.
    step : str
        Where a script makes its steps, in words.
    """

    tables: Columns
    start: dict[int, Weight]
    weights: dict[int, Weight] = field(default_factory=dict)
    losses: list[list[Values]] = field(default_factory=list)
    turned: Run | None = None
    states: Sizes = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    step: str = ""

    @computed_once
    def profile(self) -> Profile:
        """The profile of the steps."""
        return Profile(Stored(self.tables))

    @property
    def peak(self) -> int:
        """Bytes of arrays at the peak."""
        return int(self.profile.memory["peak_bytes"])

    @property
    def moved(self) -> int:
        """Bytes that operators read and wrote."""
        return sum(row["bytes"] for row in self.profile.totals if row["lane"] in COUNTED)

    @property
    def densified(self) -> int:
        """Implicit conversions from sparse to dense."""
        return self.profile.densified


def numbers_of(value: object) -> Iterator[Values]:
    """The numbers in what a step returned, as copies."""
    if is_tensor(value):
        yield to_numpy(value)
    elif isinstance(value, NDArray):
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


def weights_of(variant: Variant) -> dict[int, Weight]:
    """The weights of a program, as the original holds them."""
    weights = {}
    for key, name, transposed, value in variant.weights:
        gradient: Values | None = None
        if is_tensor(value):
            values, gradient = to_numpy(value), None if value.grad is None else to_numpy(value.grad)
        elif not isinstance(value, Parameter):
            values, gradient = value.asnumpy(), None if value.grad is None else value.grad.asnumpy()
        elif value._arrays:
            values = value.list_data()[0].asnumpy()
            gradient = value.list_grad()[0].asnumpy() if value.grad_req != "null" else None
        else:  # its shape is not known yet
            continue
        turned = np.transpose if transposed else np.asarray
        weights[key] = Weight(name, np.array(turned(values)), None if gradient is None else np.array(turned(gradient)))
    return weights


def run(variant: Variant, steps: int, turned: bool = False) -> Run:
    """Make some steps under a profiler, and read what they gave; each after the first gets other batches if ``turned``.

    Raises
    ------
    SideEffect
        If the step does something outside of itself.
    """
    start, losses = weights_of(variant), []
    profile = Profiler(torch="torch" in sys.modules)
    with watched():
        profile.start()
        try:
            for number in range(steps):
                if number and turned:
                    profile.pause()
                    turn(variant)
                    profile.resume()
                value = variant.step()
                profile.pause()
                losses.append(list(numbers_of(value)))
                del value
                profile.resume()
        finally:
            profile.stop()
    return Run(profile.tables, start, weights_of(variant), losses)


def turn(variant: Variant) -> None:
    """Give a program that repeats its batch another one of the same kind: other columns are stored, other rows are meant."""
    for array, how in variant.batch:
        if is_tensor(array):
            with torch_of().no_grad():
                array.copy_(_shifted(array))
        elif array.stype == "csr":
            matrix = array.asscipy()
            matrix.indices = (matrix.indices + _distance(array)) % array.shape[1]
            matrix.sort_indices()
            array._receive(csr_matrix(matrix, dtype=array.dtype, ctx=array.context))
        else:
            values = array.asnumpy()
            array[:] = _shifted(values) if how == "numbers" else np.roll(values, _distance(array), axis=1)


def _distance(array: NDArray) -> int:
    return int(array.shape[1]) // 3 + 1


def _shifted(values: Values) -> Values:
    """Other whole numbers within their range; of a tensor too."""
    low, high = int(values.min()), int(values.max())
    return low + (values - low + (high - low) // 3 + 1) % (high - low + 1)
