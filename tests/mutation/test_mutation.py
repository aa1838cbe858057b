"""The mutation runner: which faults it plants, that it finds those that tests miss, and that it can be stopped and go on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import mutate  # noqa: E402
from mutants import mutants  # noqa: E402


def test_every_part_has_files_and_its_tests_exist():
    for part, (patterns, tests) in mutate.PARTS.items():
        assert any(list(mutate.ROOT.glob(pattern)) for pattern in patterns), part
        assert all((mutate.ROOT / name).exists() for name in tests), part


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A repository of one function, of whose two faults the tests see one, and a map of its tests."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "parts.py").write_text(
        "def doubled(x):\n    seen = x - 1\n    return x * 2\n\n\n"
        "def forever(x):\n    while x < 1:\n        x += 1\n    return x\n")
    (tmp_path / "test_parts.py").write_text(
        "from package.parts import doubled, forever\n\n\ndef test_doubled():\n    assert doubled(3) == 6\n\n\n"
        "def test_forever():\n    assert forever(0) == 1\n")
    (tmp_path / "calls.json").write_text(json.dumps({
        "tests": [["test_parts.py::test_doubled", 0.1], ["test_parts.py::test_forever", 0.1]],
        "functions": {"package/parts.py::doubled:1": [0], "package/parts.py::forever:6": [1]}}))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setitem(mutate.PARTS, "small", (("package/parts.py",), ("test_parts.py",)))
    return tmp_path


def verdicts(small, wanted):
    copy = mutate.Copy(small / "copy")
    source = (small / "package" / "parts.py").read_text()
    calls = mutate.Map(small / "calls.json")
    found = {}
    for mutant in mutants("package/parts.py", source):
        if (mutant.line, mutant.after) in wanted:
            found[mutant.line, mutant.after] = mutate.examine(copy, calls, mutant, source, "small", False)
            assert (copy.folder / mutant.path).read_text() == source
    return found


def test_a_fault_is_killed_or_survives(small):
    found = verdicts(small, {(3, "(x + 2)"), (2, "(x + 1)")})
    assert found[3, "(x + 2)"]["verdict"] == "killed"
    assert found[3, "(x + 2)"]["by"] == "test_parts.py::test_doubled"
    assert found[2, "(x + 1)"] == {"verdict": "survived"}


def test_a_fault_that_runs_for_ever_times_out(small, monkeypatch):
    monkeypatch.setattr(mutate, "LIMITS", {"near": 2, "wide": 2, "part": 2})
    assert verdicts(small, {(8, "x -= 1")})[8, "x -= 1"]["verdict"] == "timed out"


def test_which_process_is_ended_is_no_fault_to_plant():
    faults = mutants("parts.py", "def stopped():\n    end_group(0)\n    os.kill(1 + 1, KILL)\n")
    assert {(fault.kind, fault.after) for fault in faults} == {("statement dropped", "pass")}


def test_the_report_goes_on_where_it_was(small, monkeypatch, capsys):
    (small / "report.json").write_text("{}")
    arguments = ["mutate.py", "--map", str(small / "calls.json"), "--part", "small", "--report", str(small / "report.json")]
    monkeypatch.setattr(sys, "argv", [*arguments, "--count", "1"])
    assert mutate.main() == 0
    first = json.loads((small / "report.json").read_text())
    assert len(first) == 1
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", [*arguments, "--count", "2"])
    assert mutate.main() == 0
    second = json.loads((small / "report.json").read_text())
    assert (len(second), first.items() <= second.items()) == (2, True)
    assert not set(first) & set(capsys.readouterr().out.split("\npart ")[0].split())
