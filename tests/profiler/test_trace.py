import gzip
import json

import pytest

from sparsekit.base.errors import DataFileError
from sparsekit.core import hooks
from sparsekit.core.hooks import LANES
from sparsekit.profiler import Profiler, load_trace

FOLDER = "/".join(("", "home", "someone"))


@pytest.fixture(params=[".json", ".json.gz"])
def path(request, tmp_path):
    return tmp_path / f"run{request.param}"


def read(path):
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.name.endswith(".gz") else content)


def test_the_file_is_what_perfetto_reads(profile, path):
    assert profile.save_trace(path) == path
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
    prof.save_trace(path)
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
    profile.save_trace(path)
    events = read(path)["traceEvents"]
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert set(starts) == set(ends) == {1, 2, 3}
    spans = {event["ts"]: event for event in events if event["ph"] == "X"}
    for number, start in starts.items():
        assert spans[start["ts"]]["cat"] == "forward"
        assert spans[ends[number]["ts"]]["cat"] == "backward"
        assert spans[start["ts"]]["args"]["node"] == spans[ends[number]["ts"]]["args"]["node"]


def test_no_folder_and_no_host_is_written(profile, path):
    profile.save_trace(path)
    text = json.dumps(read(path))
    assert "/home" not in text
    assert "data.libsvm" in text
    other = read(path)["otherData"]
    assert other["dropped"] == other["folded"] == 0
    assert other["units"]["ts"] == "us"
    assert "numpy" in other["environment"]


