"""The predictions and exercises of each notebook of the course."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

__all__ = ["FILE", "contents", "notebook_of", "read_notebook"]

#: Written by ``tests/refresh_notebooks.py`` from the notebooks themselves: {notebook: {"predict": [...], "exercise": [...]}}.
FILE = Path(__file__).with_name("contents.json")

_CALL = re.compile(r"\b(?:mx|sparsekit)\.(predict|exercise|check)\(\s*(['\"])([\w.-]+)\2")


@cache
def contents() -> dict[str, dict[str, list[str]]]:
    """Return the names of all predictions and exercises: ``{notebook: {"predict": [...], "exercise": [...]}}``."""
    found: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@cache
def _owners() -> dict[str, str]:
    return {name: notebook for notebook, kinds in contents().items() for names in kinds.values() for name in names}


def notebook_of(name: str) -> str:
    """Return the notebook of a prediction or exercise; outside the course, the notebook that is running."""
    running = Path(os.environ.get("JPY_SESSION_NAME", "")).stem
    return _owners().get(name) or running or "other notebooks"


def read_notebook(sources: list[str]) -> dict[str, list[str]]:
    """Return the names of the predictions and exercises in the code cells of a notebook, in order."""
    found: dict[str, list[str]] = {"predict": [], "exercise": []}
    for source in sources:
        for call, _, name in _CALL.findall(source):
            kind = "predict" if call == "predict" else "exercise"
            if name not in found[kind]:
                found[kind].append(name)
    return found
