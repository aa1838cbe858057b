"""Traces of torch.profiler and MXNet, recorded by tests/oracle/record_traces.py, and of nobody in particular."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from sparsekit.base.errors import FileFormatError
from sparsekit.figures.timeline import timeline_figure
from sparsekit.profiler import load
from sparsekit.profiler.foreign_trace import read_foreign

GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_trace_of_torch_has_lanes_shapes_links_and_memory():
    prof = load(GOLDEN / "trace_torch.json")
    lanes = {(row["name"], row["lane"]): row for row in prof.totals}
    assert lanes["aten::addmm", "forward"]["calls"] == 2
    assert lanes["AddmmBackward0", "backward"]["calls"] == 2
    assert lanes["Optimizer.step#SGD.step", "update"]["calls"] == 1
    forward = next(record for record in prof.records if record["name"] == "aten::addmm")
    assert [array["shape"] for array in forward["inputs"]] == [[4], [5, 8], [8, 4]]
    assert forward["inputs"][1]["bytes"] == 5 * 8 * 4
    nodes = {record["node"] for record in prof.records if record["lane"] == "backward"} - {None}
    assert nodes & {record["node"] for record in prof.records if record["lane"] == "forward"}
    assert prof.memory["peak_bytes"] > 0
    assert prof.environment == {"trace of": "torch.profiler"}


def test_a_trace_of_mxnet_has_each_operator_once():
    prof = load(GOLDEN / "trace_mxnet.json")
    calls = {(row["name"], row["lane"]): row["calls"] for row in prof.totals}
    assert calls["FullyConnected", "forward"] == calls["_backward_FullyConnected", "backward"] == 2
    assert calls["train", "user"] == 1
    assert {mark["name"]: mark["kind"] for mark in prof.marks} == {"loss": "counter", "here": "marker"}
    assert prof.memory["peak_bytes"] > 0


@pytest.mark.parametrize("name", ["trace_torch.json", "trace_mxnet.json"])
def test_own_times_add_up_and_everything_shows_and_is_written(name, tmp_path):
    prof = load(GOLDEN / name)
    assert all(record["self"] >= 0 for record in prof.records)
    for thread in {record["thread"] for record in prof.records}:
        assert sum(record["self"] for record in prof.records if record["thread"] == thread) <= prof.wall * 1.001
    page = prof.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<figure data-figure>") == 2  # timeline and memory
    prof.save(tmp_path / "ours.npz")
    assert load(tmp_path / "ours.npz").records == prof.records
    assert len(prof.table()) > 5


def write(path, *events, **fields):
    path.write_text(json.dumps({"traceEvents": list(events), **fields}))
    return path


def test_begin_and_end_events_pair_by_name_and_nest(tmp_path):
    events = [{"name": "outer", "ph": "B", "ts": 10, "pid": 1, "tid": 1},
              {"name": "inner", "ph": "B", "ts": 12, "pid": 1, "tid": 1},
              {"ph": "E", "ts": 15, "pid": 1, "tid": 1}, {"ph": "E", "ts": 20, "pid": 1, "tid": 1, "name": "outer"},
              {"name": "lost", "ph": "B", "ts": 30, "pid": 1, "tid": 1}]
    outer, inner = load(write(tmp_path / "t.json", *events)).records
    assert (outer["name"], outer["start"], outer["duration"], outer["self"], outer["depth"]) == ("outer", 0, 10, 7, 0)
    assert (inner["name"], inner["start"], inner["duration"], inner["depth"]) == ("inner", 2, 3, 1)


@pytest.mark.parametrize("event", [
    {"name": "x", "ph": "X", "ts": "soon", "dur": 1}, {"name": "x", "ph": "X", "ts": 1, "dur": -1},
    {"ph": "X", "ts": 1, "dur": 1},
    {"name": "x", "ph": "X", "ts": 1e300, "dur": 1}, {"name": "x", "ph": "X", "ts": True, "dur": 1}, 7, None, [], "X"])
def test_events_that_cannot_be_are_left_out(tmp_path, event):
    with pytest.raises(FileFormatError, match="is not a trace"):
        load(write(tmp_path / "t.json", event))
    good = {"name": "good", "ph": "X", "ts": 5, "dur": 1}
    assert [record["name"] for record in load(write(tmp_path / "t.json", event, good)).records] == ["good"]


@pytest.mark.parametrize("args", [
    {"Input Dims": "big", "Input type": ["float"]}, {"Input Dims": [[-1], [2.5], "x", [3]], "Input type": ["float"] * 4},
    {"Input Dims": [[10**30]], "Input type": ["float"]}, {"Sequence number": "one"},
    {"Sequence number": 10**40}, [], "text", None])
def test_arguments_that_cannot_be_are_left_out(tmp_path, args):
    event = {"name": "aten::mm", "ph": "X", "ts": 5, "dur": 1, "cat": "cpu_op", "args": args}
    prof = load(write(tmp_path / "t.json", event, schemaVersion=1))
    assert prof.records[0]["node"] is None
    assert all(array["bytes"] >= 0 for array in prof.records[0]["inputs"])
    assert prof.table().rows


def test_names_of_others_are_escaped_cut_and_any_text(tmp_path):
    script = "</script><script>alert(1)</script>"
    events = [{"name": name, "ph": "X", "ts": n, "dur": 1, "pid": script, "tid": {"a": script}}
              for n, name in enumerate((script, "two\nlines", "naïve ∂ 🐍", "\ud800", "x" * 100_000, {"a": 1}, 5))]
    prof = load(write(tmp_path / "t.json", *events))
    assert max(len(record["name"]) for record in prof.records) <= 400
    assert "<script>alert" not in prof._repr_mimebundle_()["text/html"]
    assert "<script>alert" not in prof.save(tmp_path / "page.html").read_text()
    prof.save(tmp_path / "again.npz")
    assert len(load(tmp_path / "again.npz").records) == len(events)


class Compared(str):
    """A name that counts how often names like it are compared."""

    __slots__ = ()
    times: ClassVar[Counter] = Counter()
    __hash__ = str.__hash__

    def __eq__(self, other):
        Compared.times["=="] += 1
        return str.__eq__(self, other)


def test_beginnings_that_nothing_ends_are_not_searched_again_and_again():
    count = 2000
    begun = [{"name": Compared(f"begun {n}"), "ph": "B", "ts": n} for n in range(count)]
    ended = [{"name": Compared(f"ended {n}"), "ph": "E", "ts": count + n} for n in range(count)]
    whole = {"name": Compared("whole"), "ph": "X", "ts": 0, "dur": 1}
    Compared.times.clear()
    assert len(read_foreign([*begun, *ended, whole], "t.json").records) == 1
    assert Compared.times["=="] < 10 * count


def test_ends_with_and_without_names_close_what_is_open(tmp_path):
    steps = [("B", "a"), ("B", "b"), ("B", "a"), ("E", "b"), ("E", None), ("E", "a"), ("E", "a"), ("E", None), ("B", 5), ("E", 5)]
    events = [{"ph": kind, "ts": now, **({} if name is None else {"name": name})} for now, (kind, name) in enumerate(steps)]
    found = {(record["name"], record["start"]) for record in load(write(tmp_path / "t.json", *events)).records}
    assert found == {("a", 0), ("b", 1), ("a", 2), ("5", 8)}


def test_time_begins_with_the_first_of_anything_and_ends_with_the_last(tmp_path):
    events = [{"name": "x", "ph": "X", "ts": 100, "dur": 10}, {"name": "loss", "ph": "C", "ts": 70, "args": {"loss": 3}},
              {"name": "Memory: cpu/0", "ph": "C", "ts": 60, "args": {"held": 8}, "cat": "Device Storage"},
              {"name": "late", "ph": "i", "ts": 150}]
    prof = load(write(tmp_path / "t.json", *events))
    assert prof.records[0]["start"] == 40
    assert {mark["name"]: mark["time"] for mark in prof.marks} == {"loss": 10, "late": 90}
    assert prof.memory["samples"][0][:2] == [0, 8]
    assert (prof.memory["peak_time"], prof.wall) == (0, 90)
    assert prof.accounted == 0  # an event of the user's own says nothing of where time went


def test_events_nested_as_deep_as_you_like_give_a_small_page(tmp_path):
    count = 12_000
    events = [{"name": f"op{n % 50}", "cat": "operator", "ph": "X", "ts": n, "dur": 2 * (count - n)} for n in range(count)]
    prof = load(write(tmp_path / "t.json", *events))
    for shown in (prof.timeline(), timeline_figure({"one": prof.tables, "two": prof.tables})):
        assert len(shown.html()) < 150_000
        assert re.search(r"2?[0-9],\d{3} short calls inside others are not drawn", " ".join(shown.notes))
    assert sum(int(row[3].replace(",", "")) for row in prof.timeline().table.rows) == count
