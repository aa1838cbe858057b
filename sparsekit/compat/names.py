"""Where MXNet's names are: one table, ``names.json``, and the importer that serves it.

A module that lacks a name asks ``find``, and Python asks ``spec`` for a module that has no file.  The table has two parts:

- ``modules`` maps the path of a module below ``mxnet`` to the module that stands for it, or to its names by the module they are
  in; ``name=other`` is a name that is ``other`` there.  A module with a file has these names beside its own.
- ``absent`` lists what is not here by kind: what it is, what to use instead, and patterns of full names.

``tests/test_names.py`` compares the first part with MXNet's own tree; ``tests/old_names.py`` writes the list in
``DIFFERENCES.md``.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..base.errors import AbsentImportError, AbsentNameError, UnknownNameError
from ..base.forking import load
from ..base.lazy import asker

__all__ = ["find", "kind_of", "names_in", "rows", "spec", "table"]

#: What ``names.json`` holds.  Any: its two parts differ in form.
table: dict[str, Any] = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))

_rows: dict[str, dict[str, tuple[str, str]]] = {}

#: Modules with paths of our own that stand for one of MXNet's: their paths -> its.
_STANDS_FOR: dict[str, str] = {
    ours: path for path, ours in table["modules"].items() if isinstance(ours, str) and ours.startswith(("base.", "compat."))
}


def rows(path: str) -> dict[str, tuple[str, str]]:
    """The names that the table has for a module: name -> (module that it is in, its name there); no name is the module itself."""
    entries = _rows.get(path)
    if entries is None:
        entries = _rows[path] = {}
        sources = table["modules"].get(path, {})
        for place, names in (sources.items() if isinstance(sources, dict) else ()):
            for word in names.split():
                name, equals, other = word.partition("=")
                entries[name] = (place, other if equals else name)
    return entries


def _below(module: str) -> str:
    """The path of a module below the package, or that of MXNet's module that it stands for."""
    path = module.partition(".")[2]
    return _STANDS_FOR.get(path, path)


def _children(path: str) -> set[str]:
    """Names of the modules right below one that have no file."""
    start = f"{path}." if path else ""
    return {module.removeprefix(start) for module in table["modules"]
            if module.startswith(start) and module != path and "." not in module.removeprefix(start)}


def names_in(module: str) -> set[str]:
    """The names of a module that are in the table."""
    return {name for name in {*rows(_below(module)), *_children(_below(module))} if not name.startswith("_")}


def find(module: str, name: str) -> object:  # object: whatever MXNet has under that name
    """What MXNet has as ``name`` in a module.

    Raises
    ------
    UnknownNameError
        If it is not here; while it is being imported, an ``ImportError``.
    """
    path = _below(module)
    row = rows(path).get(name)
    if row is not None:
        part = load(f"sparsekit.{row[0]}" if row[0] else "sparsekit")
        return getattr(part, row[1]) if row[1] else part
    if name in _children(path):
        return load(f"{module}.{name}")
    raise _absent(module, name, _is_imported())


def _is_imported() -> bool:
    """Whether the code outside the library that asks for a name is in the middle of ``from … import``.

    Python replaces an ``AttributeError`` there by an error of its own, which does not say what to use instead.
    """
    from opcode import opname  # by the first error alone

    frame = asker()
    return frame.f_lasti >= 0 and opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def kind_of(full: str) -> str | None:
    """The kind of names that are not here to which a name of MXNet belongs, given with its module; None if it is none of them."""
    return next((kind for kind, (_, _, patterns) in table["absent"].items() for pattern in patterns.split()
                 if fnmatchcase(full, pattern) or fnmatchcase(full, f"{pattern}.*")), None)


def _absent(module: str, name: str, imported: bool) -> Exception:
    """The error for a name that is not here."""
    full = f"{_below(module)}.{name}".lstrip(".")
    kind = kind_of(full)
    if kind is None:
        import difflib  # by the first such error

        near = difflib.get_close_matches(name, dir(load(module)), n=3)
        message, hint = (f"module {module!r} has no attribute {name!r}.",
                         f"did you mean {' or '.join(map(repr, near))}?" if near else f"dir({module}) lists what it has.")
    else:
        reason, use, _ = table["absent"][kind]
        message, hint = f"MXNet's {full} is not in sparsekit: {reason}.", f"{use}."
    if imported:
        return AbsentImportError(message, hint=hint, name=f"{module}.{name}")
    return (UnknownNameError if kind is None else AbsentNameError)(message, hint=hint)


class View(ModuleType):
    """A module of MXNet's that has no file here: its names are those of the table."""

    def __init__(self, name: str) -> None:
        path = _below(name)
        super().__init__(name, f"What ``mxnet.{path}`` has and sparsekit too; each name is the one of the library.")
        self.__all__ = sorted(names_in(name))

    def __getattr__(self, name: str) -> object:  # object: as in find
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        attribute = find(self.__name__, name)
        setattr(self, name, attribute)
        return attribute

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self.__all__})


class _Loader:
    """Gives the module that stands for one of MXNet's."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Give the module if it has the name that is imported, or else have Python make an empty one."""
        return self._module if self._module.__name__ == spec.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module in the place of an empty one."""
        sys.modules[module.__name__] = self._module


def _is_made(parent: str, child: str) -> bool:
    """Whether a module is a group of operators, which its parent makes."""
    return _below(parent) in ("ndarray", "symbol") and child in load(f"{parent}.namespaces").GROUPS


def spec(name: str) -> ModuleSpec | None:
    """How Python gets a module that has no file; None if MXNet has no such module.

    Raises
    ------
    AbsentImportError
        If MXNet has this module, or a name in its place, and it is not here.
    """
    path = _below(name)
    parent, _, child = name.rpartition(".")
    target = table["modules"].get(path)
    if isinstance(target, str):
        module: Any = load(f"sparsekit.{target}")
    elif target is not None and not _is_made(parent, child):
        module = sys.modules.get(name) or View(name)
    elif kind_of(path) is not None:
        raise _absent(parent, child, imported=True)
    else:
        module = getattr(sys.modules[parent], child, None)
    if not isinstance(module, ModuleType):
        return None
    return ModuleSpec(name, _Loader(module), is_package=bool(_children(path)))  # type: ignore[arg-type]  # a Loader by what it does
