"""Text out of compressed files and archives, by name and within bounds; nothing is written where an archive says."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..base.errors import DataFileError
from ..base.files import written

__all__ = ["open_member", "unpack"]

#: Text may be so many times as long as what it was packed into, and at least so long: more is an attack or an accident.
RATIO, ANYWAY = 100, 1 << 28

#: How a file is read that begins so.
_OPENED: dict[bytes, Callable[[Any], Any]] = {
    b"BZh": bz2.BZ2File, b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw), b"\xfd7zXZ\x00": lzma.LZMAFile,
}


class _Bounded(io.RawIOBase):
    """A file of at most so many bytes."""

    def __init__(self, file: Any, limit: int, name: str) -> None:
        self._file, self._left, self.name = file, limit, name

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        block = self._file.read(min(len(target), 1 << 20))
        self._left -= len(block)
        if self._left < 0:
            raise DataFileError(f"{self.name} unpacks to far more than data of its size do.",
                                hint="it is damaged or made to fill the disk: download it again.")
        target[:len(block)] = block
        return len(block)


@contextlib.contextmanager
def open_member(path: Path, member: str | None = None, limit: int | None = None) -> Iterator[Any]:
    """The bytes of a plain, gzip, bz2 or xz file, or of one member of a zip or tar archive.

    Parameters
    ----------
    path : Path
    member : str, optional
        Its exact name in the archive.
    limit : int, optional
        Bytes that it may have; by default 100 times those of the file, and at least 256 MiB.

    Raises
    ------
    DataFileError
        If it is missing, cut short, damaged or longer than the limit.
    """
    try:
        bound = limit if limit is not None else max(ANYWAY, RATIO * path.stat().st_size)
        with contextlib.ExitStack() as stack:
            file = _compressed(path, stack) if member is None else _archived(path, member, stack)
            yield io.BufferedReader(_Bounded(file, bound, path.name), 1 << 20)
    except DataFileError:
        raise
    except FileNotFoundError as error:
        raise DataFileError(f"There is no file {path}.", hint="download it first.") from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise DataFileError(f"{path} is damaged or cut short: {error}.", hint="download it again with refresh=True.") from error


def _compressed(path: Path, stack: contextlib.ExitStack) -> Any:
    raw: Any = stack.enter_context(path.open("rb"))
    head = raw.read(6)
    raw.seek(0)
    for magic, opened in _OPENED.items():
        if head.startswith(magic):
            return stack.enter_context(opened(raw))
    return raw


def _archived(path: Path, member: str, stack: contextlib.ExitStack) -> Any:
    if zipfile.is_zipfile(path):
        archive = stack.enter_context(zipfile.ZipFile(path))
        if member in archive.namelist():
            return stack.enter_context(archive.open(member))
    else:
        tape = tarfile.open(path, "r|*")  # noqa: SIM115 - closed with the stack
        stack.callback(tape.close)
        for entry in tape:
            if entry.name.removeprefix("./") == member and entry.isfile():
                return tape.extractfile(entry)
    raise DataFileError(f"{path} has no member {member}.", hint="it is not the archive that was published: refresh=True.")


def unpack(path: Path, target: Path, member: str | None = None, limit: int | None = None) -> Path:
    """Write what ``open_member`` reads to a file, which appears when it is complete."""
    with open_member(path, member, limit) as text, written(target) as file:
        while block := text.read(1 << 20):
            file.write(block)
    return target
