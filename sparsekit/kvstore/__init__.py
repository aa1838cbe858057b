"""Key-value stores, which sum the arrays that several contexts or machines push: ``mx.kv``, ``mx.kvstore``."""

from __future__ import annotations

from ..base.entry import doors, entry
from .base import KVStoreBase, create
from .dist import DistKVStore
from .kvstore import KVStore

__all__ = ["DistKVStore", "KVStore", "KVStoreBase", "create"]

doors(DistKVStore, KVStore, KVStoreBase)
create = entry(create)
