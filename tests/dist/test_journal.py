"""A journal gives back whole records, whatever was cut off or damaged, and takes a full disk; only one incarnation counts."""

import errno
import json
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from sparsekit.base.errors import FencedError, FileFormatError, JournalFullError, LostDataError
from sparsekit.dist import journal
from sparsekit.dist.journal import Log, RecordFile, begin_run, manifest_of, read_records

RECORDS = [
    (["first", {"a": [1, None, 2.5]}], []),
    (["push", 0], [np.arange(3, dtype=np.int32), np.array([[1.5, -2.0]], np.float32)]),
    (["odd"], [np.zeros((0, 4), np.float64), np.array(7.0, np.float16), np.array([True, False, True])]),
    (["last", "ü"], [np.arange(5, dtype=np.int64)]),
]


def written(path, records=RECORDS):
    file = RecordFile(str(path))
    ends = []
    for meta, arrays in records:
        file.append(meta, arrays)
        ends.append(file.good)
    file.close()
    return ends


def same(found, wanted):
    return len(found) == len(wanted) and all(
        one.meta == meta and len(one.arrays) == len(arrays) and all(
            a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
            for a, b in zip(one.arrays, arrays, strict=True))
        for one, (meta, arrays) in zip(found, wanted, strict=True))


def test_records_come_back_as_arrays_that_kernels_take(tmp_path):
    ends = written(tmp_path / "j")
    found = list(read_records(str(tmp_path / "j")))
    assert same(found, RECORDS)
    assert [one.end for one in found] == ends
    assert all(array.flags.writeable and array.flags.aligned for one in found for array in one.arrays)


def test_a_journal_cut_at_any_byte_gives_the_records_before(tmp_path):
    ends = written(tmp_path / "j")
    data = (tmp_path / "j").read_bytes()
    for size in range(len(data)):
        (tmp_path / "cut").write_bytes(data[:size])
        assert same(list(read_records(str(tmp_path / "cut"))), RECORDS[:sum(end <= size for end in ends)]), size


def test_a_wrong_byte_anywhere_is_noticed(tmp_path):
    """In the last record it looks like a write that was not finished; before that, records that were answered are damaged."""
    ends = written(tmp_path / "j")
    data = bytearray((tmp_path / "j").read_bytes())
    for place in range(len(data)):
        mask = (0x01, 0xFF)[place % 2]
        data[place] ^= mask
        (tmp_path / "bad").write_bytes(data)
        data[place] ^= mask
        if place >= ends[-2]:
            assert same(list(read_records(str(tmp_path / "bad"))), RECORDS[:-1]), place
        else:
            with pytest.raises(FileFormatError, match="damaged at byte"):
                list(read_records(str(tmp_path / "bad")))


def test_bytes_that_must_be_whole_are_not_cut(tmp_path):
    ends = written(tmp_path / "j")
    assert same(list(read_records(str(tmp_path / "j"), ends[1])), RECORDS[:2])
    os.truncate(tmp_path / "j", ends[-1] - 1)
    with pytest.raises(FileFormatError):
        list(read_records(str(tmp_path / "j"), ends[-1]))


def test_nothing_in_a_journal_is_executed(tmp_path):
    """Objects cannot be stored, and an array whose type says object is not a record."""
    header = json.dumps([["push"], [["|O", [1]]]]).encode()
    lengths = journal.LENGTHS.pack(journal.MAGIC, len(header), 8)
    crc = zlib.crc32
    record = journal.HEAD.pack(journal.MAGIC, len(header), 8, crc(header, crc(lengths)), crc(bytes(8))) + header + bytes(8)
    (tmp_path / "j").write_bytes(record)
    assert list(read_records(str(tmp_path / "j"))) == []
    assert "pickle" not in Path(journal.__file__).read_text(encoding="utf-8")


