"""Clones of a program in turns: their times, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..profiler.turns import compare
from .effects import Watched
from .states import apart

if TYPE_CHECKING:
    from ..profiler.turns import Comparison
    from .candidate import Candidate
    from .program import Program

__all__ = ["timed"]

#: Confidence of all intervals together.
CONFIDENCE = 0.99


def timed(program: Program, fixes: Mapping[str, Sequence[Candidate]], rounds: int) -> Comparison:
    """Compare the times of clones with fixes; the first is the one that others are compared with."""
    with apart(), Watched():
        return compare({name: _endless(program, candidates) for name, candidates in fixes.items()},
                       rounds=max(rounds, _fewest(len(fixes))), confidence=CONFIDENCE, profile=False)


def _fewest(programs: int) -> int:
    """Rounds that the confidence takes, with so many programs."""
    from ..profiler.turns import _fewest as fewest

    return fewest(1 - (1 - CONFIDENCE) / (programs - 1))


def _endless(program: Program, candidates: Sequence[Candidate]) -> Callable[[], object]:  # object: what the step returns
    """A clone's step that starts anew when what it reads from is at its end."""
    step = program.clone(candidates).step

    def again() -> object:
        nonlocal step
        try:
            return step()
        except StopIteration:
            step = program.clone(candidates).step
            return step()
    return again
