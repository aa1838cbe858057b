"""The last worker of a job ends its servers, in whatever order the workers part from them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sparsekit.dist import ray_cluster


class Server:
    """Stands for the handle of a server, which two workers have joined; ``before`` runs before it hears of a parting."""

    def __init__(self):
        self.present, self.before = {0, 1}, None
        self.detach = SimpleNamespace(remote=self.parted)
        self.attach = SimpleNamespace(remote=self.joined)

    def joined(self, rank):
        if self.before is not None:
            before, self.before = self.before, None
            before()
        self.present.add(rank)

    def parted(self, rank):
        if self.before is not None:
            before, self.before = self.before, None
            before()
        self.present.discard(rank)
        return sorted(self.present)


@pytest.mark.parametrize("between", [0, 1, None], ids=["before the first server", "between the servers", "after both"])
def test_the_last_worker_ends_the_servers(monkeypatch, between):
    stopped = []
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: SimpleNamespace(get=lambda answer, timeout: answer))
    monkeypatch.setattr(ray_cluster, "client_of", lambda way: SimpleNamespace(leave=lambda: None))
    monkeypatch.setattr(ray_cluster, "stop", lambda workers, servers: stopped.append(servers))
    servers = [Server(), Server()]
    first, second = (SimpleNamespace(handles=servers, rank=rank, job=SimpleNamespace(timeout=1)) for rank in (0, 1))
    if between is not None:
        servers[between].before = lambda: ray_cluster.part(second)
    ray_cluster.part(first)
    if between is None:
        ray_cluster.part(second)
    assert stopped == [servers]


@pytest.mark.parametrize("between", [0, 1])
def test_servers_stay_for_a_worker_that_has_begun_to_join(monkeypatch, between):
    stopped, servers = [], [Server(), Server()]
    for server in servers:
        server.present = {0}
    first, second = (SimpleNamespace(handles=servers, rank=rank, job=SimpleNamespace(timeout=1)) for rank in (0, 1))
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: SimpleNamespace(get=lambda answer, timeout: answer))
    monkeypatch.setattr(ray_cluster, "client_of", lambda way: SimpleNamespace(leave=lambda: None))
    monkeypatch.setattr(ray_cluster, "stop", lambda workers, servers: stopped.append(servers))
    monkeypatch.setattr(ray_cluster, "start_servers", lambda job: None)
    monkeypatch.setattr(ray_cluster, "RayTransport", lambda *_: second)
    servers[between].before = lambda: ray_cluster.part(first)
    ray_cluster.join(second.job, 1, 0)
    ray_cluster.transport.set_current(None)
    assert servers[0].present == servers[1].present == {1}
    # Before it has come to the last server, nobody knows of it.
    assert stopped == ([servers] if between == 1 else [])
