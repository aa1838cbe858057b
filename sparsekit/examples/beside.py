"""The same training in several kinds of storage, measured: what examples, ``sparsekit demo`` and ``sparsekit bench`` share.

Bytes and losses come from a few batches, which every kind trains on from the same initial values.  Times come from steps in
turn (``profiler.compare``), with an interval; there are none where the kinds cannot be in memory together.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..profiler import Profiler, compare

if TYPE_CHECKING:
    from ..ndarray.ndarray import NDArray
    from ..profiler.turns import Comparison

#: How wide the interval of a ratio of times may be for the times to be told: its end over its beginning.
WIDEST = 1.5

#: A batch as a model takes it.
Batch = TypeVar("Batch")
Taken = TypeVar("Taken", contravariant=True)


class Trains(Protocol[Taken]):
    """What trains a model."""

    def step(self, batch: Taken) -> NDArray:
        """Run forward, backward and update, and return the loss of each example."""

    def gradient_bytes(self) -> int:
        """Return the bytes of the gradients that count."""


class Measured(NamedTuple):
    """Bytes and losses of some steps.

    Attributes
    ----------
    gradient : int
        Most bytes of gradients.
    losses : list of float
        Mean loss of each step.
    profile : Profiler or None
        The steps, each in a span named ``batch``.
    """

    gradient: int
    losses: list[float]
    profile: Any = None


class Beside(NamedTuple):
    """What was measured of each kind, by name; ``times`` are those of steps in turn, None if there are none."""

    measured: dict[str, Measured]
    times: Comparison | None

    def seconds(self, name: str) -> list[float]:
        """Return the seconds of a step of a kind, one for each round."""
        assert self.times is not None  # whoever asks has them
        place = list(self.measured).index(name)
        return [fmean(turn.seconds for turn in block if turn.program == place) for block in self.times.blocks]


# object: what is given back is not looked at
def measure(run: Trains[Batch], batches: Sequence[Batch], profiled: bool = False,
            after: Callable[[float], object] = float) -> Measured:
    """Train on the batches, under a profiler if asked, and return bytes and losses; ``after`` gets each loss."""
    gradient, losses = 0, []
    with Profiler() if profiled else nullcontext() as profile:
        for batch in batches:
            with profile.span("batch") if profile is not None else nullcontext():
                loss = run.step(batch)
            losses.append(float(loss.mean().asscalar()))
            gradient = max(gradient, run.gradient_bytes())
            after(losses[-1])
    return Measured(gradient, losses, profile)


# object: as in measure
def beside(kinds: Mapping[str, Callable[[], tuple[Trains[Batch], Sequence[Batch]]]], rounds: int, profiled: bool = False,
           after: Callable[[float], object] = float) -> Beside:
    """Train each kind on its batches, one after the other, then time steps of all in turn.

    Parameters
    ----------
    kinds : mapping of str to callable
        What makes a run and its batches, by name.
    rounds : int
        Rounds of ``profiler.compare``; 0 times nothing and keeps one run at a time.
    profiled : bool
        Whether the batches are trained on under a profiler.
    after : callable
        Called with the loss of each batch.
    """
    measurements, programs = {}, {}
    for name, make in kinds.items():
        gc.collect()  # frees the arrays of the kind before
        run, batches = make()
        measurements[name] = measure(run, batches, profiled, after)
        if rounds:
            programs[name] = partial(_next_step, run, itertools.cycle(batches))
        del run, batches
    return Beside(measurements, compare(programs, rounds, profile=False) if len(programs) > 1 else None)


def _next_step(run: Trains[Batch], batches: Iterator[Batch]) -> None:
    run.step(next(batches)).wait_to_read()
