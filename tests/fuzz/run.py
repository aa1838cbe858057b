"""Fuzzes sparsekit: ``python tests/fuzz/run.py --minutes 60 --seed 7``.

Case n of a seed is the same on every machine.  Each is a random graph (``graphs.py``), run in every way (``ways.py``)
and held to numpy and scipy (``reference.py``), or a random program (``families.py``).  What is found is made smaller,
printed as a program to paste, and printed once for each kind.  The exit status is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))
if str(HERE.parents[1]) not in sys.path:
    sys.path.insert(1, str(HERE.parents[1]))  # for tests.references

import families  # noqa: E402
import numpy as np  # noqa: E402
import reference  # noqa: E402
from graphs import make  # noqa: E402
from shrink import smaller_graphs, smallest  # noqa: E402
from ways import check  # noqa: E402

#: How many of a hundred cases are graphs; the others are spread over the families of programs.
GRAPHS = 60


class Report(NamedTuple):
    """Something found: its kind, the number of the case, what was seen, and a program that shows it."""

    key: tuple[str, ...]
    case: int
    message: str
    text: str

    def __str__(self) -> str:
        message = "\n".join(f"# {line}" for line in self.message.splitlines())
        return f"# case {self.case}: {', '.join(self.key)}\n{message}\n{self.text}"


def outcome(text: str) -> dict[str, str] | None:
    """None if a program passes; else the kind of its error and its message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<program>", "exec"), {"__name__": "program"})
        except BaseException as error:
            return {"kind": type(error).__name__, "message": str(error)[:1000]}
    return None


class Fuzzer:
    """Runs cases of a seed, and keeps a report of each kind of finding."""

    def __init__(
        self, seed: int, only: tuple[str, ...] = (), shrink: bool = True, patience: float = 8.0, operators: tuple[str, ...] = ()
    ) -> None:
        self.seed, self.only, self.shrink, self.patience, self.operators = seed, only, shrink, patience, operators
        self.cases: collections.Counter[str] = collections.Counter()
        self.found: collections.Counter[tuple[str, ...]] = collections.Counter()
        self.called: set[str] = set()

    def kind_of(self, rng: np.random.Generator) -> str:
        """Which family a case belongs to."""
        names = self.only or ("graph", *families.families)
        if "graph" in names and (len(names) == 1 or rng.integers(100) < GRAPHS):
            return "graph"
        rest = [name for name in names if name != "graph"]
        return rest[int(rng.integers(len(rest)))]

    def run(self, number: int) -> Report | None:
        """Run one case; a report if it shows something of a new kind."""
        rng = np.random.default_rng([self.seed, number])
        kind = self.kind_of(rng)
        self.cases[kind] += 1
        return self._graph(rng, number) if kind == "graph" else self._program(kind, rng, number)

    def _graph(self, rng: np.random.Generator, number: int) -> Report | None:
        graph = make(rng, self.operators)
        self.called |= {node.function for node in graph.nodes if not reference.table[node.op].write}
        finding = check(graph)
        if finding is None or self._known(finding.key):
            return None
        if self.shrink:
            graph = smallest(
                graph, smaller_graphs, lambda one: (found := check(one)) is not None and found.key == finding.key, self.patience
            )
            finding = check(graph) or finding
        return Report(finding.key, number, finding.message, "\n".join([*graph.program(), *finding.lines]) + "\n")

    def _program(self, name: str, rng: np.random.Generator, number: int) -> Report | None:
        choices = families.Choices(rng)
        label, text = families.program(name, choices)
        result = outcome(text)
        if result is None or self._known(key := (name, label, result["kind"])):
            return None
        if self.shrink:

            def shows(given: tuple[int, ...]) -> bool:
                label, text = families.program(name, families.Choices(given=given))
                found = outcome(text)
                return found is not None and (name, label, found["kind"]) == key

            given = smallest(tuple(choices.made), families.smaller_choices, shows, self.patience)
            label, text = families.program(name, families.Choices(given=given))
            result = outcome(text) or result
        return Report(key, number, f"{result['kind']}: {result['message']}", text)

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
        """How many cases of each family ran, and how often each kind was found."""
        lines = [
            f"{sum(self.cases.values())} cases of seed {self.seed}: "
            + ", ".join(f"{count} {name}" for name, count in sorted(self.cases.items())),
            f"{len(self.called)} operators; {len(self.found)} kinds of findings",
        ]
        return "\n".join([*lines, *(f"{count:6} × {', '.join(key)}" for key, count in self.found.most_common())])


def main() -> int:
    """Read the command line, run, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to run (1)")
    parser.add_argument("--seed", type=int, default=7, help="which sequence of cases (7)")
    parser.add_argument("--start", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--cases", type=int, default=10**12, help="stop after so many cases")
    parser.add_argument("--only", nargs="*", default=[], choices=["graph", *families.families], help="families to run (all)")
    parser.add_argument(
        "--operators", nargs="*", default=[], choices=list(reference.table), metavar="NAME", help="draw graphs of these"
    )
    parser.add_argument("--no-shrink", action="store_true", help="print cases as they were found")
    given = parser.parse_args()
    fuzzer = Fuzzer(given.seed, tuple(given.only), not given.no_shrink, operators=tuple(given.operators))
    for report in fuzzer.sweep(60 * given.minutes, given.cases, given.start):
        print(report, flush=True)
    print(fuzzer.summary())
    return 1 if fuzzer.found else 0


if __name__ == "__main__":
    sys.exit(main())
