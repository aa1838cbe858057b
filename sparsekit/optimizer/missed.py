"""Lazy updates that are exact: the dense steps that a row missed are made up for before anybody reads the row.

A dense optimizer also changes rows without a gradient: weight decay shrinks them, and momentum goes on moving them.  With
``lazy_update="exact"`` a step changes only the rows that the gradient stores, and each row remembers after how many steps it
was exact.  Steps without a gradient are linear in weight and momentum, so many of them are one small matrix, and a row that
is needed again is brought up to date at once.

The arrays of weight and states lend their stores to a ``Missed``, which brings all rows up to date when one is read, so that
whatever reads them gets exact values.  Operators that name the rows they read (``dot`` with a csr array, ``Embedding``, ``take``,
``sparse_retain``) bring up to date only these.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import UnsupportedError
from ..core import hooks
from ..core.arrays import Layout, wrap
from ..core.dispatch import invoke
from ..core.op import Call, Op
from ..ndarray.ndarray import NDArray
from ..ops.update.catch_up import adam_decay_catch_up, momentum_catch_up, scale_catch_up, steps_catch_up
from ..storage import RowSparse

if TYPE_CHECKING:
    from ..base.types import Array, Attrs
    from ..core.cached_op import CachedOp
    from ..core.types import ArrayObject
    from ..storage.types import Store
    from .optimizer import Optimizer
    from .types import Index

#: Steps that a history holds; then all rows are brought up to date, and it begins anew.
LONGEST = 8192
#: Steps whose maps are kept up to date one by one; those of older steps are products of whole blocks.
BLOCK = 128
#: Terms of AdamW's series, at most, and the share of a step that it may be wrong by.
TERMS, WRONG = 16, 1e-11
#: Elements that are brought up to date at a time.
CHUNK = 1 << 20


class History:
    """The maps of the steps so far, and their products from any step on.

    Parameters
    ----------
    identity : ndarray of float64, shape (numbers,)
        The map of no step.
    compose : callable
        ``compose(later, earlier)``: the maps of both one after the other; arrays of maps, (count, numbers).

    Attributes
    ----------
    count : int
        Steps in it.
    """

    def __init__(self, identity: Array, compose: Callable[[Array, Array], Array]) -> None:
        self.count, self._identity, self._compose = 0, identity[None], compose
        # From each step to the end of its block, and from the end of each block to the begin of the current one.
        self._within = np.empty((LONGEST, identity.shape[0]))
        self._after = np.empty((LONGEST // BLOCK, identity.shape[0]))

    def clear(self) -> None:
        """Forget all steps."""
        self.count = 0

    def add(self, step: Array) -> None:
        """Append the map of a step."""
        first = self.count // BLOCK * BLOCK
        window = self._within[first:self.count + 1]
        window[-1] = self._identity
        window[:] = self._compose(step[None], window)
        self.count += 1
        if self.count % BLOCK == 0:
            block = first // BLOCK
            self._after[:block] = self._compose(self._within[first:first + 1], self._after[:block])
            self._after[block] = self._identity

    def since(self, steps: Array) -> Array:
        """The maps of what followed after so many steps, (count, numbers)."""
        maps = np.repeat(self._identity, steps.shape[0], 0)
        first = self.count // BLOCK * BLOCK
        late = (steps >= first) & (steps < self.count)
        maps[late] = self._within[steps[late]]
        early = steps < first
        if early.any():
            maps[early] = self._compose(self._after[steps[early] // BLOCK], self._within[steps[early]])
            if self.count > first:
                maps[early] = self._compose(self._within[first:first + 1], maps[early])
        return maps


# what the steps of each optimizer do to a row without a gradient


class _Scale:
    """SGD: weight decay alone."""

    op, identity = scale_catch_up, np.ones(1)

    def __init__(self, attrs: Attrs) -> None:
        """Take what all steps have in common."""

    @staticmethod
    def key_of(attrs: Attrs) -> tuple[float, ...]:
        """What all steps have in common; a step with another one begins anew."""
        return ()

    @staticmethod
    def compose(later: Array, earlier: Array) -> Array:
        return later * earlier

    def clear(self) -> None:
        """Forget all steps."""

    def columns(self, count: int) -> int:
        """The most numbers that a row is given after so many steps."""
        return int(self.identity.shape[0])

    def map_of(self, attrs: Attrs) -> Array:
        """The map of one step with these attributes."""
        return np.array([1 - attrs["lr"] * attrs["wd"]])

    def call(self, history: History, steps: Array) -> tuple[Op, Attrs, Array]:
        """The operator that brings rows up to date, its attributes, and its numbers for rows exact after these steps."""
        return self.op, {}, history.since(steps)


class _Momentum(_Scale):
    """SGD with momentum: ``m = momentum * m - lr * wd * w; w += m``."""

    op, identity = momentum_catch_up, np.array([1.0, 0.0, 0.0, 1.0])

    @staticmethod
    def compose(later: Array, earlier: Array) -> Array:
        maps: Array = (later.reshape(-1, 2, 2) @ earlier.reshape(-1, 2, 2)).reshape(-1, 4)
        return maps

    def map_of(self, attrs: Attrs) -> Array:
        shrink, momentum = attrs["lr"] * attrs["wd"], attrs["momentum"]
        return np.array([1 - shrink, momentum, -shrink, momentum])


class _AdamW(_Scale):
    """AdamW: ``m = beta1 * m; v = beta2 * v; w -= lr * m / (sqrt(v) + epsilon) + wd * w``, where ``wd`` is a rate of its own.

    With ``b = sqrt(beta2)`` the divisor after j steps is ``(sqrt(v) + epsilon) * (1 - y * (1 - b**j))``, where y is the share
    of ``sqrt(v)`` in ``sqrt(v) + epsilon``; its reciprocal is a series of powers of y.  The maps hold the decay, the number of
    steps and, for each power p of ``b**j``, the sum of ``lr * beta1**j * b**(p * j)``, decayed.
    """

    def __init__(self, attrs: Attrs) -> None:
        beta1, beta2 = attrs["beta1"], attrs["beta2"]
        self._attrs = {"beta1": beta1, "beta2": beta2, "epsilon": attrs["epsilon"]}
        self.terms = _terms(beta1, math.sqrt(beta2))
        powers = np.arange(max(self.terms, 1))
        self._factors = beta1 * math.sqrt(beta2) ** powers
        # row k: the coefficients of (1 - z)**k
        self._binomial = np.array([[math.comb(k, p) * (-1.0) ** p for p in powers] for k in powers])
        self.identity = np.array([1.0, 0.0, *powers * 0.0])
        self._rates: list[float] = []
        self._decays: list[float] = []

    @staticmethod
    def key_of(attrs: Attrs) -> tuple[float, ...]:
        return attrs["beta1"], attrs["beta2"], attrs["epsilon"]

    def columns(self, count: int) -> int:
        return 3 * count if self.terms == 0 else self.terms + 3

    def clear(self) -> None:
        self._rates.clear()
        self._decays.clear()

    def compose(self, later: Array, earlier: Array) -> Array:  # type: ignore[override]  # it needs the decay rates
        sums = later[:, :1] * earlier[:, 2:] + later[:, 2:] * self._factors ** earlier[:, 1:2]
        maps: Array = np.concatenate([later[:, :1] * earlier[:, :1], later[:, 1:2] + earlier[:, 1:2], sums], 1)
        return maps

    def map_of(self, attrs: Attrs) -> Array:
        self._rates.append(attrs["lr"])
        self._decays.append(attrs["wd"])
        return np.array([1 - attrs["wd"], 1.0, *attrs["lr"] * self._factors])

    def call(self, history: History, steps: Array) -> tuple[Op, Attrs, Array]:
        if self.terms == 0:
            return steps_catch_up, self._attrs, self._one_by_one(history.count, steps)
        maps = history.since(steps)
        gaps = maps[:, 1:2]
        numbers = [maps[:, :1], self._attrs["beta1"] ** gaps, self._attrs["beta2"] ** gaps, maps[:, 2:] @ self._binomial.T]
        return adam_decay_catch_up, {"epsilon": self._attrs["epsilon"]}, np.concatenate(numbers, 1)

    def _one_by_one(self, count: int, steps: Array) -> Array:
        first = int(steps.min())
        mask = (np.arange(first, count) >= steps[:, None]).astype(np.float64)
        return np.concatenate([mask, mask * self._rates[first:count], mask * self._decays[first:count]], 1)


@functools.cache
def _terms(beta1: float, b: float) -> int:
    """The terms that the series needs; 0 if they are too many."""
    if not 0 < b < 1 or not 0 <= beta1 < b:
        return 0
    steps = np.arange(1, 20_000)
    sizes = np.log(max(beta1, 1e-300)) * steps - np.log(b) * steps
    for count in range(1, TERMS + 1):
        if np.max(sizes + count * np.log1p(-b**steps)) < math.log(WRONG):
            return count
    return 0


def descent(attrs: Attrs) -> _Scale:
    """The steps of SGD, with or without momentum."""
    return _Momentum(attrs) if "momentum" in attrs else _Scale(attrs)


# arrays whose rows wait


class _Waiting(Layout):
    """The layout of an array some of whose rows have missed steps; no plan is cached for it."""

    __slots__ = ("missed",)

    def __init__(self, like: Layout, missed: Missed) -> None:
        super().__init__(like.ctx, like.store_type, like.shape, like.number)
        self.missed = missed


def _plain(array: NDArray) -> NDArray:
    """Another array object of the same buffers, whose rows do not wait."""
    plain: NDArray = wrap(array._store, array._layout.ctx)
    plain._seen = array._seen
    return plain


class Missed:
    """What the rows of one weight and its states have missed.

    Attributes
    ----------
    kind : object
        What a step without a gradient does.
    arrays : tuple of NDArray
        The weight that steps compute with, its states, and for a float16 weight with a copy also the weight.
    last : ndarray of int64
        After how many steps each row was exact.
    caught_up : int
        Rows that have been brought up to date so far, for counting.
    """

    def __init__(self, op: Op, kind: _Scale, attrs: Attrs, weight: NDArray, states: Sequence[NDArray],
                 half: NDArray | None) -> None:
        if weight._layout.ctx.device_type == "gpu":
            raise UnsupportedError("lazy_update='exact' updates weights on a CPU.", hint="use lazy_update=True or False.")
        self.op, self.kind = op, kind
        self._key = self.kind.key_of(attrs)
        self.arrays = (weight, *states, *[part for part in (half,) if part is not None])
        self.plain, self._half = tuple(map(_plain, self.arrays)), half is not None
        self.last, self.caught_up = np.zeros(weight.shape[0], np.int64), 0
        self._history = History(self.kind.identity, self.kind.compose)
        self._lock = threading.RLock()
        for array in self.arrays:
            array._layout = _Waiting(array._layout, self)
            del array._store  # whoever reads it asks ``up_to_date``

    def fits(self, op: Op, attrs: Attrs, arrays: Sequence[NDArray]) -> bool:
        """Whether it is of these arrays, none of which has been given another store, and of steps of this kind."""
        return (op is self.op and self._key == self.kind.key_of(attrs) and len(arrays) == len(self.arrays)
                and all(array is own and array._layout.missed is self
                        for array, own in zip(arrays, self.arrays, strict=True)))

    def release(self) -> None:
        """Bring all rows up to date, and let the arrays be ordinary ones."""
        self.catch_up()
        for array, plain in zip(self.arrays, self.plain, strict=True):
            if array._layout.missed is self:
                array._store = plain._store
                array._layout = plain._layout

    def store_of(self, array: ArrayObject) -> Store:
        """The store of one of the arrays, whatever its rows have missed."""
        store: Store = next(plain._store for held, plain in zip(self.arrays, self.plain, strict=True) if held is array)
        return store

    def up_to_date(self, array: ArrayObject) -> Store:
        """The store of one of the arrays, with all rows up to date."""
        self.catch_up()
        return self.store_of(array)

    def store_for(self, call: Call, inputs: Sequence[ArrayObject], place: int) -> Store:
        """The store of an input of an operator, with the rows up to date that it reads."""
        rows_of = call.op.rows_read.get(place)
        self.catch_up(None if rows_of is None else rows_of(inputs, call.attrs, self.last.shape[0]))
        return self.store_of(inputs[place])

    def store_in(self, program: CachedOp, slot: int, arrays: Sequence[ArrayObject]) -> Store:
        """The store of an input of a program, with the rows up to date that the program reads."""
        array_of = dict(zip(program.inputs, arrays, strict=True))
        all_rows: list[Array] = []
        for step in program.steps:
            for place in [place for place, input_slot in enumerate(step.inputs) if input_slot == slot]:
                rows_of = step.call.op.rows_read.get(place)
                rows = rows_of([array_of[input_slot] for input_slot in step.inputs], step.call.attrs, self.last.shape[0]) if (
                    rows_of is not None and all(input_slot in array_of for input_slot in step.inputs)) else None
                if rows is None:
                    self.catch_up()
                    return self.store_of(array_of[slot])
                all_rows.append(rows)
        self.catch_up(np.concatenate(all_rows) if all_rows else None)
        return self.store_of(array_of[slot])

    def add(self, attrs: Attrs, rows: Array) -> None:
        """Count a step that has been made of these rows, which are up to date, and that all others miss."""
        with self._lock:
            if self._history.count == LONGEST:
                self.catch_up()
            self._history.add(self.kind.map_of(attrs))
            self.last[rows] = self._history.count

    def catch_up(self, rows: Array | None = None) -> None:
        """Bring rows up to date, all by default.

        With all of them up to date it begins anew, as it does after a load: training that goes on after a save and training
        that goes on from the file are equal to the last bit.
        """
        with self._lock:
            now = self._history.count
            behind = np.flatnonzero(self.last < now) if rows is None else np.unique(rows[self.last[rows] < now])
            step = max(1, CHUNK // max(1, math.prod(self.arrays[0].shape[1:]), self.kind.columns(now)))
            for first in range(0, behind.shape[0], step):
                self._catch_up(behind[first:first + step], now)
            if rows is None and now:
                self.last[:] = 0
                self.kind.clear()
                self._history.clear()

    def _catch_up(self, rows: Array, now: int) -> None:
        steps, places = np.unique(self.last[rows], return_inverse=True)
        op, attrs, numbers = self.kind.call(self._history, steps)
        ctx = self.plain[0]._layout.ctx
        held = self.plain[:-1] if self._half else self.plain
        state = hooks.state
        before = state.lane
        try:
            state.lane = "update"
            store = RowSparse(numbers[places], rows, (self.last.shape[0], numbers.shape[1]), check=False)
            invoke(op.bind(attrs), (*held, wrap(store, ctx)))
        finally:
            state.lane = before
        self.last[rows] = now
        self.caught_up += rows.shape[0]
        self._round(rows)

    def _round(self, rows: Array | slice) -> None:
        """Write rows of the float32 copy to the float16 weight."""
        if self._half:
            copy, half = [store.data if hasattr(store, "data") and hasattr(store, "indices") else store
                          for store in (self.plain[0]._store, self.plain[-1]._store)]
            half[rows] = copy[rows]


def exact_step(optimizer: Optimizer, op: Op, index: Index, arrays: tuple[NDArray, ...], attrs: dict[str, float]) -> NDArray:
    """A step whose result is that of the dense step: rows without a gradient make it when they are read.

    ``arrays`` are those of the operator: weight, gradient and states, and the float32 copy of a float16 weight at the end.
    """
    weight, grad, *others = arrays
    half = weight if "weight32" in op.inputs else None
    held = (weight, *others) if half is None else (others[-1], *others[:-1], weight)
    sparse = grad.stype == "row_sparse"
    missed: Missed | None = weight._layout.missed
    if missed is None or not missed.fits(op, attrs, held):
        missed = None
        for array in held:
            if array._layout.missed is not None:
                array._layout.missed.release()
    if missed is None:
        if not sparse:
            return optimizer._invoke(op, index, arrays, {**attrs, "lazy_update": False})
        missed = Missed(op, optimizer._missed(attrs), attrs, held[0], held[1:] if half is None else held[1:-1], half)
    rows = grad._store.indices if sparse else None
    missed.catch_up(rows)
    plain = missed.plain
    plain_arrays = (plain[0], grad, *plain[1:]) if half is None else (plain[-1], grad, *plain[1:-1], plain[0])
    optimizer._invoke(op, index, plain_arrays, {**attrs, "lazy_update": sparse})
    if rows is not None:
        missed.add(attrs, rows)
    return weight
