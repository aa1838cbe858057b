"""Files of profiles: what is read is what was written, and nothing in a file is trusted."""

import io
import json
import struct
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekit.base.errors import DataFileError
from sparsekit.core import hooks
from sparsekit.profiler import Profiler, load
from sparsekit.profiler.columns import SCHEMA, Ragged
from sparsekit.profiler.profile_file import FORMAT
from tests.calls import refused
from tests.profiler.skeletons import skeleton


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.npz"


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def rewritten(path, changes, before=None):
    """The file, or one with the members ``before``, with other members; a change is bytes, an array, or None to leave it out."""
    content = {**(before or members(path)), **changes}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = FORMAT
        for name, held in content.items():
            if isinstance(held, np.ndarray):
                stream = io.BytesIO()
                np.lib.format.write_array(stream, held)
                held = stream.getvalue()
            if held is not None:
                archive.writestr(name, held)


def test_a_profile_reads_back_without_loss(profile, path):
    assert profile.save(path) == path
    loaded = load(path)
    assert loaded.records == json.loads(json.dumps(profile.records))
    assert loaded.memory == json.loads(json.dumps(profile.memory))
    assert loaded.ledger == profile.ledger
    assert loaded.marks == profile.marks
    for name in ("wall", "accounted", "events", "densified", "_densified_by_kind", "gradient_rows", "environment", "totals"):
        assert getattr(loaded, name) == getattr(profile, name)
    for name in ("overhead", "kept_bytes", "folded"):
        assert getattr(loaded._data(), name) == getattr(profile._data(), name)
    assert skeleton(loaded) == skeleton(profile)
    for by in ("op", "storage", "line", "cell"):
        assert repr(loaded.table(group_by=by)) == repr(profile.table(group_by=by))
    assert set(loaded._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert repr(loaded.what_if(index_dtype="int32")) == repr(profile.what_if(index_dtype="int32"))


def test_element_types_of_other_libraries_keep_their_sizes(profile, path):
    profile.save(path)
    strings = members(path)["strings.values.npy"]
    assert b"float32" in strings
    rewritten(path, {"strings.values.npy": strings.replace(b"float32", b"strange")})
    loaded = load(path)
    changed = loaded.what_if(index_dtype="int32")
    assert (changed.before, changed.after) == (profile.what_if(index_dtype="int32").before,
                                               profile.what_if(index_dtype="int32").after)
    loaded.save(path.with_suffix(".html"))


def test_every_column_reads_back_and_numpy_reads_them_too(profile, path):
    profile.save(path)
    loaded = load(path)
    plain = np.load(path)
    for table, columns in SCHEMA.items():
        for name, kind in columns.items():
            one, other = (getattr(getattr(held.tables, table), name) for held in (profile, loaded))
            if isinstance(one, Ragged):
                assert np.array_equal(one.values, other.values)
                assert np.array_equal(one.ends, other.ends)
            else:
                assert one.dtype == other.dtype
                assert np.array_equal(one, other)
                held = plain[f"{table}.{name}"]
                assert np.array_equal(np.cumsum(held) if kind.endswith("+") else held, one)


def test_the_same_profile_gives_the_same_bytes(profile, path):
    profile.save(path)
    again = path.with_name("again.npz")
    load(path).save(again)
    assert again.read_bytes() == path.read_bytes()


def test_folded_totals_and_compilation_survive(library, path):
    def compile_kernel():
        start = time.perf_counter_ns()
        hooks.sink.span("compile dot", "compile", start, start + 2000, {})
        time.sleep(0.00001)

    with Profiler(capacity=20) as prof:
        for _ in range(50):
            library.run("dot", (), library.dense(1), inside=compile_kernel)
            assert prof.records  # reading hands events over, so that they fold
    assert prof._data().folded > 0
    prof.save(path)
    loaded = load(path)
    assert loaded._data().folded == prof._data().folded
    assert loaded.totals == prof.totals
    assert loaded.records == prof.records


def test_no_folder_and_no_host_is_written(profile, path):
    profile.save(path)
    assert b"/home" not in b"".join(members(path).values())


def test_nothing_is_left_half_written(profile, tmp_path, monkeypatch):
    target = tmp_path / "run.npz"
    target.write_text("before")

    def full(*args, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    with pytest.raises(OSError, match="No space left"):
        profile.save(target)
    assert target.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("name", ["run.npz", "run.html", "run.json", "run.json.gz", "figure.svg", "changes.html"])
def test_a_folder_that_is_a_file_is_named(profile, tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    saved = profile.timeline() if name == "figure.svg" else profile.diff(profile) if name == "changes.html" else profile
    refused(DataFileError, f"{name} cannot be written: Not a directory", saved.save, tmp_path / "file" / name)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_named(profile, path, share):
    profile.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DataFileError, match=r"truncated or damaged"):
        load(path)


def test_the_message_of_a_damaged_file_does_not_quote_the_file(profile, path):
    profile.save(path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.infolist()[0].header_offset
    content[start + 26:start + 28] = b"\xff\xff"  # the length of the first name
    path.write_bytes(content)
    with pytest.raises(DataFileError, match="truncated or damaged: BadZipFile") as caught:
        load(path)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(("content", "match"), [
    (b"", "is not valid JSON"),
    (b"\x00\xff\xfe binary", "is not valid JSON"),
    (b"PK\x03\x04 an archive", "truncated or damaged"),
    (b"[]", "is not a trace"),
    (b"null", "is not a trace"),
    (b'{"traceEvents": []}', "is not a trace"),
    (b"[" * 100_000, "is not valid JSON"),
    (b'{"a": NaN}', "is not valid JSON"),
])
def test_what_is_no_profile_is_named(tmp_path, content, match):
    path = tmp_path / "odd.npz"
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=match) as caught:
        load(path)
    assert caught.value.hint


def test_an_archive_of_something_else_is_named(path):
    np.savez(path, a=np.arange(3))
    with pytest.raises(DataFileError, match=r"'run\.npz' is not a profile"):
        load(path)


class Run:
    """What a pickled array would run."""

    def __reduce__(self):
        return print, ("this ran",)


@pytest.mark.parametrize(("name", "value", "match"), [
    ("events.start.npy", None, "missing"),
    ("events.start.npy", np.zeros(3, np.int32), "not a column"),
    ("events.start.npy", np.zeros((2, 2), np.int64), "not a column"),
    ("events.start.npy", np.zeros(3, np.int64), "another length"),
    ("events.start.npy", b"\x93NUMPY\x01\x00", "not a column"),
    ("events.start.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"x" * 70_000, "not a column"),
    ("events.start.npy", np.array([Run()], object), "not a column"),
    ("events.kind.npy", lambda found: found + 1000, "refers to what is not there"),
    ("events.kind.npy", lambda found: found - 1000, "refers to what is not there"),
    ("events.conversion.npy", lambda found: found + 10**6, "refers to what is not there"),
    ("events.duration.npy", lambda found: found - 10**15, "negative"),
    ("events.duration.npy", lambda found: found + (1 << 62), "too large"),
    ("kinds.name.npy", lambda found: found + 10**6, "refers to what is not there"),
    ("kinds.inputs.values.npy", lambda found: found + 10**6, "refers to what is not there"),
    ("kinds.inputs.values.npy", lambda found: found * 0 - 1, "refers to what is not there"),
    ("kinds.inputs.ends.npy", lambda found: found[::-1], "do not fit"),
    ("kinds.inputs.ends.npy", lambda found: found + 1, "do not fit"),
    ("strings.ends.npy", lambda found: found * 2, "do not fit"),
    ("strings.values.npy", lambda found: found | 0xF0, "truncated or damaged"),
    ("changes.holding.npy", lambda found: found * 0 - 1, "refers to what is not there"),
])
def test_a_hostile_column_is_refused_by_its_name(profile, path, capsys, name, value, match):
    profile.save(path)
    if callable(value):
        value = value(np.load(io.BytesIO(members(path)[name])))
    rewritten(path, {name: value})
    with pytest.raises(DataFileError, match=match):
        load(path)
    assert capsys.readouterr().out == ""


def test_a_file_that_claims_more_than_it_can_hold_is_refused(profile, path):
    profile.save(path)
    with pytest.raises(DataFileError, match="more than 1,000"):
        load(path, max_bytes=1000)
    content = path.read_bytes()
    place = content.rindex(b"PK\x01\x02")  # the last entry of the directory
    for offset, size in ((24, 1 << 29), (20, 1 << 29)):
        changed = bytearray(content)
        changed[place + offset: place + offset + 4] = struct.pack("<I", size)
        path.write_bytes(changed)
        with pytest.raises(DataFileError, match=r"claims to hold more than it can|truncated or damaged"):
            load(path)


def test_a_reference_to_no_row_is_refused_where_each_row_has_one(profile, path):
    profile.save(path)
    content = members(path)
    tried, taken = 0, []
    for name in [f"{table}.{column}" for table, columns in SCHEMA.items() for column, kind in columns.items()
                 if "->" in kind or "text" in kind]:
        member = next(one for one in (f"{name}.npy", f"{name}.values.npy") if one in content)
        held = np.load(io.BytesIO(content[member])).copy()
        if len(held):
            held[0] = -1
            rewritten(path, {member: held}, content)
            tried += 1
            try:
                load(path).table()._repr_mimebundle_()
                taken.append(name)
            except DataFileError as error:
                assert f"{name} refers to what is not there" in str(error)  # noqa: PT017
    assert tried > 30
    assert taken == ["events.conversion", "events.made_by"]


_numbers = st.sampled_from([0, 1, -1, 2, 3, 7, 1 << 20, 1 << 40, -1 << 40])


def test_whatever_can_be_read_can_be_shown(profile, path):
    """Any numbers in any columns are refused with a named error, or shown."""
    profile.save(path)
    content = members(path)

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def shown_or_refused(data):
        changes = {}
        for name in data.draw(st.lists(st.sampled_from(sorted(content)), min_size=1, max_size=4)):
            held = np.load(io.BytesIO(content[name])).copy()
            if len(held):
                place = data.draw(st.integers(0, len(held) - 1))
                held[place] = np.array(data.draw(_numbers)).astype(held.dtype)
            changes[name] = held
        rewritten(path, changes, content)
        try:
            loaded = load(path)
        except DataFileError:
            return
        assert isinstance(loaded.records, list)
        assert loaded.memory["peak_bytes"] >= 0
        for shown in (loaded.table(), loaded.table(group_by="cell"), loaded.table(of="ledger"), loaded.advice(), loaded):
            assert shown._repr_mimebundle_()["text/html"]

    shown_or_refused()
