"""From a code object and an instruction to a line that a person can find."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType


def line_of(code: CodeType | None, instruction: int | None) -> str:
    """Name a place as ``file.py:12``, or ``In [3]:2`` for a notebook cell; no folders, they are private."""
    if code is None:
        return ""
    number = code.co_firstlineno
    for start, end, line in code.co_lines():
        if start <= (instruction or 0) < end and line is not None:
            number = line
            break
    return f"{name_of_file(code.co_filename)}:{number}"


def name_of_file(name: str) -> str:
    """What people call a file that code was compiled from: its name without folders, or ``In [3]``."""
    if "ipykernel" in name or name.startswith("<ipython-input"):
        cell = _cell(name)
        if cell:
            return f"In [{cell}]"
    return name.replace("\\", "/").rpartition("/")[2]


def _cell(name: str) -> str:
    """Number of the notebook cell that was compiled under this file name."""
    matched = re.match(r"<ipython-input-(\d+)-", name)
    if matched:
        return matched[1]
    shell = _shell()
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    described = describe(name) if describe else None
    digits = re.search(r"\[(\d+)\]", described[1]) if described else None
    return digits[1] if digits else ""


def _shell() -> Any:  # Any: IPython's, which need not be installed
    interactive = sys.modules.get("IPython")
    return interactive.get_ipython() if interactive is not None else None
