"""The files of snapshots: a part of each server, and a manifest that is written last and has the checksums of all parts.

A snapshot counts if its manifest is there, the manifest's own checksum is right, and every part has the size and the checksums
that the manifest names.  Nothing else is read, so parts of two snapshots cannot be mixed.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import LostDataError
from ..base.files import written
from ..base.workers import Threads
from ..kernels.cpu.checksum import crc32

if TYPE_CHECKING:
    from io import BufferedReader

    from ..base.types import Array
    from .messages import Payload, Setup

#: Seconds in which a machine must see the folder of a run.
SEEN = 8.0

_MANIFEST = re.compile(r"step-(\d{9,})\.(\d+)\.json")
_PART = re.compile(r"step-(\d{9,})\.(\d+)\.part-\d+")


def see_folder(setup: Setup, who: str) -> None:
    """Raise ``LostDataError`` unless this machine sees the folder of a run, in time: a folder of a network may not answer."""
    if setup.folder is None:
        return
    with contextlib.suppress(OSError):  # or a TimeoutError
        if in_time(SEEN, (Path(setup.folder) / setup.token).exists):
            return
    raise LostDataError(f"{who} on {platform.node()} does not see the folder {setup.folder}.",
                        hint="choose a folder= that all machines reach.")


# object, Any: whatever the function takes and gives
def in_time(seconds: float, function: Callable[..., Any], *arguments: object) -> Payload:
    """What a function gives that may wait for ever; raises ``TimeoutError`` after so many seconds."""
    return Threads(1, "sparsekit-waits").submit(function, *arguments).result(seconds)


class DamagedError(LostDataError):
    """A snapshot cannot be used; the message names the file."""


class Layout(NamedTuple):
    """Arrays with equal numbers of rows, which are written in chunks of rows.

    Attributes
    ----------
    name : str
    rows : int
    per : int
        Rows of a chunk.
    arrays : list of (dtype, shape)
    """

    name: str
    rows: int
    per: int
    arrays: list[tuple[str, list[int]]]

    def firsts(self) -> range:
        """The first row of each chunk; there is always one."""
        return range(0, max(self.rows, 1), self.per)


def bytes_of(array: Array) -> memoryview:
    """The bytes of a contiguous array, in its memory."""
    flat: Any = array.reshape(-1).view(np.uint8)  # Any: Python has no type for buffers before 3.12
    return memoryview(flat)


class PartFile:
    """Writes a part: a header, then chunks in their order.

    Parameters
    ----------
    path : Path
        Must not exist.
    about : str
    layouts : list of Layout
    """

    def __init__(self, path: Path, about: str, layouts: Sequence[Layout]) -> None:
        self.path = path
        self._checksums: list[int] = []
        self._header = json.dumps({"about": about, "layouts": [list(layout) for layout in layouts]}).encode()
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
        try:
            self._write(len(self._header).to_bytes(8, "little") + self._header)
        except OSError:
            self.abandon()
            raise

    def _write(self, data: bytes | memoryview) -> None:
        left = memoryview(data)
        while len(left):
            left = left[os.write(self._file, left):]  # at most 2 GiB at a time, and perhaps less

    def chunk(self, arrays: Sequence[Array]) -> None:
        """Write a chunk, and remember its checksum."""
        checksum = 0
        for array in arrays:
            if array.size:
                data = bytes_of(array)
                checksum = crc32(data, checksum)
                self._write(data)
        self._checksums.append(checksum)

    def close(self) -> dict[str, Any]:  # Any: JSON
        """Wait until all is on the disk; gives what the manifest says of this part."""
        os.fsync(self._file)
        size = os.fstat(self._file).st_size
        os.close(self._file)
        _sync(self.path.parent)
        return {"file": self.path.name, "size": size, "header": zlib.crc32(self._header), "chunks": self._checksums}

    def abandon(self) -> None:
        """Remove the file."""
        os.close(self._file)
        self.path.unlink(missing_ok=True)


def read_part(folder: Path, told: dict[str, Any]) -> Iterator[Any]:  # Any: JSON; the text, then chunks
    """The ``about`` of a part, then ``(layout, first row, rows of each array)`` of each chunk, all of them checked.

    Raises
    ------
    DamagedError
        If the file is not what the manifest says.
    """
    path = folder / told["file"]
    try:
        size = path.stat().st_size
        if size != told["size"]:
            raise _damaged(path, f"has {size} bytes instead of {told['size']}")
        with path.open("rb") as file:
            header = file.read(min(int.from_bytes(file.read(8), "little"), size))
            if zlib.crc32(header) != told["header"]:
                raise _damaged(path, "has a header with a wrong checksum")
            described, checksums = json.loads(header), iter(told["chunks"])
            yield described["about"]
            for layout in (Layout(*listed) for listed in described["layouts"]):
                for first in layout.firsts():
                    yield layout, first, _read_chunk(file, path, layout, first, next(checksums))
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror}") from error


def _read_chunk(file: BufferedReader, path: Path, layout: Layout, first: int, wanted: int) -> list[Array]:
    count, checksum, arrays = min(layout.per, layout.rows - first), 0, []
    for dtype, shape in layout.arrays:
        rows = np.empty((count, *shape[1:]), dtype)
        data = bytes_of(rows)
        if file.readinto(data) != len(data):
            raise _damaged(path, "ends too early")
        checksum = crc32(data, checksum) if len(data) else checksum
        arrays.append(rows)
    if checksum != wanted:
        raise _damaged(path, f"has a wrong checksum in rows {first} to {first + count} of {layout.name}")
    return arrays


def _damaged(path: Path, why: str) -> DamagedError:
    return DamagedError(f"The snapshot file {path} {why}.", hint="the snapshot before it is used, if there is one.")


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class Snapshots:
    """The snapshots of a run in a folder, as the driver sees them: it makes them count, and chooses the one to go back to.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    life : int
        Number of this run among those in the folder, from 1.
    seed : int
        From which workers of all runs in the folder draw random numbers.
    last : int
        Step of the newest snapshot that counts, or from which the run goes on; 0 if there is none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.last = folder, 0
        runs = folder / "runs"
        before = json.loads(runs.read_text()) if runs.exists() else [0, random.SystemRandom().getrandbits(32)]
        self.life, self.seed = before[0] + 1, before[1]
        self._write_whole(runs, json.dumps([self.life, self.seed]))
        self._refused: set[str] = set()
        self._parts: dict[int, dict[int, dict[str, Any]]] = {}  # Any: JSON

    def begin(self) -> tuple[dict[str, Any] | None, list[str]]:  # Any: JSON
        """The newest manifest that is whole and has not been refused, None for the beginning; and what to warn of.

        Parts that belong to no snapshot are removed.

        Raises
        ------
        LostDataError
            If there are snapshots, and none is whole.
        """
        manifests, damaged = self._manifests()
        usable = [manifest for manifest in manifests if manifest["path"] not in self._refused]
        if not usable and (damaged or self._refused):
            names = ", ".join(sorted({*damaged, *self._refused}))
            raise LostDataError(f"No snapshot in {self.folder} is whole; damaged: {names}.",
                                hint="restore the files, or begin anew in another folder.")
        warnings = [f"The snapshot {path} is damaged, and is not used." for path in damaged]
        stray = self._strays(manifests)
        if stray and not usable:
            warnings.append(f"{self.folder} has parts of snapshots, but no manifest: the run begins anew.")
        for _, path in stray:
            path.unlink(missing_ok=True)
        self.last, self._parts = usable[0]["step"] if usable else 0, {}
        return (usable[0] if usable else None), warnings

    def refuse(self, manifest: dict[str, Any]) -> None:  # Any: JSON
        """Do not choose this one again: a part of it is damaged."""
        self._refused.add(manifest["path"])

    def collect(self, server: int, reports: dict[int, dict[str, Any]], servers: int, workers: int, epoch: int) -> int | None:
        """Take the parts that a server has written; the step of a snapshot that counts from now on, or None.

        Raises
        ------
        OSError
            If the manifest cannot be written; the snapshot does not count then.
        """
        for step, told in sorted(reports.items()):
            parts = self._parts.setdefault(step, {})
            parts[server] = told
            if len(parts) == servers and step > self.last:
                body = {"parts": [parts[shard] for shard in range(servers)], "servers": servers, "workers": workers,
                        "step": step, "epoch": epoch}
                del self._parts[step]
                text = json.dumps(body)
                self._write_whole(self.folder / f"step-{step:09}.{epoch}.json", json.dumps([zlib.crc32(text.encode()), text]))
                self.last = step
                self._remove_older()
                return step
        return None

    def _write_whole(self, path: Path, text: str) -> None:
        """Write a file so that it is there whole or not at all."""
        with written(path) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        _sync(self.folder)

    def _manifests(self) -> tuple[list[dict[str, Any]], list[str]]:  # Any: JSON
        """Manifests that are whole, the newest first, and the names of those that are not."""
        manifests, damaged = [], []
        places = [(tuple(map(int, match.groups())), path) for path in self.folder.glob("step-*.json")
                  if (match := _MANIFEST.fullmatch(path.name))]
        for _, path in sorted(places, reverse=True):
            try:
                checksum, body = json.loads(path.read_text())
                if checksum != zlib.crc32(body.encode()):
                    raise ValueError
                manifests.append({**json.loads(body), "path": str(path)})
            except (ValueError, TypeError, AttributeError, OSError):
                damaged.append(str(path))
        return manifests, damaged

    def _remove_older(self, keep: int = 2) -> None:
        """Remove all but the newest snapshots, and older parts that belong to none."""
        manifests, _ = self._manifests()
        for old in manifests[keep:]:
            os.unlink(old["path"])
        for step, path in self._strays(manifests[:keep]):
            if step < self.last:
                path.unlink(missing_ok=True)

    def _strays(self, manifests: Sequence[dict[str, Any]]) -> list[tuple[int, Path]]:  # Any: JSON
        """Parts that belong to none of these snapshots, with their steps."""
        named = {part["file"] for manifest in manifests for part in manifest["parts"]}
        return [(int(match[1]), path) for path in self.folder.glob("step-*.part-*")
                if (match := _PART.fullmatch(path.name)) and path.name not in named]
