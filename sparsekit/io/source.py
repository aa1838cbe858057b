"""Where text comes from: paths, file objects and lines, plain, gzip or bz2, with errors that name the source."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from ..base.errors import DataFileError, DTypeError

__all__ = ["TextSource"]

_UNSUPPORTED = {
    b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstandard", b"PK\x03\x04": "zip", b"\x04\x22\x4d\x18": "lz4",
}


class _Blocks(io.RawIOBase):
    """An iterator over bytes or str, as a file to read."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks, self._rest = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not len(self._rest):
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block.encode() if isinstance(block, str) else bytes(block))
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _pieces(file: Any) -> Iterator[Any]:
    while block := file.read(1 << 16):
        yield block


def _ended(lines: Iterable[Any]) -> Iterator[Any]:
    """The lines, each with a newline at its end."""
    for line in lines:
        if not isinstance(line, (str, bytes, bytearray, memoryview)):
            raise DTypeError(f"A line of text is str or bytes, not {type(line).__name__}.",
                             hint="pass a path, a file object, or an iterable of lines.")
        data = line.encode() if isinstance(line, str) else bytes(line)
        yield data if data.endswith(b"\n") else data + b"\n"


class TextSource:
    """A path, a file object or an iterable of lines, opened as decompressed bytes.

    Parameters
    ----------
    source : str, path, file object (binary or text) or iterable of lines
        gzip and bz2 are recognised by their first bytes, whatever the name.

    Attributes
    ----------
    name : str
        What messages call it.
    reopenable : bool
        Whether it can be read again from the start.
    """

    def __init__(self, source: Any) -> None:
        self._source, self._origin = source, 0
        self.is_path = isinstance(source, (str, bytes, os.PathLike))
        self._is_file = not self.is_path and hasattr(source, "read")
        if self.is_path:
            self.name = os.fsdecode(source)
            self.reopenable = os.path.isfile(source)  # a pipe has a path too
        elif self._is_file:
            name = getattr(source, "name", None)
            self.name = name if isinstance(name, str) else "<stream>"
            self.reopenable = bool(getattr(source, "seekable", bool)())
            self._origin = source.tell() if self.reopenable else 0
        elif isinstance(source, Iterable):
            self.name, self.reopenable = "<lines>", isinstance(source, (list, tuple))
        else:
            raise DTypeError(f"Text cannot be read from {type(source).__name__}.",
                             hint="pass a path, a file object, or an iterable of lines.")

    def _open_raw(self) -> io.BufferedReader:
        if self.is_path:
            return open(self._source, "rb")
        if self._is_file:
            if self.reopenable:
                self._source.seek(self._origin)
            return io.BufferedReader(_Blocks(_pieces(self._source)))
        return io.BufferedReader(_Blocks(_ended(self._source)))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading, decompressed; what goes wrong inside the block becomes a ``DataFileError``."""
        with self._explained(), self._open_raw() as raw:
            head = raw.peek(6)[:6]
            for magic, kind in _UNSUPPORTED.items():
                if head.startswith(magic):
                    raise DataFileError(f"{self.name} is {kind}-compressed, which is not read here.",
                                        hint="unpack it, or compress it with gzip or bz2.")
            if head.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            elif head.startswith(b"BZh"):
                with bz2.BZ2File(raw) as unpacked_bz2:
                    yield cast(BinaryIO, unpacked_bz2)
            else:
                yield raw

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DataFileError:
            raise
        except FileNotFoundError as error:
            raise DataFileError(f"There is no file {self.name}.", hint="check the path; relative paths start "
                                f"at {os.getcwd()}.") from error
        except IsADirectoryError as error:
            raise DataFileError(f"{self.name} is a directory, not a file.", hint="pass one file.") from error
        except EOFError as error:
            raise DataFileError(f"{self.name} ends in the middle of its compressed data.",
                                hint="the file was cut short: copy or download it again.") from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise DataFileError(f"{self.name} is damaged: {error}.", hint="copy or download it again.") from error
        except OSError as error:
            raise DataFileError(f"{self.name} cannot be read: {error}.", hint="check that it is an intact file "
                                "and that you may read it.") from error

    def size(self) -> int:
        """Bytes of decompressed text; reads the whole source if it is compressed or no regular file."""
        with self.open() as handle:
            if isinstance(handle, io.BufferedReader) and handle.seekable():
                return handle.seek(0, os.SEEK_END)
            total = 0
            while block := handle.read(1 << 20):
                total += len(block)
            return total
