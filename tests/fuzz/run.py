"""Fuzzes sparsekit: ``python tests/fuzz/run.py --minutes 60 --seed 7``.

Case n of a seed is the same on every machine: a random graph (``graphs.py``), run in every way (``ways.py``) and held to numpy
and scipy (``reference.py``).  What is found is made smaller, printed as a program to paste, and printed once for each kind.  The
exit status is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))
if str(HERE.parents[1]) not in sys.path:
    sys.path.insert(1, str(HERE.parents[1]))  # for tests.references

import numpy as np  # noqa: E402
import reference  # noqa: E402
from graphs import make  # noqa: E402
from shrink import smaller_graphs, smallest  # noqa: E402
from ways import check  # noqa: E402


class Report(NamedTuple):
    """Something found: its kind, the number of the case, what was seen, and a program that shows it."""

    key: tuple[str, ...]
    case: int
    message: str
    text: str

    def __str__(self) -> str:
        message = "\n".join(f"# {line}" for line in self.message.splitlines())
        return f"# case {self.case}: {', '.join(self.key)}\n{message}\n{self.text}"


class Fuzzer:
    """Runs cases of a seed, and keeps a report of each kind of finding."""

    def __init__(self, seed: int, operators: tuple[str, ...] = (), shrink: bool = True, patience: float = 8.0) -> None:
        self.seed, self.operators, self.shrink, self.patience = seed, operators, shrink, patience
        self.cases = 0
        self.found: collections.Counter[tuple[str, ...]] = collections.Counter()
        self.called: set[str] = set()

    def run(self, number: int) -> Report | None:
        """Run one case; a report if it shows something of a new kind."""
        graph = make(np.random.default_rng([self.seed, number]), self.operators)
        self.cases += 1
        self.called |= {node.function for node in graph.nodes if not reference.table[node.op].write}
        finding = check(graph)
        if finding is None or self._known(finding.key):
            return None
        if self.shrink:
            graph = smallest(graph, smaller_graphs, lambda one: (found := check(one)) is not None
                             and found.key == finding.key, self.patience)
            finding = check(graph) or finding
        return Report(finding.key, number, finding.message, "\n".join([*graph.program(), *graph.lines()]) + "\n")

    def _known(self, key: tuple[str, ...]) -> bool:
        self.found[key] += 1
        return self.found[key] > 1

    def sweep(self, seconds: float, cases: int = 10**12, start: int = 0) -> Iterator[Report]:
        """Reports of the cases from ``start`` on, until the time or the cases are used up."""
        end = time.monotonic() + seconds
        number = start
        while number < start + cases and time.monotonic() < end:
            report = self.run(number)
            number += 1
            if report is not None:
                yield report

    def summary(self) -> str:
        """How many cases ran, and how often each kind was found."""
        lines = [f"{self.cases} cases of seed {self.seed}", f"{len(self.called)} operators; {len(self.found)} kinds of findings"]
        return "\n".join([*lines, *(f"{count:6} × {', '.join(key)}" for key, count in self.found.most_common())])


def main() -> int:
    """Read the command line, run, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to run (1)")
    parser.add_argument("--seed", type=int, default=7, help="which sequence of cases (7)")
    parser.add_argument("--start", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--cases", type=int, default=10**12, help="stop after so many cases")
    parser.add_argument("--operators", nargs="*", default=[], choices=list(reference.table), metavar="NAME",
                        help="draw graphs of these")
    parser.add_argument("--no-shrink", action="store_true", help="print cases as they were found")
    given = parser.parse_args()
    fuzzer = Fuzzer(given.seed, tuple(given.operators), not given.no_shrink)
    for report in fuzzer.sweep(60 * given.minutes, given.cases, given.start):
        print(report, flush=True)
    print(fuzzer.summary())
    return 1 if fuzzer.found else 0


if __name__ == "__main__":
    sys.exit(main())
