"""Docstrings of installed packages, read from their source files without executing them."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

__all__ = ["docstrings_by_file", "docstrings_in", "source_files", "split_words"]

#: Maximum number of bytes of source that are read of one package, which limits the time.
SOURCE_LIMIT = 16_000_000

#: Names of folders that are skipped: tests, and copies of other packages.
SKIPPED = frozenset({"_vendor", "extern", "externals", "test", "tests", "third_party", "thirdparty", "vendor",
                     "vendored"})

_WORD = re.compile(r"[a-z][a-z0-9]+")
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


def docstrings_by_file(package: str) -> list[tuple[Path, list[str]]]:
    """The docstrings of each file of an installed package, in files sorted by name."""
    return [(path, list(docstrings_in(_source(path)))) for path in source_files(package, SOURCE_LIMIT)]


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


def split_words(text: str) -> list[str]:
    """The words of a text in lower case: a letter followed by letters and digits, at least one; ``_`` is a separator."""
    return _WORD.findall(text.lower())
