"""Memory that arrays of other libraries and of this one share, and the copies where it cannot be shared.

A ``copy`` argument has three values, as in numpy.  True copies everything.  None shares what neither side can spoil for the
other.  False shares everything, or raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.dtypes import element_type
from ..base.errors import ArgumentError, ConversionError, expected
from ..storage.memory import handed_out

if TYPE_CHECKING:
    from ..base.types import Array, DType

#: Element types of indices.
INDEX_TYPES = ("int32", "int64")


def check_copy(copy: object) -> bool | None:
    """The argument ``copy``: True, False or None."""
    if not (copy is None or isinstance(copy, (bool, np.bool_))):
        raise ArgumentError(expected("copy", "True, False or None", copy),
                            hint="None copies where memory cannot be shared, False raises there, True always copies.")
    return None if copy is None else bool(copy)


class Sharing:
    """One conversion: which of its components are shared, and how many bytes are copied.

    Parameters
    ----------
    copy : bool or None
        As described atop this module.
    index_dtype : optional
        Element type that the indices are to have.

    Attributes
    ----------
    shared : int
        Bytes of components that were not copied.
    """

    def __init__(self, copy: bool | None, index_dtype: object = None) -> None:
        self.copy = check_copy(copy)
        self.index_dtype = None if index_dtype is None else element_type(index_dtype)
        self.shared = 0

    def copies(self, why: str) -> None:
        """Note that the components are copied; raise if nothing may be copied."""
        if self.copy is False:
            raise ConversionError(f"copy=False: {why}.", hint="copy=None shares what can be shared, and copies the rest.")
        self.shared = 0

    def values(self, array: Array, dtype: DType) -> Array | None:
        """The memory of values as an array that can be written to; None if they are to be copied."""
        if self.copy is True:
            return None
        why = _unlike(array, dtype, "the values")
        if why is None and not array.flags.writeable:
            why = "the values are read-only, but arrays here are writable"
        return self._shared(array, why)

    def indices(self, array: Array, name: str, constant: bool) -> Array | None:
        """The memory of indices; None if they are to be copied.

        Parameters
        ----------
        constant : bool
            Whether nobody writes to this memory.  Kernels rely on indices as they were checked, so other memory is shared
            by ``copy=False`` only.
        """
        if self.copy is True or (self.copy is None and not constant):
            return None
        why = _unlike(array, self.index_dtype or array.dtype, name)
        if array.dtype.name not in INDEX_TYPES:
            why = f"{name} hold {array.dtype}, but indices here are int32 or int64"
        return self._shared(array, why)

    def _shared(self, array: Array, why: str | None) -> Array | None:
        if why is not None:
            if self.copy is False:
                self.copies(why)
            return None
        self.shared += array.nbytes
        return handed_out(array)


def _unlike(array: Array, dtype: DType, name: str) -> str | None:
    """Why memory cannot be a component as it is; None if it can."""
    if not array.dtype.isnative:
        return f"{name} have the byte order of other machines"
    if array.dtype != dtype:
        return f"{name} hold {array.dtype}, and {dtype} is asked for"
    if not array.flags.c_contiguous or not array.flags.aligned:
        return f"{name} are not contiguous: shape {array.shape}, strides {array.strides}"
    return None


def outside(part: Array, share: bool) -> Array:
    """A component for another library: its memory, or a copy."""
    return handed_out(part) if share else part.copy()
