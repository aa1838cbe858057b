"""What workers and servers tell each other: plain records of Python values and numpy arrays.

A key is a string or an integer, as the user gave it.  Rows are local: the numbers that the rows of a key have on the
server, as ``partition`` assigns them, ascending and each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..base.checks import number, whole
from ..base.errors import DistError

if TYPE_CHECKING:
    from ..base.types import Array, DType

#: A key of a store.
Key: TypeAlias = "str | int"
#: Steps that an asynchronous worker may be ahead where snapshots are taken, if nothing else is said.
AHEAD = 64
#: What methods of servers take and give, and what is in files: the two ends of each know its form.
Payload: TypeAlias = Any  # Any: see above


class Setup(NamedTuple):
    """What all processes of a run know.

    Attributes
    ----------
    workers, servers : int
    folder : str or None
        Where snapshots are written; None takes none.
    token : str
        A file in the folder that shows that a machine sees it.
    every : int or None
        Steps between two snapshots.
    seconds : float or None
        Seconds between two snapshots, if ``every`` is None.
    staleness : int or None
        In an asynchronous run, how many steps a worker may be ahead of the slowest; None for any number.
    timeout : float
        Seconds that a call waits.
    profile : bool
        Whether servers keep spans for a profile.
    """

    workers: int = 1
    servers: int = 1
    folder: str | None = None
    token: str = ""
    every: int | None = None
    seconds: float | None = None
    staleness: int | None = None
    timeout: float = 600.0
    profile: bool = True

    def checked(self, **limits: object) -> Setup:  # object: whatever the user gave
        """The same, if its numbers are whole, and seconds and other limits above 0.

        Raises
        ------
        DistError
            If they are not.
        """
        for name, least in (("workers", 1), ("servers", 1), ("every", 1), ("staleness", 0)):
            if (count := getattr(self, name)) is not None or name in ("workers", "servers"):
                whole(name, count, least, error=DistError)
        for name, limit in {"seconds": self.seconds, "timeout": self.timeout, **limits}.items():
            if limit is not None or name != "seconds":
                number(name, limit, "a number of seconds above 0", lambda value: value > 0, f"{name}=60, for example.", DistError)
        return self

    @property
    def ahead(self) -> int | None:
        """Steps that a worker of an asynchronous run may be ahead of the slowest; None for any number."""
        return AHEAD if self.staleness is None and self.folder is not None else self.staleness


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
        ``"rows"`` stands for blocks whose size ``partition.dealt`` chooses.
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
        Number of this push among the pushes of this worker to this key, from 1; the worker's client sets it.
    rows : array of int32 or int64, or None
        Rows of a row_sparse gradient; None for a dense one.
    values : array
        The gradient: a row for each of ``rows``, or all local rows.
    clock : int, optional
        Updates that the optimizer had made before this one, the largest number of any key, as the worker counts them.
        Schedules then compute the rate from this number; by default from what the server has seen.
    threshold : float, optional
        If given, the values are two bits for each element of a dense gradient, as ``compression`` packs them.
    settings : str, optional
        On the server, the settings of the optimizer that came with the push, or before it.
    """

    key: Key
    sequence: int
    rows: Array | None
    values: Array
    clock: int | None = None
    threshold: float | None = None
    settings: str | None = None


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


class Exchange(NamedTuple):
    """Pushes that a server applies, then pulls that it answers.

    Attributes
    ----------
    rank : int
    number : int
        Number of the message among those of this worker; what has been taken under it is not taken again.
    pushes, pulls : tuple
    settings : str, optional
        Settings of the optimizer for these pushes, from ``optimizer.states.encoded_settings``.  Of the workers that have a part
        in a step, the settings of the lowest rank count.
    ended : {"", "before", "after"}
        Whether the worker has ended a step, and whether that was before or after these pushes.
    state : (int, str, list of array), optional
        The step that ended, and the state of the worker there as JSON and arrays, for a snapshot.
    mark : int
        A step at which a snapshot will be taken; 0 for none.
    leaves : bool
        Whether the worker pushes no more.
    """

    rank: int
    number: int
    pushes: tuple[Push, ...] = ()
    pulls: tuple[Pull, ...] = ()
    settings: str | None = None
    ended: str = ""
    state: tuple[int, str, list[Array]] | None = None
    mark: int = 0
    leaves: bool = False


class Waited(NamedTuple):
    """For whom a server let a worker wait, and how long.

    Attributes
    ----------
    key : str, int or None
        None for a step or a barrier.
    step : int
    ranks : tuple of int
    seconds : float
    """

    key: Key | None
    step: int
    ranks: tuple[int, ...]
    seconds: float = 0.0


class Answer(NamedTuple):
    """The pushes are applied, and here is what the pulls asked for.

    Attributes
    ----------
    values : tuple of array
        One for each pull.
    marks : tuple of int
        Steps at which snapshots will be taken, as far as the server knows.
    writing : bool
        Whether the server writes a snapshot now.
    waited : tuple of Waited
        For whom the server let the worker wait before it answered.
    """

    values: tuple[Array, ...] = ()
    marks: tuple[int, ...] = ()
    writing: bool = False
    waited: tuple[Waited, ...] = ()


@dataclass(frozen=True)
class ServerProcess:
    """The process of a server.

    Attributes
    ----------
    index : int
        Number of the server.
    pid : int
        Number of its process, on its machine.
    node : str
        What Ray calls its machine; empty if the server is part of this process.
    """

    index: int
    pid: int
    node: str


def payload_bytes(message: object) -> int:  # object: a message, or what stands in one
    """Bytes of all arrays of a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, (tuple, list)):
        return sum(map(payload_bytes, message))
    return sum(map(payload_bytes, message.values())) if isinstance(message, dict) else 0


def id_type(count: int) -> DType:
    """The type in which row numbers below ``count`` travel: int32 where that holds them."""
    return np.dtype(np.int32 if count <= np.iinfo(np.int32).max else np.int64)
