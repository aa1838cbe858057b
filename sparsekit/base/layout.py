"""Where words lie in CPython's and numpy's objects: which versions were checked, and checks that cannot crash."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from .types import Array

#: Versions whose layout was checked: ``tests/core/test_layout_guard.py`` passed there.  A version joins when it passes there too.
PYTHONS, NUMPYS = {(3, 11), (3, 12), (3, 13), (3, 14)}, {(2, 3), (2, 4), (2, 5)}

#: The version of numpy's C interface, which fixes the structure of arrays for every compiled package.
INTERFACE = 0x2000000


def checked_versions() -> str:
    """In words, for a remedy."""
    pythons, numpys = (" or ".join(f"{major}.{minor}" for major, minor in sorted(versions)) for versions in (PYTHONS, NUMPYS))
    return f"Python {pythons} with numpy {numpys}"


def unknown_versions() -> str:
    """Why nobody knows the layout of this interpreter's and this numpy's objects; empty if it was checked.  Reads no memory."""
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "tables need the memory layout of CPython with its interpreter lock"
    if sys.maxsize < 1 << 62 or sys.byteorder != "little":
        return "tables need a little-endian processor of 64 bits"
    python, numpy = sys.version_info[:2], tuple(map(int, np.__version__.split(".")[:2]))
    if os.name != "posix" or python not in PYTHONS or numpy not in NUMPYS:
        return f"the memory layout of Python {platform.python_version()} with numpy {np.__version__} has not been checked"
    core: Any = vars(np)["_core"]  # Any: numpy's stubs leave it out
    interface = core.multiarray._get_ndarray_c_version()
    return "" if interface == INTERFACE else f"the memory layout of numpy's C interface {interface:#x} has not been checked"


def own_word(thing: object, offset: int) -> int | None:  # object: any whose type says how large it is
    """The word of eight bytes at an offset in an object's own memory; None if the word is not within it."""
    kind: Any = type(thing)  # Any: mypy takes the size of its instances for a property
    size: int = kind.__basicsize__
    if offset % 4 or not 0 <= offset <= size - 8:
        return None
    return int.from_bytes(ctypes.string_at(id(thing) + offset, 8), sys.byteorder)


def _word_behind(pointer: int | None) -> int | None:
    """The word that a pointer leads to; None if no memory is there.

    The kernel copies it: it answers with an error where a load would end the process.
    """
    if not pointer:
        return None
    write = ctypes.CDLL(None).write
    write.argtypes, write.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_ssize_t
    with contextlib.ExitStack() as stack:
        reading, writing = os.pipe()
        stack.callback(os.close, reading)
        stack.callback(os.close, writing)
        return int.from_bytes(os.read(reading, 8), sys.byteorder) if write(writing, pointer, 8) == 8 else None


def layout_differs(offsets: ModuleType) -> str:
    """How lists, arrays and element types differ in memory from the offsets of ``kernels.cpu.table_rows``; empty if they do not.

    Words within objects are compared, as numbers, with what the public interface says.  Pointers are followed only if all of
    these agree.
    """
    ones = np.ones((3, 2), np.float32)
    examples: list[Array] = [ones, ones.T, np.arange(5), np.zeros((7, 4, 2), np.int8)]
    if not all(_own_words_agree(array, offsets) for array in examples):
        return "the words of arrays are not where they are looked for in memory"
    for array in examples:
        sizes, held = own_word(array, offsets.SIZES), [array]
        if [_word_behind(sizes and sizes + 8 * axis) for axis in range(array.ndim)] != [*array.shape]:
            return "the lengths of arrays are not where they are looked for in memory"
        if _word_behind(own_word(held, offsets.ITEMS)) != id(array):
            return "the items of lists are not where they are looked for in memory"
    return ""


def _own_words_agree(array: Array, offsets: ModuleType) -> bool:
    kind, flags = own_word(array.dtype, offsets.KIND), own_word(array, offsets.FLAGS)
    return (own_word(array, offsets.CLASS) == id(type(array)) and own_word(array, offsets.MEMORY) == array.ctypes.data
            and own_word(array, offsets.DTYPE) == id(array.dtype)
            and flags is not None and flags & 0xFFFFFFFF == array.flags.num
            and kind is not None and kind & 0xFFFF == ord(array.dtype.kind) | ord(array.dtype.char) << 8
            and chr(kind >> 16 & 0xFF) in "=|" and kind >> 32 == array.dtype.num)
