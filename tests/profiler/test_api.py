import json
import os
import subprocess
import sys

import pytest

from sparsekit import profiler
from sparsekit.base.errors import ProfilerError, UnknownNameError
from sparsekit.core import hooks
from sparsekit.profiler import api


@pytest.fixture(autouse=True)
def here(fresh_api, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def add(library, number=1):
    for _ in range(number):
        library.run("add", (), library.dense(10))


def test_the_functions_of_mxnet_work_as_they_did(library, tmp_path):
    profiler.set_config(profile_all=True, aggregate_stats=True, continuous_dump=True, filename="out.json")
    profiler.set_state("run")
    add(library, 3)
    profiler.pause()
    add(library, 5)
    profiler.resume()
    add(library, 1)
    profiler.set_state("stop")
    add(library, 7)
    assert "add" in profiler.dumps()
    found = json.loads(profiler.dumps(format="json"))
    assert found["Time"]["operator"]["add"]["Count"] == 4
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}
    assert found["Memory"]["Device Storage"]["Memory: cpu/0"]["Max"] == 0.04
    profiler.dump()
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"]


def test_runs_add_up_until_they_are_reset(library):
    for _ in range(2):
        profiler.set_state("run")
        add(library)
        profiler.set_state("stop")
    assert json.loads(profiler.dumps(reset=True, format="json"))["Time"]["operator"]["add"]["Count"] == 2
    assert "Nothing has been profiled" in profiler.dumps()
    assert json.loads(profiler.dumps(format="json"))["Time"] == {}


def test_dump_does_not_end_what_it_need_not(library, tmp_path):
    profiler.set_state("run")
    add(library)
    profiler.dump(finished=False)
    assert hooks.sink is not None
    profiler.set_config(filename="second.json.gz")
    profiler.dump()
    assert {file.name for file in tmp_path.iterdir()} == {"profile.json", "second.json.gz"}
    assert hooks.sink is None


@pytest.mark.parametrize("sort_by", ["total", "avg", "min", "max", "count"])
@pytest.mark.parametrize("ascending", [True, False])
def test_dumps_sorts(library, sort_by, ascending):
    profiler.set_state("run")
    add(library, 3)
    library.run("dot", (), library.dense(1))
    profiler.set_state("stop")
    assert "dot" in profiler.dumps(sort_by=sort_by, ascending=ascending)
    found = json.loads(profiler.dumps(format="json", sort_by=sort_by, ascending=ascending))
    rows = list(found["Time"]["operator"].values())
    key = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}[sort_by]
    values = [row[key] for row in rows]
    assert values == sorted(values, reverse=not ascending)


def test_domains_hold_tasks_frames_counters_and_markers(library):
    domain = profiler.Domain("training")
    counter = domain.new_counter("samples", 10)
    profiler.set_state("run")
    with domain.new_task("epoch"):
        frame = domain.new_frame("batch")
        frame.start()
        add(library)
        frame.stop()
    event = profiler.Event("alone")
    event.start()
    event.stop()
    event.stop()
    counter.increment(5)
    counter += 3
    counter -= 1
    domain.new_marker("now").mark()
    profiler.set_state("stop")
    counter += 100
    held = api._Shared.profiler
    spans = [(record["name"], record["depth"], record["attrs"]) for record in held.records if record["kind"] == "span"]
    assert spans == [("training::epoch", 0, {"domain": "training"}), ("training,frame::batch", 1, {"domain": "training"}),
                     ("alone", 0, {})]
    assert [(mark["name"], mark["value"]) for mark in held.marks] == [
        ("training::samples", 15), ("training::samples", 18), ("training::samples", 17), ("training::now", "process")]
    assert [str(part) for part in (domain, frame, counter)] == ["training", "batch", "samples"]


