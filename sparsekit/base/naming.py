"""Automatic names: ``dense0``, ``dense1`` …"""

from __future__ import annotations

import threading
from typing import Self

__all__ = ["NameManager", "Prefix", "current_names"]


class NameManager:
    """Hands out names by counting within each hint; a ``with`` block makes it the current one."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """``name`` itself if given, else ``hint`` with the next number."""
        if name:
            return name
        number = self._counts.get(hint, 0)
        self._counts[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> Self:
        _local.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _local.stack.pop()


class Prefix(NameManager):
    """A name manager that puts ``prefix`` before every name."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """As in ``NameManager``, with the prefix."""
        return self._prefix + super().get(name, hint)


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: list[NameManager] = [NameManager()]


_local = _Local()


def current_names() -> NameManager:
    """The innermost name manager of this thread."""
    return _local.stack[-1]
