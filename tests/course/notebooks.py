"""The course's notebooks as its tests read them: cells, prose, and everything that was printed."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import nbformat

from sparsekit.course.questions import FOLDER

ROOT = Path(__file__).resolve().parents[2]

#: The notebooks whose questions are in files.
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))

#: Those whose prose is read: they, and the appendices without questions.
WRITTEN = sorted([*NAMES, *(path.stem for path in (ROOT / "notebooks").glob("A*.ipynb"))])

#: A call that asks, compares or checks.
QUIZ = re.compile(r"\bmx\.(predict|reveal|check|exercise)\(")

#: What of a markdown cell is not prose: code, formulas, pictures of arrays, addresses, keys, and the notes on other texts.
NOT_PROSE = (r"```.*?```", r"\$\$.*?\$\$", r"\$[^$\n]*\$", r"`[^`]*`", r"\]\([^)]*\)", r"<sup>.*?</sup>", r"<[^>]*>",
             r"^#+ .*$", r"\bsections? \d+( to \d+)?", r"\babout \d+ minutes", r"\b\d+ min\b", r"\bMXNet 1\.9\.1\b")


@cache
def cells(name: str) -> list[Any]:
    """The cells of a notebook."""
    return list(nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells)


def code(name: str) -> list[Any]:
    """The code cells of a notebook."""
    return [cell for cell in cells(name) if cell.cell_type == "code"]


def lines(cell: Any) -> int:
    """Lines of a cell that hold code."""
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in cell.source.splitlines())


def printed(cell: Any) -> str:
    """What a cell printed, as text; of HTML, what its tables hold."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        found += [output.get("text", ""), data.get("text/plain", "")]
        found.append(unescape(re.sub(r"<[^>]*>", " ", re.sub(r'src="data:[^"]*"', "", data.get("text/html", "")))))
    return "\n".join(filter(None, found)).strip()


def prose(name: str) -> list[str]:
    """The prose of each markdown cell."""
    found = []
    for cell in cells(name):
        if cell.cell_type == "markdown":
            text = re.split(r"^## Notes on ", cell.source, flags=re.MULTILINE)[0]
            text = re.split(r"^\*\*Exercise", text, flags=re.MULTILINE)[0]  # what an exercise assumes; see test_solutions.py
            if not re.match(r"<details><summary>", text) or "## What to remember" in text:
                text = text.partition("</details>")[2] or text
            for pattern in NOT_PROSE:
                text = re.sub(pattern, " ", text, flags=re.MULTILINE | re.DOTALL if "```" in pattern or "$$" in pattern
                              else re.MULTILINE)
            found.append(text)
    return found
