"""Processes that are killed while they save: the old file or the new one is there, whole, and the next save cleans up."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base import files, platform, scoped
from sparsekit.base.files import written
from tests.calls import refused

SAVE = """
import sys
import numpy as np
import sparsekit as mx
values = {"a": mx.nd.array(np.arange(2_000_000, dtype="float32")), "number": None}
print("ready", flush=True)
number = 0
while True:
    number += 1
    values["number"] = mx.nd.array([number])
    mx.nd.save(sys.argv[1], values)
"""


def stopped_in_a_save(process, temporary, draw):
    """Stop the process again and again, until that is in the middle of a save."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.03 * draw.random())
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        if temporary.exists():
            return
        process.send_signal(signal.SIGCONT)
    raise AssertionError("the process was stopped in no save for a minute")


@pytest.mark.parametrize("in_a_save", [True, False])
def test_a_save_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path, in_a_save):
    draw, path, temporary = random.Random(5), tmp_path / "array", tmp_path / ".array.tmp"
    environment = {**os.environ, "PYTHONPATH": str(Path(mx.__file__).parents[1])}
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", SAVE, path], stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout.readline() == b"ready\n"
            before = os.stat(path).st_mtime_ns if path.exists() else 0
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and (not path.exists() or os.stat(path).st_mtime_ns == before):
                time.sleep(0.001)
            if in_a_save:
                stopped_in_a_save(process, temporary, draw)
            else:
                time.sleep(0.03 * draw.random())
            process.kill()
        found = mx.nd.load(str(path))
        assert np.array_equal(found["a"].asnumpy(), np.arange(2_000_000, dtype="float32"))
        assert found["number"].asscalar() >= 1
        names = {one.name for one in tmp_path.iterdir()}
        assert names <= {"array", ".array.tmp"}  # one file at most, however often it happens
        assert not in_a_save or len(names) == 2
    mx.nd.save(str(path), {"new": mx.nd.ones((2, 3))})
    assert [one.name for one in tmp_path.iterdir()] == ["array"]
    assert mx.nd.load(str(path))["new"].shape == (2, 3)


def test_what_a_killed_writer_left_is_used_up_and_what_a_living_one_has_is_not(tmp_path):
    path = tmp_path / "file"
    (tmp_path / ".file.tmp").write_bytes(b"left behind, and longer than what comes")
    with written(path) as file:
        assert sorted(one.name for one in tmp_path.iterdir()) == [".file.tmp"]
        file.write(b"first")
        with written(path) as second:
            second.write(b"second")
            assert sorted(one.name for one in tmp_path.iterdir()) == [".file.1.tmp", ".file.tmp"]
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_many_writers_of_one_file_at_once(tmp_path):
    path, failures = tmp_path / "file", []

    def write(number):
        try:
            for _ in range(40):
                with written(path) as file:
                    file.write(bytes([number]) * 10_000)
                    file.flush()
                found = path.read_bytes()
                assert len(found) == 10_000
                assert len(set(found)) == 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_file_that_stands_in_the_way_is_not_written_to(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(b"other")
    (tmp_path / ".file.tmp").symlink_to(other)
    os.link(other, tmp_path / ".file.1.tmp")
    (tmp_path / ".file.2.tmp").mkdir()
    with written(path) as file:
        file.write(b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"other")
    assert sorted(one.name for one in tmp_path.iterdir()) == [".file.1.tmp", ".file.2.tmp", ".file.tmp", "file", "other"]
    assert not path.is_symlink()


def test_where_the_file_system_has_no_locks(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(platform._fcntl, "flock", unsupported)
    path = tmp_path / "file"
    (tmp_path / ".file.tmp").write_bytes(b"whose is it?")
    for text in (b"one", b"two"):
        with written(path) as file:
            file.write(text)
        assert path.read_bytes() == text
    assert sorted(one.name for one in tmp_path.iterdir()) == [".file.tmp", "file"]


def test_a_file_that_is_written_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        with written(tmp_path / "file") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_link_stays_one_and_its_file_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    link, file = tmp_path / "link", tmp_path / "far" / "file"
    link.symlink_to(Path("far", "file"))
    for number in (1, 2):  # the file is made, and then replaced
        mx.nd.save(str(link), mx.nd.array([number]))
        assert link.is_symlink()
        assert mx.nd.load(str(file))[0].asscalar() == number
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["far", "file", "link"]


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    for mode in (0o600, 0o755):
        path.write_bytes(b"old")
        path.chmod(mode)
        mx.nd.save(str(path), mx.nd.ones((1,)))
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_that_must_not_be_written_stays(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(files.os, "access", lambda *_: False)  # the superuser may write all files
    refused(mx.DataFileError, "cannot be written: Permission denied", mx.nd.save, str(path), mx.nd.ones((1,)))
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    (tmp_path / "link").symlink_to(path)
    for name in ("pipe", "link"):
        refused(mx.DataFileError, "it is a device, a pipe or a socket", mx.nd.save, str(tmp_path / name), mx.nd.ones((1,)))
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "pipe"]


def write_new(path, then):
    with written(path) as file:
        file.write(b"new")
        then(b"")


@pytest.mark.parametrize("moment", range(3))
def test_an_error_in_a_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, moment):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fails(*_):
        raise KeyboardInterrupt

    if moment == 1:
        monkeypatch.setattr(files.os, "replace", fails)
    if moment == 2:
        # Python looks for signals before it runs the first line of __exit__.
        monkeypatch.setattr(scoped, "_exit", fails)
    with pytest.raises(KeyboardInterrupt):
        write_new(path, fails if moment == 0 else len)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_forked_child_that_ends_takes_nothing_from_its_parent(tmp_path):
    with written(tmp_path / "file") as file:
        file.write(b"new")
        file.flush()
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK, tmp_path / "other"], check=False, timeout=400,
                              env={**os.environ, "PYTHONPATH": str(Path(mx.__file__).parents[1])})
    assert done.returncode == 0
    assert (tmp_path / "other").read_bytes() == b"new"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "other"]


_FORK = """
import os, sys
from sparsekit.base.files import written
with written(sys.argv[1]) as file:
    file.write(b"new")
    file.flush()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
