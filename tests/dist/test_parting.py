"""The last worker of a job ends its servers, in whatever order the workers part from them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import sparsekit as mx
from sparsekit.dist import ray_cluster


class Ended(Exception):
    """Stands for Ray's error of an actor that has ended."""


class Server:
    """Stands for the handle of a server; ``before`` runs once, before it hears the next time from a
    worker, ``after`` once, after it has and before it answers, which it then does not."""

    def __init__(self, present):
        self.present, self.before, self.after, self.ended, self.life = set(present), None, None, False, 1
        self.again = False  # whether it is started again after it has ended
        self.attach, self.detach = SimpleNamespace(remote=self.joined), SimpleNamespace(remote=self.parted)

    def interrupt(self):
        before, self.before = self.before, None
        if before is not None:
            before()

    def joined(self, rank):
        self.interrupt()
        if self.ended:
            return Ended()
        self.present.add(rank)
        return True, self.life

    def parted(self, rank):
        self.interrupt()
        self.present.discard(rank)
        left, after, self.after = len(self.present), self.after, None
        if after is None:
            return left
        after()
        return Ended()


@pytest.fixture
def stopped(monkeypatch):
    """The lists of servers that were ended."""
    found = []

    def get(answer, timeout):
        if isinstance(answer, (Ended, TimeoutError)):
            raise answer
        return answer

    exceptions = SimpleNamespace(ActorDiedError=Ended, RayActorError=Ended)
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: SimpleNamespace(get=get, exceptions=exceptions))
    monkeypatch.setattr(ray_cluster, "client_of", lambda way: SimpleNamespace(leave=lambda: None))
    monkeypatch.setattr(ray_cluster, "stop", lambda workers, servers: found.append(servers))
    monkeypatch.setattr(ray_cluster, "PAUSE", 0)
    yield found
    ray_cluster.transport.set_current(None)


def ways(servers):
    """How each of two workers reaches the servers."""
    return [SimpleNamespace(handles=servers, rank=rank, job=SimpleNamespace(name="job", timeout=1),
                            exists=lambda index: servers[index].again) for rank in (0, 1)]


def joins(monkeypatch, way, *found):
    """Have the second worker join; ``found`` are the servers that it gets, one after the other."""
    turns = iter(found)
    monkeypatch.setattr(ray_cluster, "start_servers", lambda job: next(turns))
    monkeypatch.setattr(ray_cluster, "RayTransport", lambda job, rank, life, handles: setattr(way, "handles", handles) or way)
    assert ray_cluster.join(way.job, 1) is way


@pytest.mark.parametrize("between", [0, 1, None], ids=["before the first server", "between the servers", "after both"])
def test_the_last_worker_ends_the_servers(stopped, between):
    servers = [Server({0, 1}), Server({0, 1})]
    first, second = ways(servers)
    if between is not None:
        servers[between].before = lambda: ray_cluster.part(second)
    ray_cluster.part(first)
    if between is None:
        ray_cluster.part(second)
    assert stopped == [servers]


def test_the_last_worker_ends_a_server_before_another_has_its_answer(stopped):
    servers = [Server({0, 1}), Server({0, 1})]
    first, second = ways(servers)
    servers[1].after = lambda: ray_cluster.part(second)
    ray_cluster.part(first)
    assert stopped[0] == servers


@pytest.mark.parametrize("index", [0, 1])
def test_a_server_that_is_started_again_meanwhile_hears_it_too(stopped, index):
    servers = [Server({0}), Server({0})]
    servers[index].again, servers[index].after = True, lambda: servers[index].present.add(0)
    ray_cluster.part(ways(servers)[0])
    assert stopped == [servers]
    assert [one.present for one in servers] == [set(), set()]


@pytest.mark.parametrize(("raised", "error"), [(Ended, mx.LostServerError), (TimeoutError, mx.WaitTimeoutError)])
def test_servers_that_cannot_be_parted_from_are_named(stopped, raised, error):
    way = ways([Server({0})])[0]
    way.job.timeout, way.handles[0].again = -1, True
    way.handles[0].detach.remote = lambda rank: raised()
    with pytest.raises(error, match="of the job 'job'"):
        ray_cluster.part(way)
    assert stopped == []


@pytest.mark.parametrize("between", [0, 1])
def test_servers_stay_for_a_worker_that_has_begun_to_join(stopped, monkeypatch, between):
    servers = [Server({0}), Server({0})]
    first, second = ways(servers)
    servers[between].before = lambda: ray_cluster.part(first)
    joins(monkeypatch, second, servers)
    assert servers[0].present == servers[1].present == {1}
    # Before it has come to the last server, nobody knows of it.
    assert stopped == ([servers] if between == 1 else [])


def test_a_worker_that_meets_servers_which_have_just_ended_starts_new_ones(stopped, monkeypatch):
    servers, new = [Server({0}), Server({0})], [Server(()), Server(())]
    first, second = ways(servers)
    ray_cluster.part(first)
    servers[1].ended, new[0].life = True, 5
    joins(monkeypatch, second, servers, new)
    assert new[0].present == new[1].present == {1}
    assert second.life == 5, "the latest that a server knows of"


@pytest.mark.parametrize(("raised", "error"), [(Ended, mx.LostServerError), (TimeoutError, mx.WaitTimeoutError)])
def test_servers_that_cannot_be_joined_are_named(stopped, monkeypatch, raised, error):
    way = ways([Server(())])[1]
    way.job.timeout = -1
    way.handles[0].attach.remote = lambda rank: raised()
    with pytest.raises(error, match="servers of the job 'job' have"):
        joins(monkeypatch, way, way.handles)


def test_a_worker_that_a_server_refuses_is_known_to_none(stopped, monkeypatch):
    servers = [Server({0}), Server({0})]
    way = ways(servers)[1]
    servers[0].attach.remote = lambda rank: (False, mx.MismatchError("refused"))
    with pytest.raises(mx.MismatchError, match="refused"):
        joins(monkeypatch, way, servers)
    assert [one.present for one in servers] == [{0}, {0}]
    assert stopped == []
