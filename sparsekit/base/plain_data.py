"""What a program keeps, as JSON and arrays, and back.  Nothing that is read is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import FileFormatError, UnsupportedError

if TYPE_CHECKING:
    from .types import JSON

#: No classes but those of plain data.
NONE: Mapping[str, type] = MappingProxyType({})


# object: an attribute of a user's handler, metric or optimizer may be anything
def encoded(value: object, arrays: list[Any], what: str, kinds: Mapping[str, type] = NONE,
            hint: str = "keep numbers, texts, numpy arrays, and lists, tuples and dicts of these.",
            kept: type[Any] | None = None) -> JSON:  # Any: a class of arrays
    """A value as JSON: numbers, texts, bytes, None, numpy arrays and scalars, and lists, tuples and dicts of these.

    Parameters
    ----------
    value : object
    arrays : list of array
        Copies of the value's arrays are appended; the JSON has their places in the list.
    what : str
        What the value is, for the error.
    kinds : dict of str to type, optional
        Classes by name whose instances may be among the values too, with their attributes, or items if they are tuples.
    hint : str, optional
        What to do instead, for the error.
    kept : type, optional
        The only class of arrays, instead of numpy's; they are appended as they are.

    Raises
    ------
    UnsupportedError
        If it is anything else.
    """
    kind = type(value)

    def inside(part: object) -> JSON:  # object: as above
        return encoded(part, arrays, what, kinds, hint, kept)

    if kinds.get(kind.__name__) is kind:
        return {"class": kind.__name__, "parts": inside(list(value) if isinstance(value, tuple) else vars(value))}
    if isinstance(value, np.generic) and value.dtype.kind in "biuf" and value.itemsize <= 8:
        return {"scalar": value.dtype.str, "value": value.item()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes) and kept is None:
        arrays.append(np.frombuffer(value, np.uint8))
        return {"bytes": len(arrays) - 1}
    if isinstance(value, kept or np.ndarray) and value.dtype.kind in "biuf":
        arrays.append(value if kept else np.array(value, order="C"))
        return {"array": len(arrays) - 1}
    if isinstance(value, list):
        return [inside(item) for item in value]
    if isinstance(value, tuple) and kind is tuple:
        return {"tuple": [inside(item) for item in value]}
    if isinstance(value, dict):
        return {"pairs": [[inside(key), inside(item)] for key, item in value.items()]}
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raise UnsupportedError(f"{what} holds a value of type {name}, which cannot be saved.", hint=hint)


def decoded(value: JSON, arrays: Sequence[Any], kinds: Mapping[str, type] = NONE) -> Any:  # Any: what was encoded
    """The inverse of ``encoded``.

    Raises
    ------
    FileFormatError
        If the JSON is not what ``encoded`` gives.
    """
    try:
        return _decoded(value, arrays, kinds)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(f"The state cannot be read: {type(error).__name__} {error}.",
                              hint="what it was read from is damaged, or of another version; use an earlier one.") from error


def _decoded(value: Any, arrays: Sequence[Any], kinds: Mapping[str, type]) -> Any:  # Any: JSON, and what was encoded
    if isinstance(value, list):
        return [_decoded(item, arrays, kinds) for item in value]
    if not isinstance(value, dict):
        return value
    if "scalar" in value:
        dtype = np.dtype(value["scalar"])
        if dtype.kind not in "biuf":
            raise ValueError(f"expected a type of numbers, got {dtype}")
        return dtype.type(value["value"])
    if "class" in value:
        kind, parts = kinds[value["class"]], _decoded(value["parts"], arrays, kinds)
        if issubclass(kind, tuple):
            return tuple.__new__(kind, parts)
        instance = object.__new__(kind)
        vars(instance).update(parts)
        return instance
    (form, inside), = value.items()
    if form == "bytes":
        return arrays[inside].tobytes()
    if form == "array":
        array = arrays[inside]
        return np.array(array) if isinstance(array, np.ndarray) else array
    if form == "tuple":
        return tuple(_decoded(item, arrays, kinds) for item in inside)
    if form == "pairs":
        return {_decoded(key, arrays, kinds): _decoded(item, arrays, kinds) for key, item in inside}
    raise ValueError(f"expected bytes, array, tuple or pairs, got {form!r}")
