"""Reading compressed files and members of archives, up to a maximum size; paths in archives are never written to."""

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
from ..ndarray import load, save

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..ndarray.ndarray import NDArray

#: Version of the kept form of parsed files.
FORMAT = 1

#: Default limit of decompressed bytes: ``RATIO`` times the size of the file, at least ``LEAST``.  More is damage or an attack.
RATIO, LEAST = 100, 1 << 28

#: Functions that open compressed files, by the first bytes of the file.
_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"BZh": bz2.BZ2File, b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw), b"\xfd7zXZ\x00": lzma.LZMAFile,
}


#: Maximum size of a header of a tar archive, such as a long name, which tarfile reads into memory at once.
LONGEST_HEADER = 1 << 20

#: Errors of the standard library for archives that are damaged, encrypted, malicious or of an unknown compression.
_DAMAGE = (ArithmeticError, AssertionError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError,
           lzma.LZMAError, struct.error, tarfile.TarError, zipfile.BadZipFile, zlib.error,
           AttributeError)  # tarfile's own before Python 3.11.4, where a stream cannot be decompressed


@contextlib.contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    """Convert errors of reading an archive to ``DataFileError``."""
    try:
        yield
    except DataFileError:
        raise
    except FileNotFoundError as error:
        raise DataFileError(f"There is no file {path}.", hint="download it first.") from error
    except _DAMAGE as error:
        message = str(error) or type(error).__name__
        if "encrypted" in message or "password" in message:
            raise DataFileError(f"{path} is encrypted, and cannot be read without its password.",
                                hint="unpack it by hand, and pass the path of the file in it.") from error
        raise DataFileError(f"{path} is damaged, truncated, or compressed by an unsupported method: {message}.",
                            hint="download it again with refresh=True.") from error


class _Bounded(io.RawIOBase):
    """A file that raises ``DataFileError`` if it is damaged or has more than ``limit`` bytes."""

    def __init__(self, file: Any, limit: int, path: Path) -> None:
        self._file, self._left, self._path = file, limit, path

    def readable(self) -> bool:
        return True

    def readinto(self, target: Buffer) -> int:
        view = memoryview(target)
        with _named_errors(self._path):
            block = self._file.read(min(len(view), 1 << 20))
        self._left -= len(block)
        if self._left < 0:
            raise _size_error(self._path)
        view[:len(block)] = block
        return len(block)


def _size_error(path: Path) -> DataFileError:
    return DataFileError(f"{path.name} decompresses to more bytes than the limit.",
                         hint="it is damaged or malicious: download it again.")


@contextlib.contextmanager
def open_member(path: Path, member: str | None = None, limit: int | None = None) -> Iterator[Any]:
    """Open a plain, gzip, bz2 or xz file, or one member of a zip or tar archive, as decompressed bytes.

    Parameters
    ----------
    path : Path
    member : str, optional
        Exact name of the member of an archive.
    limit : int, optional
        Maximum number of decompressed bytes; default: 100 times the size of the file, at least 256 MiB.

    Raises
    ------
    DataFileError
        If the file or member is missing, truncated, damaged, encrypted or longer than the limit.
    """
    with contextlib.ExitStack() as stack:
        with _named_errors(path):
            bound = max(LEAST, RATIO * path.stat().st_size)
            file = _compressed(path, stack) if member is None else _archived(path, member, bound, stack)
        yield io.BufferedReader(_Bounded(file, bound if limit is None else limit, path), 1 << 20)


def _compressed(path: Path, stack: contextlib.ExitStack) -> IO[bytes]:
    raw: Any = stack.enter_context(path.open("rb"))
    head = raw.read(6)
    raw.seek(0)
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return stack.enter_context(opener(raw))
    file: IO[bytes] = raw
    return file


class _Entry(tarfile.TarInfo):
    """A header of a tar archive of at most ``LONGEST_HEADER`` bytes."""

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
                raise _size_error(path)
    raise DataFileError(f"{path} has no member {member}.", hint="download the archive again with refresh=True.")


def parsed_once(raw: Path, digest: str, stem: str, refresh: bool, parse: Callable[[], dict[str, NDArray]]) -> dict[str, NDArray]:
    """The arrays that ``parse`` makes of a downloaded file, kept in a file beside it, under the digest of the download.

    Parameters
    ----------
    raw : Path
    digest : str
        Digest of the file.
    stem : str
        What the name of the kept file begins with.
    refresh : bool
        Parse again.
    parse : callable
        Called without arguments if nothing is kept, or what is kept is damaged.
    """
    kept = raw.with_name(f"{stem}.{FORMAT}-{digest[:16]}.params")
    if kept.exists() and not refresh:
        try:
            arrays: dict[str, NDArray] = load(kept)
            return arrays
        except DataFileError:
            kept.unlink()
    parsed = parse()
    save(kept, parsed)
    return parsed


def unpack(path: Path, target: Path, member: str | None = None, limit: int | None = None) -> Path:
    """Write the decompressed bytes of ``open_member`` to a file, which appears when it is complete.

    Raises
    ------
    DataFileError
        As for ``open_member``, or if the file cannot be written.
    """
    try:
        with open_member(path, member, limit) as text, written(target) as file:
            while block := text.read(1 << 20):
                file.write(block)
    except DataFileError:
        raise
    except OSError as error:
        raise DataFileError(f"{target} cannot be written: {error.strerror or error}.",
                            hint="check that its folder exists, and the free space of the disk.") from error
    return target
