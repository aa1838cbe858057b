import gzip
import json

import pytest

from sparsekit.base.errors import DataFileError
from sparsekit.core.hooks import LANES
from sparsekit.profiler import Profiler, load


@pytest.fixture(params=[".json", ".json.gz"])
def path(request, tmp_path):
    return tmp_path / f"run{request.param}"


def read(path):
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.name.endswith(".gz") else content)


def test_the_file_is_what_perfetto_reads(profile, path):
    assert profile.save(path) == path
    document = read(path)
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert document["displayTimeUnit"] == "ms"
    needed = {"X": {"name", "cat", "ts", "dur", "pid", "tid", "args"}, "M": {"name", "pid", "tid", "args"},
              "C": {"name", "ts", "pid", "tid", "args"}, "i": {"name", "ts", "pid", "tid", "s"},
              "s": {"name", "cat", "id", "ts", "pid", "tid"}, "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"}}
    for event in document["traceEvents"]:
        assert needed[event["ph"]] <= set(event)
        assert event["pid"] == 1
        assert event["tid"] in (0, 1)
    assert {event["ph"] for event in document["traceEvents"]} == set(needed)
    names = {event["name"] for event in document["traceEvents"] if event["ph"] == "X"}
    assert names == {"dot", "sgd_update", "load_libsvm", "epoch"}
    assert {event["cat"] for event in document["traceEvents"] if event["ph"] == "X"} <= set(LANES)


def test_children_lie_inside_their_parents_to_the_nanosecond(library, path):
    with Profiler() as prof:
        for _ in range(200):
            library.run("dot", (), library.dense(1), inside=lambda: library.run("cast_storage", (), library.dense(1)))
    prof.save(path)
    stack = []
    for event in read(path)["traceEvents"]:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            end = start + round(event["dur"] * 1000)
            assert start == pytest.approx(event["ts"] * 1000, abs=1e-3)
            del stack[event["args"]["depth"]:]
            assert all(outer_start <= start and end <= outer_end for outer_start, outer_end in stack)
            stack.append((start, end))


def test_arrows_lead_from_forward_to_backward(profile, path):
    profile.save(path)
    events = read(path)["traceEvents"]
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert set(starts) == set(ends) == {1, 2, 3}
    spans = {event["ts"]: event for event in events if event["ph"] == "X"}
    for number, start in starts.items():
        assert spans[start["ts"]]["cat"] == "forward"
        assert spans[ends[number]["ts"]]["cat"] == "backward"
        assert spans[start["ts"]]["args"]["node"] == spans[ends[number]["ts"]]["args"]["node"]


def test_names_must_say_what_the_file_is(profile, tmp_path):
    with pytest.raises(DataFileError, match=r"'run\.txt'"):
        profile.save(tmp_path / "run.txt")
    for ending in ("npz", "html", "json", "json.gz"):
        with pytest.raises(DataFileError, match="cannot be written"):
            profile.save(tmp_path / "missing" / f"run.{ending}")
    with pytest.raises(DataFileError, match=r"must end in \.html"):
        profile.diff(profile).save(tmp_path / "run.npz")



def test_a_trace_for_other_viewers_is_not_taken_for_a_profile(profile, tmp_path):
    with pytest.raises(DataFileError, match=r"Hint: prof\.save"):
        load(profile.save(tmp_path / "run.json"))
