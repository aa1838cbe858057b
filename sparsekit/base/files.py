"""Files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from .errors import DataFileError

__all__ = ["write_whole", "written"]


@contextlib.contextmanager
def written(path: Any) -> Iterator[Any]:
    """A binary file to write, under a temporary name beside ``path``, which it takes when all has gone well."""
    folder, name = os.path.split(os.fsdecode(path))
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
