"""Files of arrays, ``mx.nd.save`` and ``mx.nd.load``, in the layout of MXNet's own ``.params`` files.

A file is a header, the arrays one after the other, and their names if there are any.  All numbers are
little-endian; sizes are 64 bits wide.  Nothing in a file is executed, and every size in it is
checked against the length of the file.
"""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import Context, num_gpus
from ..base.dtypes import ELEMENT_TYPES, MOST_AXES
from ..base.entry import entries
from ..base.errors import DataFileError, DTypeError, FileFormatError, SparsekitError, UnsupportedError
from ..base.files import failures_named, path_of, written
from ..core.arrays import wrap
from ..storage import CSR, RowSparse
from ..storage.check import check_memory
from ..storage.convert import STYPES
from .ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedIOBase
    from pathlib import Path

    from ..base.types import Array, DTypeLike
    from ..storage.types import Sparse


__all__ = ["load", "load_frombuffer", "save", "save_tobuffer"]

MAGIC = 0x112
#: Magic numbers of arrays: with a storage type, with numpy shape semantics too, and of versions before storage types.
V2, V3, V1 = 0xF993FAC9, 0xF993FACA, 0xF993FAC8
#: Element types by their number in the file.
DTYPES = ELEMENT_TYPES
#: Index components of each storage type in the order of the file.
INDICES = {"default": (), "row_sparse": ("indices",), "csr": ("indptr", "indices")}
#: Devices by their number in the file; 3 and 5 are kinds of the machine's own memory.
DEVICES = {1: "cpu", 2: "gpu", 3: "cpu", 5: "cpu"}


def save(fname: str | Path, data: list[Any] | Sequence[NDArray] | NDArray | dict[str, Any]) -> None:
    """Write arrays to a file that MXNet reads too.

    The file appears under its name only when it is complete.

    Parameters
    ----------
    fname : str or path
    data : NDArray, list of NDArray, or dict of str to NDArray
        Dense or sparse arrays on any context.  An array without axes is written in the form that MXNet reads under
        ``mx.util.np_shape()``.  MXNet 1.9.1 cannot read the form that it writes itself.

    Raises
    ------
    DTypeError
        If ``data`` contains anything else.
    DataFileError
        If the file cannot be written.

    See Also
    --------
    load : Read such a file.

    Examples
    --------
    >>> mx.nd.save("weights.params", {"arg:weight": mx.nd.ones((2, 3))})
    >>> mx.nd.load("weights.params")["arg:weight"].shape
    (2, 3)
    """
    names, arrays = _named(data)
    path = _local(fname)
    with failures_named(path), written(path) as file:
        for piece in _encoded(names, arrays):
            file.write(piece)


def save_tobuffer(data: dict[str, NDArray]) -> bytes:
    """The bytes that ``save`` would write, which ``load_frombuffer`` reads.

    Parameters
    ----------
    data : NDArray, list of NDArray, or dict of str to NDArray
    """
    return b"".join(_encoded(*_named(data)))


def load(fname: str | Path) -> Any:
    """Read the arrays of a file that ``save``, or MXNet of any version, has written.

    Parameters
    ----------
    fname : str or path

    Returns
    -------
    list of NDArray, or dict of str to NDArray
        A dict if the arrays have names.  Arrays that were saved from a GPU are loaded onto it if it exists, else onto the CPU.

    Raises
    ------
    DataFileError
        If the file does not exist.
    FileFormatError
        If the file is damaged, truncated or in another format.  The message gives the problem and the byte position.
    """
    path = _local(fname)
    try:
        with open(path, "rb") as file:
            return _Reader(file, os.fstat(file.fileno()).st_size, path).everything()
    except FileFormatError:
        raise
    except OSError as error:
        raise DataFileError(f"{path} cannot be read: {error.strerror}.", hint="check the name and the folder.") from error


