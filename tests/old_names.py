"""Fill the table of MXNet's names, ``sparsekit/compat/names.json``, and write the list of what is not here in ``DIFFERENCES.md``.

``python tests/old_names.py`` looks for every name of MXNet's tree, which ``golden/names.json`` holds, in the module of the same
path and where MXNet has the same object.  What it finds elsewhere becomes a row of the table.  Kinds of names that are not here,
and rows for names that have another home here, are written into the table by hand.  A name that is neither is printed.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "sparsekit" / "compat" / "names.json"
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


def fill():
    """Add rows for what is here in another place, and give the names that are neither here nor of a kind that is not."""
    from sparsekit.compat.names import kind_of

    table = json.loads(TABLE.read_text(encoding="utf-8"))
    unknown = {}
    for path in TREE:
        if kind_of(path) is not None:
            continue
        module = module_at(path)
        for name, place in own_names(path).items():
            holder = None if place == path or kind_of(place) else module_at(place)
            rows = table["modules"].get(path, {})
            if hasattr(module, name) or kind_of(dotted(path, name)) or (is_module(name, place) and kind_of(place)):
                continue
            if is_module(name, place) or isinstance(rows, str) or not hasattr(holder, name):
                unknown.setdefault(path, []).append(name)
            elif name not in rows.get(place, "").split():
                table["modules"][path] = rows | {place: " ".join(sorted([*rows.get(place, "").split(), name]))}
    TABLE.write_text(written(table), encoding="utf-8")
    for path, rows in table["modules"].items():
        for name in names_of(rows):
            if not has(path, name):
                unknown.setdefault(path, []).append(f"{name} (in the table)")
    return unknown


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


def written(table):
    """The table as text, a line for each module and each kind."""
    parts = []
    for part in ("modules", "absent"):
        lines = [f"  {json.dumps(key)}: {json.dumps(value, sort_keys=isinstance(value, dict))}"
                 for key, value in (sorted(table[part].items()) if part == "modules" else table[part].items())]
        parts.append(f' "{part}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for path, names in fill().items():
        print(f"{path or 'mxnet'}: {' '.join(names)}")
    DIFFERENCES.write_text(with_list(DIFFERENCES.read_text(encoding="utf-8")), encoding="utf-8")
