"""Text sources: paths, file objects and lines, plain, gzip or bz2; errors contain the name of the source."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from ..base.config import config
from ..base.errors import DataFileError, DTypeError, ShapeError, expected
from ..base.files import path_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Source of text: a path, an open file, or lines.
TextLike: TypeAlias = "str | os.PathLike[str] | Iterable[str | bytes]"

_UNSUPPORTED = {
    b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstandard", b"PK\x03\x04": "zip", b"\x04\x22\x4d\x18": "lz4",
}


class _Blocks(io.RawIOBase):
    """A readable file over an iterator of bytes or str."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks, self._rest = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Buffer) -> int:
        view = memoryview(target)
        while not len(self._rest):
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(_bytes(block))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _bytes(text: object) -> bytes:
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise DTypeError(expected("A line of text", "str or bytes", type(text)),
                         hint="pass a path, a file object, or an iterable of lines.")
    return text.encode() if isinstance(text, str) else bytes(text)


def _pieces(file: BinaryIO) -> Iterator[Any]:
    while block := file.read(1 << 16):
        yield block


def _joined(files: list[str]) -> Iterator[Any]:
    """The decompressed text of files, each with a newline at its end and without the mark that some begin with."""
    for name in files:
        with TextSource(name).open() as handle:
            block = b""
            for place, block in enumerate(_pieces(handle)):
                yield block.removeprefix(b"\xef\xbb\xbf") if place == 0 else block
            if not block.endswith(b"\n"):
                yield b"\n"


def _terminated(lines: Iterable[Any]) -> Iterator[Any]:
    """The lines, each with a newline at its end."""
    for line in lines:
        data = _bytes(line)
        yield data if data.endswith(b"\n") else data + b"\n"


class _Lines(io.RawIOBase):
    """A text file that raises on lines longer than ``config.line_limit``."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name, self._length, self._line = file, name, 0, 1

    def readable(self) -> bool:
        return True

    def readinto(self, target: Buffer) -> int:
        view = memoryview(target)
        block = self._file.read1(min(len(view), config.line_limit + 1))
        view[:len(block)] = block
        ends = block.count(b"\n")
        first = block.find(b"\n") if ends else len(block)
        if self._length + first > config.line_limit:
            raise line_too_long(self._name, self._line)
        self._line += ends
        self._length = len(block) - 1 - block.rfind(b"\n") if ends else self._length + len(block)
        return len(block)


def line_too_long(name: str, line: int) -> DataFileError:
    """The error for a line longer than ``config.line_limit``."""
    return DataFileError(f"{name}, line {line} is longer than config.line_limit of {config.line_limit:,} bytes.",
                         hint="check that the file is text with line breaks, or raise sparsekit.config.line_limit.")


def check_batch(name: str, rows: int, size: int) -> None:
    """Raise ``ShapeError`` if a batch of ``rows`` rows, which takes ``size`` bytes, exceeds ``config.batch_limit``."""
    if size > config.batch_limit:
        raise ShapeError(f"{name}: a batch of {rows:,} rows would take {size:,} bytes, above config.batch_limit of "
                         f"{config.batch_limit:,}.", hint="take a smaller batch_size, or raise sparsekit.config.batch_limit.")


def _files_of(name: str) -> tuple[list[str], dict[str, str]]:
    """The files that a name in MXNet's form stands for, and its options: ``a.txt;folder;file:///b.txt?option=value``."""
    paths, _, options = name.partition("?")
    files: list[str] = []
    for path in paths.partition("#")[0].split(";"):  # behind "#" MXNet has a file to keep the parsed text in
        path = path.removeprefix("file://")
        if os.path.isdir(path):
            inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file() and entry.stat().st_size)
            if not inside:
                raise DataFileError(f"The folder {path} has no files with text.", hint="check the path.")
            files += inside
        elif path:
            files.append(path)
    return files, dict(option.partition("=")[::2] for option in options.split("&") if option)


