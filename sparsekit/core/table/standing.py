"""What a table requires to be unchanged since its last run: objects in slots of other objects, and words of memory."""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.layout import own_word, unknown_versions
from ...base.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...base.types import Array
    from ..types import ArrayObject
    from .table import Table

__all__ = ["Standing"]


class Standing:
    """Requirements that ``Table.begin_again`` checks in compiled code.

    They are slots of objects, and the objects that these slots must hold.  Both are kept alive, so that an address identifies
    an object.  The table is not kept alive: it refers to this object, and a cycle would delay that it is freed.

    Parameters
    ----------
    table : Table
        Its last run has bound the arrays that stay the same.

    Attributes
    ----------
    address : int
        Of the block that ``begin_again`` takes.
    """

    def __init__(self, table: Table) -> None:
        self._kernels, self._words = table._kernels, table._entry_words
        self._checks: list[int] = []
        self._fetches: list[int] = []
        self._pairs: list[int] = []
        self._later: list[int] = []
        self._kept: list[Any] = []  # Any: whatever the slots hold
        self._held: list[Array] = []
        self._noted = 0, 0
        self.address = 0

    def add(self, owner: object, name: str, anew: bool = False) -> None:  # object: of any class with slots
        """Require that a slot keeps the object that it holds now; ``anew`` allows another one, which the caller replaces."""
        value = getattr(owner, name)
        kind: Any = owner.__class__  # Any: a class, which mypy does not take for hashable
        self._kept += (owner, value)
        (self._later if anew else self._pairs).extend((id(owner) + offset_of(kind, name), id(value)))

    def add_array(self, owner: ArrayObject) -> None:
        """Require that an NDArray keeps its store, and that the store keeps its memory and flags."""
        self.add(owner, "_store")
        store, rows = owner._store, self._kernels
        self.add_words([id(store) + place for place in (rows.MEMORY, rows.FLAGS)])

    def add_words(self, addresses: Iterable[int]) -> None:
        """Require that words of memory keep their values; the caller keeps the memory alive."""
        for address in addresses:
            self._pairs += (address, ctypes.c_int64.from_address(address).value)

    def bring(self, number: int, array: ArrayObject, places: Sequence[int]) -> None:
        """Require that each run brings an NDArray of the class and layout of this one, without a gradient.

        Parameters
        ----------
        number : int
            Which of the arrays of a run it is.
        places : sequence of int
            Places of the arrays in its store among those that a run binds.
        """
        kind: Any = array.__class__  # Any: as in ``add``
        of_store: Any = array._store.__class__  # Any: the same
        for offset, word in ((self._kernels.CLASS, kind), (offset_of(kind, "_layout"), array._layout),
                             (offset_of(kind, "_entry"), None)):
            self._checks += (number, offset, id(word))
            self._kept.append(word)
        parts = [offset_of(of_store, name) for name in of_store.components] if hasattr(of_store, "components") else [-1]
        for part, place in zip(parts, places, strict=True):
            self._fetches += (number, offset_of(kind, "_store"), part, self._words[0] + self._kernels.PLAN * place)

    def close(self) -> Standing:
        """Write the requirements to the block of words that compiled code reads; returns this object."""
        self._held = [np.array(words, np.int64) for words in (self._pairs, self._later, self._fetches, self._checks)]
        plan, count, patches, patched, written = self._words
        (pairs, _), (later, _), (fetches, _), (checks, _) = [held.__array_interface__["data"] for held in self._held]
        self._noted = pairs, len(self._pairs) // 2
        block = np.array([plan, count, written, fetches, len(self._fetches) // 4, patches, patched, pairs, len(self._pairs) // 2,
                          later, len(self._later) // 2, checks, len(self._checks) // 3], np.int64)
        self._held.append(block)
        self.address = block.ctypes.data
        return self

    def holds(self) -> bool:
        """Whether all requirements are met, apart from those with ``anew``."""
        found: bool = self._kernels.as_noted.dispatcher(*self._noted)
        return found


class _Probe:
    """What only one slot holds."""


@functools.cache
def offset_of(cls: Hashable, name: str) -> int:
    """Bytes from the beginning of an object to the slot of that name.

    Raises
    ------
    Refused
        If the class has no such slot, or this version of Python has not been checked.
    """
    if unknown_versions():
        raise Refused(unknown_versions())
    given: Any = cls  # Any: a class
    kind: Any = next(kind for kind in given.__mro__ if name in vars(kind))  # Any: a class
    slot = vars(kind)[name]
    if not inspect.ismemberdescriptor(slot):
        raise Refused(f"{kind.__name__}.{name} is not a slot")
    found, probe = kind.__new__(kind), _Probe()
    slot.__set__(found, probe)
    offsets = [offset for offset in range(0, kind.__basicsize__, 8)
               if own_word(found, offset) == id(probe)]
    if len(offsets) != 1:
        raise Refused(f"the slot {kind.__name__}.{name} lies at an unknown place")
    return offsets[0]
