"""A PyTorch script as it is: run from its beginning to some step in fresh processes, with the texts that remedies edit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..profiler.profile import Profile
from .candidate import Candidate
from .contract import script_contract
from .many_steps import SECONDS, ManySteps
from .observe import Run
from .processes import asked
from .source import edited, text_of_file
from .torch_programs import MANY_STEPS
from .whole_run import NeedsInput, Request, run_script


class Script:
    """A script that trains with PyTorch, and what remedies make of it.

    Parameters
    ----------
    file : path
    arguments : sequence of str
    steps : int
    timeout : float
    """

    def __init__(self, file: str | Path, arguments: Sequence[str], steps: int, timeout: float) -> None:
        self.file, self.arguments = os.path.abspath(file), tuple(arguments)
        self.steps, self.timeout = steps, timeout
        self._input: bytes | None = None

    def run(self, candidates: Sequence[Candidate], turned: bool = True) -> Run:
        """What the steps give with these remedies, on the batches that the script itself makes."""
        result = self._asked(candidates, self.steps, None)
        assert isinstance(result, Run)
        return result

    def many(self, candidates: Sequence[Candidate] = (), original: ManySteps | None = None) -> ManySteps:
        """The losses of many steps with these remedies, without a profiler: as many as the original has made."""
        steps, seconds = (MANY_STEPS, SECONDS) if original is None else (original.steps, self.timeout)
        result = self._asked(candidates, steps, seconds)
        assert isinstance(result, ManySteps)
        return result

    def _asked(self, candidates: Sequence[Candidate], steps: int, seconds: float | None) -> Run | ManySteps:
        texts = {file: after for file, (_, after) in self.texts(candidates).items()}
        request = Request(self.file, self.arguments, texts, steps, self._input, seconds)
        try:
            return asked(run_script, (request,), self.timeout)
        except NeedsInput:
            self._input = _own_input()
            if self._input is None:
                raise
            return asked(run_script, (request._replace(input=self._input),), self.timeout)

    def candidates(self, base: Run, applied: Sequence[Candidate]) -> list[Candidate]:
        """What could be tried on a program, of which this is the run."""
        return base.candidates

    def texts(self, candidates: Sequence[Candidate]) -> dict[str, tuple[str, str]]:
        """Each file that remedies change, with its text before and after; each is found in what those before it have made."""
        edited_texts: dict[str, tuple[str, str]] = {}
        for candidate in candidates:
            for file in dict.fromkeys(edit.file for edit in candidate.edits):
                before = edited_texts[file][0] if file in edited_texts else text_of_file(file)
                now = edited_texts[file][1] if file in edited_texts else before
                edited_texts[file] = before, edited(now, [edit for edit in candidate.edits if edit.file == file])
        return edited_texts

    def contract(self, original: Run, final: Run, names: Sequence[str]) -> str:
        """The text of a test that keeps the fixes."""
        return script_contract(self.file, self.arguments, self.steps, original, final, names)


def _own_input() -> bytes | None:
    """All that this process can read from its input; None if somebody would have to type it."""
    try:
        return None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    except (OSError, ValueError, AttributeError):  # it is closed, or of a notebook
        return None


def profile_of(script: str | Path, arguments: Sequence[str] = (), steps: int = 3, timeout: float = 600.0) -> Profile:
    """Profile some steps of a PyTorch script, run in a process of its own as ``python SCRIPT ARGUMENTS`` runs it.

    A step ends where an optimizer's step has ended, whoever calls it.  The script is run from its beginning, one step is made
    that is not recorded, and the process is ended when ``steps`` more are made.

    Parameters
    ----------
    script : path
    arguments : sequence of str
    steps : int
    timeout : float
        Seconds after which the process is ended.

    Returns
    -------
    Profile

    Raises
    ------
    NoSteps
        If the script makes fewer than two steps.
    ScriptError
        If it raises an error before that.
    Failure
        If its process fails.
    """
    return Script(script, arguments, steps, timeout).run(()).profile
