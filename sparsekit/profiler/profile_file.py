"""Files of profiles: an archive of numpy's columns, read without trusting it, and without unpickling anything.

A file is what ``numpy.savez_compressed`` would write, and ``numpy.load`` reads its columns too.  The archive's comment names the
format.  Columns that ``columns.SCHEMA`` marks with a ``+`` are stored as differences from row to row, and texts as one array of
UTF-8 with the place where each ends.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..base.errors import DataFileError, first_line
from ..base.files import path_of
from ..base.signal_safe import undisturbed
from .columns import NONE, SCHEMA, Column, Columns, Ragged, Table, dtype_of, plain_kind, reference_of

if TYPE_CHECKING:
    from ..base.types import Array

FORMAT = b"sparsekit profile 1"

ENDING, PAGE = ".npz", ".html"

#: What the name of a file that ``Profile.save`` writes may end in.
ENDINGS = (ENDING, PAGE, ".json", ".json.gz")

#: Most bytes that the columns of a file may take.
MAX_BYTES = 1 << 30

#: How many times smaller than its content a part of an archive can be.
MOST_PACKED = 1100

#: How many bytes the name of a column, its type and its length may take in a file.
LONGEST_HEADER = 1000

#: References that may be to no row.
OPTIONAL = {("events", "conversion"), ("events", "made_by")}

_TIME = (1980, 1, 1, 0, 0, 0)
_ENDS = np.dtype("<i8")


def check_name(path: str | os.PathLike[str]) -> str:
    """The name of a file that ``Profile.save`` writes.

    Raises
    ------
    DataFileError
        If its ending does not say what is to be written.
    """
    name = Path(path_of(path)).name
    if not name.endswith(ENDINGS):
        raise DataFileError(f"The name of a profile must end in .npz, in .html for a report, or in .json or .json.gz for a "
                            f"Chrome trace, got {name!r}.",
                            hint="'run.npz', for example, which `sparsekit view` and mx.profiler.load read.")
    return name


def write_columns(columns: Columns, stream: IO[bytes]) -> None:
    """Write a profile; the same profile gives the same bytes."""
    with zipfile.ZipFile(stream, "w") as archive:
        archive.comment = FORMAT
        for name, values in _members(columns):
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(values), (1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", _TIME)
            # An interrupt inside would leave a member open, and closing the archive would raise in place of it.
            undisturbed(partial(archive.writestr, info, content.getvalue(), zipfile.ZIP_DEFLATED, 4))


def _members(columns: Columns) -> Iterator[tuple[str, Array]]:
    """The arrays of a file with their names."""
    encoded = [text.encode("utf-8") for text in columns.strings]
    yield "strings.values", np.frombuffer(b"".join(encoded), np.uint8)
    yield "strings.ends", np.cumsum([len(text) for text in encoded], dtype=_ENDS)
    for table, kinds in SCHEMA.items():
        for column, kind in kinds.items():
            values = getattr(getattr(columns, table), column)
            if isinstance(values, Ragged):
                yield f"{table}.{column}.values", values.values
                yield f"{table}.{column}.ends", values.ends
            else:
                yield f"{table}.{column}", np.diff(values, prepend=values.dtype.type(0)) if kind.endswith("+") else values


def is_profile(stream: IO[bytes]) -> bool:
    """Whether a file begins as an archive; the place in it stays what it is."""
    place = stream.tell()
    begin = stream.read(4)
    stream.seek(place)
    return begin[:2] == b"PK"


def read_columns(stream: IO[bytes], name: str, most: int = MAX_BYTES) -> Columns:
    """Read a file that nobody vouches for.

    Types, lengths and references are checked, and sizes before memory is taken for them.

    Parameters
    ----------
    stream : binary file
    name : str
        Of the file, for messages.
    most : int
        Bytes that its columns may take.

    Raises
    ------
    DataFileError
        If it is no profile, or damaged, or too large.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            return _Reader(archive, name, most).columns()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError, OverflowError) as error:
        raise DataFileError(f"{name!r} is truncated or damaged: {first_line(error)}.", hint="save the profile again.") from error


