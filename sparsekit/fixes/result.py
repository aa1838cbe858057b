"""What trying fixes found: a table, a picture, a patch, a contract."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..base.errors import ProfilerError
from ..base.formatting import format_bytes, format_count, format_ratio
from ..profiler.source_location import name_of_file
from ..profiler.table import Table
from .judge import HOLDS
from .source import edited, unified

if TYPE_CHECKING:
    from ..profiler.turns import Comparison
    from .candidate import Candidate
    from .observe import Run
    from .trial import _Trial

__all__ = ["Figures", "Fix", "Fixes"]


class Figures(NamedTuple):
    """What a run took: bytes at the peak, bytes moved, operators, implicit conversions."""

    peak: int
    moved: int
    operators: int
    densified: int

    @classmethod
    def of(cls, run: Run) -> Figures:
        """Those of a run."""
        return cls(run.peak, run.moved, run.operators, run.densified)


@dataclass(eq=False)
class Fix:
    """One remedy that was tried.

    Attributes
    ----------
    candidate : Candidate
    verdict : {"holds", "changes the answer", "no gain", "refused"}
    reason : str
        How well the answers agree, what differs, or why it was refused.
    applied : tuple of Candidate
        The fixes on which it was judged.
    before, after : Figures or None
        Of the program with those fixes, and with this one too.
    """

    candidate: Candidate
    verdict: str
    reason: str
    applied: tuple[Candidate, ...] = ()
    before: Figures | None = None
    after: Figures | None = None

    @property
    def name(self) -> str:
        """The remedy and what it changes."""
        return f"{self.candidate.remedy}: {self.candidate.what}" if self.candidate.what else self.candidate.remedy

    @property
    def holds(self) -> bool:
        """Whether the answers agree and something is saved."""
        return self.verdict == HOLDS


class Fixes:
    """What ``try_fixes`` found.

    Attributes
    ----------
    fixes : list of Fix
        Everything that was tried.
    together : Fix or None
        All that hold at once, beside the original: what the user gets.
    refusal : str
        Why nothing could be tried, or an empty text.
    times : Comparison or None
    """

    def __init__(self, fixes: list[Fix], together: Fix | None, refusal: str, times: Comparison | None, trial: _Trial) -> None:
        self.fixes, self.together, self.refusal, self.times = fixes, together, refusal, times
        self._trial = trial

    @property
    def applied(self) -> list[Fix]:
        """The fixes that hold with each other."""
        used = self.together.applied if self.together else ()
        return [fix for fix in self.fixes if fix.candidate in used]

    def __len__(self) -> int:
        return len(self.fixes)

    def __getitem__(self, remedy: str) -> Fix:
        for fix in self.fixes:
            if fix.candidate.remedy == remedy:
                return fix
        raise ProfilerError(f"No remedy {remedy!r} was tried.",
                            hint=f"tried were {', '.join(repr(fix.candidate.remedy) for fix in self.fixes) or 'none'}.")

    @property
    def patch(self) -> str:
        """The fixes that hold together as a unified diff, from the current folder; lines of cells have the cell as their file."""
        return "".join(unified(_name(file), before, after) for file, (before, after) in self._texts().items())

    def _texts(self) -> dict[str, tuple[str, str]]:
        """Each file that changes, with its text before and after."""
        edits = self.together.candidate.edits if self.together else ()
        texts = {}
        for file in dict.fromkeys(edit.file for edit in edits):
            source = self._trial.program.source(file)
            if source is not None:
                texts[file] = source.text, edited(source.text, [edit for edit in edits if edit.file == file])
        return texts

    def __repr__(self) -> str:
        return self.refusal or repr(self.table())

    def table(self) -> Table:
        """Everything that was tried, with its verdict, its bytes and its time."""
        rows = [self._row(fix) for fix in [*self.fixes, *([self.together] if self.together else [])]]
        cells = [[str(row[name]) for name in _COLUMNS] for row in rows]
        return Table(_COLUMNS, rows, cells, self.summary(), "Fixes that were tried")

    def _row(self, fix: Fix) -> dict[str, object]:  # object: texts
        before, after = fix.before, fix.after
        time = self._time(fix)
        return {"remedy": fix.name, "where": fix.candidate.where, "verdict": fix.verdict, "answers": fix.reason,
                "bytes at the peak": _from_to(before and before.peak, after and after.peak),
                "bytes moved": _from_to(before and before.moved, after and after.moved), "time": time}

    def _time(self, fix: Fix) -> str:
        if self.times is None:
            return ""
        for row in self.times.rows[1:]:
            if row["name"] == fix.name or (fix is self.together and row["name"] == "all that hold"):
                return f"{row['low']:.2f} to {row['high']:.2f} of the original's: {row['finding']}"
        return ""

    def summary(self) -> str:
        """What was found, in sentences."""
        if self.refusal:
            return self.refusal
        if not self.together or not self.together.before or not self.together.after:
            return f"Nothing to mend: {format_count(len(self.fixes))} fixes were tried, and none holds."
        before, after = self.together.before, self.together.after
        return (f"{format_count(len(self.together.applied))} of {format_count(len(self.fixes))} fixes that were tried hold "
                f"together: {_ratio(before.peak, after.peak)} less memory at the peak, {_ratio(before.moved, after.moved)} "
                f"fewer bytes moved, {self.together.reason}.")


_COLUMNS = ("remedy", "where", "verdict", "answers", "bytes at the peak", "bytes moved", "time")


def _from_to(before: int | None, after: int | None) -> str:
    return "" if before is None or after is None else f"{format_bytes(before)} → {format_bytes(after)}"


def _ratio(before: int, after: int) -> str:
    return format_ratio(before / after) if after else "-"


def _name(file: str) -> str:
    """A file as a patch names it: below the current folder if it is there; a cell by its number."""
    label = name_of_file(file)
    if label.startswith("In ["):
        return label
    path = Path(file).resolve()
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path.as_posix().lstrip("/")