def test_a_tail_that_cannot_be_cut_off_is_cut_off_before_the_next_record(tmp_path, monkeypatch):
    path = tmp_path / "j"
    file = RecordFile(str(path))
    file.append(*RECORDS[1])

    def full(descriptor, buffers):
        os.write(descriptor, b"half")
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "writev", full)
        patch.setattr(journal.os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        for _ in range(2):
            with pytest.raises(JournalFullError):
                file.append(*RECORDS[2])
    file.append(*RECORDS[3])
    assert same(list(read_records(str(path))), [RECORDS[1], RECORDS[3]])


LONG_RECORDS = [(["long", number], [np.full(300_000, number)]) for number in range(4)]


def blocks(path):
    return os.stat(path).st_blocks * 512


@pytest.mark.parametrize("works", [True, False])
def test_space_that_is_reserved_for_a_long_file_is_given_back(tmp_path, monkeypatch, works):
    if not works:
        monkeypatch.setattr(journal, "_fallocate", lambda *_: -1)
    path = tmp_path / "a"
    file = RecordFile(str(path))
    sizes = []
    for meta, arrays in LONG_RECORDS:
        file.append(meta, arrays)
        sizes.append((file.good, os.path.getsize(path)))
    assert all(good == size for good, size in sizes), "the file ends with its last record"
    if works and blocks(path) < journal.RESERVED:
        pytest.skip("the system of files reserves nothing")
    file.close()
    assert blocks(path) < file.good + (1 << 20)
    found = [(record.meta, record.arrays[0]) for record in read_records(str(path), file.good)]
    assert [meta for meta, _ in found] == [meta for meta, _ in LONG_RECORDS]
    assert all((array == meta[1]).all() for meta, array in found)


def test_a_long_record_that_does_not_fit_is_cut_back_and_space_is_reserved_anew(tmp_path, monkeypatch):
    path, real = tmp_path / "a", os.writev
    file = RecordFile(str(path))
    file.append(*LONG_RECORDS[0])
    size = file.good

    def full(number, buffers):
        real(number, [memoryview(buffers[1])[:1000]])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", full)
        with pytest.raises(JournalFullError, match="No space left"):
            file.append(*LONG_RECORDS[1])
    assert os.path.getsize(path) == file.good == size
    assert blocks(path) < size + (1 << 20)
    file.append(*LONG_RECORDS[2])
    assert [record.meta[1] for record in read_records(str(path), file.good)] == [0, 2]


def test_one_record_is_one_write(tmp_path, monkeypatch):
    calls = []
    writev = os.writev
    monkeypatch.setattr(journal.os, "writev", lambda *given: calls.append(1) or writev(*given))
    monkeypatch.setattr(journal.os, "write", lambda *given: pytest.fail("a second write"))
    file = RecordFile(str(tmp_path / "j"))
    file.append(["push"], [np.arange(1000)] * 100)
    assert len(calls) == 1


def test_more_arrays_than_a_write_takes(tmp_path):
    arrays = [np.arange(place % 5) for place in range(1500)]
    written(tmp_path / "j", [(["many"], arrays)])
    assert same(list(read_records(str(tmp_path / "j"))), [(["many"], arrays)])


# incarnations and generations


def metas(log):
    return [record.meta for record in log.recover()]


@pytest.mark.parametrize("wrote", [True, False])
def test_what_a_frozen_incarnation_writes_when_it_wakes_is_never_read(tmp_path, wrote):
    first = Log(str(tmp_path), "shard-0")
    metas(first)
    first.append(["push", 1])
    second = Log(str(tmp_path), "shard-0")
    assert metas(second) == [["push", 1]]
    if wrote:
        second.append(["push", 2])
        first.append(["push", "late"])
    third = Log(str(tmp_path), "shard-0")
    known = [["push", 1], ["push", 2]][:1 + wrote]
    assert metas(third) == known
    third.append(["push", 3])
    second.append(["push", "late"])
    with pytest.raises(FencedError, match="Incarnation 1 of shard-0"):
        first.snapshot([(["all"], [])], [], 0)
    assert metas(Log(str(tmp_path), "shard-0")) == [*known, ["push", 3]]


def test_servers_that_start_at_once_have_different_numbers(tmp_path, monkeypatch):
    """Another one takes over between the look and the renaming."""
    rename, others = os.rename, []

    def interrupted(source, target):
        if not others:
            others.append(None)
            others[0] = Log(str(tmp_path), "shard-0").epoch
        rename(source, target)

    Log(str(tmp_path), "shard-0")
    monkeypatch.setattr(journal.os, "rename", interrupted)
    assert (Log(str(tmp_path), "shard-0").epoch, others) == (3, [2])


def test_snapshots_replace_what_came_before_and_one_generation_is_kept(tmp_path):
    log = Log(str(tmp_path), "shard-0")
    metas(log)
    for generation in range(1, 6):
        log.append(["push", generation], [np.zeros(1000)])
        log.snapshot([(["all", generation], [np.ones(3)])], [["w", generation]], keep=len(log.generations) - 1)
    log.append(["push", "after"])
    assert metas(Log(str(tmp_path), "shard-0")) == [["all", 5], ["push", "after"]]
    names = sorted(os.listdir(tmp_path))
    assert sum("snapshot" in name for name in names) == 3  # the last two, and what a frozen incarnation could still name
    again = Log(str(tmp_path), "shard-0")
    older = [record.meta for record in again.recover(lambda marks: not marks or marks[0][1] <= 4)]
    assert older == [["all", 4], ["push", 5], ["push", "after"]]
    with pytest.raises(LostDataError, match="as old as"):
        list(Log(str(tmp_path), "shard-0").recover(lambda marks: marks[0][1] <= 3))


@pytest.mark.parametrize("fails", range(1, 5))
def test_a_snapshot_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch, fails):
    log = Log(str(tmp_path), "shard-0")
    metas(log)
    log.append(["push", 1])
    calls, write = [], RecordFile._write

    def limited(self, buffers):
        calls.append(1)
        if len(calls) >= fails:
            raise OSError(errno.ENOSPC, "full")
        return write(self, buffers)

    before = set(os.listdir(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(RecordFile, "_write", limited)
        with pytest.raises(JournalFullError):
            log.snapshot([(["all"], []), (["key"], [np.ones(5)])], [], 0)
    assert set(os.listdir(tmp_path)) == before
    log.append(["push", 2])
    assert metas(Log(str(tmp_path), "shard-0")) == [["push", 1], ["push", 2]]


def test_a_snapshot_that_is_cut_off_is_an_error(tmp_path):
    log = Log(str(tmp_path), "shard-0")
    metas(log)
    log.append(["push", 1])
    log.snapshot([(["all"], []), (["key"], [np.ones(5)])], [], 0)
    (name,) = [name for name in os.listdir(tmp_path) if name.endswith("snapshot")]
    size = (tmp_path / name).stat().st_size
    for cut in (0, 30, size - 20):
        os.truncate(tmp_path / name, cut)
        with pytest.raises(FileFormatError):
            metas(Log(str(tmp_path), "shard-0"))
    os.unlink(tmp_path / name)
    with pytest.raises(LostDataError, match="cannot be read"):
        metas(Log(str(tmp_path), "shard-0"))


# the folder


def test_runs_in_a_folder_have_rising_lives(tmp_path):
    folder = str(tmp_path / "run")
    first, second = begin_run(folder, 2, 3), begin_run(folder, 2, 3)
    assert (first.started_before, second.started_before) == (False, True)
    assert second.life - first.life == journal.LIVES
    assert manifest_of(folder).run == 2
    for numbers in ((3, 3), (2, 2)):
        with pytest.raises(LostDataError, match="resume"):
            begin_run(folder, *numbers)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"layout": "../x", "shards": 1, "workers": 1, "mode": "sync", "run": 0}',
                                  '{"layout": "x"}'])
def test_a_manifest_that_is_none_is_named(tmp_path, text):
    (tmp_path / journal.MANIFEST).write_text(text)
    with pytest.raises(FileFormatError, match="manifest"):
        manifest_of(str(tmp_path))
