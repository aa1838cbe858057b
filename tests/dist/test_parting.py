"""The last worker of a job ends its servers, in whatever order the workers part from them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sparsekit.dist import ray_cluster


class Server:
    """Stands for the handle of a server; ``before`` runs once, before it hears the next time from a worker."""

    def __init__(self, present):
        self.present, self.before = set(present), None
        self.attach, self.detach = SimpleNamespace(remote=self.joined), SimpleNamespace(remote=self.parted)

    def interrupt(self):
        before, self.before = self.before, None
        if before is not None:
            before()

    def joined(self, rank):
        self.interrupt()
        self.present.add(rank)

    def parted(self, rank):
        self.interrupt()
        self.present.discard(rank)
        return len(self.present)


@pytest.fixture
def stopped(monkeypatch):
    """The lists of servers that were ended."""
    found = []
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: SimpleNamespace(get=lambda answer, timeout: answer))
    monkeypatch.setattr(ray_cluster, "client_of", lambda way: SimpleNamespace(leave=lambda: None))
    monkeypatch.setattr(ray_cluster, "start_servers", lambda job: None)
    monkeypatch.setattr(ray_cluster, "stop", lambda workers, servers: found.append(servers))
    yield found
    ray_cluster.transport.set_current(None)


def ways(servers):
    """How each of two workers reaches the servers."""
    return [SimpleNamespace(handles=servers, rank=rank, job=SimpleNamespace(timeout=1)) for rank in (0, 1)]


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


@pytest.mark.parametrize("between", [0, 1])
def test_servers_stay_for_a_worker_that_has_begun_to_join(stopped, monkeypatch, between):
    servers = [Server({0}), Server({0})]
    first, second = ways(servers)
    monkeypatch.setattr(ray_cluster, "RayTransport", lambda *_: second)
    servers[between].before = lambda: ray_cluster.part(first)
    ray_cluster.join(second.job, 1, 0)
    assert servers[0].present == servers[1].present == {1}
    # Before it has come to the last server, nobody knows of it.
    assert stopped == ([servers] if between == 1 else [])
