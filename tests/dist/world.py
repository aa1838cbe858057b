"""A run in one process: real servers, clients and files, and a network, a driver and a clock that are simulated.

Everything runs in one loop of ``asyncio`` whose time is a number.  A worker's program runs in a thread of its own, but only while
the loop waits for it, so that a seed says all that happens.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import errno
import os
import pickle
import queue
import selectors
import shutil
import tempfile
import threading
import uuid
from pathlib import Path

import numpy as np

from sparsekit.base.errors import DistError
from sparsekit.dist import partition
from sparsekit.dist.client import Client, ReplacedError
from sparsekit.dist.files import DamagedError, PartFile, Snapshots
from sparsekit.dist.messages import Setup
from sparsekit.dist.server import Server
from sparsekit.dist.transport import finish, set_current

#: Files in memory take a fifth less time than those on a disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

#: Seconds, of the simulated ones, between two looks of the driver, and after which a process counts as frozen.
BEAT, FROZEN = 0.01, 0.5

#: Seconds, of the simulated ones, after which a run counts as stuck.
LONGEST = 100.0


class WrongError(AssertionError):
    """A history did not end as it must."""


class KilledError(ReplacedError):
    """What ends a worker's thread as a signal would end its process."""


class GoneError(Exception):
    """A server has been killed while it worked on a call."""


class _Instant(selectors.SelectSelector):
    """Waits by setting the clock."""

    loop = None

    def select(self, timeout=None):
        if timeout is None:
            raise WrongError("everything waits, and nothing will happen")
        self.loop.now += max(timeout, 0.0)
        return []


class Loop(asyncio.SelectorEventLoop):
    """A loop whose time goes on when nothing is left to be done."""

    def __init__(self):
        self.now = 0.0
        selector = _Instant()
        selector.loop = self
        super().__init__(selector)

    def time(self):
        return self.now


class Process:
    """A server's process: calls that it works on, and whether it is stopped."""

    def __init__(self, world, index):
        self.server = Server(index, world.loop.time, world.write)
        self.tasks, self.woken = set(), asyncio.Event()
        self.woken.set()

    async def invoke(self, epoch, method, arguments):
        await self.woken.wait()
        task = asyncio.ensure_future(self.server.call(epoch, method, arguments) if epoch else self.server.restore(*arguments))
        self.tasks.add(task)
        await asyncio.wait({task})
        self.tasks.discard(task)
        if task.cancelled():
            raise GoneError
        await self.woken.wait()
        return task.result()

    def kill(self):
        for task in [*self.tasks, *([self.server._writing] if hasattr(self.server, "_writing") else [])]:
            task.cancel()
        self.woken.set()


class Way:
    """A worker's way to the servers, as ``Transport``; calls come from the worker's thread."""

    def __init__(self, worker, setup, epoch):
        self.worker, self.setup, self.rank, self.epoch, self.ended = worker, setup, worker.rank, epoch, False

    def send(self, requests):
        return requests

    def results(self, sent, seconds):
        if self.ended:
            raise KilledError
        self.worker.out.put(("call", (sent, seconds)))
        kind, what = self.worker.inbox.get()
        if kind == "raise":
            self.ended = isinstance(what, KilledError)
            raise what
        return what


class Worker:
    """A worker's process."""

    def __init__(self, world, rank):
        self.world, self.rank = world, rank
        self.out, self.inbox = queue.SimpleQueue(), queue.SimpleQueue()
        self.woken = asyncio.Event()
        self.woken.set()
        self.way = Way(self, world.setup, world.epoch)
        self.way._client = Client(self.way, clock=world.loop.time)
        self.task = asyncio.ensure_future(self.live())

    def program(self):
        self.inbox.get()
        set_current(self.way, thread=True)
        try:
            value = self.world.program(self.world, self.rank)
            finish(leaves=True)
            found = "done", value
        except ReplacedError:
            found = "replaced", None
        except BaseException as error:
            found = "error", error
        self.way.ended = True
        self.out.put(("end", found))

    async def live(self):
        thread = threading.Thread(target=self.program, daemon=True)
        thread.start()
        self.inbox.put(None)
        try:
            while True:
                kind, what = self.out.get()  # one thread runs at a time: this one, or the worker's
                if kind == "end":
                    return what
                await self.woken.wait()
                requests, seconds = what
                carried = asyncio.gather(*(self.world.carry(self.way.epoch, *request) for request in requests))
                carried.add_done_callback(lambda one: one.cancelled() or one.exception())
                done, _ = await asyncio.wait({carried}, timeout=seconds)
                await self.woken.wait()
                self.inbox.put(("answer", carried.result()) if done else ("raise", TimeoutError()))
        except asyncio.CancelledError:
            self.inbox.put(("raise", KilledError()))
            while self.out.get()[0] != "end":
                self.inbox.put(("raise", KilledError()))
            raise
        finally:
            thread.join()


