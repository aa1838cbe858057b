"""Which steps of a long loop are recorded: wait, warm up, record, again."""

from __future__ import annotations

from typing import NamedTuple

from .arguments import whole


class Schedule(NamedTuple):
    """Rounds of ``wait + warmup + active`` steps; only the active ones are kept.

    Attributes
    ----------
    wait, warmup, active : int
        Number of steps of a round that are skipped, that are recorded and discarded, and that are kept.
    repeat : int
        Number of rounds; with 0 the rounds continue until the profiler stops.
    skip_first : int
        Steps before the first round.
    """

    wait: int
    warmup: int
    active: int
    repeat: int = 0
    skip_first: int = 0

    def phase(self, step: int) -> tuple[str, int]:
        """What happens in step number ``step``, counted from 0, and in which round: "wait", "warmup", "active" or "done"."""
        length = self.wait + self.warmup + self.active
        turn, place = divmod(step - self.skip_first, length)
        if step < self.skip_first:
            return "wait", 0
        if self.repeat and turn >= self.repeat:
            return "done", self.repeat
        if place < self.wait:
            return "wait", turn
        return ("warmup", turn) if place < self.wait + self.warmup else ("active", turn)


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """Choose the steps of a loop that a profiler records; the arguments mean the same as in ``torch.profiler``.

    Parameters
    ----------
    wait, warmup, active : int
        Number of steps of a round that are skipped, that are recorded and discarded (compilation, cold caches), and that are
        kept.
    repeat : int
        Number of rounds; with 0 the rounds continue until the profiler stops.
    skip_first : int
        Steps before the first round.

    Raises
    ------
    ProfilerError
        If a number is negative or no integer, or ``active`` is 0.

    Examples
    --------
    >>> import sparsekit as mx
    >>> plan = mx.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> with mx.Profiler(schedule=plan) as prof:
    ...     for _ in range(6):
    ...         _ = mx.nd.ones((2, 3)) + 1
    ...         prof.step()
    >>> [row["calls"] for row in prof.totals if row["name"] == "_plus_scalar"]
    [2]
    """
    numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, value in numbers.items():
        whole(f"{name} of a schedule", value, 1 if name == "active" else 0,
              hint="schedule(wait=1, warmup=1, active=3, repeat=1), in steps.")
    return Schedule(**numbers)
