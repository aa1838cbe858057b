"""Random histories of a run: processes that are killed and frozen, machines, drivers, files and disks that fail.

What all workers have in the end must be what an undisturbed run has, to the bit; for a loop by hand, what one process makes of
the same gradients.  A gradient depends on the values that were pulled for it, so a value of the wrong version shows.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from typing import NamedTuple

import numpy as np

import sparsekit as mx
from sparsekit.base import rng

from .world import FROZEN, MEMORY, World, WrongError, small_blocks

#: Optimizers of the histories, with settings that use their states.
OPTIMIZERS = (
    None, ("sgld", {}), ("lamb", {}), ("lars", {}), ("sgd", {"momentum": 0.9}), ("adam", {}), ("adagrad", {"wd": 0.01}),
    ("nadam", {}), ("ftrl", {}), ("adam", {"lazy_update": False}), ("dcasgd", {"momentum": 0.5}), ("groupadagrad", {}),
    ("lamb", {}),
    ("lars", {"momentum": 0.9}),
    ("sgd", {"lazy_update": False, "wd": 0.1}), ("sgld", {}),
)
SHAPES = {"w": ((23, 2), "row_sparse"), 7: ((11, 2), "default"), "b": ((5, 1), "default")}
#: The first plans are those of two histories each, so that the runs that they are compared with are made once;
#: in each fifty of the first histories all happens that can.
PLANS = 80
KINDS = ("store", "store", "store", "twice", "again", "async", "trainer", "local", "module", "estimator")


class Plan(NamedTuple):
    """What a history computes, apart from what happens to it."""

    seed: int
    kind: str
    workers: int
    steps: int
    optimizer: object
    leaves: tuple  # the last step of each rank
    staleness: int | None = None

    @staticmethod
    def of(seed):
        random = np.random.default_rng([seed, 1])
        kind = KINDS[seed % len(KINDS)]
        workers, steps = int(random.choice([2, 3])), int(random.integers(9, 14))
        optimizer = OPTIMIZERS[int(random.integers(len(OPTIMIZERS)))]
        leaves = tuple(int(random.integers(1, steps)) if random.random() < 0.15 and kind == "store" else steps
                       for _ in range(workers))
        return Plan(seed, kind, workers, steps, optimizer, leaves, [None, 0, 2][seed // 10 % 3] if kind == "async" else None)

    def made(self, optimizer=...):
        optimizer = self.optimizer if optimizer is ... else optimizer
        if optimizer is None:
            return None
        name, settings = optimizer
        clipped = {"clip_gradient": 0.9} if name != "groupadagrad" else {}
        return mx.optimizer.create(name, learning_rate=0.1, **clipped, **settings)

    def values(self):
        random = np.random.default_rng([self.seed, 2])
        return {key: random.normal(size=shape).astype(np.float32) for key, (shape, _) in SHAPES.items()}

    def arrays(self):
        return {key: mx.nd.array(value) if SHAPES[key][1] == "default" else mx.nd.sparse.row_sparse_array(
            (mx.nd.array(value), np.arange(len(value))), shape=value.shape) for key, value in self.values().items()}

    def rows(self, key, random):
        """The rows that a worker pulls and pushes; the random numbers are its data."""
        shape, stype = SHAPES[key]
        return None if stype == "default" else np.flatnonzero(random.random(shape[0]) < random.choice([0.0, 0.2, 0.7]))

    def gradients(self, random, pulled):
        """The gradient of each key, which depends on what was pulled of all of them."""
        everything = np.tanh(sum(values.sum(dtype=np.float64) for values in pulled.values()))
        return {key: (random.normal(size=values.shape) + 0.1 * values.clip(-100, 100) + everything).astype(np.float32)
                for key, values in pulled.items()}

    def sparse(self, key, values, rows):
        dense = mx.nd.array(values)
        return dense if rows is None else mx.nd.sparse.row_sparse_array((dense, rows), shape=SHAPES[key][0])

    def one_process(self):
        """The values in the end, as one process has them."""
        store, optimizer = mx.kv.create("local"), self.made()
        for key, value in self.arrays().items():
            store.init(key, value)
        mx.random.seed(self.seed)
        if optimizer is not None:
            store.set_optimizer(optimizer)
        data = [np.random.default_rng([self.seed, 3, rank]) for rank in range(self.workers)]
        for step in range(1, self.steps + 1):
            ranks = [rank for rank in range(self.workers) if self.leaves[rank] >= step]
            if optimizer is not None and ranks:
                optimizer.rescale_grad = 1 / (step + 10 * ranks[0])
            now, pushed = {key: store._held[key].asnumpy() for key in SHAPES}, {key: [] for key in SHAPES}
            for rank in ranks:
                rows = {key: self.rows(key, data[rank]) for key in SHAPES}
                pulled = {key: one if rows[key] is None else one[rows[key]] for key, one in now.items()}
                found = self.gradients(data[rank], pulled)
                for key in SHAPES:
                    pushed[key].append(self.sparse(key, found[key], rows[key]))
            for key in SHAPES:
                if pushed[key]:
                    store.push(key, pushed[key])
        return [{key: store._held[key].asnumpy() for key in SHAPES}] * self.workers


# --------------------------------------------------------------------------- programs


def whole(kv):
    """All values."""
    found = {key: mx.nd.zeros(shape) for key, (shape, _) in SHAPES.items()}
    kv.pull(list(found), out=list(found.values()))
    return {key: one.asnumpy() for key, one in found.items()}


def begun(world, plan, rank, optimizer=..., mode="dist_sync", zeros=False):
    """A store with keys and an optimizer, the worker's data, and the steps that are done."""
    mx.random.seed(plan.seed)
    kv, data = mx.kv.create(mode), np.random.default_rng([plan.seed, 3, rank])
    for key, value in plan.arrays().items():
        kv.init(key, value * 0 if zeros and value.stype == "default" else value)
    made = plan.made(optimizer)
    if made is not None:
        kv.set_optimizer(made)
    done = kv.resume(lambda: data.bit_generator.state, lambda state: setattr(data.bit_generator, "state", state))
    return kv, data, done


