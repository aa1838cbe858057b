"""The pytest plugin, in processes of its own: alone, under xdist, and with markers that are wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "sparsekit" / "profiler" / "plugin"

PROGRAM = '''
import unittest

import pytest

contract = pytest.mark.sparse_contract


def waste():
    import sparsekit as mx
    return mx.nd.ones((40, 50)).tostype("csr") + 1  # the line that is named


def product():
    import sparsekit as mx
    return mx.nd.dot(mx.nd.ones((40, 50)).tostype("csr"), mx.nd.ones((50, 2)))


@contract(no_densify=True)
def test_dense():
    waste()


@contract(no_densify=True, densify_at_most=0, peak_below="2 MB", bytes_moved_below=("2 MB",),
          storage=("dot", "csr, default -> default"), calls=[("dot", 1), {"op": "dot", "at_most": 3, "lane": "forward"}])
def test_all_hold():
    product()


@contract(no_densify={"allow": "dense by nature"}, peak_below="1 kB", calls=("dot", 2))
def test_two_are_broken():
    waste()


@pytest.mark.parametrize("make", [waste, pytest.param(product, marks=contract(calls=("dot", 2)))])
@contract(no_densify=True)
def test_cases(make):
    make()


@contract(no_densify=True)
def test_own_failure_wins():
    waste()
    assert 1 == 2, "its own"


@pytest.mark.xfail(strict=True, reason="its contract is broken")
@contract(no_densify=True)
def test_expected():
    waste()


@contract(no_densify=True)
def test_skipped():
    waste()
    pytest.skip("for a reason")


@contract(no_densify=True)
class TestOld(unittest.TestCase):
    def setUp(self):
        product()

    @contract(calls=("dot", 2))
    def test_dense(self):
        waste()

    def test_own_failure_wins(self):
        waste()
        self.assertEqual(1, 2, "its own")

    def test_holds(self):
        product()


@pytest.fixture
def prepared():
    return waste()


@pytest.mark.sparse_profile(lines=False)
def test_fixture(prepared, sparse_profile):
    import sparsekit as mx
    assert sparse_profile.state == "running" and mx.profiler.active() is sparse_profile
    product()
    sparse_profile.stop()
    mx.expect(sparse_profile).no_densify().calls("dot", 1)
    assert not any(record["line"] for record in sparse_profile.records)


@contract(calls=("dot", 1))
def test_fixture_and_contract_are_one_profile(sparse_profile):
    product()


def test_fixture_asked_for_late(request):
    product()
    found = request.getfixturevalue("sparse_profile")
    product()
    found.stop()
    assert sum(row["calls"] for row in found.totals if row["name"] == "dot") == (2 if PROFILED else 1)


def test_profilers_of_its_own():
    import sparsekit as mx
    product()
    with mx.Profiler() as prof:
        product()
    mx.expect(prof).calls("dot", 1)
    product()
    assert mx.profiler.compare({"one": int, "two": int}, rounds=8, turn=1e-6, profile=False).blocks
    product()

'''

DENSIFIED = r"no_densify\(\) is broken: 1 happened: _plus_scalar"
BYTES = r"csr \(40, 50\) -> default, 24.3 kB -> 8.00 kB, dense by nature.\nHint: use functions that keep zero"
PEAK = r"peak_below\('1 kB'\) is broken: the peak was 32.3 kB[^\n]*\nEvent: cast_storage \(convert\)"
NOT_CALLED = r"calls\('dot', 2\) is broken: it ran 0 times[^\n]*\nAdvice: .*density 1.00.*Convert it once"

#: What each test comes to, and a part of what it says.
OUTCOMES = {"test_dense": ("failed", DENSIFIED + r" at test_program.py:{line}: " + BYTES), "test_all_hold": ("passed", ""),
            "test_two_are_broken": ("failed", PEAK + r" at test_program.py:{line}, [^\n]*\n" + NOT_CALLED),
            "test_cases[waste]": ("failed", r"no_densify\(\) is broken"),
            "test_cases[product]": ("failed",
                                    r"^calls\('dot', 2\) is broken: it ran 1 time;.*\nEvent: dot \(forward\) at test_p"),
            "test_own_failure_wins": ("failed", "AssertionError: its own"), "test_expected": ("skipped", ""),
            "test_skipped": ("skipped", ""),
            "TestOld.test_dense": ("failed",
                                   r"no_densify\(\) is broken[^\n]*\nHint:[^\n]*\ncalls\('dot', 2\) is broken: it ran 1 time"),
            "TestOld.test_own_failure_wins": ("failed", "AssertionError: 1 != 2 : its own"), "TestOld.test_holds": ("passed", ""),
            "test_fixture": ("passed", ""), "test_fixture_and_contract_are_one_profile": ("passed", ""),
            "test_fixture_asked_for_late": ("passed", ""), "test_profilers_of_its_own": ("passed", "")}


def pytest_in(folder: Path, *options: str, source: str = PROGRAM, codes: tuple[int, ...] = (1, 2)) -> str:
    (folder / "test_program.py").write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    path = os.pathsep.join([str(ROOT), str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])])
    # With CI, pytest writes messages twice: summaries are whole.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST", "SPARSEKIT"))}
    # Other plugins take most of the time of a start.
    environment |= {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "pytest_sparsekit", "-p", "xdist", "--strict-markers",
                           "--junitxml=told.xml", *options, "test_program.py"], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=400)
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


def outcomes(folder: Path) -> dict[str, tuple[str, str]]:
    found = {}
    for case in ElementTree.parse(folder / "told.xml").iter("testcase"):
        name = f"{case.get('classname').removeprefix('test_program')}.{case.get('name')}".lstrip(".")
        told = [(child.tag, child.text or "") for child in case if child.tag in ("failure", "skipped", "error")]
        found[name] = ({"failure": "failed"}.get(told[0][0], told[0][0]), told[0][1]) if told else ("passed", "")
    return found


@pytest.mark.parametrize("options", [pytest.param([], marks=pytest.mark.thorough), ["-n", "2", "--sparsekit-profile"]],
                         ids=["alone", "profile-xdist"])
def test_contracts_fixture_and_table(tmp_path, options):
    source = PROGRAM.replace("PROFILED", str("--sparsekit-profile" in options))
    said = pytest_in(tmp_path, *options, source=source)
    line = source.splitlines().index("    return mx.nd.ones((40, 50)).tostype(\"csr\") + 1  # the line that is named") + 1
    found = outcomes(tmp_path)
    assert {name: outcome for name, (outcome, _) in found.items()} == {name: outcome for name, (outcome, _) in OUTCOMES.items()}
    for name, (_, words) in OUTCOMES.items():
        assert re.search(words.replace("{line}", str(line)), found[name][1], re.DOTALL), (name, found[name][1])
        if "own_failure" in name:
            assert "is broken" not in found[name][1]
    rows = {words[0].removeprefix("test_program.py::"): words[1:] for row in said.splitlines()
            if row.startswith("test_program.py::") and (words := re.split(r"  +", row))}
    if "--sparsekit-profile" not in options:
        assert not rows
        return
    assert len(rows) == len(OUTCOMES)
    assert rows["test_dense"][0] == "3"
    assert rows["test_dense"][2:] == ["32.3 kB", "1", f"_plus_scalar at test_program.py:{line}"]
    assert rows["test_all_hold"][3:] == ["0"]
    assert rows["test_profilers_of_its_own"][0] == "12"  # three products, not the one that its own profiler recorded


WRONG = '''
import pytest

contract = pytest.mark.sparse_contract


@contract(peak_below="2 GX")
def test_unit(): pass


@contract(no_densfy=True)
def test_name(): pass


@contract(calls=("dot",))
def test_always_holds(): pass


@contract(no_densify={"allow": "dense by natur"})
def test_kind(): pass


@contract(peak_below=True, torch="yes")
def test_missing(): pass


@pytest.mark.parametrize("case", [pytest.param(1, marks=contract(no_densify=False))])
def test_case(case): pass


@pytest.mark.sparse_profile(capacty=3)
def test_option(sparse_profile): pass


def test_fine(): pass
'''


OLD = '''
import unittest

import pytest


@pytest.mark.sparse_contract("2 GB")
class TestOld(unittest.TestCase):
    def test_unnamed(self): pass
'''


@pytest.mark.parametrize("options", [[], pytest.param(["-n", "2"], marks=pytest.mark.thorough)], ids=["alone", "xdist"])
def test_wrong_arguments_are_named_while_tests_are_collected(tmp_path, options):
    (tmp_path / "test_old.py").write_text(OLD)
    said = pytest_in(tmp_path, *options, "test_old.py", source=WRONG)
    for test, words in {"test_unit": "2 GX.*no unit of bytes.*GX", "test_name": "no contract.*no_densfy.*no_densify",
                        "test_always_holds": "calls('dot') holds for any number of calls", "test_kind": "dense by nature",
                        "test_missing": "missing a required argument: 'size'.*it takes (size", "test_case[1]": "promises nothing",
                        "TestOld::test_unnamed": "each by its name", "test_option": "capacity"}.items():
        pattern = ".*".join(map(re.escape, words.split(".*")))
        assert re.search(rf"test_\w+.py::{re.escape(test)}: .*{pattern}", said, re.DOTALL), (test, said)
    assert not re.search(r"\d passed", said)


UNUSED = '''
import sys


def test_nothing_is_loaded():
    loaded = {name for name in sys.modules if name.startswith(("numpy", "scipy", "numba", "sparsekit", "torch"))}
    assert not loaded
'''


def test_without_use_the_plugin_loads_neither_numpy_nor_the_package(tmp_path):
    pytest_in(tmp_path, source=UNUSED, codes=(0,))
    with_option = pytest_in(tmp_path, "--sparsekit-profile", source="def test_it(): pass", codes=(0,))
    assert "No test ran operators of sparsekit or of PyTorch." in with_option


def test_the_page_runs_as_it_is_written(tmp_path):
    page = (ROOT / "sparsekit" / "docs" / "pytest.md").read_text(encoding="utf-8")
    source = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    said = pytest_in(tmp_path, "--sparsekit-profile", source=source, codes=(0,))
    table = page.partition("```text\ntest ")[2].partition("```")[0]
    shown = [re.split(r"  +", row.replace("test_step", "test_program"))[:2] for row in table.splitlines()[2:]]
    printed = [re.split(r"  +", row)[:2] for row in said.splitlines() if row.startswith("test_program.py::")]
    assert len(shown) == 2
    assert printed == shown
