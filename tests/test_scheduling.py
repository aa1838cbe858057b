"""What ``pytest -n`` gives to which process: every test once, a file to one, the longest first."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("xdist", reason="no pytest-xdist: pip install 'sparsekit[test]'")
from tests import scheduling

pytestmark = pytest.mark.thorough

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


def test_what_compiles_comes_first_then_the_longest_and_notebooks_last():
    items = [SimpleNamespace(nodeid=nodeid, get_closest_marker={"slow": nodeid.startswith("tests/a.py")}.get)
             for nodeid in [*TESTS, "tests/core/f.py::test", "tests/kernels/g.py::test[0]", "tests/kernels/g.py::test[1]"]]
    scheduling.longest_first(items)
    order = list(dict.fromkeys(scheduling.unit_of(item.nodeid) for item in items))
    assert order == ["tests/kernels/g.py", "tests/core/f.py", "tests/a.py", "tests/browser", "tests/d.py", "notebooks/e.ipynb"]


@pytest.mark.parametrize("value", [os.urandom(8), os.urandom(9)])
def test_no_name_of_a_test_depends_on_what_bytes_hold(request, value):
    """All processes must collect the same names: archives hold the second in which they were made."""
    assert request.node.name.rpartition("[")[2] in {"value0]", "value1]"}
    assert len(value) in {8, 9}


CONFTEST = """
import pytest
from conftest_of_all import SAYS_WHERE, Watchdog
from tests.scheduling import Briefly

Watchdog.pytest_runtest_protocol.__globals__["SAYS_WHERE"] = 0.5, 1

def pytest_configure(config):
    config.pluginmanager.register(Watchdog())
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Briefly())
"""

OUTCOMES = """
import time
import pytest

@pytest.fixture
def bad():
    raise ValueError("bad setup")

@pytest.fixture
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_fails():
    print("what it printed")
    assert 1 == 2

def test_skips():
    pytest.skip("no such thing")

@pytest.mark.xfail(strict=True)
def test_fails_as_expected():
    assert 1 == 2

@pytest.mark.xfail(strict=True)
def test_passes_unexpectedly():
    pass

def test_never_begins(bad):
    pass

def test_ends_badly(bad_end):
    pass

def test_hangs(record_property):
    record_property("more", 7)
    time.sleep(1.5)
"""


@pytest.mark.parametrize("processes", [("-n1",), ()], ids=["-n", "alone"])
def test_every_outcome_is_reported_and_a_test_that_hangs_says_where(tmp_path, processes):
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "conftest_of_all.py").write_bytes((Path(__file__).parents[1] / "conftest.py").read_bytes())
    (tmp_path / "test_outcomes.py").write_text(OUTCOMES, encoding="utf-8")
    options = ["-ra", "-p", "no:cacheprovider", "-p", "no:nbval", "-ojunit_family=xunit1", "--junitxml=found.xml", *processes]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1])])}
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True, text=True, timeout=400,
                          check=False, env=environment)
    assert "2 failed, 2 passed, 1 skipped, 1 xfailed, 2 errors in" in done.stdout, done.stdout + done.stderr
    for told in ("what it printed", "assert 1 == 2", "[XPASS(strict)]", "bad setup", "bad teardown", "no such thing",
                 "ERROR test_outcomes.py::test_ends_badly", "FAILED test_outcomes.py::test_fails "):
        assert told in done.stdout
    assert "Timeout (0:00:01)!" in done.stderr
    assert "in test_hangs" in done.stderr
    assert 'name="more" value="7"' in (tmp_path / "found.xml").read_text(encoding="utf-8")
