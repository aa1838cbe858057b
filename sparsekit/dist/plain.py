"""The state of a worker as JSON and arrays; nothing that is read is executed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from ..base import rng
from ..base.errors import UnsupportedError

if TYPE_CHECKING:
    from ..base.types import Array
    from .messages import Payload

__all__ = ["packed", "unpacked"]


def packed(state: object, what: str = "The state") -> tuple[str, list[Array]]:  # object: whatever a program keeps
    """A value as JSON and arrays: numbers, texts, None, arrays, and lists, tuples and dicts of these.

    Raises
    ------
    UnsupportedError
        If it is, or has in it, anything else.
    """
    arrays: list[Array] = []
    return json.dumps(_encoded(state, arrays, what)), arrays


def _encoded(value: Payload, arrays: list[Array], what: str) -> Payload:
    if isinstance(value, np.generic):
        value = np.asarray(value)
        arrays.append(value)
        return {"scalar": len(arrays) - 1}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays.append(np.array(value, order="C"))
        return {"array": len(arrays) - 1}
    if isinstance(value, bytes):
        arrays.append(np.frombuffer(value, np.uint8))
        return {"bytes": len(arrays) - 1}
    if isinstance(value, rng.States):
        return {"states": [_encoded(one, arrays, what) for one in value]}
    if isinstance(value, (list, tuple)):
        found = [_encoded(one, arrays, what) for one in value]
        return found if type(value) is list else {"tuple": found}
    if isinstance(value, dict):
        return {"pairs": [[_encoded(key, arrays, what), _encoded(one, arrays, what)] for key, one in value.items()]}
    raise UnsupportedError(f"{what} has a {type(value).__name__} in it, which a snapshot cannot keep.",
                           hint="keep numbers, texts, numpy arrays, and lists, tuples and dicts of these.")


def unpacked(text: str, arrays: list[Array]) -> Payload:
    """The inverse of ``packed``."""
    return _decoded(json.loads(text), arrays)


def _decoded(value: Payload, arrays: list[Array]) -> Payload:
    if isinstance(value, list):
        return [_decoded(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    (kind, what), = value.items()
    if kind == "scalar":
        return arrays[what].reshape(())[()]
    if kind == "array":
        return np.array(arrays[what])
    if kind == "bytes":
        return arrays[what].tobytes()
    if kind == "pairs":
        return {_decoded(key, arrays): _decoded(one, arrays) for key, one in what}
    found = [_decoded(one, arrays) for one in what]
    return rng.States(*found) if kind == "states" else tuple(found)
