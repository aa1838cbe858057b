"""Arrays to and from other libraries: DLPack for dense arrays, binsparse for sparse ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import strict
from ..base.context import Context, gpu
from ..base.dtypes import element_type
from ..base.entry import entries
from ..base.errors import ConversionError, DTypeError, ShapeError, SparsekitError
from ..base.version import __version__
from ..core import device
from ..core.arrays import wrap
from ..kernels import for_device
from ..storage import CSR
from ..storage.memory import handed_out
from .arguments import check_dense, on, shape_of, values_of
from .sparse_creation import csr_matrix, row_sparse_array

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

    from ..base.types import Array, DType
    from ..storage.types import Store
    from .ndarray import NDArray


__all__ = ["Interchange", "from_binsparse", "from_dlpack", "read_only", "to_dlpack_for_read", "to_dlpack_for_write"]

#: Kinds of devices in DLPack: ordinary memory, that of a GPU, and ordinary memory that a GPU reaches.
CPU, GPU, PINNED = 1, 2, 3

#: The levels of a row_sparse array in binsparse's description of formats that have no name.
SOME_ROWS = {"custom": {"level": {"level_desc": "sparse", "rank": 1, "level": {
    "level_desc": "dense", "rank": 1, "level": {"level_desc": "element"}}}}}


class Interchange:
    """The protocols by which other libraries take arrays of this one, sharing memory."""

    __slots__ = ()
    _store: Any
    _ctx: Any
    stype: str

    def __dlpack__(self, **keywords: object) -> CapsuleType:
        """A DLPack capsule over the memory of a dense array.

        Indices of a sparse array are copied, since consumers of a capsule may ignore that it is read-only.

        Raises
        ------
        ConversionError
            If the array is sparse: DLPack has no sparse arrays, but each component is a dense one.  Or if the array is
            the indices of a sparse one, and ``copy=False`` requests their memory.
        """
        self._check_dense()
        store = self._store
        if isinstance(store, np.ndarray) and not store.flags.writeable:
            if keywords.get("copy") is False:
                raise ConversionError("The memory of a sparse array's indices is not shared.", hint="leave out copy=False.")
            store, keywords = store.copy(), {**keywords, "copy": None}
        return store.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device."""
        self._check_dense()
        kind, number = self._store.__dlpack_device__()
        return int(kind), int(number)

    def _check_dense(self) -> None:
        if self.stype != "default":
            names = ", ".join(f"x.{name}" for name in self._store.components)
            raise ConversionError(f"DLPack has no sparse arrays; this one is {self.stype}.",
                                  hint=f"pass on {names}, each of which is dense, or use x.__binsparse__().")

    def to_dlpack_for_read(self) -> CapsuleType:
        """A DLPack capsule over the memory; the consumer must not write to it."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> CapsuleType:
        """A DLPack capsule over the memory; what the consumer writes changes the array."""
        return self.__dlpack__()

    def __binsparse_descriptor__(self) -> dict[str, Any]:
        """What the arrays of ``__binsparse__`` mean, by the binsparse specification 0.1.

        Experimental: the protocol is a draft.  A csr array has the format ``CSR``, a dense one ``DVEC`` or ``DMAT``,
        a row_sparse one a format of its own: sparse rows of dense elements.

        Returns
        -------
        dict
            As parsed from JSON.
        """
        described = {"version": "0.1", "format": self._binsparse_format(), "shape": list(self._store.shape),
                     "number_of_stored_values": int(getattr(self._store, "nnz", self._store.size
                                                            if self.stype == "default" else 0)),
                     "data_types": {name: _type_name(part.dtype) for name, part in self._binsparse_parts().items()}}
        return {"binsparse": described, "original_source": f"sparsekit, version {__version__}"}

    def __binsparse__(self, *, descriptor: dict[str, Any] | None = None) -> dict[str, Any]:
        """The component arrays by their names in the binsparse specification, sharing memory; indices are read-only.

        Experimental: the protocol is a draft.

        Parameters
        ----------
        descriptor : dict, optional
            The format that is wanted; any but the array's own raises.

        Returns
        -------
        dict of str to NDArray
            Each with DLPack.  Values of several dimensions come as one dimension, row after row.
        """
        if descriptor is not None and descriptor.get("binsparse", {}).get("format") != self._binsparse_format():
            raise ConversionError(f"A {self.stype} array is not given in the format "
                                  f"{descriptor.get('binsparse', {}).get('format')!r}.", hint="convert it with tostype() first.")
        return {name: wrap(part, self._ctx) if name == "values" else read_only(part, self._ctx)
                for name, part in self._binsparse_parts().items()}

    def _binsparse_format(self) -> str | dict[str, Any]:
        if self.stype == "csr":
            return "CSR"
        if self.stype == "default" and len(self._store.shape) in (1, 2):
            return "DVEC" if len(self._store.shape) == 1 else "DMAT"
        if self.stype == "row_sparse" and len(self._store.shape) == 2:
            return SOME_ROWS
        raise ConversionError(f"binsparse has no {self.stype} arrays of shape {self._store.shape}.",
                              hint="reshape it to two dimensions.")

    def _binsparse_parts(self) -> dict[str, Any]:
        store = self._store
        if self.stype == "csr":
            return {"pointers_to_1": store.indptr, "indices_1": store.indices, "values": store.data}
        if self.stype == "row_sparse":
            return {"indices_0": store.indices, "values": store.data.reshape(-1)}
        return {"values": store.reshape(-1)}


def read_only(part: Any, ctx: Context) -> NDArray:  # Any: numpy's or cupy's
    """A component as an array that cannot be written to; on a GPU, whose memory has no such mark, a copy."""
    if not isinstance(part, np.ndarray):
        with device.current(ctx):
            return wrap(part.copy(), ctx)
    view = part.view()
    view.flags.writeable = False
    return wrap(view, ctx)


def _type_name(dtype: DType) -> str:
    return "bint8" if dtype == np.bool_ else str(dtype.name)


class _Capsule:
    """A bare DLPack capsule, as MXNet passes them around, with the methods that others expect."""

    def __init__(self, capsule: CapsuleType) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_keywords: object) -> CapsuleType:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def from_dlpack(dlpack: object) -> NDArray:
    """An array over the memory of another library's array.

    Parameters
    ----------
    dlpack : object with ``__dlpack__``, or a capsule in ordinary memory
        For example a torch tensor, a numpy or cupy array, or the result of ``to_dlpack_for_read``.

    Returns
    -------
    NDArray
        It shares the memory: writing to one array changes the other.

    Raises
    ------
    ConversionError
        If the object does not support DLPack, or its memory cannot be shared.
    DTypeError
        If NDArrays do not support the element type.
    """
    capsule: Any = dlpack
    source: Any = _Capsule(capsule) if type(dlpack).__name__ == "PyCapsule" else dlpack
    if not hasattr(source, "__dlpack__"):
        raise ConversionError(f"A {type(dlpack).__name__} has no DLPack.", hint="mx.nd.array makes a copy of other arrays.")
    if getattr(source, "stype", "default") != "default":
        source._check_dense()
    try:
        kind, number = source.__dlpack_device__()
        xp = for_device("gpu" if kind == GPU else "cpu").xp
        array = xp.from_dlpack(source)
    except (BufferError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        raise ConversionError(f"A {type(dlpack).__name__} cannot be shared: {error}.",
                              hint="mx.nd.array makes a copy of its values.") from None
    element_type(array.dtype)
    if not array.flags.c_contiguous:
        raise ConversionError(f"An array of shape {array.shape} with strides {array.strides} cannot be shared.",
                              hint="pass a contiguous copy of it.")
    if kind == GPU:
        return wrap(array, gpu(int(number)))
    if not array.flags.writeable and source is dlpack:
        raise ConversionError("Read-only memory cannot be shared.", hint="mx.nd.array makes a copy of its values.")
    if not array.flags.writeable:  # numpy also sets this flag if DLPack did not state the access
        array = handed_out(array)
    return wrap(array, Context("cpu", 0))


def to_dlpack_for_read(data: NDArray) -> CapsuleType:
    """A DLPack capsule over the memory of a dense array; the consumer must not write to it."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> CapsuleType:
    """A DLPack capsule over the memory of a dense array; what the consumer writes changes the array."""
    return data.to_dlpack_for_write()


