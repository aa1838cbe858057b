"""Waits for Ray have limits; here Ray and the clock are simulated."""

from __future__ import annotations

import inspect
import threading
from types import SimpleNamespace

import pytest

from sparsekit.base.errors import LostDataError, NoRoomError
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
