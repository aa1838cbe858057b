"""``sparsekit bench dispatch``: the overhead of a call, on arrays so small that the computation takes no time."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from .harness import Contender, Report, Worker, start_all, take_turns

__all__ = ["run"]

WORKLOADS = {"add": "a + b, both 4 x 4", "chain": "record and backward of ten elementwise operations, 4 x 4"}
NOTES = (
    "chain: five times y = y * scale; y = y + shift, under record, then y.backward(); torch gets a head gradient.",
    "mxnet computes asynchronously: 'mxnet' waits for the last result only, 'mxnet, waiting' for each.",
)


def _contenders(command: str, workers: dict[str, Worker]) -> list[Contender]:
    """Return a contender for each library, and a second one for MXNet that waits for each addition."""
    found = []
    for name, worker in workers.items():
        found.append(Contender(name, partial(worker.ask, command)))
        if (name, command) == ("mxnet", "add"):
            found.append(Contender("mxnet, waiting", partial(worker.ask, "add_waiting")))
    return found


def run(rivals: dict[str, str], rounds: int = 0, quick: bool = False) -> Report:
    """Measure one addition, and the recording and backward pass of ten operations, in microseconds.

    Parameters
    ----------
    rivals : dict of str to str
        Rivals and the Python executables that have them.
    rounds : int
        Number of measurements of each contender; 0 for the default.
    quick : bool
        Use small workloads and few rounds.
    """
    rounds = rounds or (3 if quick else 21)
    report = Report("Cost of a call", rounds, NOTES)
    with ExitStack() as stack:
        workers = start_all(report, rivals, stack)
        for command, heading in WORKLOADS.items():
            contenders = _contenders(command, workers)
            take_turns(contenders, rounds)
            report.add(heading, "µs", contenders, against="sparsekit" if rivals else "")
    return report