def store(world, plan, rank):
    """A loop by hand: rows are pulled and pushed."""
    kv, data, done = begun(world, plan, rank)
    table, dense = mx.nd.sparse.zeros("row_sparse", SHAPES["w"][0]), {key: mx.nd.zeros(SHAPES[key][0]) for key in (7, "b")}
    for step in range(done + 1, plan.leaves[rank] + 1):
        world.step(rank, step)
        if kv.optimizer is not None:
            kv.optimizer.rescale_grad = 1 / (step + 10 * rank)
        rows = {key: plan.rows(key, data) for key in SHAPES}
        kv._pull_both([(key, [dense[key]]) for key in dense], [("w", [table], mx.nd.array(rows["w"], dtype="int64"))])
        pulled = {"w": table.data.asnumpy(), **{key: one.asnumpy() for key, one in dense.items()}}
        found = plan.gradients(data, pulled)
        for key in SHAPES:
            kv.push(key, plan.sparse(key, found[key], rows[key]))
        if (step + rank) % 3 == 0:  # the message with the pushes is not the one that ends the step
            kv.flush()
        kv.end_step()
    kv.leave()
    kv.barrier()
    return whole(kv)


def twice(world, plan, rank, again=False):
    """Two pushes of a key in each step, with a pull between them; ``again``: another optimizer in the midst."""
    kv, data, done = begun(world, plan, rank, ("sgd", {"momentum": 0.9}))
    out = mx.nd.zeros(SHAPES[7][0])
    for step in range(done, plan.steps):
        world.step(rank, step)
        if again and step == plan.steps // 2:
            kv.set_optimizer(mx.optimizer.Adam(learning_rate=0.01))
        kv.pull(7, out=out)
        for _ in range(2):
            kv.push(7, mx.nd.array((out.asnumpy() + data.normal(size=out.shape) + rank).astype("f")))
            kv.pull(7, out=out)
        kv.end_step()
    kv.barrier()
    return whole(kv)


def again(world, plan, rank):
    return twice(world, plan, rank, again=True)


def asynchronous(world, plan, rank):
    """Whole numbers, whose sums are exact in any order, each worker at its own speed."""
    kv, data, done = begun(world, plan, rank, ("test", {}), "dist_async", zeros=True)
    out = mx.nd.zeros(SHAPES[7][0])
    for step in range(done, plan.steps):
        world.step(rank, step)
        kv.pull(7, out=out)
        if plan.staleness is not None and (others := [at for one, at in world.at.items() if one != rank]):
            world.lead = max(world.lead, step - min(others))
        kv.push(7, mx.nd.array(data.integers(-3, 4, out.shape).astype("f") * 8))
        kv.end_step()
        world.at[rank] = step + 1
    world.at[rank] = plan.steps
    kv.barrier()
    return {7: whole(kv)[7]}


class Net(mx.gluon.nn.HybridBlock):
    """Words and a dense layer."""

    def __init__(self):
        super().__init__(prefix="net_")
        with self.name_scope():
            self.words = mx.gluon.nn.Embedding(30, 4, sparse_grad=True)
            self.out = mx.gluon.nn.Dense(3, in_units=4)

    def hybrid_forward(self, F, x):
        return self.out(self.words(x).mean(axis=1))


