"""A learner's answers, stored in one JSON file for each notebook; errors of the file system never stop a notebook."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..base.files import write_whole
from .contents import notebook_of

#: Larger files are not read; a learner's answers take a few thousand bytes.
LARGEST_FILE = 1_000_000

#: Answers that could not be written to a file, kept until the kernel ends.
_memory: dict[str, dict[str, dict[str, Any]]] = {}


def folder() -> Path | None:
    """Return the folder of stored answers, or None if ``SPARSEKIT_PROGRESS`` is ``off``.

    ``SPARSEKIT_PROGRESS`` names the folder; by default it is ``sparsekit/progress`` in ``XDG_DATA_HOME``, else in
    ``~/.local/share``.
    """
    chosen = os.environ.get("SPARSEKIT_PROGRESS", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_DATA_HOME", "")
    try:
        return (Path(home) if os.path.isabs(home) else Path.home() / ".local" / "share") / "sparsekit" / "progress"
    except RuntimeError:  # a user without a home
        return None


def _path(notebook: str) -> Path | None:
    place = folder()
    return place / f"{re.sub(r'[^A-Za-z0-9_-]+', '-', notebook)[:100]}.json" if place else None


def _load(path: Path) -> dict[str, dict[str, Any]] | None:
    """Read the entries of a file; return {} if it does not exist, and None if it is damaged."""
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > LARGEST_FILE:
            return None
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
        return {str(name): dict(entry) for name, entry in entries.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def read(notebook: str) -> dict[str, dict[str, Any]]:
    """Return the answers of a notebook: name -> ``{"kind": "predict" or "exercise", "said": str, "right": bool}``."""
    path = _path(notebook)
    kept = _load(path) if path else {}
    return {**(kept or {}), **_memory.get(notebook, {})}


def remember(name: str, kind: str, said: str = "", right: bool = False) -> None:
    """Store the answer to a prediction or an exercise, and whether it is right.

    A damaged file is renamed to ``….json.damaged``.
    """
    notebook, entry = notebook_of(name), {"kind": kind, "said": said[:200], "right": bool(right)}
    path = _path(notebook)
    if path is not None and _write(path, name, entry):
        _memory.get(notebook, {}).pop(name, None)
    else:
        _memory.setdefault(notebook, {})[name] = entry


def _write(path: Path, name: str, entry: dict[str, Any]) -> bool:
    """Write one entry to a file, and return whether that succeeded."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = _load(path)
        if entries is None:
            os.replace(path, path.with_name(f"{path.name}.damaged"))
            entries = {}
        if entries.get(name) != entry:
            write_whole(path, json.dumps({"version": 1, "entries": {**entries, name: entry}}, indent=1, sort_keys=True).encode())
    except OSError:
        return False
    return True


def forget(notebook: str) -> None:
    """Delete the stored predictions and exercises of a notebook.

    Parameters
    ----------
    notebook : str
        Name as in ``progress()``, such as ``"05_embeddings_language_model"``.
    """
    _memory.pop(notebook, None)
    path = _path(notebook)
    if path is not None:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return
