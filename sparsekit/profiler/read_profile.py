"""Reading profiles: files of this library, and traces of other profilers; nothing in them is trusted."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from ..base.entry import entry
from ..base.errors import DataFileError, ProfilerError, expected
from ..base.files import path_of
from .arguments import whole
from .differences import Diff
from .differences import diff as differences
from .foreign_trace import read_foreign
from .profile import Profile
from .profile_file import MAX_BYTES, is_profile, read_columns
from .stored import Stored

if TYPE_CHECKING:
    from ..base.types import JSON

    #: One run: a profile, or the name of a file; and several that repeat it.
    Run: TypeAlias = Profile | str | os.PathLike[str]
    Runs: TypeAlias = Run | list[Run] | tuple[Run, ...]

#: Bytes that are read at once.
BLOCK = 1 << 20

#: Most events that are read of a trace.
MAX_EVENTS = 5_000_000

_ORIGIN = "prof.save(), `sparsekit profile` and SPARSEKIT_PROFILE=1 write profiles; torch.profiler and MXNet write traces."


@entry
def load(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Profile:
    """Read a saved profile, or a trace of torch.profiler, MXNet or another profiler in Chrome's format.

    Parameters
    ----------
    path : path
        A ``.npz`` file that ``Profile.save`` wrote, or a ``.json`` or ``.json.gz`` file of another profiler.
    max_bytes : int
        Largest size, in bytes, that is read when unpacked.

    Returns
    -------
    Profile
        All that the saved profile has.  What other profilers do not record is empty: storage types, bytes written, layers.

    Raises
    ------
    DataFileError
        If the file is missing, truncated, too large, neither a profile nor a trace, or a trace that ``Profile.export`` wrote.
    """
    whole("max_bytes", max_bytes, 1)
    path = path_of(path)
    name = Path(path).name
    try:
        with open(path, "rb") as stream:
            if is_profile(stream):
                return Profile(Stored(read_columns(stream, name, max_bytes)))
            return Profile(read_foreign(_limited(_parse(_unpacked(stream, name, max_bytes), name), name), name))
    except DataFileError:  # which is an OSError
        raise
    except OSError as error:
        raise DataFileError(f"{name!r} cannot be read: {error.strerror or error}.", hint=_ORIGIN) from error


def loaded(run: Run) -> Profile:
    """A profile, or that of a file.

    Raises
    ------
    ProfilerError
        If ``run`` is neither a profile nor a name.
    """
    if isinstance(run, Profile):
        return run
    if not isinstance(run, (str, os.PathLike)):
        raise ProfilerError(expected("Each run", "a profile or the name of a file", type(run)),
                            hint="prof, or 'run.npz', for example.")
    return load(run)


def diff(before: Runs, after: Runs) -> Diff:
    """Compare two runs: profiles, names of files, or lists of either that repeat a run each.

    Parameters
    ----------
    before, after : Profile, path, or list of them

    Returns
    -------
    Diff
        See ``differences.diff`` for how runs are aligned and what is compared.

    Raises
    ------
    ProfilerError
        If an argument is neither a profile nor a file name, or a run is still being recorded.
    DataFileError
        If a file cannot be read or is not a profile.
    """
    sides = [[loaded(run) for run in (side if isinstance(side, (list, tuple)) else [side])] for side in (before, after)]
    return differences(*sides)


def _limited(document: JSON, name: str) -> JSON:
    """The same, unless it has more events than are read, or was written for other viewers."""
    about = document.get("otherData") if isinstance(document, dict) else None
    if isinstance(about, dict) and about.get("written by") == "sparsekit":
        raise DataFileError(f"{name!r} is a trace that sparsekit wrote for other viewers: it does not hold all of the profile.",
                            hint="prof.save('run.npz') keeps all of it; https://ui.perfetto.dev opens this file.")
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if isinstance(events, list) and len(events) > MAX_EVENTS:
        raise DataFileError(f"{name!r} has {len(events):,} events, more than {MAX_EVENTS:,}.", hint="profile less at once.")
    return document


def _unpacked(stream: BinaryIO, name: str, most: int) -> bytes:
    """What a file holds, unpacked if it is packed; memory is taken for what is there, once it is known to be little enough."""
    try:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if packed:
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=stream))  # cast: it has the methods
        size = 0
        while size <= most and (block := stream.read(BLOCK)):
            size += len(block)
        if size > most:
            raise DataFileError(f"{name!r} is larger than {most:,} bytes when unpacked.",
                                hint="load(path, max_bytes=…) reads more.")
        stream.seek(0)
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFileError(f"{name!r} is truncated or damaged: {error}.", hint="write the trace again.") from error


def _parse(content: bytes, name: str) -> JSON:
    try:
        document: JSON = json.loads(content, parse_constant=_refuse)
        return document
    except json.JSONDecodeError as error:
        truncated = error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated")
        problem = "ends too early: it is truncated" if truncated and content.strip() else f"is not valid JSON: {error.msg}"
        raise DataFileError(f"{name!r} {problem} (line {error.lineno}).", hint=_ORIGIN) from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DataFileError(f"{name!r} is not valid JSON: {type(error).__name__}.", hint=_ORIGIN) from error


def _refuse(constant: str) -> None:
    raise ValueError(constant)
