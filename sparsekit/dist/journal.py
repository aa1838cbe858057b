"""The journal of a server: what it is told before it answers, and snapshots of what it holds.

A file is a sequence of records.  A record is a header in JSON, arrays as they lie in memory, and a checksum of each.
Nothing that is read is executed.

Each incarnation of a server has a number, the epoch, and writes files of its own, so that what a frozen incarnation writes
when it wakes is never read.  A file ``NAME.epoch-3`` says which incarnation counts: the next one renames it, before it reads
anything.  An incarnation looks for its own after each record and before each answer, so whatever it answered was read by
its successor.

The files of a server ``shard-0`` are ``shard-0.EPOCH.GENERATION.journal`` and ``….snapshot``.  A snapshot begins a
generation.  A journal begins with a record that names the snapshots and journals before it, and how many bytes of each count.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import math
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import DataFileError, FencedError, FileFormatError, JournalFullError, LostDataError
from ..base.files import write_whole
from ..kernels.cpu.checksum import crc32

if TYPE_CHECKING:
    from io import BufferedReader

    from ..base.types import JSON, Array

__all__ = ["Generation", "Log", "Manifest", "Record", "RecordFile", "begin_run", "manifest_of", "read_records", "write_manifest"]

#: Magic bytes, length of the header in JSON, length of the arrays, checksums of what stands before and of the arrays.
HEAD = struct.Struct("<4sIQII")
LENGTHS = struct.Struct("<4sIQ")
MAGIC = b"SKJ1"
#: Arrays begin at multiples of this.
ALIGNED = 16
#: Buffers that one call may write.
BUFFERS = 1000
#: Bytes of a file from which on the disk reserves space for it, and how many at a time: an append that has to find its blocks
#: first took a half longer.
LONG, RESERVED = 1 << 20, 16 << 20
#: What tells the system to reserve space behind the end of a file.
KEEP_SIZE = 1
MANIFEST = "manifest.json"


class Record(NamedTuple):
    """A record of a file.

    Attributes
    ----------
    meta : JSON
    arrays : list of array
    end : int
        Bytes of the file up to its end.
    """

    meta: Any  # Any: JSON, whose form the kind of the record gives
    arrays: list[Array]
    end: int


def _encoded(meta: JSON, arrays: Sequence[Array]) -> list[Any]:  # Any: buffers, of which there is no type before Python 3.12
    """A record as buffers, which share the memory of the arrays."""
    described: list[JSON] = []
    buffers: list[Any] = []  # Any: as above
    size = checksum = 0
    for array in arrays:
        described.append([array.dtype.str, list(array.shape)])
        if array.size:
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            buffers.append(data)
            checksum = crc32(data, checksum)
            size += data.nbytes
            if size % ALIGNED:
                padding = bytes(-size % ALIGNED)
                buffers.append(padding)
                checksum = crc32(padding, checksum)
                size += len(padding)
    header = json.dumps([meta, described], separators=(",", ":")).encode()
    lengths = LENGTHS.pack(MAGIC, len(header), size)
    return [HEAD.pack(MAGIC, len(header), size, crc32(header, crc32(lengths)), checksum) + header, *buffers]


def _found() -> Callable[[int, int, int, int], int] | None:
    """The system's function that reserves space for a file; None if it has none."""
    function = getattr(ctypes.CDLL(None), "fallocate", None) if sys.platform == "linux" else None
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return function


_fallocate = _found()


