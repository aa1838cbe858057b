"""States as JSON and arrays in the bytes of one ``mx.nd.save`` file, with a checksum.  Reading executes no code."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import cpu
from ..base.errors import FileFormatError, SparsekitError
from ..core.arrays import wrap
from .files import INDICES, load_frombuffer, save_tobuffer
from .ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..base.types import JSON, Array

HEADER = "header"


def pack(about: JSON, arrays: Sequence[NDArray | Array]) -> bytes:
    """The bytes of JSON and of arrays, the library's and numpy's."""
    named = {str(place): array if isinstance(array, NDArray) else _wrapped(array) for place, array in enumerate(arrays)}
    forms = [None if isinstance(array, NDArray) else [array.dtype.str, list(array.shape)] for array in arrays]
    text = json.dumps({"about": about, "forms": forms}).encode()
    header = b"%08x" % _checksum(text, named.values()) + text
    return save_tobuffer({HEADER: _wrapped(np.frombuffer(header, np.uint8)), **named})


def unpack(data: bytes) -> tuple[Any, list[Any]]:  # Any: JSON; arrays of either kind
    """The JSON and the arrays of which ``pack`` made bytes.

    Raises
    ------
    FileFormatError
        If the bytes are damaged, or others.
    """
    try:
        named = load_frombuffer(data)
        text = named.pop(HEADER).asnumpy().tobytes()
        if _checksum(text[8:], named.values()) != int(text[:8], 16):
            raise FileFormatError("The checksum does not match.", hint="the file is damaged.")
        header = json.loads(text[8:])
        arrays = [named[str(place)] if form is None else np.frombuffer(named[str(place)].asnumpy(), form[0]).reshape(form[1])
                  for place, form in enumerate(header["forms"])]
        return header["about"], arrays
    except (SparsekitError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"The state cannot be read: {error}", hint="the file is damaged, or was written by another "
                              "program; use an earlier one.") from error


def _checksum(text: bytes, arrays: Iterable[NDArray]) -> int:
    """A checksum of a text and of the types, places and values of arrays, on whichever device they are."""
    checksum = zlib.crc32(text)
    for array in arrays:
        store, stype = array.as_in_context(cpu())._store, array.stype
        checksum = zlib.crc32(repr((stype, store.dtype.name, array.shape)).encode(), checksum)
        for part in (*(getattr(store, name) for name in INDICES[stype]), store if stype == "default" else store.data):
            checksum = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, checksum)
    return checksum


def _wrapped(array: Array) -> NDArray:
    """The bytes of an array, as an array of the library."""
    return wrap(np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8), cpu())
