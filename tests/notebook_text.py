"""A notebook as text to read and to compare: what people wrote, and what it printed, without pictures.

    python tests/notebook_text.py notebooks/01_csr.ipynb

``.gitattributes`` names this form for notebooks; tell git once how to make it, and ``git diff``, ``git log -p`` and
``git show`` use it:

    git config diff.notebook.textconv "python tests/notebook_text.py"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def lines(notebook: dict[str, Any]) -> Iterator[str]:
    """The text, line by line."""
    for number, cell in enumerate(notebook["cells"]):
        tags = cell.get("metadata", {}).get("tags", [])
        yield f"# --- {number:02d} {cell['cell_type']}{' ' + ' '.join(tags) if tags else ''}"
        yield from joined(cell["source"]).splitlines()
        # What is timed differs from run to run, and so says nothing about a change.
        for output in () if "nbval-ignore-output" in tags else cell.get("outputs", ()):
            for line in told(output).splitlines():
                yield f"#> {line}"
        yield ""


def told(output: dict[str, Any]) -> str:
    """An output's text."""
    if output["output_type"] == "stream":
        return joined(output["text"])
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return joined(output["data"].get("text/plain", ""))


def joined(text: str | list[str]) -> str:
    """Text that a notebook's file may hold in pieces."""
    return text if isinstance(text, str) else "".join(text)


def text_of(path: Path) -> str:
    """The whole notebook."""
    return "\n".join(lines(json.loads(path.read_text(encoding="utf-8")))) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(text_of(Path(name)))