def valued(net, seed):
    net.initialize()
    for place, one in enumerate(net.collect_params().values()):
        one.set_data(mx.nd.array(np.random.default_rng([seed, place]).normal(size=one.shape)))
    return net


def trainer(world, plan, rank, local=False):
    """A gluon loop that says nothing of snapshots; with ``local`` each worker makes the steps."""
    net = valued(mx.gluon.nn.Dense(3, in_units=4, prefix="dense_") if local else Net(), plan.seed)
    made = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore="dist_sync",
                            update_on_kvstore=not local)
    data, loss = np.random.default_rng([plan.seed, 3, rank]), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(plan.steps):
        world.step(rank, step)
        x = data.normal(size=(6, 4)).astype("f") if local else data.integers(0, 30, (6, 5)).astype("f")
        x, y = mx.nd.array(x), mx.nd.array(data.integers(0, 3, 6).astype("f"))
        with mx.autograd.record():
            value = loss(net(x), y)
        value.backward()
        if step == plan.steps // 2:
            made.set_learning_rate(0.01)
        made.step(6 * plan.workers)
    return {place: one.data().asnumpy() for place, one in enumerate(net.collect_params().values())}


def local(world, plan, rank):
    return trainer(world, plan, rank, local=True)


def module(world, plan, rank):
    """``fit`` over csr data."""
    random = np.random.default_rng([plan.seed, 3, rank])
    dense = (random.random((24, 9)) < 0.3) * random.normal(size=(24, 9)).astype("f")
    reader = mx.io.NDArrayIter(mx.nd.array(dense).tostype("csr"), random.integers(0, 2, 24).astype("f"), 4,
                               last_batch_handle="discard", label_name="softmax_label")
    data = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("weight", stype="row_sparse", shape=(9, 2))
    scores = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), mx.sym.Variable("bias", shape=(2,)))
    mod, first = mx.mod.Module(mx.sym.SoftmaxOutput(scores, name="softmax")), np.random.default_rng(plan.seed)
    values = {"weight": mx.nd.array(first.normal(size=(9, 2))).tostype("row_sparse"), "bias": mx.nd.array(first.normal(size=2))}
    steps = [0]

    def count(parameters):
        steps[0] += 1
        world.step(rank, steps[0])

    mod.fit(reader, kvstore="dist_sync", optimizer="adam", optimizer_params={"learning_rate": 0.1}, num_epoch=2,
            arg_params=values, aux_params={}, initializer=None, batch_end_callback=count)
    return {name: one.asnumpy() for name, one in mod.get_params()[0].items()}


def estimator(world, plan, rank):
    """``fit`` over a loader, which goes on where the snapshot was taken."""
    from sparsekit.gluon.contrib.estimator import BatchEnd, Estimator

    class Count(BatchEnd):
        def batch_end(self, estimator, *args, **kwargs):
            world.step(rank, estimator.trainer._kvstore.steps_done)

    net, random = valued(Net(), plan.seed), np.random.default_rng([plan.seed, 3, rank])
    data = mx.gluon.data.ArrayDataset(random.integers(0, 30, (24, 5)).astype("f"), random.integers(0, 3, 24).astype("f"))
    made = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore="dist_sync")
    fitted = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=made)
    fitted.logger.setLevel("ERROR")
    fitted.fit(mx.gluon.data.DataLoader(data, 4), epochs=2, event_handlers=[Count()])
    return {place: one.data().asnumpy() for place, one in enumerate(net.collect_params().values())}


PROGRAMS = {"store": store, "twice": twice, "again": again, "async": asynchronous, "trainer": trainer, "local": local,
            "module": module, "estimator": estimator}


# --------------------------------------------------------------------------- what happens


