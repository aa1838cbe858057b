"""What a learner did, kept in one JSON file for each notebook; nothing here ever stops a notebook."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..widgets.display import write_file
from .contents import notebook_of

__all__ = ["LARGEST", "folder", "forget", "read", "remember"]

#: Bytes of a file that is still read: a learner's answers take a few thousand.
LARGEST = 1_000_000

#: Answers that cannot be written to a file, kept until the kernel ends.
_memory: dict[str, dict[str, dict[str, Any]]] = {}


def folder() -> Path | None:
    """Where progress is kept; None if it is not to be kept.

    ``SPARSEKIT_PROGRESS`` names the folder, or is ``off``; without it, ``sparsekit/progress`` in ``XDG_DATA_HOME``, else in
    ``~/.local/share``.
    """
    given = os.environ.get("SPARSEKIT_PROGRESS", "")
    if given.lower() == "off":
        return None
    if given:
        return Path(given).expanduser()
    home = os.environ.get("XDG_DATA_HOME", "")
    try:
        return (Path(home) if os.path.isabs(home) else Path.home() / ".local" / "share") / "sparsekit" / "progress"
    except RuntimeError:  # a user without a home
        return None


def _path(notebook: str) -> Path | None:
    place = folder()
    return place / f"{re.sub(r'[^A-Za-z0-9_-]+', '-', notebook)[:100]}.json" if place else None


def _load(path: Path) -> dict[str, dict[str, Any]] | None:
    """The entries of a file: none if it does not exist, None if it is not one of ours."""
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > LARGEST:
            return None
        found = json.loads(path.read_text(encoding="utf-8"))["entries"]
        return {str(name): dict(entry) for name, entry in found.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def read(notebook: str) -> dict[str, dict[str, Any]]:
    """What was done in a notebook: name -> ``{"kind": "predict" or "exercise", "said": str, "right": bool}``."""
    path = _path(notebook)
    kept = _load(path) if path else {}
    return {**(kept or {}), **_memory.get(notebook, {})}


def remember(name: str, kind: str, said: str = "", right: bool = False) -> None:
    """Keep what was said to a prediction or an exercise, and whether it was right.

    A file that cannot be read is set aside under a name of its own, ``….json.damaged``, and a new one begun.
    """
    notebook, entry = notebook_of(name), {"kind": kind, "said": said[:200], "right": bool(right)}
    path = _path(notebook)
    if path is not None and _write(path, name, entry):
        _memory.get(notebook, {}).pop(name, None)
    else:
        _memory.setdefault(notebook, {})[name] = entry


def _write(path: Path, name: str, entry: dict[str, Any]) -> bool:
    """Write one entry into a file; whether that worked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = _load(path)
        if entries is None:
            os.replace(path, path.with_name(f"{path.name}.damaged"))
            entries = {}
        if entries.get(name) != entry:
            write_file(path, json.dumps({"version": 1, "entries": {**entries, name: entry}}, indent=1, sort_keys=True))
    except OSError:
        return False
    return True


def forget(notebook: str) -> None:
    """Start a notebook afresh: what was predicted and solved in it is deleted.

    Parameters
    ----------
    notebook : str
        As ``progress()`` names it, such as ``"05_embeddings_language_model"``.
    """
    _memory.pop(notebook, None)
    path = _path(notebook)
    if path is not None:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return
