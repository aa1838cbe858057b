"""The front-end files of the live widgets, each read as one text that needs no other file."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["module", "read", "style"]

_STATIC = Path(__file__).parent / "static"
_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w.]+)";\n', re.MULTILINE)


def _parts(name: str, seen: dict[str, str]) -> None:
    if name in seen:
        return
    text = read(name)
    for other in _IMPORT.findall(text):
        _parts(other, seen)
    seen[name] = _IMPORT.sub("", text)


@cache
def module(name: str) -> str:
    """Give the ES module ``name`` ("timeline.js") with the modules it imports written in front of it, without their remarks.

    A notebook loads a widget's code as one text and has no place to fetch a second file from.
    """
    seen: dict[str, str] = {}
    _parts(name, seen)
    last = seen.pop(name)
    inner = [re.sub(r"^export (?=class|const|function|async)", "", text, flags=re.MULTILINE) for text in seen.values()]
    return _COMMENT.sub("", "\n".join([*inner, last]))


@cache
def style() -> str:
    """Give the style sheet of the live widgets."""
    return read("widgets.css")


@cache
def read(name: str) -> str:
    """Give a front-end file as it is."""
    return (_STATIC / name).read_text(encoding="utf-8")
