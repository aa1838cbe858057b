"""Samplers: the order in which the examples of a data set are visited."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...base.errors import DTypeError, ShapeError, UnknownNameError, UnsupportedError, expected
from ...base.rng import generator
from ..utils import whole

if TYPE_CHECKING:
    from ..types import Examples, SizedIterable

__all__ = ["BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler", "SequentialSampler"]

LAST_BATCHES = ("keep", "discard", "rollover")


class Sampler:
    """Base of samplers: a subclass defines ``__iter__``, which gives the numbers of examples, and ``__len__``."""

    def __iter__(self) -> Iterator[Any]:
        raise UnsupportedError(f"{type(self).__name__} does not say which examples it gives.", hint="define __iter__.")

    def __len__(self) -> int:
        raise UnsupportedError(f"{type(self).__name__} does not say how many examples it gives.", hint="define __len__.")


def require_sampler(name: str, sampler: object) -> None:
    """Raise unless the argument can be iterated over, as a sampler must be.

    Raises
    ------
    DTypeError
        If it cannot be iterated over.
    """
    if not isinstance(sampler, Sampler) and not hasattr(type(sampler), "__iter__") and not hasattr(type(sampler), "__getitem__"):
        raise DTypeError(expected(name, "a Sampler", type(sampler)), hint="see mx.gluon.data.Sampler.")


#: The number of examples.
_length = functools.partial(whole, "length", most=sys.maxsize)


class SequentialSampler(Sampler):
    """The numbers from ``start`` on, in order.

    Parameters
    ----------
    length : int
        Number of indices.
    start : int
        The first index.

    Examples
    --------
    >>> list(mx.gluon.data.SequentialSampler(3, start=2))
    [2, 3, 4]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length, self._start = _length(length), whole("start", start)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """The numbers from 0 on, each once, in a new random order each time.

    The order is drawn from the generator that ``mx.random.seed`` seeds.  MXNet uses numpy's global generator.

    Parameters
    ----------
    length : int
        Number of indices.
    """

    def __init__(self, length: int) -> None:
        self._length = _length(length)

    def __iter__(self) -> Iterator[int]:
        return iter(generator().permutation(self._length).tolist())

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The numbers of the examples for which a function is true; it is called once for each, at the start.

    Parameters
    ----------
    fn : callable
        Function of one example.  Examples for which it returns a true value are kept.
    dataset : Dataset
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Examples) -> None:
        self._indices = [number for number in range(len(dataset)) if fn(dataset[number])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every ``interval``-th number, from 0 on; then, with ``rollover``, every ``interval``-th from 1 on, and so forth.

    Parameters
    ----------
    length : int
        Exclusive upper bound of the indices.
    interval : int
        Distance between indices; at most ``length``.
    rollover : bool
        False stops after the first round.  ``len`` then counts only that round, while MXNet's ``len`` is always ``length``.

    Examples
    --------
    >>> list(mx.gluon.data.IntervalSampler(7, interval=3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(mx.gluon.data.IntervalSampler(7, interval=3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        self._length, self._interval = _length(length), whole("interval", interval, 1)
        if self._interval > self._length:
            raise ShapeError(f"An interval of {interval} is larger than the length, {length}.", hint="take a smaller one.")
        self._rollover = bool(rollover)

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length if self._rollover else -(-self._length // self._interval)


class BatchSampler(Sampler):
    """The numbers that another sampler gives, in lists of ``batch_size``.

    Parameters
    ----------
    sampler : Sampler
    batch_size : int
    last_batch : {"keep", "discard", "rollover"}
        What to do with indices that do not fill a batch: yield a shorter batch, drop them, or start the next epoch with them.

    Examples
    --------
    >>> numbers = mx.gluon.data.SequentialSampler(5)
    >>> list(mx.gluon.data.BatchSampler(numbers, 2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: SizedIterable, batch_size: int, last_batch: str = "keep") -> None:
        UnknownNameError.check("last_batch", last_batch, LAST_BATCHES)
        require_sampler("sampler", sampler)
        self._sampler, self._batch_size, self._last_batch = sampler, whole("batch_size", batch_size, 1), last_batch
        self._prev: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._prev = self._prev, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "rollover":
            count += len(self._prev)
        return -(-count // self._batch_size) if self._last_batch == "keep" else count // self._batch_size

