"""Serialization of optimizer states and settings.

The bytes have the format of ``mx.nd.save``.  The states are stored under their numbers, and ``header`` is an array of
bytes with JSON that assigns the states to weights and holds the settings.  Reading executes no code.
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
#: Attributes of an optimizer that are not settings; a new optimizer initializes them.
_NOT_SAVED = ("param_dict", "sym_info", "_calls", "_recorded_calls", "_index_update_count", "_device", "_op", "_sums",
              "_collected", "_executing", "_half")


def arrays_of(state: State) -> Iterator[NDArray]:
    """The arrays of a state, in order."""
    if isinstance(state, (tuple, list)):
        for part in state:
            yield from arrays_of(part)
    elif state is not None:
        yield state


# states


def _encode_state(state: State, arrays: list[NDArray]) -> JSON:
    """A state as JSON; its arrays are appended to ``arrays`` and represented by their positions there."""
    if isinstance(state, (tuple, list)):
        return [_encode_state(part, arrays) for part in state]
    if state is None:
        return None
    if not hasattr(state, "as_in_context"):
        raise SparsekitError(f"A state of type {type(state).__name__} cannot be saved.",
                             hint="a state must be an array, None, or a tuple of these.")
    arrays.append(state)
    return len(arrays) - 1


def _decode_state(encoded: JSON, arrays: dict[str, NDArray]) -> State:
    """The inverse of ``_encode_state``; the arrays are removed from ``arrays``."""
    if isinstance(encoded, list):
        return tuple(_decode_state(part, arrays) for part in encoded)
    return None if encoded is None else arrays.pop(str(encoded))


# settings


def _encode_setting(value: object, name: str) -> JSON:  # object: a setting of a user's optimizer may be anything
    """A setting as JSON; dictionaries become lists of pairs, because their keys may be numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_encode_setting(item, name) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[_encode_setting(key, name), _encode_setting(item, name)] for key, item in value.items()]}
    if isinstance(value, LRScheduler):
        return {"scheduler": type(value).__name__, "settings": _encode_setting(vars(value), name)}
    raise SparsekitError(f"The setting {name} of type {type(value).__name__} cannot be saved.",
                         hint="save only the states: get_states(dump_optimizer=False).")


def _decode_setting(value: Any) -> Any:  # Any: JSON of a file and its settings; ``unpack`` catches the errors of invalid JSON
    if isinstance(value, list):
        return [_decode_setting(item) for item in value]
    if isinstance(value, dict) and "pairs" in value:
        return {_decode_setting(key): _decode_setting(item) for key, item in value["pairs"]}
    if isinstance(value, dict):
        cls = _schedulers(LRScheduler)[value["scheduler"]]
        scheduler = cls.__new__(cls)
        vars(scheduler).update(_decode_setting(value["settings"]))
        return scheduler
    return value


def _schedulers(base: type[LRScheduler]) -> dict[str, type[LRScheduler]]:
    """All classes of schedules in this process, by name."""
    found = {base.__name__: base}
    for cls in base.__subclasses__():
        found.update(_schedulers(cls))
    return found


def _describe(optimizer: Optimizer) -> JSON:
    settings = {name: value for name, value in vars(optimizer).items() if name not in _NOT_SAVED}
    return {"name": type(optimizer).__name__.lower(), "settings": _encode_setting(settings, type(optimizer).__name__)}


def _restore(description: Any) -> Optimizer:  # Any: as in _decode_setting
    optimizer = registry[description["name"]]()
    vars(optimizer).update(_decode_setting(description["settings"]))
    optimizer._set_current_context(0)
    if hasattr(optimizer, "_select"):
        optimizer._select()
    return optimizer


# states and settings


def pack(states: dict[Index, State], optimizer: Optimizer | None) -> bytes:
    """Serialize the states and, unless it is None, the settings of the optimizer."""
    arrays: list[NDArray] = []
    encoded = [[key, _encode_state(state, arrays)] for key, state in states.items()]
    header = json.dumps({"states": encoded, "optimizer": None if optimizer is None else _describe(optimizer)}).encode()
    named = {str(place): array for place, array in enumerate(arrays)}
    return save_tobuffer({HEADER: wrap(np.frombuffer(header, np.uint8), cpu()), **named})


def unpack(data: bytes) -> tuple[dict[Index, State], Optimizer | None]:
    """The states and the optimizer that ``pack`` serialized; raises ``SparsekitError`` if the bytes are not valid."""
    try:
        arrays = load_frombuffer(data)
        header = json.loads(arrays.pop(HEADER).asnumpy().tobytes())
        states = {key: _decode_state(state, arrays) for key, state in header["states"]}
        return states, None if header["optimizer"] is None else _restore(header["optimizer"])
    except (SparsekitError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise SparsekitError(f"The optimizer states cannot be read: {error}",
                             hint="check that the file is complete and that its optimizer is registered.") from error
