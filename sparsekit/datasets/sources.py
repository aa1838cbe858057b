"""Docstrings of installed packages, read from their source files; nothing is imported or run."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

__all__ = ["docstrings_in", "docstrings_of", "source_files", "version_of"]

#: Folders whose docstrings do not document the package: its tests, and copies of other packages.
PASSED_BY = frozenset({"_vendor", "extern", "externals", "test", "tests", "third_party", "thirdparty", "vendor",
                       "vendored"})

_DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def source_files(package: str, limit: int) -> list[Path]:
    """Give the ``.py`` files of an installed package in the order of their names.

    Parameters
    ----------
    package : str
        Name to import it by.
    limit : int
        Bytes of source after which no further file is taken: parsing takes about a second for 8 MB.

    Returns
    -------
    list of Path
        Empty if the package is not installed, or not as files.
    """
    files: list[Path] = []
    for path in sorted(_candidates(package)):
        try:
            limit -= path.stat().st_size
        except OSError:  # a link that leads nowhere
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
    except (ImportError, ValueError):  # a module that was removed, or put together by hand
        return
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for folder, inner, names in os.walk(root):
            inner[:] = [name for name in inner if name not in PASSED_BY]
            yield from (Path(folder, name) for name in names if name.endswith(".py"))
    if spec and not spec.submodule_search_locations and str(spec.origin).endswith(".py"):
        yield Path(str(spec.origin))


def docstrings_of(package: str, limit: int) -> Iterator[str]:
    """Give every docstring of an installed package, file by file in the order of their names."""
    for path in source_files(package, limit):
        try:
            source = path.read_bytes()
        except OSError:
            continue
        yield from docstrings_in(source)


def docstrings_in(source: bytes | str) -> Iterator[str]:
    """Give the docstrings of a module, its classes and its functions, outer before inner.

    A file that is not valid Python has none: templates and examples of other versions are to be expected.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in their text is not our user's business
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
    """Give the version of the distribution that installs ``package``; ``""`` where none says so."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    # The distribution has another name, as scikit-learn's has; finding it means reading every installed one's files.
    for name in importlib.metadata.packages_distributions().get(package, ()):
        return importlib.metadata.version(name)
    return ""