class Faults:
    """What happens to a run: some faults, each when a worker has come to some step."""

    def __init__(self, seed, steps):
        self.random = np.random.default_rng([seed, 6])
        count = int(self.random.integers(1, 4))
        self.left = sorted(int(step) for step in self.random.integers(5, steps + 1, count))
        self.due = None

    def step(self, step):
        """A worker begins a step."""
        if self.due is not None and self.left and step >= self.left[0]:
            self.left.pop(0)
            self.due.put_nowait(step)

    async def __call__(self, world):
        self.due = asyncio.Queue()
        random, kinds = self.random, ("kill_server", "kill_worker", "freeze_server", "freeze_worker", "kill_machine",
                                      "kill_driver", "kill_driver", "damage", "damage", "fill_disk")
        while True:
            await self.due.get()
            await asyncio.sleep(random.exponential(0.01))
            kind = kinds[int(random.integers(len(kinds)))]
            world.counts[kind] += 1
            await getattr(self, kind)(world, random)

    async def kill_server(self, world, random):
        world.kill_server(int(random.integers(world.setup.servers)))

    async def kill_worker(self, world, random):
        world.kill_worker(int(random.integers(world.setup.workers)))

    async def freeze_server(self, world, random):
        process = world.processes[int(random.integers(world.setup.servers))] if world.processes else None
        if process is not None:
            await world.freeze(process, random.choice([FROZEN / 3, 3 * FROZEN]))

    async def freeze_worker(self, world, random):
        if world.workers:
            await world.freeze(world.workers[int(random.integers(world.setup.workers))], random.choice([FROZEN / 3, 3 * FROZEN]))

    async def kill_machine(self, world, random):
        place = int(random.integers(min(world.setup.servers, world.setup.workers)))
        world.kill_server(place)
        world.kill_worker(place)

    async def kill_driver(self, world, random):
        """End everything; the next run may have another number of servers."""
        world.setup = world.setup._replace(servers=int(random.integers(1, 4)))
        world.driver.cancel()

    async def fill_disk(self, world, random):
        world.full = True
        await asyncio.sleep(random.exponential(0.2))
        await self.kill_server(world, random)
        world.full = False

    async def damage(self, world, random):
        """Shorten, overwrite or remove a file of the newest snapshot, then have it be needed; one of two must be whole."""
        for _ in range(20):
            manifests, damaged = world.snapshots._manifests()
            if len(manifests) > 1:
                break
            await asyncio.sleep(0.01)
        usable = [one for one in manifests if one["path"] not in world.snapshots._refused]
        if len(usable) > 1 and not damaged:
            newest = usable[0]
            path = newest["path"] if random.random() < 0.3 else world.folder / newest["parts"][0]["file"]
            size, how = os.path.getsize(path), int(random.choice([0, 1, 1, 1, 2]))
            if how == 0:
                os.truncate(path, size * 2 // 3)
            elif how == 1 or path == newest["path"]:
                with open(path, "r+b") as file:
                    file.seek(int(random.integers(size // 2, size)))
                    byte = file.read(1) or b"a"
                    file.seek(-len(byte), 1)
                    file.write(bytes([byte[0] ^ int(random.integers(1, 256))]))
            else:
                os.unlink(path)
            world.counts["damaged files"] += 1
        await self.kill_driver(world, random) if random.random() < 0.5 else await self.kill_server(world, random)


class Disturbed(World):
    """A world that tells faults how far workers are."""

    lead = 0

    def step(self, rank, step):
        if self.faults is not None:
            self.faults.step(step)


def same(found, wanted):
    return all(one.keys() == other.keys() and all(one[key].tobytes() == other[key].tobytes() for key in one)
               for one, other in zip(found, wanted, strict=True))


def made(plan, faults, seed, folder=None):
    random, program = np.random.default_rng([seed, 7]), PROGRAMS[plan.kind]
    setup = {"every": int(random.choice([2, 3]))} if random.random() < 0.7 else {"seconds": 0.02}
    world = Disturbed(lambda world, rank: program(world, plan, rank), plan.workers, int(random.integers(1, 4)), seed,
                      chaos=faults is not None, folder=folder, staleness=plan.staleness, **setup)
    world.faults = faults
    return world


def undisturbed(plan, seed):
    """What all workers have in the end if nothing happens; of a loop by hand, as one process has it."""
    if plan.kind == "store" and plan.optimizer != ("sgld", {}):
        return plan.one_process()
    return made(plan, None, seed).run()


def history(seed, ends=None):
    """Run a history; raises ``WrongError``, or whatever else went wrong; gives what happened in it.

    ``ends`` keeps what undisturbed runs end with, by the number of their plan.
    """
    number, ends, generators = seed % PLANS if seed < 2 * PLANS else seed, {} if ends is None else ends, rng.states()
    plan = Plan.of(number)
    folder = tempfile.mkdtemp(prefix="histories-", dir=MEMORY)
    try:
        with small_blocks():
            if number not in ends:
                ends[number] = undisturbed(plan, seed)
            world = made(plan, Faults(seed, plan.steps), seed, folder)
            found = world.run()
        if not same(found, ends[number]):
            raise WrongError(f"the values differ, after {dict(world.counts)}")
        if plan.staleness is not None and world.lead > plan.staleness:
            raise WrongError(f"a worker was {world.lead} steps ahead, of {plan.staleness}")
        if any("deterministic" in one for one in world.warnings):
            raise WrongError("a push was said to differ")
        return world.counts
    finally:
        rng.restore(generators)
        shutil.rmtree(folder)
