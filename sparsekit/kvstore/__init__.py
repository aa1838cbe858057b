"""Key-value stores, which sum the arrays that several contexts push: ``mx.kv``, ``mx.kvstore``."""

from __future__ import annotations

from ..base.entry import doors, entry
from .base import KVStoreBase, create
from .kvstore import KVStore

__all__ = ["KVStore", "KVStoreBase", "create"]

doors(KVStore, KVStoreBase)
create = entry(create)