# binsparse, the other way


@strict
def from_binsparse(x: Any, /, *, descriptor: dict[str, Any] | None = None, device: Context | None = None,
                   copy: bool | None = None) -> NDArray:
    """An array from an object of another library that supports binsparse.

    Experimental: the protocol is a draft (data-apis/array-api, issue 840).

    Parameters
    ----------
    x : object with ``__binsparse_descriptor__`` and ``__binsparse__``
        Supported formats are CSR, CSC, COO (COOR, COOC), DCSR, DCSC, DVEC, DMAT (DMATR, DMATC), and sparse rows of dense
        elements.
    descriptor : dict, optional
        Passed to ``x`` to request another format.
    device : Context, optional
        Context of the new array.
    copy : bool, optional
        Components are always copied and checked, so False raises ``ConversionError``.

    Returns
    -------
    NDArray, CSRNDArray or RowSparseNDArray
        Dense for the dense formats, row_sparse for sparse rows of dense elements, and csr for all others.

    Raises
    ------
    ConversionError
        If ``x`` does not support binsparse, or uses another version or format.
    SparseFormatError
        If the components do not form a valid array.
    """
    if copy is False:
        raise ConversionError("binsparse arrays are copied and checked.", hint="leave out copy=False.")
    try:
        described = x.__binsparse_descriptor__()["binsparse"]
        parts = x.__binsparse__() if descriptor is None else x.__binsparse__(descriptor=descriptor)
        described = described if descriptor is None else descriptor["binsparse"]
        version, name, shape = str(described["version"]), described["format"], shape_of(described["shape"])
        types, count = described.get("data_types", {}), int(described.get("number_of_stored_values", -1))
        components = {key: (part, types.get(key, "")) for key, part in parts.items()}
    except SparsekitError:
        raise
    except (AttributeError, KeyError, TypeError) as error:
        raise ConversionError(f"A {type(x).__name__} does not support binsparse: {error!r}.",
                              hint="mx.nd.array takes scipy matrices and numpy arrays.") from None
    if version.split(".")[0] != "0" or described.get("fill"):
        raise ConversionError(f"binsparse {version}{' with a fill value' if described.get('fill') else ''} is not supported.",
                              hint="version 0.1 without a fill value is supported.")
    arrays = {key: _component(key, part, kind) for key, (part, kind) in components.items()}
    try:
        return on(_store_of(name, shape, arrays, count), device)
    except KeyError as error:
        raise ConversionError(f"The format {name!r} needs the array {error}.", hint=f"there are {sorted(arrays)}.") from None


