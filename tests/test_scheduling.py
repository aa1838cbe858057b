"""What ``pytest -n`` gives to which process: every test once, a file to one, the longest first."""

from __future__ import annotations

import os
import random
from types import SimpleNamespace

import pytest

pytest.importorskip("xdist", reason="no pytest-xdist: pip install 'sparsekit[test]'")
from tests import scheduling

FILES = {"tests/a.py": 5, "tests/browser/b.py": 3, "tests/browser/c.py": 1, "tests/d.py": 900, "notebooks/e.ipynb": 40}
TESTS = [f"{file}::test[{number}::x/y]" for file, count in FILES.items() for number in range(count)]


class Process:
    """A process of ``-n``, which notes what it is told to run."""

    def __init__(self, name):
        self.gateway, self.waiting, self.ran, self.shutting_down = SimpleNamespace(id=name), [], [], False

    def send_runtest_some(self, numbers):
        self.waiting += numbers

    def shutdown(self):
        self.shutting_down = True


@pytest.fixture
def scheduler():
    config = SimpleNamespace(option=SimpleNamespace(loadscopereorder=True), getvalue=lambda name: ["popen", "popen"])
    return scheduling.LongestFirst(config, None)


@pytest.mark.parametrize("seed", range(5))
def test_every_test_runs_once_and_a_file_or_shared_folder_in_one_process(scheduler, seed):
    processes, draw = [Process("one"), Process("two")], random.Random(seed)
    for process in processes:
        scheduler.add_node(process)
    for process in processes:
        scheduler.add_node_collection(process, TESTS)
    scheduler.schedule()
    while waiting := [process for process in processes if process.waiting]:
        process = draw.choice(waiting)
        number = process.waiting.pop(0)
        process.ran.append(TESTS[number])
        scheduler.mark_test_complete(process, number)
    assert scheduler.tests_finished
    assert not scheduler.has_pending
    assert sorted(processes[0].ran + processes[1].ran) == sorted(TESTS)
    units = [{scheduling.unit_of(nodeid) for nodeid in process.ran} for process in processes]
    assert not units[0] & units[1]
    assert units[0] | units[1] == {"tests/a.py", "tests/browser", "tests/d.py", "notebooks/e.ipynb"}
    assert all(process.shutting_down for process in processes)


def test_what_a_crashed_process_had_left_is_given_to_another(scheduler):
    first, second = Process("one"), Process("two")
    for process in (first, second):
        scheduler.add_node(process)
        scheduler.add_node_collection(process, TESTS)
    scheduler.schedule()
    for number in first.waiting[:2]:
        scheduler.mark_test_complete(first, number)
    left = [TESTS[number] for number in first.waiting[2:]]
    assert scheduler.remove_node(first) == left[0]
    while second.waiting:
        number = second.waiting.pop(0)
        second.ran.append(TESTS[number])
        scheduler.mark_test_complete(second, number)
    assert set(left) <= set(second.ran)


def test_the_longest_come_first():
    items = [SimpleNamespace(nodeid=nodeid, get_closest_marker={"slow": nodeid.startswith("tests/a.py")}.get) for nodeid in TESTS]
    scheduling.longest_first(items)
    order = list(dict.fromkeys(scheduling.unit_of(item.nodeid) for item in items))
    assert order == ["tests/a.py", "notebooks/e.ipynb", "tests/browser", "tests/d.py"]


@pytest.mark.parametrize("value", [os.urandom(8), os.urandom(9)])
def test_no_name_of_a_test_depends_on_what_bytes_hold(request, value):
    """All processes must collect the same names: archives hold the second in which they were made."""
    assert request.node.name.rpartition("[")[2] in {"value0]", "value1]"}
    assert len(value) in {8, 9}
