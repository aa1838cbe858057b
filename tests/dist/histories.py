"""Random histories of a distributed run: servers and workers that are killed, frozen, started again and dealt anew.

Messages are lost, repeated, late and in another order between the streams of keys; writes are torn at any byte; the disk is
full.  What the servers hold in the end must be what one process makes of the same gradients, to the bit.  A gradient depends
on the values that were pulled for it, so a value of the wrong version shows.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import shutil
import tempfile
from typing import NamedTuple

import numpy as np

import sparsekit as mx
from sparsekit.base.errors import FencedError, JournalFullError
from sparsekit.dist import journal, partition
from sparsekit.dist.messages import KeySpec, Pull, Push, Refused, Reply, Request, Waiting
from sparsekit.dist.partition import Partition
from sparsekit.dist.resume import resume
from sparsekit.dist.shard import Shard
from sparsekit.optimizer.states import described, encoded_settings

#: Optimizers of the histories, with settings that use their states.
OPTIMIZERS = (
    None, ("sgd", {"momentum": 0.9}), ("adam", {}), ("adagrad", {"wd": 0.01}), ("nadam", {}), ("ftrl", {}),
    ("adam", {"lazy_update": False}), ("dcasgd", {"momentum": 0.5}), ("groupadagrad", {}),
    ("sgd", {"lazy_update": False, "wd": 0.1}),
)
SHAPES = {"w": ((23, 2), "row_sparse"), 7: ((11, 2), "default"), "b": ((5, 1), "default")}
#: Events after which a history counts as stuck.
MOST = 6000


class WrongError(AssertionError):
    """A history did not end as one process does."""


class Plan(NamedTuple):
    """What a history computes, apart from what happens to it."""

    seed: int
    workers: int
    steps: int
    optimizer: object
    leaves: tuple  # the last step of each rank

    @staticmethod
    def of(seed):
        random = np.random.default_rng([seed, 1])
        workers, steps = int(random.choice([2, 3, 3])), int(random.integers(3, 7))
        leaves = tuple(int(random.integers(1, steps + 1)) if random.random() < 0.15 else steps for _ in range(workers))
        return Plan(seed, workers, steps, OPTIMIZERS[int(random.integers(len(OPTIMIZERS)))], leaves)

    def made(self):
        if self.optimizer is None:
            return None
        name, settings = self.optimizer
        return mx.optimizer.create(name, learning_rate=0.1, clip_gradient=0.9, **settings)

    def values(self):
        random = np.random.default_rng([self.seed, 2])
        return {key: random.normal(size=shape).astype(np.float32) for key, (shape, _) in SHAPES.items()}

    def rows(self, key, rank, step):
        """The rows that a worker pulls and pushes."""
        shape, stype = SHAPES[key]
        if stype == "default":
            return None
        random = np.random.default_rng([self.seed, 3, rank, step])
        return np.flatnonzero(random.random(shape[0]) < random.choice([0.0, 0.2, 0.7]))

    def gradients(self, rank, step, pulled):
        """The gradient of each key, which depends on what was pulled of all of them."""
        random = np.random.default_rng([self.seed, 4, rank, step])
        everything = np.tanh(sum(values.sum(dtype=np.float64) for values in pulled.values()))
        return {key: (random.normal(size=values.shape) + 0.1 * values.clip(-100, 100) + everything).astype(np.float32)
                for key, values in pulled.items()}

    def settings(self, rank, step):
        return encoded_settings({"rescale_grad": 1 / (step + 10 * rank)})

    def one_process(self):
        """The values after each step."""
        store, found = mx.kv.create("local"), [self.values()]
        optimizer = self.made()
        for key, value in found[0].items():
            stype = SHAPES[key][1]
            array = mx.nd.array(value)
            store.init(key, array if stype == "default" else mx.nd.sparse.row_sparse_array(
                (array, np.arange(len(value))), shape=value.shape))
        if optimizer is not None:
            store.set_optimizer(optimizer)
        for step in range(1, self.steps + 1):
            ranks = [rank for rank in range(self.workers) if self.leaves[rank] >= step]
            if not ranks:
                break
            if optimizer is not None:
                optimizer.rescale_grad = 1 / (step + 10 * ranks[0])
            rows = {rank: {key: self.rows(key, rank, step) for key in SHAPES} for rank in ranks}
            gradients = {rank: self.gradients(rank, step, {
                key: values if rows[rank][key] is None else values[rows[rank][key]] for key, values in found[-1].items()})
                for rank in ranks}
            for key, (shape, stype) in SHAPES.items():
                arrays = [mx.nd.array(gradients[rank][key]) for rank in ranks]
                store.push(key, arrays if stype == "default" else [
                    mx.nd.sparse.row_sparse_array((values, rows[rank][key]), shape=shape)
                    for rank, values in zip(ranks, arrays, strict=True)])
            found.append({key: store._held[key].asnumpy() for key in SHAPES})
        return found


class Message(NamedTuple):
    """A message to a server: a method and its arguments."""

    number: int
    shard: int
    method: str
    arguments: tuple
    layout: int


class Worker:
    """What a worker does, one message at a time."""

    def __init__(self, world, rank):
        self.world, self.rank, self.life = world, rank, 0
        self.begin()

    def begin(self, skips=False):
        """Begin the program, from its beginning or behind what the servers have."""
        world = self.world
        self.life += 1
        self.done = False
        self.step, self.barrier = 1, 0
        self.known = [0] * world.count
        self.kept, self.before = {}, {}
        last = {}
        for index in range(world.count):
            welcome = world.until_written(index, "hello", (self.rank, self.life))
            self.known[index] = welcome.epoch
            for key in world.keys_on(index):
                if key not in welcome.last:
                    raise WrongError(f"key {key!r} is gone")
                last[key, index] = welcome.last[key]
        self.acked = dict(last)
        if skips:
            self.step = min(last.values()) + 1
            self.barrier = (self.step - 1) // 2
        self.enter_pull()

    def message(self, index, **parts):
        return self.call(index, "exchange", Request(self.rank, self.life, self.known[index], **parts))

    def call(self, index, method, *arguments):
        self.world.messages += 1
        return Message(self.world.messages, index, method, arguments, self.world.layout)

    def enter_pull(self):
        if self.step > self.world.plan.leaves[self.rank]:
            self.phase = "leave"
            early = self.world.plan.leaves[self.rank] < self.world.plan.steps
            self.messages = [self.call(index, "leave", self.rank, self.life)
                             for index in range(self.world.count)] if early else []
            self.done = not self.messages
            return
        self.phase, self.messages = "pull", []
        self.parts = {}
        for index in range(self.world.count):
            pulls = tuple(Pull(key, self.step - 1, self.local_rows(key, index)) for key in self.world.keys_on(index))
            if pulls:
                self.messages.append(self.message(index, pulls=pulls))

    def local_rows(self, key, index):
        rows = self.world.plan.rows(key, self.rank, self.step)
        if rows is None:
            return None
        return self.part(key, index, rows).rows.astype(np.int32)

    def part(self, key, index, rows):
        return next(part for part in self.world.partitions[key].split(rows) if part.shard == index)

    def enter_push(self):
        plan, world = self.world.plan, self.world
        self.phase, self.messages = "push", []
        pushes = collections.defaultdict(list)
        every = {key: plan.rows(key, self.rank, self.step) for key in SHAPES}
        pulled = {}
        for key, (shape, _) in SHAPES.items():
            rows = every[key]
            whole = pulled[key] = np.empty(shape if rows is None else (len(rows), *shape[1:]), np.float32)
            for index in world.partitions[key].holders:
                if rows is None:
                    world.partitions[key].put(whole, index, self.parts[key, index])
                else:
                    whole[self.part(key, index, rows).places] = self.parts[key, index]
            if self.step > max(self.acked[key, index] for index in world.partitions[key].holders):
                world.compare(key, self.rank, self.step, whole, rows)
        for key, gradient in plan.gradients(self.rank, self.step, pulled).items():
            rows = every[key]
            for index in world.partitions[key].holders:
                if rows is None:
                    push = Push(key, self.step, None, world.partitions[key].take(gradient, index))
                else:
                    part = self.part(key, index, rows)
                    push = Push(key, self.step, part.rows.astype(np.int32), gradient[part.places])
                pushes[index].append(push)
        self.before, self.kept = self.kept, {}  # until it has been answered, the one before may have to be sent again
        for index, found in pushes.items():
            together = world.random.random() < 0.5
            for group in [found] if together else [[push] for push in found]:
                pulls = (Pull(group[0].key, self.step),) if world.random.random() < 0.3 else ()
                message = self.message(index, pushes=tuple(group), pulls=pulls,
                                       settings=plan.settings(self.rank, self.step) if plan.optimizer else None)
                self.messages.append(message)
                self.kept.setdefault(index, []).append(message)

    def enter_barrier(self):
        if self.step % 2 == 0:
            self.phase = "barrier"
            self.barrier += 1
            self.messages = [self.call(0, "barrier", self.rank, self.life, self.barrier)]
        else:
            self.advance()

    def advance(self):
        self.step += 1
        self.enter_pull()

    def refresh(self, message):
        """The message with the epoch that is known by now."""
        if message.method != "exchange":
            return message
        return message._replace(arguments=(message.arguments[0]._replace(epoch_known=self.known[message.shard]),))

    def heard(self, message, reply):
        """Take an answer."""
        index = message.shard
        if message.method == "exchange":
            lost = [key for key, last in reply.last.items() if last < self.acked[key, index]]
            self.known[index] = reply.epoch
            if isinstance(reply, Refused) or lost:
                if not self.world.forgot.get((index, self.rank)):
                    raise WrongError(f"server {index} does not have a push of {lost} that it answered, of rank {self.rank}")
                for kept in [*self.kept.get(index, []), *self.before.get(index, [])]:
                    if kept not in self.messages and any(
                            push.sequence > reply.last.get(push.key, push.sequence) for push in kept.arguments[0].pushes):
                        self.messages.insert(0, kept)
                for key in self.world.keys_on(index):
                    self.acked[key, index] = reply.last.get(key, self.acked[key, index])
                if isinstance(reply, Refused):
                    return
            for key, last in reply.last.items():
                self.acked[key, index] = max(last, self.acked[key, index])
            for push in message.arguments[0].pushes:
                if push.key not in reply.last or reply.last[push.key] < push.sequence:
                    raise WrongError(f"server {index} answers a push of {push.key!r} that it does not have")
            pulls_alone = not message.arguments[0].pushes
            if isinstance(reply, Waiting) and pulls_alone:
                return
            if pulls_alone and message in self.messages:
                for pull, values in zip(message.arguments[0].pulls, reply.values, strict=True):
                    self.parts[pull.key, index] = values
        elif isinstance(reply, Waiting):
            return
        if message in self.messages:
            self.messages.remove(message)
        if not self.messages:
            if self.phase == "pull":
                self.enter_push()
            elif self.phase == "push":
                self.enter_barrier()
            elif self.phase == "barrier":
                self.advance()
            else:
                self.done = True


class World:
    """Servers, workers, and what happens to them."""

    def __init__(self, seed, folder, make=Shard):
        self.plan, self.folder, self.make = Plan.of(seed), folder, make
        self.random = np.random.default_rng([seed, 5])
        self.wanted = self.plan.one_process()
        self.count, self.layout = int(self.random.integers(1, 4)), 0
        self.snapshot_bytes = int(self.random.choice([600, 3000, 1 << 20]))
        self.counts, self.messages = collections.Counter(), 0
        self.old, self.zombies, self.forgot = collections.deque(maxlen=40), [], {}
        self.full = False
        self.deal()
        self.shards = [self.start(index) for index in range(self.count)]
        self.prepare()
        self.workers = [Worker(self, rank) for rank in range(self.plan.workers)]

    # servers

    def deal(self):
        self.specs = {key: partition.dealt(KeySpec(shape, "float32", stype)) for key, (shape, stype) in SHAPES.items()}
        self.partitions = {key: Partition(key, spec, self.count) for key, spec in self.specs.items()}

    def keys_on(self, index):
        return [key for key in SHAPES if index in self.partitions[key].holders]

    def start(self, index):
        return self.make(self.folder, index, self.count, self.plan.workers, snapshot_bytes=self.snapshot_bytes)

    def prepare(self):
        values, optimizer = self.plan.values(), self.plan.made()
        for index, shard in enumerate(self.shards):
            for key in self.keys_on(index):
                shard.init(0, 0, key, self.specs[key], None, self.partitions[key].take(values[key], index))
            if optimizer is not None:
                shard.optimizer(0, 0, 1, described(optimizer))

    def until_written(self, index, method, arguments):
        """Call a server as often as its disk is full."""
        while True:
            with contextlib.suppress(JournalFullError):
                return getattr(self.shards[index], method)(*arguments)

    def compare(self, key, rank, step, pulled, rows):
        wanted = self.wanted[step - 1][key]
        wanted = wanted if rows is None else wanted[rows]
        if not np.array_equal(pulled, wanted):
            raise WrongError(f"rank {rank} pulled another version of {key!r} than {step - 1}")

    def kill_server(self, index):
        """End a server, perhaps while it writes, and start it again."""
        shard = self.shards[index]
        shard.close()
        segment = shard._log._file
        self.counts["kills of servers"] += 1
        if segment is not None and segment.good:
            chance = self.random.random()
            if chance < 0.4:
                self.tear(segment)
            elif chance < 0.5:
                self.forget(index, segment)
        self.shards[index] = self.start(index)

    def tear(self, segment):
        """Let a record be cut off at any byte, or be as long as it should with one byte wrong."""
        self.counts["torn writes"] += 1
        rank = int(self.random.integers(self.plan.workers))
        key = "w" if self.random.random() < 0.5 else 7
        values = self.random.normal(size=(1, SHAPES[key][0][1])).astype(np.float32)
        shard = self.shards[int(os.path.basename(segment.path).split(".")[0].split("-")[1])]
        held = shard.keys.get(key)
        sequence = 1 if held is None else held.last.get(rank, 0) + 1
        arrays = [np.zeros(1, np.int32), values] if key == "w" else [
            self.random.normal(size=() if held is None else held.shape).astype(np.float32)]
        meta = ["push", rank, None, [[key, sequence, key == "w", None]]]
        record = b"".join(bytes(part) for part in journal._encoded(meta, arrays))
        if self.random.random() < 0.5:
            record = record[:int(self.random.integers(1, len(record)))]
        else:
            place = int(self.random.integers(len(record) - values.nbytes, len(record)))
            record = record[:place] + bytes([record[place] ^ int(self.random.integers(1, 256))]) + record[place + 1:]
        with open(segment.path, "ab") as file:
            file.write(record)

    def forget(self, index, segment):
        """Lose the last record, a push that has been answered; its worker has kept it."""
        records = list(journal.read_records(segment.path))
        if len(records) < 2 or records[-1].meta[0] != "push":
            return
        rank, pushes = records[-1].meta[1], {(one[0], one[1]) for one in records[-1].meta[3]}
        worker = self.workers[rank]
        kept = {(push.key, push.sequence) for message in worker.kept.get(index, []) for push in message.arguments[0].pushes}
        if worker.step >= self.plan.leaves[rank] or not pushes <= kept:
            return  # a worker that says no more never learns of it
        os.truncate(segment.path, records[-2].end)
        self.counts["forgotten records"] += 1
        self.forgot[index, rank] = pushes

    def owed(self, rank):
        """Whether a worker has yet to send again what a server forgot: if it ended now, that would be lost."""
        return any(self.shards[index].keys[key].last.get(rank, 0) < sequence
                   for (index, one), pushes in self.forgot.items() if one == rank for key, sequence in pushes)

    def freeze_server(self, index):
        """Start a server again while the one before it is only frozen."""
        self.counts["frozen servers"] += 1
        self.zombies.append((self.layout, index, self.shards[index]))
        self.shards[index] = self.start(index)

    def wake(self):
        """Let a frozen server wake and take a message: it may not answer it."""
        if not self.zombies:
            return
        layout, index, zombie = self.zombies[int(self.random.integers(len(self.zombies)))]
        worker = self.workers[int(self.random.integers(len(self.workers)))]
        meant = [message for message in [*worker.messages, *self.old] if message.shard == index and message.layout == layout]
        if not meant:
            return
        self.counts["woken servers"] += 1
        message = meant[int(self.random.integers(len(meant)))]
        try:
            if self.random.random() < 0.2:
                zombie.snapshot()
            else:
                reply = getattr(zombie, message.method)(*message.arguments)
                if message in worker.messages:
                    worker.heard(message, reply)
        except (FencedError, JournalFullError):
            return
        except Exception as error:  # what it holds is old, so anything that it says is no wonder
            if isinstance(error, WrongError):
                raise
            return
        raise WrongError("a frozen server woke and answered")

    def reshard(self):
        """End everything, and go on with another number of servers."""
        if any(self.owed(worker.rank) for worker in self.workers):
            return
        self.forgot.clear()
        self.counts["other numbers of servers"] += 1
        for index, shard in enumerate(self.shards):
            if self.random.random() < 0.5:
                self.zombies.append((self.layout, index, shard))
            else:
                shard.close()
        self.count = int(self.random.integers(1, 4))
        full, self.full = self.full, False
        resume(self.folder, self.count)
        self.layout += 1
        self.deal()
        self.shards = [self.start(index) for index in range(self.count)]
        self.full = full
        for worker in self.workers:
            worker.begin(self.random.random() < 0.5)

    # messages

    def deliver(self, worker):
        """Let a message of a worker arrive, or not, or twice; and its answer, or not."""
        if worker.done:
            return
        message = worker.messages[int(self.random.integers(len(worker.messages)))]
        chance = self.random.random()
        if chance < 0.05:
            return
        sent = worker.refresh(message)
        self.old.append(sent)
        try:
            reply = getattr(self.shards[sent.shard], sent.method)(*sent.arguments)
            if chance < 0.15:
                self.counts["repeated messages"] += 1
                reply = getattr(self.shards[sent.shard], sent.method)(*sent.arguments)
        except JournalFullError:
            self.counts["full disks"] += 1
            return
        if chance > 0.95:
            self.counts["lost answers"] += 1
            return
        if 0.15 < chance < 0.2:
            self.freeze_server(sent.shard)  # between its check and its answer
        worker.heard(message, reply)

    def early(self):
        """Let a push arrive before the one that it follows."""
        worker = self.workers[int(self.random.integers(len(self.workers)))]
        index = int(self.random.integers(self.count))
        keys = self.keys_on(index)
        if worker.done or worker.phase == "leave" or not keys:
            return
        key = keys[int(self.random.integers(len(keys)))]
        values = self.random.normal(size=self.partitions[key].local_shape(index)).astype(np.float32)
        push = Push(key, self.shards[index].keys[key].last.get(worker.rank, 0) + 2, None, values)
        self.counts["early messages"] += 1
        with contextlib.suppress(JournalFullError):
            if not isinstance(self.shards[index].exchange(Request(worker.rank, worker.life, 0, (push,))), Refused):
                raise WrongError("a push that came early was answered")

    def late(self):
        """Let an old message arrive once more, whoever sent it."""
        meant = [message for message in self.old if message.layout == self.layout]
        if not meant:
            return
        message = meant[int(self.random.integers(len(meant)))]
        self.counts["late messages"] += 1
        rank, life = message.arguments[0][:2] if message.method == "exchange" else message.arguments[:2]
        try:
            getattr(self.shards[message.shard], message.method)(*message.arguments)
        except JournalFullError:
            return
        except FencedError:
            if life >= self.workers[rank].life:
                raise
            return
        if life < self.workers[rank].life:
            raise WrongError("a worker that has been replaced was answered")

    def run(self):
        """All events of the history, and the comparison."""
        random = self.random
        for _ in range(MOST):
            if all(worker.done for worker in self.workers):
                break
            chance = random.random()
            index = int(random.integers(self.count))
            if chance < 0.02:
                self.kill_server(index)
            elif chance < 0.035:
                self.freeze_server(index)
            elif chance < 0.055:
                self.wake()
            elif chance < 0.07:
                with contextlib.suppress(JournalFullError):
                    self.counts["snapshots"] += self.shards[index].snapshot()
            elif chance < 0.08:
                worker = self.workers[int(random.integers(len(self.workers)))]
                if not self.owed(worker.rank):
                    self.counts["kills of workers"] += 1
                    worker.begin(random.random() < 0.5)
            elif chance < 0.084:
                self.reshard()
            elif chance < 0.1:
                self.full = not self.full
            elif chance < 0.13:
                self.late()
            elif chance < 0.14:
                self.early()
            else:
                self.deliver(self.workers[int(random.integers(len(self.workers)))])
        else:
            raise WrongError("the history does not end")
        self.full = False
        self.final()

    def final(self):
        for key, dealt in self.partitions.items():
            whole = np.empty(SHAPES[key][0], np.float32)
            for index in dealt.holders:
                version = max(self.plan.leaves)
                reply = self.shards[index].exchange(Request(0, self.workers[0].life, 0, (), (Pull(key, version),)))
                if not isinstance(reply, Reply):
                    raise WrongError(f"key {key!r} is not complete: {reply}")
                dealt.put(whole, index, reply.values[0])
            wanted = self.wanted[-1][key]
            if not np.array_equal(whole, wanted):
                raise WrongError(f"key {key!r} differs from one process")

    def close(self):
        for shard in [*self.shards, *(shard for _, _, shard in self.zombies)]:
            shard.close()


@contextlib.contextmanager
def small_blocks(world_of):
    """Small blocks, so that small keys lie on several servers, and a disk that is full when the world says so."""
    rows, elements, write = partition.ROWS, partition.ELEMENTS, journal.RecordFile._write

    def limited(self, buffers):
        world = world_of()
        if world is not None and world.full and world.random.random() < 0.5:
            whole = b"".join(bytes(buffer) for buffer in buffers)
            os.write(self._file, whole[:int(world.random.integers(len(whole)))])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, buffers)

    partition.ROWS, partition.ELEMENTS, journal.RecordFile._write = 4, 8, limited
    try:
        yield
    finally:
        partition.ROWS, partition.ELEMENTS, journal.RecordFile._write = rows, elements, write


#: Files in memory take a fifth less time than those on a disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def history(seed, make=Shard):
    """Run a history; raises ``WrongError``, or whatever else went wrong; gives what happened in it."""
    folder = tempfile.mkdtemp(prefix="histories-", dir=MEMORY)
    found = []
    try:
        with small_blocks(lambda: found[0] if found else None):
            world = World.__new__(World)
            found.append(world)
            world.full = False
            world.__init__(seed, folder, make)
            try:
                world.run()
            finally:
                world.close()
            return world.counts
    finally:
        shutil.rmtree(folder)