def _component(name: str, part: Array, described: str) -> Array:
    """One component as numpy; values that are all one are given once."""
    if described.startswith("complex["):
        raise DTypeError(f"{name} holds complex numbers.", hint="take real and imaginary parts apart first.")
    array = np.from_dlpack(part) if hasattr(part, "__dlpack__") and not isinstance(part, np.ndarray) else np.asarray(part)
    if name != "values":
        return array
    return values_of(array).astype(bool) if "bint8" in described else values_of(array)


def _store_of(name: object, shape: tuple[int, ...], arrays: dict[str, Any], count: int) -> Store:
    values = arrays["values"]
    if values.size == 1 and count > 1:
        values = np.repeat(values, count)
    if isinstance(name, dict):
        if name != SOME_ROWS:
            raise ConversionError(f"The format {name!r} is not supported.", hint="request CSR.")
        rows = arrays["indices_0"]
        check_dense((rows.size, *shape[1:]), values.dtype)
        return row_sparse_array((_shaped(values, (rows.size, *shape[1:])), rows), shape=shape)._store
    if name in ("DVEC", "DMAT", "DMATR", "DMATC"):
        dense = _shaped(values, shape[::-1] if name == "DMATC" else shape)
        return np.ascontiguousarray(dense.T) if name == "DMATC" else dense
    if name in ("COO", "COOR", "COOC"):
        return csr_matrix((values, (arrays["indices_0"], arrays["indices_1"])), shape=shape)._store
    if name not in ("CSR", "CSC", "DCSR", "DCSC"):
        raise ConversionError(f"The format {name!r} is not supported.", hint="request CSR.")
    ends, minor = arrays["pointers_to_1"], arrays["indices_1"]
    lines = shape[0] if name.endswith("R") else shape[1]
    matrix: CSR = csr_matrix((values, minor, ends), shape=(ends.size - 1, shape[1] if name.endswith("R") else shape[0]))._store
    if name == "CSR" and ends.size - 1 == lines:
        return matrix
    major = np.repeat(arrays["indices_0"] if name.startswith("D") else np.arange(ends.size - 1), np.diff(matrix.indptr))
    places = (major, matrix.indices) if name.endswith("R") else (matrix.indices, major)
    return csr_matrix((matrix.data, places), shape=shape)._store


def _shaped(values: Array, shape: tuple[int, ...]) -> Array:
    try:
        return values.reshape(shape)
    except ValueError:
        raise ShapeError(f"{values.size} values do not fill the shape {shape}.",
                         hint="the descriptor and its arrays disagree.") from None


entries(globals(), [name for name in __all__ if name != "Interchange"])
