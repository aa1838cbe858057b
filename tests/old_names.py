"""Write the list of MXNet's names that are not here in ``DIFFERENCES.md``: ``python tests/old_names.py``.

MXNet's tree is in ``golden/names.json``.  A name is in the module of the same path, or the table ``sparsekit/compat/names.json``
says where its other home is, or of which kind of absent names it is; ``test_names.py`` says which names are neither.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIFFERENCES = ROOT / "sparsekit" / "DIFFERENCES.md"
GOLDEN = json.loads((ROOT / "tests" / "golden" / "names.json").read_text(encoding="utf-8"))

#: MXNet's tree: path -> (what a module exports or defines, what it imports), each by the place where the same object is.
TREE = GOLDEN["modules"]


def module_at(path):
    """The module of a path here, or None."""
    try:
        return importlib.import_module(f"sparsekit.{path}" if path else "sparsekit")
    except ImportError:
        return None


def own_names(path):
    """Names that a module of MXNet exports or defines: name -> place of the same object."""
    return {name: place for place, names in TREE[path][0].items() for name in names.split()}


def dotted(path, name):
    return f"{path}.{name}" if path else name


def is_module(name, place):
    """Whether a name is that of a module, whose place is its own path."""
    return name == place.rpartition(".")[2] and place in TREE


def missing():
    """What MXNet has and is not here, by module or class: its names, and none for a whole module."""
    from sparsekit.compat.names import kind_of, table

    found = {}
    for path in TREE:
        if kind_of(path) is not None:
            if kind_of(path.rpartition(".")[0]) is None:  # what is below is not here either
                found[path] = []
        elif str(table["modules"].get(path)) not in TREE:  # else it is another module of the tree
            found[path] = [name for name in own_names(path)
                           if not hasattr(module_at(path), name) and dotted(path, name) not in TREE]
    for path, names in GOLDEN["classes"].items():
        found[path] = [name for name in names if not hasattr(class_at(path), name)]
    return {path: names for path, names in found.items() if names or kind_of(path) is not None}


def class_at(path):
    import sparsekit

    return functools.reduce(getattr, path.split("."), sparsekit)


def listed():
    """The rows of the list in ``DIFFERENCES.md``: modules, what they lack, and what to use."""
    from sparsekit.compat.names import kind_of, table

    places = {}
    for path, names in missing().items():
        by_kind = {}
        for name in names or [None]:
            by_kind.setdefault(kind_of(path if name is None else dotted(path, name)), []).append(name)
        for kind, some in by_kind.items():
            places.setdefault((kind, tuple(some)), []).append(path)
    rows = []
    for (kind, names), paths in sorted(places.items(), key=lambda item: item[1]):
        what, use, _ = table["absent"][kind]
        named = ", ".join(f"`{name}`" for name in names) if names != (None,) else "all of it"
        where = ", ".join(f"`{path or 'mxnet'}`" for path in paths)
        rows.append(f"| {where} | {named} | {what[0].upper()}{what[1:]}: {use}. |")
    return rows


def with_list(text):
    """``DIFFERENCES.md`` with the list as it is today behind the heading that it stands under."""
    before, heading, _ = text.partition("\n### By module\n")
    head = ["| MXNet's module or class | not here | what to use |", "|---|---|---|"]
    return "\n".join([before + heading, *head, *listed(), ""])


def has(path, name):
    """Whether the row of the table leads somewhere."""
    from sparsekit.compat.names import find

    try:
        find(f"sparsekit.{path}".rstrip("."), name)
    except (ImportError, AttributeError):
        return False
    return True


def names_of(rows):
    return [name.partition("=")[0] for names in rows.values() for name in names.split()] if isinstance(rows, dict) else []


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    DIFFERENCES.write_text(with_list(DIFFERENCES.read_text(encoding="utf-8")), encoding="utf-8")
