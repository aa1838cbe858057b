"""Docstrings of installed packages, read from their source files without executing them."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..base.errors import DataFileError, DownloadError
from ..base.files import write_whole
from .download import data_home

__all__ = ["docstrings_by_file", "docstrings_in", "docstrings_of", "source_files", "version_of"]

#: Names of folders that are skipped: tests, and copies of other packages.
SKIPPED = frozenset({"_vendor", "extern", "externals", "test", "tests", "third_party", "thirdparty", "vendor",
                     "vendored"})

_DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def source_files(package: str, limit: int) -> list[Path]:
    """The ``.py`` files of an installed package, sorted by name.

    Parameters
    ----------
    package : str
        Name by which it is imported.
    limit : int
        Maximum total size in bytes; parsing takes about a second for 8 MB.

    Returns
    -------
    list of Path
        Empty if the package is not installed as source files.
    """
    files: list[Path] = []
    for path in sorted(_candidates(package)):
        try:
            limit -= path.stat().st_size
        except OSError:  # a dangling link
            continue
        if limit < 0:
            break
        files.append(path)
    return files


def _candidates(package: str) -> Iterator[Path]:
    if package in sys.builtin_module_names or not package.isidentifier():
        return
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a removed module, or a module object without a spec
        return
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for folder, inner, names in os.walk(root):
            inner[:] = [name for name in inner if name not in SKIPPED]
            yield from (Path(folder, name) for name in names if name.endswith(".py"))
    if spec and not spec.submodule_search_locations and str(spec.origin).endswith(".py"):
        yield Path(str(spec.origin))


def docstrings_of(package: str, limit: int) -> Iterator[str]:
    """Yield all docstrings of an installed package, in files sorted by name."""
    for _, texts in docstrings_by_file(package, limit):
        yield from texts


def docstrings_by_file(package: str, limit: int) -> list[tuple[Path, list[str]]]:
    """The docstrings of each file of an installed package, in files sorted by name.

    Parsing takes seconds, so that they are kept in the folder ``docstrings`` of ``data_home()`` until a file changes.
    """
    files = source_files(package, limit)
    # As JSON gives it back: versions of Python differ in what they parse, and 1 is the form of what is kept.
    stamp = [1, sys.version, *map(_state, files)]
    place = _place(package)
    found = _kept(place, stamp, len(files))
    if found is None:
        found = [list(docstrings_in(_source(path))) for path in files]
        if place is not None:
            with contextlib.suppress(OSError, DataFileError):
                place.parent.mkdir(parents=True, exist_ok=True)
                write_whole(place, json.dumps({"stamp": stamp, "texts": found}).encode())
    return list(zip(files, found, strict=True))


def _place(package: str) -> Path | None:
    """The file that keeps the docstrings of a package; None if there is no folder for it."""
    try:
        return data_home() / "docstrings" / f"{package}.json"
    except DownloadError:
        return None


def _kept(place: Path | None, stamp: list[object], count: int) -> list[list[str]] | None:  # object: as JSON has it
    """The texts that were kept for these files, so many; None if there are none."""
    try:
        held = json.loads(place.read_bytes()) if place is not None else {}
        texts = held["texts"] if held["stamp"] == stamp else []
        fits = len(texts) == count and all(isinstance(text, str) for one in texts for text in one)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none yet, or a damaged file
        return None
    return texts if fits and count else None


def _state(path: Path) -> list[str | int]:
    try:
        state = path.stat()
    except OSError:  # it has just been removed
        return [str(path)]
    return [str(path), state.st_size, state.st_mtime_ns]


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def docstrings_in(source: bytes | str) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions, outer before inner.

    Invalid Python has no docstrings: packages contain templates, and examples for other versions of Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escape sequences in the source
            tree: ast.Module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    waiting: list[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = [tree]
    while waiting:
        node = waiting.pop()
        text = ast.get_docstring(node, clean=False)
        if text:
            yield inspect.cleandoc(text)
        waiting += [inner for inner in reversed(node.body) if isinstance(inner, _DOCUMENTED)]


def version_of(package: str) -> str:
    """The version of the distribution that contains ``package``; ``""`` if there is none."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    # The distribution has another name, such as scikit-learn; this call is slow, as it reads all installed metadata.
    for name in importlib.metadata.packages_distributions().get(package, ()):
        return importlib.metadata.version(name)
    return ""
