"""The program that starts a cluster and ends what is left of it, with processes that stand for Ray's and for the user's."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sparsekit.dist import head

MARK = "a mark of the tests"
WAITS = "print(1, flush=True); import time; time.sleep(100)"

#: Shows another name from then on, as Ray's processes do.
RENAMED = """
import ctypes
words = open("/proc/self/cmdline", "rb").read()
start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[45])
ctypes.memmove(start, b"ray::Agent".ljust(len(words), b"\\0"), len(words))
ctypes.CDLL(None).prctl(15, b"ray::Agent", 0, 0, 0)
"""

#: Ends, and leaves a process that nobody's child is any more; prints its number.
LEFT = """
import subprocess, sys
one = subprocess.Popen([sys.executable, "-S", "-I", "-c", "import time; time.sleep(100)"], start_new_session=True)
print(one.pid, flush=True)
import os
os._exit(0)
"""

#: Starts others all the time.
STARTS = """
import subprocess, sys, time
print(1, flush=True)
while True:
    subprocess.Popen([sys.executable, "-S", "-I", "-c", "import time; time.sleep(100)"], start_new_session=True)
    time.sleep(0.001)
"""


@pytest.fixture
def folder(tmp_path):
    """A cluster's folder, with a file."""
    found = tmp_path / "ray" / "sk-0-cluster"
    found.mkdir(parents=True)
    (found / "log").touch()
    return found


def begun(folder, mark=MARK):
    """The program, with a Ray that starts nothing, from which the address has been read."""
    (folder.parent / "ray" / "scripts").mkdir(parents=True)
    (folder.parent / "ray" / "scripts" / "scripts.py").write_text("print('Local node IP: 127.0.0.1')")
    found = subprocess.Popen([sys.executable, "-P", head.__file__, str(folder)], stdin=subprocess.PIPE, text=True,
                             stdout=subprocess.PIPE, start_new_session=True,
                             env={**os.environ, head.MARK: mark, "PYTHONPATH": str(folder.parent)})
    assert found.stdout.readline().startswith('{"address": "127.0.0.1:')
    return found


@pytest.fixture
def process(folder):
    """Starts processes that wait, with a mark or without, which read a file of the folder; they end with the test."""
    started = []

    def start(mark, program=WAITS, words=("python",)):
        environment = {name: value for name, value in os.environ.items() if name != head.MARK}
        with (folder / "log").open() as file:
            started.append(subprocess.Popen([words[0], "-S", "-I", "-c", program, *map(str, words[1:])], stdin=file, text=True,
                                            executable=sys.executable, stdout=subprocess.PIPE,
                                            env=environment | ({head.MARK: mark} if mark else {})))
        started[-1].said = started[-1].stdout.readline()
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


def the_users(process, folder):
    """Processes that are not Ray's, whatever they look like."""
    return [process(None), process(None, words=("tail", "-f", folder / "log")), process(None, words=("/ray/raylet", folder)),
            process(None, RENAMED + WAITS), process("another mark"), process(MARK + "s"),
            process(None, words=("grep", f"{head.MARK}={MARK}", folder))]


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "killed"])
def test_processes_of_ray_end_with_the_one_that_has_started_them(folder, process, stopped):
    others = the_users(process, folder)
    marked = [process(MARK), process(MARK, RENAMED + WAITS), process(MARK, words=("/ray/raylet", folder))]
    if stopped:
        begun(folder).communicate(timeout=400)
    else:
        program = f"import os, tests.dist.test_head as it; from pathlib import Path; it.begun(Path({str(folder)!r}))"
        subprocess.run([sys.executable, "-c", f"{program}; os.kill(os.getpid(), 9)"], timeout=400, cwd=Path(__file__).parents[2])
    assert [one.wait(60) for one in marked] == [-9, -9, -9]
    until = time.monotonic() + 60
    while folder.exists() and not stopped and time.monotonic() < until:  # the process that cleans up is not waited for
        time.sleep(0.01)
    assert not folder.exists()
    assert [one.poll() for one in others] == [None] * len(others)


def test_processes_whose_parent_has_ended_end_too(folder, process):
    left = int(process(MARK, LEFT).said)
    others = int(process(None, LEFT).said)
    begun(folder).communicate(timeout=400)
    try:
        assert not lives(left)
        assert lives(others)
    finally:
        psutil.Process(others).kill()


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_starts_while_others_are_ended_ends_too(folder, process):
    found = process(MARK, STARTS)
    begun(folder).communicate(timeout=400)
    assert found.wait(60) == -9
    assert not head.end_marked(MARK)
    assert not folder.exists()


def test_what_does_not_end_is_left_alone(folder, process, monkeypatch):
    found = process(MARK)
    monkeypatch.setattr(psutil.Process, "kill", lambda one: None)
    monkeypatch.setattr(head, "LONGEST", 0.1)
    head.clean_up(str(folder), MARK)
    assert found.poll() is None
    assert not folder.exists()


def test_a_number_that_is_used_again_is_left_alone(process, monkeypatch):
    one = process(MARK)
    looked_at = psutil.Process(one.pid)
    monkeypatch.setattr(psutil, "process_iter", lambda: [looked_at])
    one.kill()
    one.wait(60)
    for _ in range(50):  # another process may be given the number meanwhile
        try:
            Path("/proc/sys/kernel/ns_last_pid").write_text(str(one.pid - 1), encoding="utf-8")
        except OSError:
            pytest.skip("the number of the next process can be chosen by root on Linux alone")
        other = process(MARK)
        if other.pid == one.pid:
            break
    else:
        pytest.skip("the number went to another process each time")
    head.end_marked(MARK)
    time.sleep(0.1)
    assert other.poll() is None
    monkeypatch.undo()
    assert head.end_marked(MARK)
    assert other.wait(60) == -9


def test_a_ray_that_does_not_start_is_not_waited_for_without_a_limit(tmp_path, monkeypatch):
    (tmp_path / "ray" / "scripts").mkdir(parents=True)
    (tmp_path / "ray" / "scripts" / "scripts.py").write_text("import time; time.sleep(100)", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(head.MARK, MARK)
    monkeypatch.setattr(head, "TRY", 0.1)
    assert head.started(str(tmp_path), []) == {"error": "ray start has not ended within 0 s"}


def test_what_a_worker_starts_does_not_get_the_mark():
    program = f"import os, sparsekit.dist.ray_cluster; print(os.environ.get({head.MARK!r}))"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, head.MARK: MARK}, capture_output=True, text=True,
                          check=True)
    assert done.stdout == "None\n"
