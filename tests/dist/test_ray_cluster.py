"""Waits for Ray have limits; here Ray and the clock are simulated."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from sparsekit.base.errors import LostDataError, NoClusterError, NoRoomError
from sparsekit.dist import files, launch, ray_cluster
from sparsekit.dist.messages import Setup

#: Seconds within which errors name what is missing.
NAMED = 10.0


class Full:
    """A cluster that has no room; a wait lets the clock go on by its limit."""

    def __init__(self):
        self.now = 100.0
        self.exceptions = SimpleNamespace(RayError=OSError)
        self.util = SimpleNamespace(placement_group=lambda bundles, policy: SimpleNamespace(ready=lambda: None),
                                    remove_placement_group=lambda place: None)

    def nodes(self):
        return [{"Alive": True, "NodeID": "one", "Resources": {"CPU": 2.0}}]

    def get(self, reference, timeout):
        self.now += timeout
        raise TimeoutError


def test_no_room_is_named_in_time(monkeypatch):
    ray = Full()
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: ray)
    monkeypatch.setattr(ray_cluster, "time", SimpleNamespace(monotonic=lambda: ray.now))
    group = ray_cluster.Group(Setup(2, 2), ray_cluster.Options({"num_cpus": 64}), 2)
    with pytest.raises(NoRoomError, match=r"no room for 2 places of \{'CPU': 64\.001\}.* machines have \[\{'CPU': 2.0\}\]"):
        group._find_places()
    assert ray.now - 100.0 == ray_cluster.Options().place_within < NAMED
    assert ray_cluster.SOON < NAMED
    assert inspect.signature(launch.run).parameters["place_within"].default == ray_cluster.Options().place_within


def test_a_frozen_process_has_half_a_minute():
    for default in (ray_cluster.Options().frozen_after, inspect.signature(launch.run).parameters["frozen_after"].default,
                    inspect.signature(launch.connect).parameters["frozen_after"].default):
        assert default >= 30.0


class Loading(Full):
    """Servers of which one gives an error, and another one is not done for long."""

    def wait(self, references, timeout):
        done = [one for one in references if one is not None]
        return done[:1], [one for one in references if one is not done[0]]

    def get(self, reference):
        return reference


def test_the_first_server_that_says_what_is_wrong_is_not_kept_waiting(monkeypatch):
    monkeypatch.setattr(ray_cluster, "load_ray", Loading)
    group = ray_cluster.Group(Setup(1, 2), ray_cluster.Options(), 1)
    error = LostDataError("not seen")
    group.servers = [SimpleNamespace(restore=SimpleNamespace(remote=lambda *arguments, one=one: one)) for one in (None, error)]
    assert group._restored(None) is error


def test_a_folder_that_is_not_there_or_does_not_answer_is_named(tmp_path, monkeypatch):
    setup = Setup(folder=str(tmp_path), token="token-1")
    with pytest.raises(LostDataError, match=f"Rank 3 on .* does not see the folder {tmp_path}"):
        files.see_folder(setup, "Rank 3")
    (tmp_path / "token-1").touch()
    files.see_folder(setup, "Rank 3")
    files.see_folder(Setup(), "Rank 3")
    assert files.SEEN < NAMED
    answers = threading.Event()
    monkeypatch.setattr(files, "SEEN", 0.01)
    monkeypatch.setattr(files.Path, "exists", lambda path: answers.wait())
    with pytest.raises(LostDataError, match="does not see"):
        files.see_folder(setup, "Rank 3")
    answers.set()


class Done(Full):
    """A worker that has ended, and a server that was started again meanwhile."""

    cloudpickle = pickle

    def wait(self, references, timeout):
        return references[:1], references[1:]

    def get(self, found, timeout=None):
        return [None for _ in found] if isinstance(found, list) else {"epoch": 0} if found == "a sign of life" else found


def test_a_server_that_is_lost_before_it_has_told_its_profile_has_ended(monkeypatch):
    monkeypatch.setattr(ray_cluster, "load_ray", Done)
    driver = ray_cluster.Driver(Setup(1, 1), ray_cluster.Options(), b"", None)
    driver.workers = [SimpleNamespace(ping=SimpleNamespace(remote=int))]
    driver.group.epoch, driver.group.ask = 1, lambda index: "a sign of life"
    driver.group.servers = [SimpleNamespace(call=SimpleNamespace(remote=lambda message: None))]
    driver._runs = {ray_cluster.Outcome(pickle.dumps(7)): 0}
    with pytest.raises(ray_cluster.LostError) as error:
        driver._watch()
    assert error.value.args == ("server", 0, "has ended")


def test_a_head_that_does_not_answer_is_named_when_a_job_is_looked_for(monkeypatch):
    answers = threading.Event()
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: SimpleNamespace(get_actor=lambda name, namespace: answers.wait(5.0)))
    monkeypatch.setattr(ray_cluster, "SOON", 0.01)
    with pytest.raises(NoClusterError, match=r"has not answered for 0 s .the job 'outside'"):
        ray_cluster.keeper_of("outside")
    answers.set()


def test_what_does_not_end_is_named_and_not_waited_for_without_a_limit(monkeypatch, caplog):
    answers = threading.Event()
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(
        is_initialized=lambda: True, get_runtime_context=lambda: SimpleNamespace(gcs_address="here"),
        shutdown=lambda: answers.wait(60)))
    monkeypatch.setattr(ray_cluster, "SOON", 0.01)
    monkeypatch.setattr(ray_cluster, "END", 0.01)
    cluster = ray_cluster.Cluster()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as head:
        cluster._ends.callback(ray_cluster.end_head, head)
        cluster._ends.callback(ray_cluster.shut_down)
        cluster.stop()
        assert head.poll() is None
        head.kill()
    assert [one.getMessage().partition(".")[0] for one in caplog.records] == [
        "Ray has not left its cluster within 0 s, and is left alone",
        f"Process {head.pid}, which ends the Ray cluster of this program, has not done so within 0 s"]
    answers.set()