class RecordFile:
    """A file to which records are appended, each whole or not at all.

    Parameters
    ----------
    path : str
        An existing file is emptied.
    fsync : bool
        Wait after each record until it is on the disk.  Without it, records outlive the process, not the machine.

    Attributes
    ----------
    good : int
        Bytes of the whole records.
    """

    def __init__(self, path: str, fsync: bool = False) -> None:
        self.path, self.fsync, self.good, self._torn, self._reserved = path, fsync, 0, False, 0
        with _named(path):
            self._file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def append(self, meta: JSON, arrays: Sequence[Array] = ()) -> None:
        """Append a record.

        Raises
        ------
        JournalFullError
            If it cannot be written; the file is as before.
        """
        buffers = _encoded(meta, arrays)
        with _named(self.path):
            if self._torn:
                self._cut()
            self._torn = True
            try:
                self.good += self._write(buffers)
                self._torn = False
            finally:
                if self._torn:
                    self._cut()
                    self._torn = False

    def _cut(self) -> None:
        """Cut off what is not a whole record, and what is reserved."""
        os.ftruncate(self._file, self.good)
        self._reserved = 0

    def _reserve(self, size: int) -> None:
        """Reserve space for so many bytes more, where the system can."""
        end = self.good + size
        if end > max(self._reserved, LONG) and _fallocate is not None:
            whole = -(-end // RESERVED) * RESERVED
            done = _fallocate(self._file, KEEP_SIZE, self.good, whole - self.good) == 0
            self._reserved = whole if done else sys.maxsize

    def _write(self, buffers: list[Any]) -> int:  # Any: as in _encoded
        """Write buffers, as a rule by one call, and give their length."""
        whole = sum(map(len, buffers))
        self._reserve(whole)
        done = os.writev(self._file, buffers[:BUFFERS])
        if done < whole:  # a long record, a full disk, or more buffers than a call takes
            rest = memoryview(b"".join(bytes(buffer) for buffer in buffers))[done:]
            while rest:
                rest = rest[os.write(self._file, rest):]
        if self.fsync:
            os.fdatasync(self._file)
        return whole

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                if self._reserved and not self._torn:
                    self._cut()
            os.close(self._file)
        self._file = -1

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter ends, or __init__ failed
            self.close()


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Errors of the system as ``JournalFullError``."""
    try:
        yield
    except JournalFullError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "free disk space; the same push is accepted then." if full else "check the folder."
        raise JournalFullError(f"{path} cannot be written: {error.strerror}.", hint=hint) from error


def read_records(path: str, size: int | None = None) -> Iterator[Record]:
    """The records of a file.

    Parameters
    ----------
    path : str
    size : int, optional
        Bytes to read, all of which must be whole records.  By default up to the first record that is not whole, which was
        being written when the process ended.

    Raises
    ------
    FileFormatError
        If a record is damaged, and it is not the last one.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115 - the generator closes it
    except OSError as error:
        raise LostDataError(f"The file {path} of the journal cannot be read: {error.strerror}.",
                            hint="restore it, or start with an empty folder.") from error
    with file:
        at, end = 0, os.fstat(file.fileno()).st_size if size is None else size
        while at < end:
            record = _next_record(file, at, end)
            if record is None:
                if size is not None or _later_record(file, at, end):
                    raise FileFormatError(f"The journal {path} is damaged at byte {at}.",
                                          hint="restore the file, or start with an empty folder.")
                return
            yield record
            at = record.end


def _next_record(file: BufferedReader, at: int, end: int) -> Record | None:
    """The record at a place of a file; None if no whole one is there."""
    file.seek(at)
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    magic, length, size, of_header, of_arrays = HEAD.unpack(head)
    if magic != MAGIC or at + HEAD.size + length + size > end:
        return None
    header = file.read(length)
    if len(header) < length or crc32(header, crc32(head[:LENGTHS.size])) != of_header:
        return None
    data = np.empty(size, np.uint8)
    if file.readinto(data.data) < size or crc32(data.data) != of_arrays:
        return None
    try:
        meta, described = json.loads(header)
        return Record(meta, list(_arrays(described, data)), at + HEAD.size + length + size)
    except (ValueError, TypeError, RecursionError):
        return None


def _arrays(described: list[Any], data: Array) -> Iterator[Array]:  # Any: JSON of a file, which raises here where it is wrong
    """The arrays that lie in ``data``."""
    at = 0
    for name, shape in described:
        dtype = np.dtype(str(name))
        if dtype.kind not in "biuf":
            raise TypeError(f"a journal holds no arrays of {dtype}")
        count = math.prod(shape)
        yield np.frombuffer(data, dtype, count, at).reshape(shape) if count else np.zeros(shape, dtype)
        at += count * dtype.itemsize
        at += -at % ALIGNED


def _later_record(file: BufferedReader, at: int, end: int) -> bool:
    """Whether a whole record follows a damaged one."""
    file.seek(at + 1)
    rest = file.read(end - at - 1)
    place = rest.find(MAGIC)
    while place >= 0:
        if _next_record(file, at + 1 + place, end) is not None:
            return True
        place = rest.find(MAGIC, place + 1)
    return False


class Generation(NamedTuple):
    """A snapshot and the journals that follow it.

    Attributes
    ----------
    base : str or None
        File of the snapshot; None for the state at the beginning.
    marks : JSON
        How far each key was then, as the server says it.
    segments : list of [str, int]
        Journals, and bytes of each that count.
    """

    base: str | None
    marks: Any  # Any: JSON
    segments: list[list[Any]]  # Any: JSON


class Log:
    """The journals and snapshots of one server.

    Parameters
    ----------
    folder : str
    name : str
        What the names of its files begin with.
    fsync : bool, as in ``RecordFile``

    Attributes
    ----------
    epoch : int
        Number of this incarnation.
    generations : list of Generation
        What ``recover`` reads, the last one without the journal that is being written.
    """

    def __init__(self, folder: str, name: str, fsync: bool = False) -> None:
        self.folder, self.name, self.fsync = folder, name, fsync
        self._names = re.compile(re.escape(name) + r"\.(?:epoch-(\d+)|(\d+)\.(\d+)\.(journal|snapshot|tmp))")
        with _named(folder):
            os.makedirs(folder, exist_ok=True)
            self.epoch = self._take_over()
        self.generation = 0
        self.generations = [Generation(None, [], [])]
        self._file: RecordFile | None = None
        self._before = 0

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _epoch_path(self, number: int) -> str:
        return self._path(f"{self.name}.epoch-{number}")

    def _file_name(self, kind: str, generation: int) -> str:
        return f"{self.name}.{self.epoch}.{generation}.{kind}"

    def _take_over(self) -> int:
        """Become the incarnation that counts, and give its number."""
        while True:
            found = [match for match in map(self._names.fullmatch, os.listdir(self.folder)) if match]
            held = max((int(match[1]) for match in found if match[1]), default=0)
            number = 1 + (held or max((int(match[2]) for match in found if match[2]), default=0))
            with contextlib.suppress(FileNotFoundError, FileExistsError):  # another one was faster
                if held:
                    os.rename(self._epoch_path(held), self._epoch_path(number))
                else:
                    os.close(os.open(self._epoch_path(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                return number

    def check(self) -> None:
        """Look whether this incarnation still counts.

        Raises
        ------
        FencedError
            If another one has taken over.
        """
        try:
            os.stat(self._epoch_path(self.epoch))
        except FileNotFoundError:
            raise FencedError(f"Incarnation {self.epoch} of {self.name} has been replaced by a later one.",
                              hint="no action is needed: workers use the later one.") from None

    # reading

    def _latest(self) -> tuple[str, dict[str, Any]] | None:  # Any: JSON
        """The journal that counts, and what its first record says."""
        found = [match for match in map(self._names.fullmatch, os.listdir(self.folder)) if match and match[4] == "journal"]
        for match in sorted(found, key=lambda match: (int(match[2]), int(match[3])), reverse=True):
            first = next(read_records(self._path(match[0])), None)
            if first is not None:
                return match[0], first.meta[1]
        return None

    def recover(self, within: Callable[[list[Any]], bool] | None = None) -> Iterator[Record]:  # Any: JSON
        """The records from the last snapshot on.

        Parameters
        ----------
        within : callable, optional
            Whether a snapshot with these marks may be used; by default the last one is.

        Raises
        ------
        LostDataError
            If no snapshot may be used, or a file is missing.
        """
        latest = self._latest()
        if latest is None:
            return
        name, header = latest
        self.generations = [Generation(*parts) for parts in header["generations"]]
        self.generation = header["generation"]
        first = len(self.generations) - 1
        while within is not None and not within(self.generations[first].marks):
            first -= 1
            if first < 0:
                raise LostDataError(f"No snapshot of {self.name} is as old as the state of the other servers.",
                                    hint="start with an empty folder and a checkpoint of your program.")
        if (base := self.generations[first].base) is not None:
            yield from self._snapshot_records(base)
        for generation in self.generations[first:]:
            for segment, size in generation.segments:
                yield from self._segment_records(segment, size)
        end = 0
        for record in read_records(self._path(name)):
            end = record.end
            if record.meta[0] != "segment":
                yield record
        self.generations[-1].segments.append([name, end])
        self._before = sum(size for _, size in self.generations[-1].segments)

    def _segment_records(self, name: str, size: int) -> Iterator[Record]:
        for record in read_records(self._path(name), size):
            if record.meta[0] != "segment":
                yield record

    def _snapshot_records(self, name: str) -> Iterator[Record]:
        path = self._path(name)
        ended = False
        for record in read_records(path, os.path.getsize(path) if os.path.exists(path) else None):
            ended = record.meta[0] == "end"
            if not ended:
                yield record
        if not ended:
            raise FileFormatError(f"The snapshot {path} is truncated.", hint="restore the file, or start with an empty folder.")

    # writing

    @property
    def size(self) -> int:
        """Bytes of the journal since the last snapshot."""
        return self._before + (self._file.good if self._file is not None else 0)

    def append(self, meta: JSON, arrays: Sequence[Array] = ()) -> None:
        """Append a record to this incarnation's journal.

        Raises
        ------
        JournalFullError
            If it cannot be written.
        """
        if self._file is None:
            self._file = RecordFile(self._path(self._file_name("journal", self.generation)), self.fsync)
        if self._file.good == 0:
            self._file.append(self._header(self.generation, self.generations))
        self._file.append(meta, arrays)

    def _header(self, generation: int, generations: list[Generation]) -> JSON:
        before: list[JSON] = [[one.base, one.marks, [*one.segments]] for one in generations]
        return ["segment", {"epoch": self.epoch, "generation": generation, "generations": before}]

    def snapshot(self, records: Iterable[tuple[JSON, Sequence[Array]]], marks: JSON, keep: int) -> None:
        """Write a snapshot, begin a journal after it, and remove files that are not needed.

        Parameters
        ----------
        records : iterable of (meta, arrays)
        marks : JSON, as in ``Generation``
        keep : int
            The first generation to keep.

        Raises
        ------
        JournalFullError
            If it cannot be written; the journal goes on as before.
        FencedError
            If another incarnation has taken over.
        """
        self.check()
        number = self.generation + 1
        name, temporary = self._file_name("snapshot", number), self._path(self._file_name("tmp", number))
        journal = self._path(self._file_name("journal", number))
        before = list(self.generations)
        if self._file is not None and self._file.good:
            last = before[-1]
            before[-1] = last._replace(segments=[*last.segments, [os.path.basename(self._file.path), self._file.good]])
        generations = [*before[keep:], Generation(name, marks, [])]
        made: list[str] = []
        try:
            made.append(temporary)
            self._write_snapshot(temporary, records)
            made.append(self._path(name))
            with _named(temporary):
                os.rename(temporary, self._path(name))
            made.append(journal)
            file = RecordFile(journal, self.fsync)
            file.append(self._header(number, generations))
        except BaseException:
            for path in made:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            raise
        if self._file is not None:
            self._file.close()
        self._file, self.generation, self.generations, self._before = file, number, generations, 0
        self.check()
        self._remove({name, os.path.basename(journal), *_files(before), *_files(generations)})

    def _write_snapshot(self, path: str, records: Iterable[tuple[JSON, Sequence[Array]]]) -> None:
        file, count = RecordFile(path), 0
        try:
            for meta, arrays in records:
                file.append(meta, arrays)
                count += 1
            file.fsync = self.fsync
            file.append(["end", count])
        finally:
            file.close()

    def _remove(self, needed: set[str]) -> None:
        """Remove files of this and earlier incarnations that neither this generation nor the one before it names."""
        for name in os.listdir(self.folder):
            match = self._names.fullmatch(name)
            if match and match[2] and int(match[2]) <= self.epoch and name not in needed:
                with contextlib.suppress(OSError):
                    os.unlink(self._path(name))

    def close(self) -> None:
        """Close the journal."""
        if self._file is not None:
            self._file.close()


def _files(generations: Iterable[Generation]) -> Iterator[str]:
    for one in generations:
        if one.base is not None:
            yield one.base
        yield from (name for name, _ in one.segments)


# the folder of a run


class Manifest(NamedTuple):
    """What a folder holds.

    Attributes
    ----------
    layout : str
        Folder in it with the files of the servers.
    shards, workers : int
    mode : {"sync", "async"}
    run : int
        How many runs have begun in this folder.
    """

    layout: str
    shards: int
    workers: int
    mode: str
    run: int = 0


#: Incarnations of a worker that a run has room for.
LIVES = 1_000_000


def manifest_of(folder: str) -> Manifest | None:
    """The manifest of a folder; None if it has none.

    Raises
    ------
    FileFormatError
        If it cannot be read.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            found = Manifest(**json.load(file))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}", hint="restore it, or use an empty folder.") from error
    if os.path.basename(found.layout) != found.layout or not found.layout:
        raise FileFormatError(f"{path} names a layout outside the folder.", hint="restore it, or use an empty folder.")
    return found


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Write the manifest of a folder, whole or not at all."""
    with _named(folder):
        os.makedirs(folder, exist_ok=True)
    try:
        write_whole(os.path.join(folder, MANIFEST), json.dumps(manifest._asdict()).encode())
    except DataFileError as error:
        raise JournalFullError(error.message, hint=error.hint) from error


class Run(NamedTuple):
    """What the driver of a run must know.

    Attributes
    ----------
    life : int
        Number of the first incarnation of each worker.  It is above those of all runs before in this folder.
    started_before : bool
        Whether the folder holds what an earlier run left.
    manifest : Manifest
    """

    life: int
    started_before: bool
    manifest: Manifest


def begin_run(folder: str, shards: int, workers: int, mode: str = "sync") -> Run:
    """Prepare a folder for a run, before its servers start.

    Raises
    ------
    LostDataError
        If the folder holds the state of another number of servers or workers, or of another mode.
    """
    found = manifest_of(folder)
    manifest = found or Manifest("servers-1", shards, workers, mode)
    check_manifest(folder, manifest, shards, workers)
    manifest = manifest._replace(run=manifest.run + 1)
    write_manifest(folder, manifest)
    return Run(manifest.run * LIVES, found is not None, manifest)


def check_manifest(folder: str, manifest: Manifest, shards: int, workers: int) -> None:
    """See that a run fits the folder; its mode may be another one, which the workers set.

    Raises
    ------
    LostDataError
        If it does not.
    """
    for what, held, asked in (("servers", manifest.shards, shards), ("workers", manifest.workers, workers)):
        if held != asked:
            raise LostDataError(f"{folder} holds the state of a run with {what} {held}, but {asked} was requested.",
                                hint="use an empty folder, or let resume() change the numbers of servers and workers.")
