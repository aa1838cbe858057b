"""Steps on small values, so that a server's first real step finds its kernels compiled."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Any

import numpy as np

from ..kernels.cpu.checksum import prepare
from ..optimizer.states import described, restored
from .messages import KeySpec, Pull, Push, Request
from .shard import Shard

__all__ = ["Rehearsal"]

#: Workers of a rehearsal: their gradients are summed.
RANKS = 2
#: A kind that is made before any key has come: it loads what all kinds need.
FIRST = KeySpec((2, 2), "float32", "row_sparse", "whole:0")


class Rehearsal:
    """Makes a step of each kind that a server will make, in a thread of its own.

    Kernels are compiled, or read from numba's cache, when they are first called; that takes about a second.  A kind is an
    optimizer with the element type, storage type and axes of a key.  Optimizers of the user are left alone: they may do more
    than compute.
    """

    def __init__(self) -> None:
        self._optimizer: str | None = None
        self._specs: dict[KeySpec, None] = {}
        self._made: set[tuple[str | None, KeySpec]] = set()
        self._asked: queue.SimpleQueue[tuple[str | None, KeySpec]] = queue.SimpleQueue()
        self._asked.put((None, FIRST))
        threading.Thread(target=self._run, name="rehearse", daemon=True).start()

    def key(self, spec: KeySpec) -> None:
        """A key comes."""
        small = KeySpec((2, *(min(one, 2) for one in spec.shape[1:])) if spec.shape else (), spec.dtype, spec.stype, "whole:0")
        self._specs[small] = None
        self._ask()

    def optimizer(self, text: str) -> None:
        """An optimizer comes, from ``optimizer.states.described``."""
        self._optimizer = text
        self._ask()

    def of(self, shard: Shard) -> None:
        """All that a server holds."""
        for held in shard.keys.values():
            self.key(held.spec)
        if shard.updater is not None:
            self.optimizer(described(shard.updater.optimizer))

    def after(self, method: str, arguments: tuple[Any, ...]) -> None:  # Any: as in Transport.call
        """A method of the server has been called."""
        if method in ("init", "reinit"):
            self.key(arguments[3])
        elif method == "optimizer":
            self.optimizer(arguments[3])

    def _ask(self) -> None:
        for spec in list(self._specs):
            kind = self._optimizer, spec
            if kind not in self._made:
                self._made.add(kind)
                self._asked.put(kind)

    def _run(self) -> None:
        with contextlib.suppress(Exception):  # zlib does the same, slower
            prepare()
        while True:
            with contextlib.suppress(Exception):  # what fails here fails there, with an error that has its rank and key
                self._step(*self._asked.get())

    def _step(self, optimizer: str | None, spec: KeySpec) -> None:
        """One step of all ranks."""
        if optimizer is not None and not type(restored(optimizer, {})).__module__.startswith("sparsekit."):
            return
        shard = Shard(None, 0, 1, RANKS)
        values = np.ones(spec.shape, spec.dtype)
        shard.init(0, 0, "small", spec, None, values)
        if optimizer is not None:
            shard.optimizer(0, 0, 1, optimizer)
        rows = np.array([0], np.int32) if spec.stype == "row_sparse" else None
        for step in (1, 2):
            for rank in range(RANKS):
                push = Push("small", step, rows, values if rows is None else values[:1])
                shard.exchange(Request(rank, 0, 0, (push,), (Pull("small", step, rows),)))
