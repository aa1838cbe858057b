"""Runs with one fault each, which the random histories must find."""

from __future__ import annotations

import contextlib

from sparsekit.dist import files, snapshot
from sparsekit.dist.client import Client
from sparsekit.dist.files import Snapshots
from sparsekit.dist.messages import Waited
from sparsekit.dist.server import Server
from sparsekit.dist.snapshot import Capture, _Aside
from sparsekit.gluon.servers import TrainerServers
from sparsekit.kvstore import DistKVStore

CHANGES = {}


def mutant(holder, name):
    """Register a replacement of an attribute, made from what it replaces."""
    def register(make):
        CHANGES[make.__name__] = (holder, name, make)
        return make
    return register


@contextlib.contextmanager
def planted(name):
    """The fault of this name."""
    holder, attribute, make = CHANGES[name]
    before = vars(holder)[attribute]
    setattr(holder, attribute, make(getattr(holder, attribute)))
    try:
        yield
    finally:
        setattr(holder, attribute, before)


@mutant(Server, "_take")
def messages_taken_again(before):
    async def take(self, call, message, number, ends):
        self._taken.pop(message.rank, None)
        await before(self, call, message, number, ends)
    return take


@mutant(Server, "call")
def calls_of_other_epochs_answered(before):
    async def call(self, epoch, method, arguments):
        return await before(self, self.epoch, method, arguments)
    return call


@mutant(Server, "_take")
def steps_pass_a_snapshot(before):
    async def nobody(call, rank, waited_for):
        pass

    async def take(self, call, message, number, ends):
        self._floor, self._until = lambda: 1 << 60, nobody
        try:
            if number > self._taken.get(message.rank, 0):
                await before(self, call, message, number, False)
        finally:
            del self._floor, self._until
        if ends:
            self.done[message.rank] += 1
            self._marks |= {message.mark} - {0}
        if message.state is not None:
            self.worker_states[message.rank] = message.state
        self._take_snapshot()
        self._changed()
    return take


@mutant(Server, "_close")
def sum_in_the_order_of_arrival(before):
    def close(self, held):
        while held.failed is None:
            ready = [rank for rank, pushes in held.pending.items() if pushes]
            if not ready or not set(self.present) <= set(ready):
                return
            parts = [held.pending[rank].pop(0) for rank in ready]
            held.pending.clear() if not any(held.pending.values()) else None
            self._step(held, parts, parts[ready.index(min(ready))], None)
    return close


@mutant(Server, "_slower")
def no_bound_of_staleness(before):
    return lambda self, message: Waited(None, 0, ())


@mutant(Capture, "before")
def rows_not_put_aside(before):
    return lambda self, key, rows: None


@mutant(_Aside, "put")
def rows_put_aside_again(before):
    def put(self, arrays, rows):
        self.places[rows] = 0
        return before(self, arrays, rows)
    return put


@mutant(snapshot, "encoded_state")
def state_not_in_snapshot(before):
    return lambda state, arrays: None


@mutant(snapshot, "generator_from")
def servers_random_numbers_not_in_snapshot(before):
    return lambda state: before({**state, "state": {**state["state"], "state": 1}})


@mutant(snapshot, "_finish")
def optimizers_not_counted(before):
    def finish(server, parts):
        before(server, parts)
        server.numbers = {"optimizer": 0, "states": 0}
    return finish


@mutant(snapshot, "placed")
def keys_stay_on_other_servers(before):
    return lambda spec, policy, key, shards: spec


@mutant(snapshot, "merged_optimizer")
def optimizers_of_servers_not_merged(before):
    return lambda optimizers: (0, type(optimizers[0])())


@mutant(files, "crc32")
def without_checksums(before):
    return lambda data, value=0: 0


@mutant(Snapshots, "collect")
def a_manifest_before_all_parts(before):
    def collect(self, index, reports, servers, workers, epoch):
        for told in reports.values():
            for other in range(servers):
                before(self, other, {max(reports): {**told, "file": told["file"][:-1] + str(other)}}, servers, workers, epoch)
    return collect


@mutant(Client, "_stated")
def workers_state_of_a_step_before(before):
    def stated(self):
        state, self.__dict__["_earlier"] = vars(self).get("_earlier"), before(self)
        return (self.steps, *state[1:]) if state else self._earlier
    return stated


@mutant(DistKVStore, "_take_state")
def workers_state_not_taken(before):
    return lambda self, state, set_, kept: None


@mutant(Client, "_arrive")
def pushes_numbered_from_the_beginning(before):
    def arrive(self):
        self.steps = self.begun_at
    return arrive


@mutant(TrainerServers, "_take_kept")
def trainers_state_not_taken(before):
    return lambda self, state: None


@mutant(Client, "skip_step")
def one_step_too_few_is_skipped(before):
    def skip(self):
        self.steps += 1
        return before(self)
    return skip


@mutant(Server, "restore")
def a_server_that_has_begun_keeps_what_it_has(before):
    async def restore(self, epoch, setup, manifest):
        if self.keys and self.epoch == epoch - 1:
            self.epoch = epoch
            return
        await before(self, epoch, setup, manifest)
    return restore
