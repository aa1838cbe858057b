"""``tests/record_golden.py`` has every recorder and every file of golden data, and tells what is the same from what is not."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"
TOOL = runpy.run_path(str(TESTS / "record_golden.py"))
RECORDINGS, BY_HAND, HELPERS = TOOL["RECORDINGS"], TOOL["BY_HAND"], TOOL["HELPERS"]

#: Calls that write files.
WRITES = re.compile(r"\.write_text\(|\.write_bytes\(|open\([^)]*[\"']wb?[\"']|savez|recording\.save\(")


def tool(*arguments):
    command = [sys.executable, str(TESTS / "record_golden.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)


def test_every_file_of_golden_data_has_a_recorder_or_says_where_it_comes_from():
    recorded = {name for recording in RECORDINGS for name in recording.files}
    assert recorded.isdisjoint(BY_HAND)
    assert recorded | set(BY_HAND) == {path.name for path in GOLDEN.iterdir()}
    done = tool("--list")
    assert all(name in done.stdout for name in recorded), done.stderr
    assert re.search(r"^scripts\.json +tests/oracle/run_scripts\.py +mxnet, mxnet-source$", done.stdout, re.M)


def test_every_recorder_is_in_the_table():
    listed = {recording.script for recording in RECORDINGS} | set(HELPERS)
    assert {f"oracle/{path.name}" for path in (TESTS / "oracle").glob("*.py")} <= listed
    assert not [name for name in listed if not (TESTS / name).is_file()]


def test_no_program_elsewhere_writes_golden_data():
    listed = {TESTS / name for name in ({recording.script for recording in RECORDINGS} | set(HELPERS))}
    others = [path for path in TESTS.rglob("*.py") if path not in listed and not path.name.startswith("test_")]
    texts = {path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8") for path in others}
    found = [name for name, text in texts.items() if re.search(r"[\"'/]golden[\"'/]|GOLDEN", text) and WRITES.search(text)]
    assert set(found) <= {"record_golden.py", "old_names.py"}  # which reads them, and writes a table of the package


def test_what_needs_nothing_is_recorded_to_the_byte():
    """scipy's part of what the page "Coming from ..." prints: the other parts stay as they are."""
    done = tool("--check", "--only", "coming_from")
    assert "coming_from.json (this): the same" in done.stdout, done.stdout + done.stderr
    assert "left out: coming_from.json (mxnet): needs --with mxnet=PATH" in done.stdout
    assert done.returncode == 1  # as something asked for was left out


@pytest.mark.parametrize(("arguments", "said"), [
    (["--only", "nothing"], "no recorder writes nothing"), (["--with", "mxnet=absent"], "absent does not run"),
    (["--with", "mxnt=python"], "--with knows mxnet, "), (["--with", f"mxnet={sys.executable}"], "does not have mxnet"),
    (["--with", "mxnet-source=absent"], "absent does not exist"),
])
def test_wrong_arguments_are_named(arguments, said):
    done = tool("--check", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_byte_that_differs_is_told_and_written(tmp_path, monkeypatch):
    recording = TOOL["Recording"](("facts.json",), "oracle/record_module.py")
    committed, made = tmp_path / "committed", tmp_path / "made"
    for folder, text in ((committed, '{"a": 1}'), (made, '{"a": 2}')):
        folder.mkdir()
        (folder / "facts.json").write_text(text, encoding="utf-8")
    settle = TOOL["settle"]
    monkeypatch.setitem(settle.__globals__, "GOLDEN", committed)
    assert settle(recording, [made / "facts.json"], True) == "DIFFERS: facts.json"
    assert (committed / "facts.json").read_text(encoding="utf-8") == '{"a": 1}'
    assert settle(recording, [made / "facts.json"], False) == "changed: facts.json"
    assert settle(recording, [made / "facts.json"], True) == "the same"


def test_times_and_threads_of_traces_may_differ_and_nothing_else(tmp_path):
    recording = next(recording for recording in RECORDINGS if recording.files == ("trace_mxnet.json",))
    trace = json.loads((GOLDEN / "trace_mxnet.json").read_text(encoding="utf-8"))
    for event in trace["traceEvents"]:
        event.update({key: 7 for key in ("ts", "tid") if key in event})
    trace["traceEvents"].reverse()
    (tmp_path / "made.json").write_text(json.dumps(trace), encoding="utf-8")
    assert TOOL["same"](recording, tmp_path / "made.json", GOLDEN / "trace_mxnet.json")
    trace["traceEvents"][0]["name"] += "?"
    (tmp_path / "made.json").write_text(json.dumps(trace), encoding="utf-8")
    assert not TOOL["same"](recording, tmp_path / "made.json", GOLDEN / "trace_mxnet.json")
