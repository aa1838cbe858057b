"""What workers and servers tell each other: plain records of Python values and numpy arrays.

A key is a string or an integer, as the user gave it.  Rows are local: the numbers that the rows of a key have on the
server, as ``partition`` assigns them, ascending and each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array, DType

__all__ = ["Key", "KeySpec", "Message", "Pull", "Push", "Refused", "Reply", "Request", "Waited", "Waiting", "Welcome",
           "id_type", "payload_bytes", "row_ids"]

#: A key of a store.
Key: TypeAlias = "str | int"


class KeySpec(NamedTuple):
    """What all servers and workers know of a key.

    Attributes
    ----------
    shape : tuple of int
        Shape of the whole value.
    dtype : str
        Name of its element type.
    stype : {"default", "row_sparse"}
    placement : str
        ``"rows:16"`` if the rows are dealt to the servers in blocks of 16, ``"whole:2"`` if server 2 holds all of them.
        ``"rows"`` stands in journals that do not say the size of the blocks, for one that ``partition`` knows.
    """

    shape: tuple[int, ...]
    dtype: str
    stype: str = "default"
    placement: str = "rows"


class Push(NamedTuple):
    """The gradient of one worker for the rows of a key that one server holds.

    Attributes
    ----------
    key : str or int
    sequence : int
        Number of this push among the pushes of this worker to this key, from 1.
    rows : array of int32 or int64, or None
        Rows of a row_sparse gradient; None for a dense one.
    values : array
        The gradient: a row for each of ``rows``, or all local rows.
    clock : int, optional
        Updates that the optimizer had made before this one, the largest number of any key, as the worker counts them.
        Schedules then compute the rate from this number; by default from what the server has seen.
    threshold : float, optional
        If given, the values are two bits for each element of a dense gradient, as ``compression`` packs them.
    """

    key: Key
    sequence: int
    rows: Array | None
    values: Array
    clock: int | None = None
    threshold: float | None = None


class Pull(NamedTuple):
    """A question for the rows of a key that one server holds.

    Attributes
    ----------
    key : str or int
    version : int
        Number of pushes that this worker has made to this key.
    rows : array of int32 or int64, or None
        Rows to give; None for all local rows.
    """

    key: Key
    version: int
    rows: Array | None = None


class Request(NamedTuple):
    """Pushes that a server applies, then pulls that it answers.

    Attributes
    ----------
    rank : int
    life : int
        Number of the worker's incarnation.  A server refuses a lower one than the highest it has seen of that rank.
    epoch_known : int
        Epoch in the last reply of this server; 0 if there was none.
    pushes : tuple of Push
    pulls : tuple of Pull
    settings : str, optional
        Settings of the optimizer for these pushes, from ``optimizer.states.encoded_settings``; None if they are those of the
        last request of this incarnation to this server that had pushes.  Of the workers that have a part in a step, the
        settings of the lowest rank count.
    """

    rank: int
    life: int
    epoch_known: int = 0
    pushes: tuple[Push, ...] = ()
    pulls: tuple[Pull, ...] = ()
    settings: str | None = None


class Waited(NamedTuple):
    """For whom a server let a worker wait, and how long.

    Attributes
    ----------
    key : str, int or None
        None for a barrier.
    step : int
    ranks : tuple of int
    seconds : float
    """

    key: Key | None
    step: int
    ranks: tuple[int, ...]
    seconds: float


class Reply(NamedTuple):
    """The pushes are applied, and here is what the pulls asked for.

    Attributes
    ----------
    epoch : int
        Number of the server's incarnation.
    last : dict
        Number of the last push of this worker that the server has, for each key of the request; for all keys if the
        request names another epoch.
    values : tuple of array
        One for each pull.
    waited : tuple of Waited
        For whom the server let the worker wait before it answered.
    """

    epoch: int
    last: dict[Key, int]
    values: tuple[Array, ...] = ()
    waited: tuple[Waited, ...] = ()


class Waiting(NamedTuple):
    """The pushes are applied, and a pull or a barrier waits for other workers.

    Attributes
    ----------
    epoch, last
        As in ``Reply``.
    reasons : tuple of (key, step, ranks)
        What is awaited: the step of the key, None for a barrier, and the ranks whose push is missing.
    waited : tuple of Waited
        As in ``Reply``.
    """

    epoch: int
    last: dict[Key, int]
    reasons: tuple[tuple[Key | None, int, tuple[int, ...]], ...]
    waited: tuple[Waited, ...] = ()


class Refused(NamedTuple):
    """A push of the request follows one that the server does not have; nothing of the request was applied.

    Attributes
    ----------
    epoch : int
    last : dict
        Number of the last push of this worker that the server has, for every key.
    """

    epoch: int
    last: dict[Key, int]


class Welcome(NamedTuple):
    """What a server tells a worker that begins or comes back.

    Attributes
    ----------
    epoch : int
    last : dict
        Number of the last push of this worker that the server has, for every key.
    specs : dict
        Specification of every key of which the server holds rows.
    barrier : int
        Barriers that all workers have passed.
    mode : {"sync", "async"}
    staleness : int or None
    workers, shards : int
    optimizer, states : int
        Number of the last command that set the optimizer, and its states; 0 if none has.
    left : tuple of int
        Ranks that have left.
    """

    epoch: int
    last: dict[Key, int]
    specs: dict[Key, KeySpec]
    barrier: int
    mode: str
    staleness: int | None
    workers: int
    shards: int
    optimizer: int = 0
    states: int = 0
    left: tuple[int, ...] = ()


Message: TypeAlias = "Push | Pull | Request | Reply | Waiting | Refused | Welcome"


def payload_bytes(message: object) -> int:  # object: a message, or what stands in one
    """Bytes of all arrays of a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, (tuple, list)):
        return sum(payload_bytes(part) for part in message)
    return sum(payload_bytes(part) for part in message.values()) if isinstance(message, dict) else 0


def id_type(count: int) -> DType:
    """The type in which row numbers below ``count`` travel: int32 where that holds them."""
    return np.dtype(np.int32 if count <= np.iinfo(np.int32).max else np.int64)


def row_ids(rows: Array, count: int) -> Array:
    """Row numbers below ``count`` in the type that travels."""
    return rows.astype(id_type(count), copy=False)
