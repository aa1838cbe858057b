"""Workers in threads that are killed and started anew, and transports that lose what was sent."""

from __future__ import annotations

import threading

from sparsekit.dist.client import finish
from sparsekit.dist.transport import LocalTransport, set_current


class Killed(BaseException):
    """What ends a worker as a signal would: nothing of it is done any more."""


class Mortal(LocalTransport):
    """A transport whose worker is killed in its n-th call, when only some servers have got their message."""

    def __init__(self, cluster, rank, life, at=None, reached=1):
        super().__init__(cluster, rank, life)
        self.at, self.reached, self.calls = at, reached, 0

    def call(self, requests, timeout):
        self.calls += 1
        if self.calls == self.at:
            super().call(requests[:self.reached], timeout)
            raise Killed
        return super().call(requests, timeout)


def run(cluster, function, *arguments, kill=(), between=None):
    """Results by rank of a function that each worker calls, from the beginning again each time it is killed.

    ``kill`` has pairs of a rank and the number of the call in which its life ends, one for each life; ``between(rank, life)``
    is called before a new life.
    """
    results, errors = [None] * cluster.workers, []

    def work(rank):
        ends = [at for one, at in kill if one == rank]
        for life in range(len(ends) + 1):
            transport = Mortal(cluster, rank, life, *(ends[life] if life < len(ends) else ()))
            set_current(transport, thread=True)
            try:
                results[rank] = function(*arguments)
                finish(transport)
                return
            except Killed:
                if between is not None:
                    between(rank, life)
            except BaseException as error:
                errors.append(error)
                for server in cluster.servers:
                    server.call("lost", (rank,))
                return

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(cluster.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a worker hangs"
    if errors:
        raise errors[0]
    return results
