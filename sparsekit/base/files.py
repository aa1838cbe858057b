"""Files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from .errors import DataFileError, DTypeError, shown

__all__ = ["path_of", "write_whole", "written"]


def path_of(name: Any) -> str:
    """The path of a file of this machine.

    Raises
    ------
    DTypeError
        If it is neither str, bytes nor a path.
    DataFileError
        If no file can have it: it is empty, or has a NUL or half of a surrogate pair.
    """
    try:
        path = os.fsdecode(name)
    except Exception:  # an object's own __fspath__ may raise anything
        raise DTypeError(f"A {type(name).__name__} is no file name: a file name is a str or a path.",
                         hint="give 'name.params'.") from None
    try:
        fits = bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise DataFileError(f"{shown(path)} is no file name.", hint="give a name such as 'weights.params'.")
    return path


@contextlib.contextmanager
def written(path: Any) -> Iterator[Any]:
    """A binary file to write, under a temporary name beside ``path``, which it takes when all has gone well."""
    path = path_of(path)
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115 - closed below; what could not be opened is not ours to remove
    try:
        with file:
            yield file
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def write_whole(path: Any, data: bytes) -> None:
    """Write a file at once.

    Raises
    ------
    DataFileError
        If it cannot be written.
    """
    try:
        with written(path) as file:
            file.write(data)
    except OSError as error:
        raise DataFileError(f"{os.fsdecode(path)} cannot be written: {error.strerror}.",
                            hint="check that its folder exists.") from error