def load_frombuffer(buf: object) -> Any:
    """Read arrays from the bytes of such a file.

    Parameters
    ----------
    buf : bytes, bytearray or memoryview

    Returns
    -------
    list of NDArray, or dict of str to NDArray

    Raises
    ------
    FileFormatError
        If the bytes are damaged, truncated or in another format.
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise DTypeError(f"load_frombuffer takes bytes, not {type(buf).__name__}.",
                         hint="read the file with open(name, 'rb').read(), or give its name to load.")
    return _Reader(io.BytesIO(buf), memoryview(buf).nbytes, "The buffer").everything()


# writing


def _named(data: object) -> tuple[list[str], list[Any]]:
    """The names, if there are any, and the arrays."""
    if isinstance(data, NDArray):
        return [], [data]
    if not isinstance(data, (dict, list, tuple)):
        raise DTypeError(f"A {type(data).__name__} cannot be saved.",
                         hint="save an NDArray, a list of them, or a dict with names for them.")
    names = list(data) if isinstance(data, dict) else []
    arrays = list(data.values()) if isinstance(data, dict) else list(data)
    for label, items, kind in (("name", names, str), ("array", arrays, NDArray)):
        for place, item in enumerate(items):
            if not isinstance(item, kind):
                raise DTypeError(f"{label} {place} is a {type(item).__name__}, not {kind.__name__}.",
                                 hint="save a list of NDArray, or a dict of str to NDArray; mx.nd.array makes one.")
    return names, arrays


def _local(fname: object) -> str:
    """The path of a file on this machine."""
    path = path_of(fname)
    scheme, mark, location = path.partition("://")
    if mark and scheme == "file":
        return location
    if mark and scheme.isalnum() and len(scheme) > 1:
        raise UnsupportedError(f"{path!r} is not a local file; {scheme}:// is not supported.",
                               hint="copy it to or from this machine with the tools of that service.")
    return path


def _encoded(names: list[str], arrays: list[Any]) -> Iterator[Any]:
    """The file, piece by piece."""
    yield struct.pack("<QQQ", MAGIC, 0, len(arrays))
    for array in arrays:
        yield from _encoded_array(array)
    yield struct.pack("<Q", len(names))
    for name in names:
        text = name.encode("utf-8", "surrogatepass")
        yield struct.pack("<Q", len(text)) + text


def _encoded_array(array: NDArray) -> Iterator[Any]:
    context, array = array.context, array.as_in_context(Context("cpu", 0))
    store, stype = array._store, array.stype
    if store.dtype.name not in DTYPES:
        raise DTypeError(f"The file has no element type {store.dtype}.", hint=f"cast to one of {', '.join(DTYPES)}.")
    data = store if stype == "default" else store.data
    indices = [getattr(store, name) for name in INDICES[stype]]
    yield struct.pack("<Ii", V2 if store.shape else V3, STYPES.index(stype))
    if indices:
        yield _shape(data.shape)
    yield _shape(store.shape)
    yield struct.pack("<iii", 2 if context.device_type == "gpu" else 1, context.device_id, DTYPES.index(store.dtype.name))
    for part in indices:  # int64 whatever they are here: MXNet reads int32 and then refuses to compute with it
        yield struct.pack("<i", DTYPES.index("int64")) + _shape(part.shape)
    yield _little(data, data.dtype)
    for part in indices:
        yield _little(part, np.int64)


def _shape(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _little(values: Array, dtype: DTypeLike) -> bytes | memoryview:
    """The elements as bytes in the order of the file, without a copy where they lie so already."""
    values = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<"))
    return values.reshape(-1).view(np.uint8).data if values.size else b""


# reading


class _Reader:
    """A file that is read from its start to its end.

    Parameters
    ----------
    file : binary file object
    size : int
        Its length in bytes.
    name : str
        Its name in messages.
    """

    def __init__(self, file: BufferedIOBase, size: int, name: str) -> None:
        self.file, self.size, self.name, self.place = file, size, name, 0

    def fail(self, problem: str, place: int | None = None, hint: str = "") -> FileFormatError:
        """The error for what is wrong at a byte, the current one by default."""
        return FileFormatError(f"{self.name}, byte {self.place if place is None else place}: {problem}",
                               hint=hint or "the file is damaged, or was not written by mx.nd.save.")

    def need(self, count: int, part: str) -> None:
        """Raise unless so many bytes are left."""
        if count > self.size - self.place:
            raise self.fail(f"{part} takes {count:,} bytes, but only {self.size - self.place:,} are left.",
                            hint="the file is truncated or damaged; copy it again.")

    def take(self, form: str, part: str) -> tuple[Any, ...]:
        """The next numbers, as ``struct`` describes them."""
        count = struct.calcsize("<" + form)
        self.need(count, part)
        data = self.file.read(count)
        if len(data) != count:
            raise self.fail(f"{part} ends after {len(data)} bytes.", hint="the file was truncated while it was read.")
        self.place += count
        return struct.unpack("<" + form, data)

    def values(self, shape: tuple[int, ...], dtype: str, part: str) -> Array:
        """The next elements, as an array of that shape."""
        count, kind = math.prod(shape), np.dtype(dtype)
        self.need(count * kind.itemsize, part)
        check_memory(count * kind.itemsize, f"{self.name}, byte {self.place}: {part}", "read it on a machine with more memory.")
        buffer = np.empty(count, kind.newbyteorder("<"))
        if count and self.file.readinto(buffer.view(np.uint8).data) != buffer.nbytes:
            raise self.fail(f"{part} is truncated.", hint="the file was truncated while it was read.")
        place, self.place = self.place, self.place + buffer.nbytes
        if dtype == "bool" and buffer.view(np.uint8).max(initial=0) > 1:
            raise self.fail(f"{part} holds bytes that are neither 0 nor 1.", place)
        try:
            return buffer.astype(kind, copy=False).reshape(shape)
        except ValueError as error:
            raise self.fail(f"{part} has shape {shape}: {error}.", place) from None

    def everything(self) -> list[NDArray] | dict[str, NDArray]:
        """All arrays: a list, or a dict if they have names."""
        (magic,) = self.take("Q", "the header")
        if magic != MAGIC:
            raise self.fail(f"it begins with {magic:#x}, not with {MAGIC:#x}.", 0, "this is not a file of arrays.")
        self.take("Q", "the header")
        (count,) = self.take("Q", "the number of arrays")
        self.need(20 * count, f"the beginning of each of {count:,} arrays")
        arrays = [self.array(f"array {number}") for number in range(count)]
        start = self.place
        (named,) = self.take("Q", "the number of names")
        if named not in (0, count):
            raise self.fail(f"there are {named:,} names for {count:,} arrays.", start)
        names = [self.text(f"name {number}") for number in range(named)]
        if self.place != self.size:
            raise self.fail(f"{self.size - self.place:,} bytes follow the last name.")
        if len(set(names)) != len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise self.fail(f"two arrays are named {twice!r}.", start)
        return dict(zip(names, arrays, strict=True)) if names else arrays

    def text(self, part: str) -> str:
        """The next string."""
        (length,) = self.take("Q", f"the length of {part}")
        self.need(length, part)
        place = self.place
        try:
            return str(self.take(f"{length}s", part)[0].decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise self.fail(f"{part} is not UTF-8 text: {error.reason}.", place) from None

    def array(self, part: str) -> NDArray:
        """The next array, checked like components given by a user."""
        start = self.place
        (magic,) = self.take("I", part)
        stype = self.stype(part) if magic in (V2, V3) else "default"
        stored = self.shape(f"{part}, shape of the stored values") if stype != "default" else None
        if magic not in (V1, V2, V3):
            if magic > MOST_AXES:
                raise self.fail(f"{part} begins with {magic:#x}, which no array begins with.", start)
            shape = tuple(self.take(f"{magic}I", f"{part}, shape"))
        else:
            shape = self.shape(f"{part}, shape")
        if not shape and magic not in (V2, V3):
            raise self.fail(f"{part} has no shape and no values.", start, "it was saved before it was given any.")
        context = self.context(part)
        dtype = self.dtype(f"{part}, element type")
        store = (self.values(shape, dtype, part) if stored is None
                 else self.sparse(part, stype, stored, shape, dtype))
        return wrap(store, Context("cpu", 0)).as_in_context(context)

    def stype(self, part: str) -> str:
        """The next number, as a storage type."""
        place = self.place
        (number,) = self.take("i", f"{part}, storage type")
        if not 0 <= number < len(STYPES):
            raise self.fail(f"{part} has storage type {number}, not 0 to {len(STYPES) - 1}.", place)
        return STYPES[number]

    def shape(self, part: str) -> tuple[int, ...]:
        """The next shape."""
        place = self.place
        (axes,) = self.take("i", part)
        if not 0 <= axes <= MOST_AXES:
            raise self.fail(f"{part} has {axes} axes, not 0 to {MOST_AXES}.", place)
        sizes = self.take(f"{axes}q", part)
        if min(sizes, default=0) < 0:
            raise self.fail(f"{part} is {sizes}, with a negative size.", place)
        return tuple(sizes)

    def context(self, part: str) -> Context:
        """The next device, or the CPU in place of one that is not here."""
        place = self.place
        kind, number = self.take("ii", f"{part}, device")
        if kind not in DEVICES or number < 0:
            raise self.fail(f"{part} lies on device {number} of kind {kind}, which does not exist.", place,
                            "an array without shape and values was saved, or the file is damaged.")
        name = DEVICES[kind]
        return Context(name, number) if name == "cpu" or number < num_gpus() else Context("cpu", 0)

    def dtype(self, part: str) -> str:
        """The next number, as an element type."""
        place = self.place
        (number,) = self.take("i", part)
        if not 0 <= number < len(DTYPES):
            raise self.fail(f"{part} is number {number}{' (bfloat16)' if number == 12 else ''}, which is not supported.", place,
                            f"save it as one of {', '.join(DTYPES)}.")
        return DTYPES[number]

    def sparse(self, part: str, stype: str, stored: tuple[int, ...], shape: tuple[int, ...], dtype: str) -> Sparse:
        """The components of a sparse array, valid together."""
        start, layouts = self.place, []
        for name in INDICES[stype]:
            kind, sizes = self.dtype(f"{part}, type of {name}"), self.shape(f"{part}, {name}")
            if kind not in ("int32", "int64"):
                raise self.fail(f"{part}: {name} holds {kind}, not int32 or int64.", start)
            layouts.append((name, sizes, kind))
        data = self.values(stored, dtype, f"{part}, stored values")
        parts = [self.values(sizes, kind, f"{part}, {name}") for name, sizes, kind in layouts]
        try:
            if stype == "row_sparse":
                return RowSparse(data, parts[0], shape)
            used = int(parts[0][-1]) if parts[0].ndim == 1 and parts[0].size else 0
            if 0 <= used < len(parts[1]) == len(data):  # MXNet's own results can have room behind the last row
                data, parts[1] = data[:used].copy(), parts[1][:used].copy()
            return CSR(data, parts[1], parts[0], shape)
        except (SparsekitError, TypeError) as error:
            raise self.fail(f"{part} is not a valid {stype} array: {getattr(error, 'message', error)}", start) from None


entries(globals(), __all__)
