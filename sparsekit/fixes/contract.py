"""The text of a test that keeps what fixes save."""

from __future__ import annotations

import os
import re
import types
from pathlib import Path
from typing import TYPE_CHECKING

from ..profiler.torch_operators import is_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .observe import Run

#: The share of what is saved by which a run may take more than the fixed program did.
ROOM = 0.25


def contract_text(step: object, steps: int, original: Run, final: Run, remedies: Sequence[str]) -> str:
    """A module for pytest with one test, which passes on the fixed program and fails on the original."""
    start, call, parameters = _reached(step)
    name = getattr(step, "__name__", "step")
    name = name if name.isidentifier() else "step"
    kept = ", ".join(dict.fromkeys(remedies))
    loop = [f"        for _ in range({steps}):", f"            {call}"] if steps > 1 else [f"        {call}"]
    torch = "torch=True" if any(map(is_torch, original.profile.records)) else ""
    lines = [f"    with mx.Profiler({torch}) as prof:", *loop]
    return _text(kept, start, f"test_{name.lstrip('_')}_keeps_its_fixes({parameters})", lines, original, final)


def script_contract(script: str, arguments: Sequence[str], steps: int, original: Run, final: Run,
                    remedies: Sequence[str]) -> str:
    """A module for pytest with one test, which runs some steps of a script; it passes on the fixed script only."""
    name = re.sub(r"\W", "_", Path(script).stem)
    start = ["import sparsekit as mx", "from sparsekit.fixes import profile_of"]
    run = f"    prof = profile_of({os.path.relpath(script)!r}, {list(arguments)!r}, steps={steps})"
    return _text(", ".join(dict.fromkeys(remedies)), start, f"test_{name}_keeps_its_fixes()", [run], original, final)


def _text(kept: str, start: list[str], head: str, lines: list[str], original: Run, final: Run) -> str:
    chain = [f"        .{promise}" for promise in _promises(original, final)]
    return "\n".join([f'"""Contracts that keep these fixes: {kept}.', "", "Bytes and counts are the same on every machine.",
                      '"""', "", *start, "", "", f"def {head}:", *lines, "    (", "        mx.expect(prof)", *chain, "    )", ""])


def _reached(step: object) -> tuple[list[str], str, str]:
    """The lines that make a step, the call of it, and the parameters of the test."""
    module = getattr(step, "__module__", None)
    if module == "__main__":
        module = Path(str(getattr(step, "__globals__", {}).get("__file__", ""))).stem
    if isinstance(step, types.FunctionType) and step.__qualname__.isidentifier() and module:
        return ["import sparsekit as mx", f"from {module} import {step.__name__}"], f"{step.__name__}()", ""
    start = ["import pytest", "", "import sparsekit as mx", "", "", "@pytest.fixture", "def step():",
             '    pytest.skip("return your function that makes one step from this fixture")']
    return start, "step()", "step"


def _promises(original: Run, final: Run) -> list[str]:
    promises = [f"densify_at_most({final.densified})" if final.densified else "no_densify()"]
    for method, before, after in (("peak_below", original.peak, final.peak), ("bytes_moved_below", _all(original), _all(final))):
        limit = after + max(1, int(ROOM * (before - after)))
        if after < limit < before:
            promises.append(f"{method}({limit})")
    return promises


def _all(run: Run) -> int:
    return sum(row["bytes"] for row in run.profile.totals)