def test_a_trace_reads_back_without_loss(profile, path):
    profile.save_trace(path)
    loaded = load_trace(path)
    expected = json.loads(json.dumps(profile.records).replace(f"{FOLDER}/", ""))
    assert loaded.records == expected
    assert loaded.memory == json.loads(json.dumps(profile.memory))
    assert loaded.ledger == profile.ledger
    assert loaded.marks == profile.marks
    assert (loaded.wall, loaded.accounted, loaded.events) == (profile.wall, profile.accounted, profile.events)
    assert loaded.skeleton() == profile.skeleton()
    assert loaded.gradient_rows == profile.gradient_rows
    assert sorted(loaded.totals, key=lambda row: row["name"] + row["lane"]) == \
        sorted(profile.totals, key=lambda row: row["name"] + row["lane"])
    assert repr(loaded.table(sort_by="name")) == repr(profile.table(sort_by="name"))
    assert set(loaded._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_the_memory_of_devices_survives_and_is_checked(library, path, monkeypatch):
    monkeypatch.setitem(hooks.device_memory, "gpu(0)", lambda: {"free": 5, "used": 7})
    with Profiler() as prof:
        library.run("add", (), library.dense(1))
    prof.save_trace(path)
    assert load_trace(path).memory == prof.memory
    assert prof.memory["devices"] == {"gpu(0)": {"free": 5, "used": 7}}
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    path.with_suffix(".json").write_bytes(content.replace(b'"used":7', b'"used":"many"'))
    with pytest.raises(DataFileError, match="'used' must be a number from 0 to 1e18"):
        load_trace(path.with_suffix(".json"))


def test_writing_what_was_read_gives_the_same_file(profile, path):
    profile.save_trace(path)
    again = path.with_name("again" + "".join(path.suffixes))
    load_trace(path).save_trace(again)
    assert again.read_bytes() == path.read_bytes()


def test_folded_totals_and_compilation_survive(library, path):
    import time

    from sparsekit.core import hooks

    def compile_kernel():
        start = time.perf_counter_ns()
        hooks.sink.span("compile dot", "compile", start, start + 2000, {})
        time.sleep(0.00001)

    with Profiler(capacity=20) as prof:
        for _ in range(50):
            library.run("dot", (), library.dense(1), inside=compile_kernel)
            assert prof.records  # reading hands events over, so that they fold
    assert prof.folded > 0
    prof.save_trace(path)
    loaded = load_trace(path)
    assert loaded.folded == prof.folded
    assert sorted(map(repr, loaded.totals)) == sorted(map(repr, prof.totals))


def test_a_profile_without_events_is_a_trace_too(library, path):
    with Profiler() as prof:
        pass
    prof.save_trace(path)
    assert load_trace(path).records == []


def test_nothing_is_left_half_written(profile, tmp_path, monkeypatch):
    target = tmp_path / "run.json"
    target.write_text("before")
    monkeypatch.setattr("sparsekit.profiler.trace.trace_events", lambda data: iter([{"ts": object()}]))
    with pytest.raises(TypeError):
        profile.save_trace(target)
    assert target.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


def test_names_must_say_what_the_file_is(profile, tmp_path):
    with pytest.raises(DataFileError, match=r"'run\.txt'"):
        profile.save_trace(tmp_path / "run.txt")
    with pytest.raises(DataFileError, match="cannot be written"):
        profile.save_trace(tmp_path / "missing" / "run.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataFileError, match=r"'none\.json' cannot be read"):
        load_trace(tmp_path / "none.json")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_named(profile, path, share):
    profile.save_trace(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DataFileError, match=r"truncated|is not valid JSON"):
        load_trace(path)


@pytest.mark.parametrize(("content", "match"), [
    (b"\x00\xff\xfe binary", "is not valid JSON"),
    (b"PK\x03\x04 a zip archive", "is not valid JSON"),
    (b"[]", "is not a trace"),
    (b"null", "is not a trace"),
    (b'{"traceEvents": []}', "is not a trace"),
    (b'{"traceEvents": {}, "otherData": {"format": "sparsekit-trace"}}', "is not a trace"),
    (b'{"traceEvents": [], "otherData": {"format": "sparsekit-trace", "version": 99}}', "version 99"),
    (b'{"traceEvents": [], "otherData": {"format": "sparsekit-trace", "version": 1}}', "folded_totals"),
    (b"[" * 100_000, "is not valid JSON"),
    (b'{"a": NaN}', "is not valid JSON"),
])
def test_what_is_no_trace_is_named(tmp_path, content, match):
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=match) as caught:
        load_trace(path)
    assert caught.value.hint


HOSTILE = [
    ("name", 3), ("name", "x" * 20_000), ("cat", "kernel"), ("cat", ["forward"]), ("ts", -1), ("ts", "soon"),
    ("ts", 1e300), ("dur", True), ("tid", None), ("args", None), ("args.node", "7"), ("args.inputs", {"a": 1}),
    ("args.inputs", [3]), ("args.inputs.0.shape", [-1]), ("args.inputs.0.shape", [1.5]),
    ("args.inputs.0.shape", [1] * 100), ("args.inputs.0.components", []), ("args.inputs.0.components", {"data": -4}),
    ("args.inputs.0.nnz", "many"), ("args.depth", -2), ("args.attrs", "all"), ("args.line", 7), ("args.kind", "thing"),
]


@pytest.mark.parametrize(("field", "value"), HOSTILE, ids=lambda part: str(part)[:24])
def test_a_hostile_event_is_refused_by_its_number(profile, tmp_path, field, value):
    path = tmp_path / "run.json"
    profile.save_trace(path)
    document = read(path)
    place, event = next((i, event) for i, event in enumerate(document["traceEvents"]) if event["ph"] == "X")
    *way, last = field.split(".")
    for step in way:
        event = event[int(step)] if step.isdigit() else event[step]
    event[last] = value
    path.write_text(json.dumps(document))
    with pytest.raises(DataFileError, match=f"event {place} of 'run.json' is damaged"):
        load_trace(path)


@pytest.mark.parametrize("event", [3, None, "X", [{"ph": "X"}]], ids=str)
def test_an_event_that_is_no_object_is_refused_by_its_number(profile, tmp_path, event):
    path = tmp_path / "run.json"
    profile.save_trace(path)
    document = read(path)
    document["traceEvents"].insert(2, event)
    path.write_text(json.dumps(document))
    with pytest.raises(DataFileError, match=r"event 2 of 'run\.json' is damaged: it is not an object"):
        load_trace(path)


@pytest.mark.parametrize(("field", "value"), [
    ("memory", []), ("memory", {}), ("wall", -1), ("wall", None), ("folded_totals", [1]), ("environment", "linux")])
def test_hostile_other_data_is_refused(profile, tmp_path, field, value):
    path = tmp_path / "run.json"
    profile.save_trace(path)
    document = read(path)
    document["otherData"][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(DataFileError, match=r"'run\.json' is damaged"):
        load_trace(path)


def test_script_in_a_trace_is_only_text(profile, tmp_path):
    path = tmp_path / "run.json"
    profile.save_trace(path)
    name = "<img src=x onerror=alert(1)>"
    document = read(path)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            event["name"] = event["args"]["layer"] = event["args"]["line"] = name
    path.write_text(json.dumps(document))
    loaded = load_trace(path)
    assert name not in loaded._repr_mimebundle_()["text/html"]
    page = loaded.to_html(tmp_path / "run.html").read_text()
    assert name not in page


def test_a_huge_file_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.json.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(b" " * 50_000_000)
    assert path.stat().st_size < 100_000
    with pytest.raises(DataFileError, match="larger than 1,000,000 bytes"):
        load_trace(path, max_bytes=1_000_000)
