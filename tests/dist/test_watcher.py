"""The program that ends what is left of a cluster, with processes that stand for Ray's."""

import subprocess
import sys

import pytest

from sparsekit.dist import watcher
from sparsekit.dist.ray_cluster import watched

WAITS = "import time; print(1, flush=True); time.sleep(100)"


@pytest.fixture
def folder(tmp_path):
    """A cluster's folder, with a file."""
    found = tmp_path / "sk-0-cluster"
    found.mkdir()
    (found / "log").touch()
    return found


@pytest.fixture
def process():
    """Starts processes that wait, with an input and words of their command; they end with the test."""
    started = []

    def start(input, *words):
        with input.open() as file:
            started.append(subprocess.Popen([words[0], "-S", "-I", "-c", WAITS, *map(str, words[1:])], executable=sys.executable,
                                            stdin=file, stdout=subprocess.PIPE))
        started[-1].stdout.readline()
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate()


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "killed"])
def test_processes_of_ray_end_with_the_one_that_has_started_them(folder, process, tmp_path, stopped):
    """Also where the folder was named by a link, as the one for temporary files may be."""
    (tmp_path / "link").symlink_to(tmp_path)
    named = tmp_path / "link" / folder.name
    both = [process(folder / "log", "ray::Agent"), process(folder / "log", "/ray/raylet", named)]
    program = f"from pathlib import Path; from sparsekit.dist.ray_cluster import watched; found = watched(Path({str(named)!r}))"
    program += "; found.communicate()" if stopped else "; import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program], check=stopped, timeout=400)
    assert [one.wait(60) for one in both] == [-9, -9]
    assert not stopped or not folder.exists()


def test_other_programs_go_on(folder, process, tmp_path):
    """Those that read its files or were forked by the process that has started it, and Ray's of another cluster."""
    (tmp_path / "sk-0-cluster-2").mkdir()
    (tmp_path / "sk-0-cluster-2" / "log").touch()
    others = [process(folder / "log", "python"), process(tmp_path / "sk-0-cluster-2" / "log", "ray::Agent"),
              process(folder / "log", "tail", folder / "log")]
    watched(folder).communicate(timeout=400)
    assert [one.poll() for one in others] == [None, None, None]
    assert not folder.exists()


def test_what_starts_while_others_are_ended_ends_too(folder, process, monkeypatch):
    found = [process(folder / "log", "ray::Agent")]

    def paused(seconds):
        if len(found) < 3:
            found.append(process(folder / "log", "ray::Agent"))

    monkeypatch.setattr(watcher.time, "sleep", paused)
    watcher.clean_up(str(folder))
    assert [one.wait(60) for one in found] == [-9, -9, -9]


def test_what_does_not_end_is_left_alone(folder, process, monkeypatch):
    found = process(folder / "log", "ray::Agent")
    monkeypatch.setattr(watcher.os, "kill", lambda pid, number: None)
    monkeypatch.setattr(watcher, "LONGEST", 0.1)
    watcher.clean_up(str(folder))
    assert found.poll() is None
    assert not folder.exists()
