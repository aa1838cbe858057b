"""Values written as text, as MXNet writes attributes: nothing is executed."""

from __future__ import annotations

import ast
import re
from typing import Any

_WORDS: dict[str, bool | float | None] = {"None": None, "none": None, "True": True, "true": True, "False": False, "false": False,
                          "inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def literal(value: str) -> Any:  # Any: the text decides
    """A number, a word, or a tuple of them; any other text stays text."""
    if value in _WORDS:
        return _WORDS[value]
    try:
        return int(value) if re.fullmatch(r"[+-]?\d{1,40}", value) else float(value)
    except ValueError:
        pass
    if value[:1] not in ("(", "["):
        return value
    try:
        return _plain(ast.literal_eval(re.sub(r"(?<=\d)L\b", "", value)))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return value


def _plain(value: object) -> object:  # object: what Python reads from the text
    return tuple(_plain(item) for item in value) if isinstance(value, (list, tuple)) else value
