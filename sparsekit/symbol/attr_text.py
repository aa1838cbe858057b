"""Conversion of attributes to text, as in symbols and files, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dtypes import element_type
from ..base.errors import DTypeError, FileFormatError
from ..base.literal import literal
from ..core.op import REQUIRED

if TYPE_CHECKING:
    from ..base.types import DType

#: MXNet's numbers of element types and storage types.
DTYPE_CODES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6, "bool": 7}
STYPE_CODES = {"default": 0, "row_sparse": 1, "csr": 2}

#: The most characters of an attribute.
LONGEST = 1 << 16


def text(value: object) -> str:
    """An attribute's value as text."""
    if isinstance(value, (type, np.dtype)):
        try:
            return np.dtype(value).name
        except TypeError:
            pass
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (tuple, list)):
        inner = [repr(item) if isinstance(item, str) else text(item) for item in value]
        return f"[{', '.join(inner)}]" if isinstance(value, list) else f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    return str(value)


def parse(value: str, default: object = REQUIRED, where: str = "an attribute") -> Any:
    """The value that a text stands for, given the default that it takes the place of.

    Nothing is executed: numbers, words, tuples of them, and text.

    Raises
    ------
    FileFormatError
        If the text cannot be read as a value of the default's type.
    """
    if not isinstance(value, str):
        raise FileFormatError(f"{where} is a {type(value).__name__}, not text.", hint="attributes are written as text.")
    if len(value) > LONGEST:
        raise FileFormatError(f"{where} is a text of {len(value):,} characters.", hint=f"at most {LONGEST:,} make sense.")
    if isinstance(default, str):
        return value
    parsed = literal(value.strip())
    if isinstance(default, bool) and type(parsed) in (int, bool) and parsed in (0, 1):
        return bool(parsed)
    kinds: tuple[type, ...] = {bool: (bool,), int: (int,), float: (int, float), tuple: (tuple, int, type(None))}.get(
        type(default), (object,))
    if isinstance(parsed, bool) and bool not in kinds and object not in kinds:
        parsed = int(parsed)
    if not isinstance(parsed, kinds) and parsed is not None:
        raise FileFormatError(f"{where} must be of type {type(default).__name__}, got {value[:80]!r}.",
                              hint=f"its default is {default!r}.")
    return parsed


def dtype_of(code: str) -> DType | None:
    """The element type of a number of MXNet's, or of a name; None for -1."""
    for name, number in DTYPE_CODES.items():
        if code == str(number):
            return np.dtype(name)
    if code == "-1":
        return None
    return element_type(code)


def stype_of(code: str) -> str | None:
    """The storage type of a number of MXNet's, or of a name; None for -1."""
    for name, number in STYPE_CODES.items():
        if code in (str(number), name):
            return name
    if code == "-1":
        return None
    raise DTypeError(f"There is no storage type {code[:40]!r}.", hint=f"known: {', '.join(STYPE_CODES)}.")