class TextSource:
    """A path, a file object or an iterable of lines, opened as decompressed bytes.

    Parameters
    ----------
    source : str, path, file object (binary or text) or iterable of lines
        gzip and bz2 are recognized by their first bytes, not by the name.  A string that is not the name of a file is read as
        MXNet reads it: several files or folders separated by ``;``, each perhaps with ``file://`` before it, and options
        behind ``?``.

    Attributes
    ----------
    name : str
        Name of the source in messages.
    options : dict of str to str
        What is behind ``?`` in the name.
    reopenable : bool
        Whether the source can be read again from the start.

    Raises
    ------
    DTypeError
        If the source is anything else.
    """

    def __init__(self, source: TextLike) -> None:
        self._source: Any = source  # Any: ``is_path`` and ``_is_file`` tell which kind of source it is
        self._origin = 0
        self.options: dict[str, str] = {}
        self._files: list[str] = []
        self.is_path = isinstance(source, (str, bytes, os.PathLike))
        self._is_file = not self.is_path and hasattr(source, "read")
        if self.is_path:
            self.name = path_of(source)
            if os.path.isdir(self.name) or (isinstance(source, str) and not os.path.exists(source)):
                self._files, self.options = _files_of(self.name)
            if len(self._files) == 1:
                self._source = self.name = self._files[0]
            self.reopenable = all(map(os.path.isfile, self._files or [self.name]))  # a pipe has a path too
        elif self._is_file:
            name = getattr(source, "name", None)
            self.name = name if isinstance(name, str) else "<stream>"
            self.reopenable = bool(getattr(source, "seekable", bool)())
            self._origin = self._place() if self.reopenable else 0
        elif isinstance(source, Iterable):
            self.name, self.reopenable = "<lines>", isinstance(source, (list, tuple))
        else:
            raise DTypeError(f"Text cannot be read from {type(source).__name__}.",
                             hint="pass a path, a file object, or an iterable of lines.")

    def _place(self) -> int:
        return int(self._source.tell())

    def _open_raw(self) -> io.BufferedReader:
        if len(self._files) > 1:
            return io.BufferedReader(_Blocks(_joined(self._files)))
        if self.is_path:
            return open(self._source, "rb")
        if self._is_file:
            if self.reopenable:
                self._source.seek(self._origin)
            return io.BufferedReader(_Blocks(_pieces(self._source)))
        return io.BufferedReader(_Blocks(_terminated(self._source)))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading as decompressed bytes; errors of reading inside the block become a ``DataFileError``."""
        with self._named_errors(), self._open_raw() as raw:
            head = raw.peek(6)[:6]
            for magic, kind in _UNSUPPORTED.items():
                if head.startswith(magic):
                    raise DataFileError(f"{self.name} is compressed with {kind}, which is not supported.",
                                        hint="decompress it, or compress it with gzip or bz2.")
            if head.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            elif head.startswith(b"BZh"):
                with bz2.BZ2File(raw) as unpacked_bz2:
                    yield cast(BinaryIO, unpacked_bz2)
            else:
                yield raw

    @contextmanager
    def lines(self) -> Iterator[Any]:
        """Open for reading as decompressed text; a line longer than ``config.line_limit`` raises ``DataFileError``."""
        with self.open() as handle:
            yield io.TextIOWrapper(io.BufferedReader(_Lines(handle, self.name)), "utf-8")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except DataFileError:
            raise
        except FileNotFoundError as error:
            raise DataFileError(f"There is no file {self.name}.", hint="check the path; relative paths start "
                                f"at {os.getcwd()}.") from error
        except EOFError as error:
            raise DataFileError(f"{self.name} ends in the middle of its compressed data.",
                                hint="the file is truncated: copy or download it again.") from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise DataFileError(f"{self.name} is damaged: {error}.", hint="copy or download it again.") from error
        except OSError as error:
            raise DataFileError(f"{self.name} cannot be read: {error}.", hint="check the file and its "
                                "permissions.") from error

    def at(self, line: int) -> tuple[str, int]:
        """The name of the file that has a line of the whole text, counted from 1, and the line's number there."""
        for name in self._files[:-1]:
            lines = sum(block.count(b"\n") for block in _joined([name]))
            if line <= lines:
                return name, line
            line -= lines
        return self._files[-1] if self._files else self.name, line

    def check_options(self, wanted: Mapping[str, tuple[str, ...] | None]) -> None:
        """Raise for options that are not among these, or have other values than those listed; None allows all."""
        for name, value in self.options.items():
            allowed = wanted.get(name, ())
            if allowed is not None and value not in allowed:
                choices = [f"{option}={'|'.join(values or ('…',))}" for option, values in wanted.items()]
                raise DataFileError(f"{self.name}: the option {name}={value} cannot be read.",
                                    hint=f"behind '?' may be {', '.join(choices)}.")

    def size(self) -> int:
        """Number of bytes of decompressed text; reads the whole source if it is compressed or not a regular file."""
        with self.open() as handle:
            if isinstance(handle, io.BufferedReader) and handle.seekable():
                return handle.seek(0, os.SEEK_END)
            total = 0
            while block := handle.read(1 << 20):
                total += len(block)
            return total
