"""The pairs of snippets of ``sparsekit/docs/coming_from.md``, and how they are run."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "sparsekit" / "docs" / "coming_from.md"

#: Name of a section -> the package that its left side imports.
PACKAGES = {"MXNet": "mxnet", "PyTorch": "torch", "JAX": "jax", "scipy": "scipy"}

PAIR = re.compile(r"<tr><th>(\w+)</th><th>sparsekit</th></tr>\s*<tr><td>\s*```python\n(.*?)```\s*"
                  r"</td><td>\s*```python\n(.*?)```", re.S)


def pairs(rival: str) -> list[tuple[str, str]]:
    """The snippets of one section: theirs and ours."""
    return [(theirs, ours) for name, theirs, ours in PAIR.findall(PAGE.read_text(encoding="utf-8")) if name == rival]


def run(snippets: Sequence[str]) -> list[str]:
    """What each of these prints; they share their names and a folder of their own."""
    names: dict[str, object] = {"__name__": "snippets"}
    printed = []
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for snippet in snippets:
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(snippet, str(PAGE.name), "exec"), names)
                printed.append(out.getvalue())
        finally:
            os.chdir(before)
    return printed
