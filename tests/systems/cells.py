"""Runs the code of a notebook in this process, except cells that are meant to fail, and prints what failed."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


def main(path: str) -> int:
    """How many cells failed."""
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    failed = 0
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code" or "raises-exception" in cell["metadata"].get("tags", ()):
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            done = shell.run_cell("".join(cell["source"]))
        error = done.error_before_exec or done.error_in_exec
        if error is not None:
            failed += 1
            print(f"cell {number}:", *traceback.format_exception(error), file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
