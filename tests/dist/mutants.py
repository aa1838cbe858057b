"""Servers with one fault each, which the random histories must find."""

from __future__ import annotations

import contextlib

from sparsekit.dist import held, journal, resume
from sparsekit.dist.held import Held
from sparsekit.dist.journal import Log
from sparsekit.dist.shard import Shard

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


@mutant(Shard, "_fresh")
def without_dedup(before):
    def fresh(self, request):
        found = before(self, request)
        return None if found is None else list(request.pushes)
    return fresh


@mutant(Shard, "_fresh")
def gap_not_refused(before):
    def fresh(self, request):
        return [push for push in request.pushes if push.sequence > self.keys[push.key].last.get(request.rank, 0)]
    return fresh


@mutant(Held, "pulled")
def without_undo_in_memory(before):
    return lambda self, version, rows: held._taken(self.value._store, rows)


@mutant(Held, "described")
def without_undo_in_snapshot(before):
    def described(self, state):
        undo, self.undo = self.undo, None
        try:
            return before(self, state)
        finally:
            self.undo = undo
    return described


@mutant(Held, "described")
def pending_not_in_snapshot(before):
    def described(self, state):
        pending, self.pending = self.pending, {}
        try:
            return before(self, state)
        finally:
            self.pending = pending
    return described


@mutant(Shard, "_encoded_state")
def state_not_in_snapshot(before):
    return lambda self, key: (None, [])


@mutant(journal, "crc32")
def without_crc(before):
    return lambda data, start=0: 0


@mutant(Log, "check")
def without_fencing(before):
    return lambda self: None


@mutant(Log, "append")
def without_journal(before):
    return lambda self, meta, arrays=(): None


@mutant(Log, "append")
def journal_after_the_answer(before):
    def append(self, meta, arrays=()):
        late = vars(self).setdefault("late", [])
        late.append((meta, [array.copy() for array in arrays]))
        if len(late) > 1:
            before(self, *late.pop(0))
    return append


@mutant(Shard, "_close")
def sum_in_the_order_of_arrival(before):
    def close(self, found):
        while found.failed is None:
            ready = [rank for rank, pushes in found.pending.items() if pushes]
            if not ready or not set(self.present) <= set(ready):
                return
            parts = [found.pending[rank].pop(0) for rank in ready]
            found.pending.clear() if not any(found.pending.values()) else None
            self._step(found, parts, parts[ready.index(min(ready))])
    return close


@mutant(journal.RecordFile, "append")
def full_disk_not_cut_back(before):
    def append(self, meta, arrays=()):
        with journal._named(self.path):
            self.good += self._write(journal._encoded(meta, arrays))
    return append


@mutant(Shard, "_admit")
def replaced_workers_not_refused(before):
    def admit(self, rank, life):
        before(self, rank, max(life, self.lives.get(rank, life)))
    return admit


@mutant(resume, "_agreed")
def resumed_as_each_server_was(before):
    def agreed(folder, manifest, optimizers):
        old = [resume._Old(folder, index, manifest, optimizers) for index in range(manifest.shards)]
        limits = {}
        for one in old:
            for key, found in one.keys.items():
                limits[key] = max(limits.get(key, 0), found.version)
        for one in old:
            one._limits = limits
        return old
    return agreed


@mutant(resume, "_joined_undo")
def resumed_without_undo(before):
    return lambda partition, parts: None


@mutant(Log, "_take_over")
def every_incarnation_the_same(before):
    def take_over(self):
        before(self)
        return 1
    return take_over
