"""Key-value stores, which sum the arrays that several contexts or machines push: ``mx.kv``, ``mx.kvstore``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.entry import entry_classes
from ..base.lazy import lazy
from .base import KVStoreBase, create
from .dist import DistKVStore
from .kvstore import KVStore

__all__ = ["DistKVStore", "KVStore", "KVStoreBase", "create"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())

entry_classes(DistKVStore, KVStore, KVStoreBase)
