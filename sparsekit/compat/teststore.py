"""The store that MXNet tests plug-ins with: ``mx.kv.create("teststore")``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import UnknownNameError
from ..kvstore.base import KVStoreBase

if TYPE_CHECKING:

    pass

__all__ = ["TestStore"]


class TestStore(KVStoreBase):
    """Keeps nothing: ``broadcast`` copies a value, ``pushpull`` sums values."""

    __test__ = False  # pytest takes a class of this name for a test

    def broadcast(self, key: object, value: object, out: object, priority: int = 0) -> None:
        """Write a value to every array of ``out``."""
        for array in _listed(out):
            array[:] = value

    def pushpull(self, key: object, value: object, out: object = None, priority: int = 0) -> None:
        """Write the sum of the values to ``out``, or to where they came from."""
        values = _listed(value)
        total = sum((one.as_in_context(values[0].context) for one in values[1:]), start=values[0])
        for array in values if out is None else _listed(out):
            array[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can make an optimizer's steps: no."""
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise UnknownNameError.of("capability", capability, (KVStoreBase.OPTIMIZER,))
        return False


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
