"""States and settings of optimizers as bytes: a header in JSON, then the arrays' bytes one after the other."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.context import cpu
from ..base.errors import SparsekitError
from ..core.dispatch import wrap
from ..lr_scheduler import LRScheduler
from ..storage import CSR, RowSparse
from .optimizer import Optimizer, registry

__all__ = ["arrays_of", "pack", "unpack"]

MAGIC = b"sparsekit optimizer states 1\n"
_STORES: dict[str, tuple[Any, tuple[str, ...]]] = {"row_sparse": (RowSparse, RowSparse.components), "csr": (CSR, CSR.components)}
#: What an optimizer has that is no setting of it, and is made anew.
_NOT_SAVED = ("param_dict", "sym_info", "_calls", "_index_update_count", "_device", "_op", "_sums")


def arrays_of(state: Any) -> Iterator[Any]:
    """The arrays of a state."""
    if isinstance(state, (tuple, list)):
        for part in state:
            yield from arrays_of(part)
    elif state is not None:
        yield state


# arrays


def _tree(state: Any, buffers: list[Any]) -> Any:
    """A state as JSON; its arrays' components go to ``buffers``."""
    if state is None:
        return None
    if isinstance(state, (tuple, list)):
        return [_tree(part, buffers) for part in state]
    if not hasattr(state, "as_in_context"):
        raise SparsekitError(f"A state of type {type(state).__name__} cannot be saved.",
                             hint="states are arrays, None, and tuples of them.")
    store = state.as_in_context(cpu())._store
    stype = state.stype
    parts = [store] if stype == "default" else [getattr(store, name) for name in _STORES[stype][1]]
    described = []
    for part in parts:
        buffers.append(np.ascontiguousarray(part))
        described.append([part.dtype.str, list(part.shape)])
    return {"stype": stype, "shape": list(store.shape), "parts": described}


class _Reader:
    """Takes arrays off a buffer, never more than there is."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._place = data, 0

    def array(self, kind: str, shape: list[int]) -> Any:
        dtype = np.dtype(kind)
        size = math.prod(shape)
        end = self._place + size * dtype.itemsize
        if dtype.hasobject or any(number < 0 for number in shape) or end > len(self._data):
            raise ValueError("the arrays are cut short")
        made = np.frombuffer(self._data[self._place:end], dtype).reshape(shape).copy()
        self._place = end
        return made

    def state(self, tree: Any) -> Any:
        if tree is None:
            return None
        if isinstance(tree, list):
            return tuple(self.state(part) for part in tree)
        parts = [self.array(kind, shape) for kind, shape in tree["parts"]]
        if tree["stype"] == "default":
            store, = parts
        else:
            store = _STORES[tree["stype"]][0](*parts, tuple(tree["shape"]))
        return wrap(store, cpu())

    def finish(self) -> None:
        if self._place != len(self._data):
            raise ValueError("bytes are left over")


# settings


def _plain(value: Any, name: str) -> Any:
    """A setting as JSON; dictionaries as lists of pairs, for their keys may be numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, name) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[_plain(key, name), _plain(item, name)] for key, item in value.items()]}
    if isinstance(value, LRScheduler):
        return {"scheduler": type(value).__name__, "settings": _plain(vars(value), name)}
    raise SparsekitError(f"The setting {name} of type {type(value).__name__} cannot be saved.",
                         hint="save the states alone: get_states(dump_optimizer=False).")


def _setting(value: Any) -> Any:
    if isinstance(value, list):
        return [_setting(item) for item in value]
    if isinstance(value, dict) and "pairs" in value:
        return {_setting(key): _setting(item) for key, item in value["pairs"]}
    if isinstance(value, dict):
        cls = _schedulers(LRScheduler)[value["scheduler"]]
        made = cls.__new__(cls)
        vars(made).update(_setting(value["settings"]))
        return made
    return value


def _schedulers(base: type[LRScheduler]) -> dict[str, type[LRScheduler]]:
    """Every kind of schedule that this process knows, by name."""
    found = {base.__name__: base}
    for cls in base.__subclasses__():
        found.update(_schedulers(cls))
    return found


def _describe(optimizer: Optimizer) -> Any:
    settings = {name: value for name, value in vars(optimizer).items() if name not in _NOT_SAVED}
    return {"name": type(optimizer).__name__.lower(), "settings": _plain(settings, type(optimizer).__name__)}


def _revive(described: Any) -> Optimizer:
    made = registry[described["name"]]()
    vars(made).update(_setting(described["settings"]))
    made._set_current_context(0)
    if hasattr(made, "_select"):
        made._select()
    return made


# the whole


def pack(states: dict[Any, Any], optimizer: Optimizer | None) -> bytes:
    """The states, and an optimizer, as bytes."""
    buffers: list[Any] = []
    trees = [[key, _tree(state, buffers)] for key, state in states.items()]
    header = json.dumps({"states": trees, "optimizer": None if optimizer is None else _describe(optimizer)}).encode()
    return b"".join([MAGIC, len(header).to_bytes(8, "little"), header, *[buffer.tobytes() for buffer in buffers]])


def unpack(data: bytes) -> tuple[dict[Any, Any], Optimizer | None]:
    """What ``pack`` put in; the arrays are on the CPU."""
    if not isinstance(data, (bytes, bytearray, memoryview)) or bytes(data[:len(MAGIC)]) != MAGIC:
        raise SparsekitError("These are no optimizer states.", hint="give what Updater.get_states returned.")
    view = memoryview(data)[len(MAGIC):]
    length = int.from_bytes(view[:8], "little")
    try:
        header = json.loads(bytes(view[8:8 + length]))
        reader = _Reader(view[8 + length:])
        states = {key: reader.state(tree) for key, tree in header["states"]}
        reader.finish()
        return states, None if header["optimizer"] is None else _revive(header["optimizer"])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise SparsekitError(f"The optimizer states cannot be read: {error}.",
                             hint="they are cut short, changed, or of an optimizer that is not registered here.") from error
