"""Key-value stores, which sum the arrays that several contexts or machines push: ``mx.kv``, ``mx.kvstore``."""

from __future__ import annotations

from ..base.entry import entry_classes
from ..base.lazy import add_lazy_names
from .base import KVStoreBase, create
from .dist import DistKVStore
from .kvstore import KVStore

__all__ = ["DistKVStore", "KVStore", "KVStoreBase", "create"]

add_lazy_names(globals())

entry_classes(DistKVStore, KVStore, KVStoreBase)
