"""``TestStore``, a minimal key-value store for tests, as in MXNet: ``mx.kv.create("teststore")``."""

from __future__ import annotations

from typing import Any

from ..base.errors import UnknownNameError
from ..kvstore.base import KVStoreBase


class TestStore(KVStoreBase):
    """A store without state: ``broadcast`` copies a value, and ``pushpull`` sums values."""

    __test__ = False  # pytest would collect a class of this name

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """Copy a value to every array of ``out``; ``key`` and ``priority`` have no effect."""
        for array in _listed(out):
            array[:] = value

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """Write the sum of the values to ``out``, by default to the values; ``key`` and ``priority`` have no effect."""
        values = _listed(value)
        total = sum((part.as_in_context(values[0].context) for part in values[1:]), start=values[0])
        for array in values if out is None else _listed(out):
            array[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store has a capability; False for ``"optimizer"``, and other names raise."""
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise UnknownNameError.of("capability", capability, (KVStoreBase.OPTIMIZER,))
        return False


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
