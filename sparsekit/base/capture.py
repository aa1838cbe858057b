"""The refusal of host work while the work of a GPU is captured.

A captured piece of work is repeated without Python: whatever the host computed meanwhile, or sent to the device, would be
repeated as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .refusal import Refused

if TYPE_CHECKING:
    from typing import TypeAlias

    from .types import Array

    #: A function of an array, that array, and its other arguments.  Any: as the function takes them
    Asked: TypeAlias = tuple[Callable[..., Any], Array, tuple[object, ...]]

T = TypeVar("T")


class _State(threading.local):
    """Whether this thread captures GPU work.

    Attributes
    ----------
    active : bool
        Whether work is captured now.
    rehearsed : bool
        Whether work is captured now, or done as it will be captured.
    done : dict
        What graphs have computed ahead in this run: by function, identity of its array and its other arguments, the array and the
        result.
    asked : list or None
        Where calls of ``ahead`` are noted.
    """

    active = False
    rehearsed = False

    def __init__(self) -> None:
        # Any: arguments and results of such functions
        self.done: dict[tuple[Callable[..., Any], int, tuple[object, ...]], tuple[Array, Any]] = {}
        self.asked: list[Asked] | None = None


state = _State()


def refuse(what: str) -> None:
    """Raise ``Refused`` if work is captured now; ``what`` says what the host would do."""
    if state.active:
        raise Refused(what)


def ahead(make: Callable[..., T], array: Array, *arguments: object) -> T:  # object: what the function takes
    """Give ``make(array, *arguments)``, which queues work and reads nothing back; a graph may have done it in this run.

    The result may lie in the memory of that graph, so the caller must not give it away.
    """
    record = state.done.get((make, id(array), arguments))
    if record is not None:
        result: T = record[1]
        return result
    if state.asked is not None:
        state.asked.append((make, array, arguments))
    return make(array, *arguments)
