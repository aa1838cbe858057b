"""Text out of compressed files and archives, by name and within bounds; nothing is written where an archive says."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..base.errors import DataFileError
from ..base.files import written

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["open_member", "unpack"]

#: Text may be so many times as long as what it was packed into, and at least so long: more is an attack or an accident.
RATIO, ANYWAY = 100, 1 << 28

#: First bytes of a file -> how it is read.
_OPENED: dict[bytes, Callable[[Any], Any]] = {
    b"BZh": bz2.BZ2File, b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw), b"\xfd7zXZ\x00": lzma.LZMAFile,
}


#: Bytes of a header of a tar archive, a long name for instance, which is read into memory at once.
LONGEST_HEADER = 1 << 20

#: Errors of the standard library for archives that are damaged, encrypted, malicious or packed by an unknown method.
_DAMAGE = (ArithmeticError, AssertionError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
           lzma.LZMAError, struct.error, tarfile.TarError, zipfile.BadZipFile, zlib.error,
           AttributeError)  # tarfile's own before Python 3.11.4, where a stream cannot be decompressed


@contextlib.contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn errors of reading an archive into named errors; errors of the block's own code pass unchanged."""
    try:
        yield
    except DataFileError:
        raise
    except FileNotFoundError as error:
        raise DataFileError(f"There is no file {path}.", hint="download it first.") from error
    except _DAMAGE as error:
        said = str(error) or type(error).__name__
        if "encrypted" in said or "password" in said:
            raise DataFileError(f"{path} is encrypted, and cannot be read without its password.",
                                hint="unpack it by hand, and give the name of the file in it.") from error
        raise DataFileError(f"{path} is damaged or cut short, or packed in a way that is not known here: {said}.",
                            hint="download it again with refresh=True.") from error


class _Bounded(io.RawIOBase):
    """A file of at most so many bytes, whose damage has a name."""

    def __init__(self, file: Any, limit: int, path: Path) -> None:
        self._file, self._left, self._path = file, limit, path

    def readable(self) -> bool:
        return True

    def readinto(self, target: Buffer) -> int:
        view = memoryview(target)
        with _damage_named(self._path):
            block = self._file.read(min(len(view), 1 << 20))
        self._left -= len(block)
        if self._left < 0:
            raise _too_much(self._path)
        view[:len(block)] = block
        return len(block)


def _too_much(path: Path) -> DataFileError:
    return DataFileError(f"{path.name} unpacks to far more bytes than its size allows.",
                         hint="it is damaged or made to fill the disk: download it again.")


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
        If it is missing, cut short, damaged, encrypted or longer than the limit.
    """
    with contextlib.ExitStack() as stack:
        with _damage_named(path):
            bound = max(ANYWAY, RATIO * path.stat().st_size)
            file = _compressed(path, stack) if member is None else _archived(path, member, bound, stack)
        yield io.BufferedReader(_Bounded(file, bound if limit is None else limit, path), 1 << 20)


def _compressed(path: Path, stack: contextlib.ExitStack) -> IO[bytes]:
    raw: Any = stack.enter_context(path.open("rb"))
    head = raw.read(6)
    raw.seek(0)
    for magic, opened in _OPENED.items():
        if head.startswith(magic):
            return stack.enter_context(opened(raw))
    found: IO[bytes] = raw
    return found


class _Entry(tarfile.TarInfo):
    """A header of a tar archive, limited to a sensible length."""

    def _proc_member(self, tape: object) -> Any:
        if not self.isreg() and self.size > LONGEST_HEADER:
            raise tarfile.ReadError("a header is too long")
        return super()._proc_member(tape)  # type: ignore[misc]


def _archived(path: Path, member: str, bound: int, stack: contextlib.ExitStack) -> IO[bytes] | None:
    if zipfile.is_zipfile(path):
        archive = stack.enter_context(zipfile.ZipFile(path))
        if member in archive.namelist():
            return stack.enter_context(archive.open(member))
    else:
        tape = tarfile.open(path, "r|*", tarinfo=_Entry)  # noqa: SIM115 - closed with the stack
        stack.callback(tape.close)
        for entry in tape:
            if entry.name.removeprefix("./") == member and entry.isfile():
                return tape.extractfile(entry)
            if entry.offset_data + entry.size > bound:
                raise _too_much(path)
    raise DataFileError(f"{path} has no member {member}.", hint="it is not the archive that was published: refresh=True.")


def unpack(path: Path, target: Path, member: str | None = None, limit: int | None = None) -> Path:
    """Write what ``open_member`` reads to a file, which appears when it is complete.

    Raises
    ------
    DataFileError
        As ``open_member`` does, or if the file cannot be written.
    """
    try:
        with open_member(path, member, limit) as text, written(target) as file:
            while block := text.read(1 << 20):
                file.write(block)
    except DataFileError:
        raise
    except OSError as error:
        raise DataFileError(f"{target} cannot be written: {error.strerror or error}.",
                            hint="check that its folder exists, and the space left on the disk.") from error
    return target
