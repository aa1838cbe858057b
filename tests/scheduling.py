"""How ``pytest -n`` spreads the test files over its processes; it needs pytest-xdist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler import LoadFileScheduling

#: Seconds that a test takes, about, in folders and files where it takes long, or with the marker ``slow``, or elsewhere.
IN = {"notebooks": 0.4, "tests/bench": 1.5, "tests/browser": 2.0, "tests/demo": 2.0, "tests/faults": 1.0, "tests/programs": 1.5,
      "tests/test_one_operator.py": 4.0, "tests/test_package.py": 2.0}
SLOW, ELSEWHERE = 10.0, 0.005

#: Folders whose files are run by one process: they share JupyterLab and a browser, and what the C++ compiler makes.
TOGETHER = ("tests/browser", "tests/gpu")

#: Folders that come first.  They compile nearly every kernel; a program or a JupyterLab that a test starts before would compile
#: the same ones at the same time as the other process does.
COMPILE = ("tests/core/", "tests/kernels/")


def unit_of(nodeid: str) -> str:
    """What is run by one process: a test's file, or its folder."""
    file = nodeid.partition("::")[0]
    folder = file.rpartition("/")[0]
    return folder if folder in TOGETHER else file


class LongestFirst(LoadFileScheduling):
    """A file is run by one process: notebooks have one kernel, and the tests of a file share what is dear to make.

    The order is that of the collected tests, which ``longest_first`` has put in order.  What xdist's own class finds out by
    going through all tests after each of them is kept here.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self.numbers: dict[str, int] = {}

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Keep where each test is in the list of all, which is the same for every process."""
        super().add_node_collection(node, collection)
        self.numbers = self.numbers or {nodeid: number for number, nodeid in enumerate(collection)}

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a test that has run."""
        nodeid = self.registered_collections[node][item_index]
        units, unit = self.assigned_work[node], self._split_scope(nodeid)
        del units[unit][nodeid]
        if not units[unit]:
            del units[unit]
        self._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        return sum(map(len, workload.values()))

    def _assign_work_unit(self, node: Any) -> None:
        unit, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][unit] = tests
        node.send_runtest_some([self.numbers[nodeid] for nodeid in tests])


class Briefly:
    """A process of ``-n`` says of a test whether it passed, and nothing else unless it did not.

    Six messages a test, with a test's names and marks in three of them, took longer than most tests.
    """

    @pytest.hookimpl
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test, and report what is worth it."""
        durations = item.config.getoption("durations") is not None
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        whole = sum(report.duration for report in reports)
        for report in reports:
            if not durations and report.when == "call":
                report.seconds = whole
            if report.passed:
                report.keywords = {}
            if report.when == "call" or not report.passed or durations or report.user_properties:
                item.ihook.pytest_runtest_logreport(report=report)
        return True


def longest_first(items: list[pytest.Item]) -> None:
    """Put first what is expected to take longest, so that the processes end at about the same time.

    What compiles kernels comes before all else. Notebooks come last: compiling takes more time and memory than a notebook may.
    """
    expected: dict[str, float] = {}
    for item in items:
        unit = unit_of(item.nodeid)
        expected[unit] = expected.get(unit, 0.0) + expected_seconds(item)
    items.sort(key=lambda item: (turn_of(item.nodeid), -expected[unit_of(item.nodeid)]))


def turn_of(nodeid: str) -> int:
    """Where a test comes, whatever it takes: 0 what compiles kernels, 1 the others, 2 notebooks."""
    return 2 if nodeid.startswith("notebooks/") else int(not nodeid.startswith(COMPILE))


def expected_seconds(item: pytest.Item) -> float:
    """About how long a test takes, for the order alone."""
    if item.get_closest_marker("slow"):
        return SLOW
    file = item.nodeid.partition("::")[0]
    return IN.get(file) or IN.get(file.rpartition("/")[0]) or ELSEWHERE