def test_scopes_name_layers_and_join(library):
    profiler.set_state("run")
    with profiler.scope("encoder:") as name:
        assert name == "encoder"
        add(library)
        with profiler.scope("cell"):
            add(library)
        with profiler.scope("alone", append_mode=False):
            add(library)
    add(library)
    profiler.set_state("stop")
    assert [record["layer"] for record in api._Shared.profiler.records] == ["encoder", "encoder:cell", "alone", ""]


@pytest.mark.parametrize("call", [
    lambda: profiler.set_config(file_name="x"), lambda: profiler.set_state("go"),
    lambda: profiler.dumps(format="xml"), lambda: profiler.dumps(sort_by="size")])
def test_unknown_words_are_named(call):
    with pytest.raises(UnknownNameError, match="There is no"):
        call()


@pytest.mark.parametrize("setting", [
    {"capacity": -1}, {"capacity": "x"}, {"capacity": True}, {"capacity": None}, {"lines": "no"}, {"lines": 0},
    {"continuous_dump": "no"}, {"continuous_dump": None}, {"filename": 3}, {"filename": b"a.json"}, {"filename": "a.txt"}])
def test_settings_that_cannot_be_are_refused_and_change_nothing(setting):
    before = dict(api._config)
    with pytest.raises(ProfilerError, match=next(iter(setting))) as caught:
        profiler.set_config(profile_all=True, **setting)
    assert caught.value.hint
    assert api._config == before


def test_dump_of_nothing_writes_a_trace_without_events(library, tmp_path):
    """Before any run, and after ``dumps(reset=True)``, as MXNet does."""
    profiler.dump()
    profiler.set_state("run")
    add(library)
    profiler.set_state("stop")
    profiler.dumps(reset=True)
    (tmp_path / "profile.json").unlink()
    profiler.dump()
    events = json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    assert not [event for event in events if event.get("name") == "add"]


def test_a_program_that_names_a_file_and_never_dumps_leaves_its_trace(tmp_path):
    program = ("import sparsekit as mx\nmx.profiler.set_config(filename='left.json')\nmx.profiler.set_state('run')\n"
               "mx.nd.ones(3) + 1\nmx.profiler.set_state('stop')\n")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    names = [event["name"] for event in json.loads((tmp_path / "left.json").read_text())["traceEvents"]]
    assert "_plus_scalar" in names
    subprocess.run([sys.executable, "-c", program.replace("mx.profiler.set_config(filename='left.json')\n", "")],
                   cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["left.json"]  # no file that nobody named


SCRIPT = """
import time
from types import SimpleNamespace
import numpy as np
from sparsekit import profiler
from sparsekit.core import hooks
profiler.api.autostart()
plan = SimpleNamespace(op=SimpleNamespace(name="add", lane=None), attrs={}, fallback=False)
if hooks.sink is not None:
    hooks.sink.op(plan, time.perf_counter_ns(), time.perf_counter_ns(), (), (np.zeros(3),), None)
"""


@pytest.mark.parametrize("value", ["0", "", "off"])
def test_a_script_is_not_profiled(value, monkeypatch):
    monkeypatch.setenv("SPARSEKIT_PROFILE", value)
    profiler.api.autostart()
    assert hooks.sink is None


@pytest.mark.parametrize(("value", "written"), [
    ("1", ["sparsekit-profile.npz"]), ("mine.npz", ["mine.npz"]), ("mine", ["sparsekit-profile.npz"])])
def test_a_script_is_profiled_by_an_environment_variable(tmp_path, value, written):
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(api.__file__))))
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={**os.environ, "SPARSEKIT_PROFILE": value, "PYTHONPATH": folder})
    assert [file.name for file in tmp_path.iterdir()] == written
    assert "add" in done.stderr
    warned = "SPARSEKIT_PROFILE must be a name that ends in .npz, .html, .json or .json.gz, got 'mine'"
    assert (warned in done.stderr) == (value == "mine")
    assert [r["name"] for r in profiler.load(tmp_path / written[0]).records] == ["add"]
