"""The predictions and exercises of each notebook of the course."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

#: Written by ``tests/refresh_notebooks.py`` from the notebooks themselves: {notebook: {"predict": [...], "exercise": [...]}}.
FILE = Path(__file__).with_name("contents.json")


@cache
def contents() -> dict[str, dict[str, list[str]]]:
    """Return the names of all predictions and exercises: ``{notebook: {"predict": [...], "exercise": [...]}}``."""
    listed: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return listed


@cache
def _owners() -> dict[str, str]:
    return {name: notebook for notebook, kinds in contents().items() for names in kinds.values() for name in names}


def notebook_of(name: str) -> str:
    """Return the notebook of a prediction or exercise; outside the course, the notebook that is running."""
    running = Path(os.environ.get("JPY_SESSION_NAME", "")).stem
    return _owners().get(name) or running or "other notebooks"