class World:
    """A run, from its beginning until its workers have ended, whatever happens to it.

    Parameters
    ----------
    program : callable
        ``program(world, rank)`` is what a worker runs; its result is that of the worker.
    seed : int
    chaos : bool
        Whether messages are lost, repeated and late.
    """

    def __init__(self, program, workers=2, servers=2, seed=0, chaos=False, folder=None, **setup):
        self.program, self.chaos = program, chaos
        self.random = np.random.default_rng([seed, 5])
        self.loop = Loop()
        self.loop.set_exception_handler(lambda loop, about: None)  # of tasks of processes that have been killed
        self.own = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="world-", dir=MEMORY))
        self.setup = Setup(workers, servers, str(self.folder), f"token-{uuid.uuid4().hex}", timeout=60.0, **setup)
        (self.folder / self.setup.token).touch()
        self.counts, self.warnings = collections.Counter(), []
        self.processes, self.workers, self.files = [], [], []
        self.full, self.epoch, self.at, self.faults = False, 0, {}, None
        self.stray, self.waited = set(), False

    # what a network does

    async def carry(self, epoch, index, method, arguments):
        """Bring a message to a server, and its answer back, again if one of them is lost."""
        data, random = pickle.dumps(arguments), self.random
        while True:
            await asyncio.sleep(random.exponential(0.001))
            chance = random.random() if self.chaos else 0.5
            if chance < 0.04:
                self.counts["lost messages"] += 1
                await asyncio.sleep(0.01)
                continue
            if chance < 0.12:
                self.counts["repeated messages"] += 1
                self.stray.add(asyncio.ensure_future(self.late(epoch, index, method, data)))
            process = self.processes[index] if index < len(self.processes) else None
            if process is None:
                await asyncio.sleep(0.02)
                continue
            try:
                answer = await process.invoke(epoch, method, pickle.loads(data))
            except GoneError:
                continue
            if chance > 0.96:
                self.counts["lost answers"] += 1
                continue
            return pickle.loads(pickle.dumps(answer))

    async def late(self, epoch, index, method, data):
        """A message that comes once more, much later perhaps: in another epoch."""
        await asyncio.sleep(self.random.choice([0.0005, 0.01, 0.3]))
        process = self.processes[index] if index < len(self.processes) else None
        if process is not None:
            with contextlib.suppress(GoneError):
                before = process.server.epoch
                if await process.invoke(epoch, method, pickle.loads(data)) is not None and before != epoch:
                    raise WrongError("a call of another epoch was answered")

    # what a disk does

    async def write(self, function, *arguments):
        """What servers call for what waits for a disk."""
        await asyncio.sleep(self.random.exponential(0.002))
        writes = function is PartFile or getattr(function, "__name__", "") in ("chunk", "close")
        if self.full and writes and self.random.random() < 0.5:
            self.counts["full disks"] += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        found = function(*arguments)
        if isinstance(found, PartFile):
            self.files.append(found)
        return found

    # what a driver does

    async def drive(self):
        """Begin epochs until all workers have ended."""
        snapshots = Snapshots(self.folder)
        self.snapshots, self.epoch = snapshots, snapshots.life * 1000
        while True:
            manifest = await self.restored(snapshots)
            self.counts["went back to a snapshot"] += manifest is not None
            self.at = {}
            self.workers = [Worker(self, rank) for rank in range(self.setup.workers)]
            found = await self.watch(snapshots)
            for worker in self.workers:
                worker.task.cancel()
            await asyncio.gather(*(worker.task for worker in self.workers), return_exceptions=True)
            if found is not None:
                return found

    async def restored(self, snapshots):
        """All servers at the newest snapshot that is whole."""
        while True:
            self.epoch += 1
            if self.epoch % 1000 > 40:
                raise WrongError("the run goes back for ever")
            manifest, warnings = snapshots.begin()
            self.warnings += warnings
            for index in range(self.setup.servers):
                if index >= len(self.processes):
                    self.processes.append(None)
                if self.processes[index] is None:
                    self.processes[index] = Process(self, index)
            try:
                arguments = self.epoch, self.setup, manifest
                begun = asyncio.gather(*(process.invoke(0, "", arguments) for process in self.processes))
                await asyncio.wait_for(begun, 2 * FROZEN)
                return manifest
            except DamagedError as error:
                self.counts["damaged snapshots"] += 1
                self.warnings.append(str(error))
                snapshots.refuse(manifest)
            except (GoneError, TimeoutError):
                for index, process in enumerate(self.processes):
                    if process is not None and not process.woken.is_set():
                        self.kill_server(index)

    async def watch(self, snapshots):
        """Results by rank, or None if a process is lost."""
        silent = collections.Counter()
        while True:
            await asyncio.sleep(BEAT)
            if self.loop.now > LONGEST:
                raise WrongError("the run does not end")
            for worker in self.workers:
                if worker.task.done():
                    if worker.task.cancelled():
                        return None
                    how, value = worker.task.result()
                    if how == "error":
                        if isinstance(value, DistError) and any(process is None for process in self.processes):
                            return None
                        raise value
                    if how == "replaced":
                        return None
                silent[worker] = 0 if worker.woken.is_set() else silent[worker] + BEAT
                if silent[worker] > FROZEN:
                    return None
            for index, process in enumerate(self.processes):
                if process is None:
                    return None
                silent[index] = 0 if process.woken.is_set() else silent[index] + BEAT
                if silent[index] > FROZEN:
                    self.kill_server(index)
                    return None
                if process.woken.is_set():
                    told = process.server.ping(snapshots.last)
                    if told["differs"]:
                        self.warnings.append(told["differs"])
                    if told["by_hand"] and self.faults is not None:
                        self.by_hand = True
                    if self.full and self.random.random() < 0.5:
                        continue
                    if snapshots.collect(index, told["reports"], self.setup.servers, self.setup.workers, self.epoch):
                        self.counts["snapshots"] += 1
            if all(worker.task.done() for worker in self.workers):
                if self.faults is None and not self.waited:  # for what is being written
                    self.waited = True
                    continue
                return [worker.task.result()[1] for worker in self.workers]

    # what happens to processes

    def kill_server(self, index):
        process, self.processes[index] = self.processes[index], None
        if process is not None:
            process.kill()

    def kill_worker(self, rank):
        if rank < len(self.workers):
            self.workers[rank].task.cancel()

    async def freeze(self, process, seconds):
        process.woken.clear()
        await asyncio.sleep(seconds)
        process.woken.set()

    # the whole

    def run(self):
        """Results by rank."""
        asyncio.set_event_loop(self.loop)
        try:
            return self.loop.run_until_complete(self.whole())
        finally:
            self.end()

    async def whole(self):
        """A driver, and faults beside it; a driver that is killed is started again."""
        chaos = asyncio.ensure_future(self.faults(self)) if self.faults is not None else None
        while True:
            self.driver = asyncio.ensure_future(self.drive())
            try:
                return await self.driver
            except asyncio.CancelledError:
                self.counts["killed drivers"] += 1
                self.end_processes()
                await asyncio.sleep(0.1)
            finally:
                if self.driver.done() and not self.driver.cancelled() and chaos is not None:
                    chaos.cancel()

    def end_processes(self):
        for worker in self.workers:
            worker.task.cancel()
        for index in range(len(self.processes)):
            self.kill_server(index)
        self.workers, self.processes = [], []

    def end(self):
        self.end_processes()
        left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        for file in self.files:
            with contextlib.suppress(OSError):
                os.close(file._file)
        self.loop.close()
        asyncio.set_event_loop(None)
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def small_blocks():
    """Small blocks and chunks, so that small keys lie on several servers and in several chunks."""
    from sparsekit.dist import snapshot

    before = partition.ROWS, partition.ELEMENTS, snapshot.CHUNK
    partition.ROWS, partition.ELEMENTS, snapshot.CHUNK = 4, 8, 64
    try:
        yield
    finally:
        partition.ROWS, partition.ELEMENTS, snapshot.CHUNK = before
