"""States and settings of optimizers as bytes.

They are those of a file of arrays as ``mx.nd.save`` writes it: the states under their numbers, and under ``header``
an array of bytes, which are JSON and say what is whose.  Reading them runs no code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import SparsekitError
from ..core.dispatch import wrap
from ..lr_scheduler import LRScheduler
from ..ndarray.files import load_frombuffer, save_tobuffer
from .optimizer import Optimizer, registry

if TYPE_CHECKING:
    from ..base.types import JSON
    from ..ndarray.ndarray import NDArray
    from .types import Index, State


__all__ = ["arrays_of", "pack", "unpack"]

HEADER = "header"
#: Attributes of an optimizer that are not settings, and are made anew.
_NOT_SAVED = ("param_dict", "sym_info", "_calls", "_told", "_index_update_count", "_device", "_op", "_sums")


def arrays_of(state: State) -> Iterator[NDArray]:
    """The arrays of a state."""
    if isinstance(state, (tuple, list)):
        for part in state:
            yield from arrays_of(part)
    elif state is not None:
        yield state


# states


def _tree(state: State, arrays: list[NDArray]) -> JSON:
    """A state as JSON, arrays as their places in ``arrays``, which they are added to."""
    if isinstance(state, (tuple, list)):
        return [_tree(part, arrays) for part in state]
    if state is None:
        return None
    if not hasattr(state, "as_in_context"):
        raise SparsekitError(f"A state of type {type(state).__name__} cannot be saved.",
                             hint="states are arrays, None, and tuples of them.")
    arrays.append(state)
    return len(arrays) - 1


def _state(tree: JSON, arrays: dict[str, NDArray]) -> State:
    """The state that ``_tree`` described."""
    if isinstance(tree, list):
        return tuple(_state(part, arrays) for part in tree)
    return None if tree is None else arrays.pop(str(tree))


# settings


def _plain(value: object, name: str) -> JSON:  # object: a setting of a user's optimizer may be anything
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


def _setting(value: Any) -> Any:  # Any: JSON of a file, and the settings there; ``unpack`` names the error of another shape
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


def _describe(optimizer: Optimizer) -> JSON:
    settings = {name: value for name, value in vars(optimizer).items() if name not in _NOT_SAVED}
    return {"name": type(optimizer).__name__.lower(), "settings": _plain(settings, type(optimizer).__name__)}


def _revive(described: Any) -> Optimizer:  # Any: as in _setting
    made = registry[described["name"]]()
    vars(made).update(_setting(described["settings"]))
    made._set_current_context(0)
    if hasattr(made, "_select"):
        made._select()
    return made


# the whole


def pack(states: dict[Index, State], optimizer: Optimizer | None) -> bytes:
    """The states, and an optimizer, as bytes."""
    arrays: list[NDArray] = []
    trees = [[key, _tree(state, arrays)] for key, state in states.items()]
    header = json.dumps({"states": trees, "optimizer": None if optimizer is None else _describe(optimizer)}).encode()
    named = {str(place): array for place, array in enumerate(arrays)}
    return save_tobuffer({HEADER: wrap(np.frombuffer(header, np.uint8), cpu()), **named})


def unpack(data: bytes) -> tuple[dict[Index, State], Optimizer | None]:
    """What ``pack`` put in."""
    try:
        arrays = load_frombuffer(data)
        header = json.loads(arrays.pop(HEADER).asnumpy().tobytes())
        states = {key: _state(tree, arrays) for key, tree in header["states"]}
        return states, None if header["optimizer"] is None else _revive(header["optimizer"])
    except (SparsekitError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise SparsekitError(f"The optimizer states cannot be read: {error}",
                             hint="they are cut short, something else, or of an optimizer not registered here.") from error