class _Reader:
    """Reads the columns of one archive."""

    def __init__(self, archive: zipfile.ZipFile, name: str, most: int) -> None:
        self._archive, self._name = archive, name
        if archive.comment != FORMAT:
            raise DataFileError(f"{name!r} is not a profile.",
                                hint="profiles are written by prof.save('run.npz') and `sparsekit profile`.")
        self._infos = {info.filename: info for info in archive.infolist()}
        self._check_sizes(most)

    def wrong(self, problem: str) -> DataFileError:
        """The error for a column that is not what it must be."""
        return DataFileError(f"{self._name!r} is damaged: {problem}.", hint="save the profile again.")

    def _check_sizes(self, most: int) -> None:
        """Raise unless what the archive says of its sizes is possible and little enough."""
        infos = list(self._infos.values())
        needed = sum(info.file_size for info in infos)
        if needed > most:
            raise DataFileError(f"{self._name!r} needs {needed:,} bytes, more than {most:,}.",
                                hint="load(path, max_bytes=…) reads more.")
        held = self._archive.fp.seek(0, os.SEEK_END) if self._archive.fp is not None else 0
        packed = sum(info.compress_size for info in infos)
        if packed > held or any(info.file_size > MOST_PACKED * (info.compress_size + 1) for info in infos):
            raise self.wrong("it claims to hold more than it can")

    def columns(self) -> Columns:
        """All tables, checked."""
        strings = self._strings()
        tables = {}
        for table, kinds in SCHEMA.items():
            tables[table] = Table({column: self._column(f"{table}.{column}", kind) for column, kind in kinds.items()})
        result = Columns(tables, strings)
        for table, kinds in SCHEMA.items():
            for column, kind in kinds.items():
                self._check(result, table, column, kind)
        return result

    def _strings(self) -> list[str]:
        values, ends = self._array("strings.values", np.dtype("u1")).tobytes(), self._array("strings.ends", _ENDS)
        self._check_ends("strings", ends, len(values))
        places = ends.tolist()
        texts = [values[begin:end].decode("utf-8") for begin, end in zip([0, *places[:-1]], places, strict=True)]
        if not texts or texts[0]:
            raise self.wrong("its first text is not empty")
        return texts

    def _column(self, name: str, kind: str) -> Column:
        if kind.startswith("["):
            values, ends = self._array(f"{name}.values", dtype_of(kind)), self._array(f"{name}.ends", _ENDS)
            self._check_ends(name, ends, len(values))
            return Ragged(values, ends)
        values = self._array(name, dtype_of(kind))
        return np.cumsum(values, dtype=values.dtype) if kind.endswith("+") else values

    def _array(self, name: str, wanted: np.dtype[Any]) -> Array:  # Any: the type that the column must have
        """One array, whose header must claim exactly the bytes that there are, before memory is taken for them."""
        info = self._infos.get(f"{name}.npy")
        if info is None:
            raise self.wrong(f"{name} is missing")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise self.wrong(f"{name} is packed in another way")
        with self._archive.open(info) as stream:
            try:
                version = np.lib.format.read_magic(stream)
                shape, _, dtype = np.lib.format.read_array_header_1_0(stream, LONGEST_HEADER)
            except ValueError as error:
                raise self.wrong(f"{name} is not a column ({error})") from error
            size = info.file_size - stream.tell()
            if version != (1, 0) or dtype != wanted or len(shape) != 1 or shape[0] * wanted.itemsize != size:
                raise self.wrong(f"{name} is not a column of {wanted}")
            content = stream.read(size)
            if len(content) != size or stream.read(1):  # the second also compares the checksum
                raise self.wrong(f"{name} does not have {size} bytes")
        return np.frombuffer(content, wanted)

    def _check_ends(self, name: str, ends: Array, length: int) -> None:
        steps = np.diff(ends, prepend=0)
        if (len(ends) and (steps.min() < 0 or steps.max() > length)) or (ends[-1] if len(ends) else 0) != length:
            raise self.wrong(f"the lists of {name} do not fit its values")

    def _check(self, columns: Columns, table: str, column: str, kind: str) -> None:
        """Raise unless a column is as long as its table, and what it refers to is there."""
        values = getattr(getattr(columns, table), column)
        flat, rows = (values.values, len(values.ends)) if isinstance(values, Ragged) else (values, len(values))
        if rows != len(getattr(columns, table)):
            raise self.wrong(f"{table}.{column} has another length than its table")
        target = reference_of(kind)
        if not len(flat):
            return
        if plain_kind(kind) == "text":
            least, most = 0, len(columns.strings)
        elif target is not None:
            least, most = NONE if (table, column) in OPTIONAL else 0, len(getattr(columns, target))
        else:
            self._check_numbers(table, column, flat)
            return
        if flat.min() < least or flat.max() >= most:
            raise self.wrong(f"{table}.{column} refers to what is not there")

    def _check_numbers(self, table: str, column: str, values: Array) -> None:
        """Raise if times, sizes and counts are not such as a run can have."""
        signed = {"offset", "error", "stored", "rows", "node", "count", "time", "minimum", "number"}
        if column not in signed and values.min() < 0:
            raise self.wrong(f"{table}.{column} has negative numbers")
        if int(values.max()) >= 1 << 61 or int(values.min()) <= -1 << 61:
            raise self.wrong(f"{table}.{column} has numbers that are too large")
