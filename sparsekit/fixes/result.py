"""What trying fixes found: a table, a picture, a patch, and a test that keeps them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..base import displays
from ..base.errors import DataFileError, ProfilerError, UnsupportedError
from ..base.formatting import format_bytes, format_count, format_percent, format_ratio
from ..base.tables import escape, folded
from ..profiler.source_location import name_of_file
from ..profiler.table import Table
from .judge import HOLDS
from .source import ends_of_lines, text_of_file, unified, write_text

if TYPE_CHECKING:
    from .candidate import Candidate
    from .observe import Run
    from .scripts import Script
    from .trial import Called

    #: What fixes are tried on.
    Subject: TypeAlias = Called | Script

#: A smaller ratio would be said to be 1.0×; it is told in percent.
SMALL_RATIO = 1.05

#: The name under which all fixes that hold stand in the table and in the picture.
ALL = "all that hold"


class Figures(NamedTuple):
    """What a run took: bytes at the peak, bytes moved, implicit conversions."""

    peak: int
    moved: int
    densified: int

    @classmethod
    def of(cls, run: Run) -> Figures:
        """Those of a run."""
        return cls(run.peak, run.moved, run.densified)


@dataclass(eq=False)
class Fix:
    """One remedy that was tried.

    Attributes
    ----------
    candidate : Candidate
    verdict : {"holds", "changes the answer", "no gain", "refused"}
    reason : str
        How well the results agree, what differs, or why the fix was refused.
    applied : tuple of Candidate
        The fixes that were already applied when this one was tried.
    before, after : Figures or None
        Measurements of the program with those fixes, without and with this one.
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


@dataclass(eq=False)
class Tried:
    """The program that fixes were tried on, and its runs.

    Attributes
    ----------
    subject : object or None
        The step or the script; None if it could not be run.
    original, final : Run or None
        Run of the unchanged program, and run with all fixes that hold.
    unanswered : tuple of str
        Findings that no fix answers: the reasons of those that have no remedy, or what is left of a script's, with what to do.
    """

    subject: Subject | None
    original: Run | None = None
    final: Run | None = None
    unanswered: tuple[str, ...] = ()


class Fixes:
    """The result of ``try_fixes``.

    Attributes
    ----------
    fixes : list of Fix
        Everything that was tried, in its order.
    together : Fix or None
        All fixes that hold together, compared with the original: the result for the user.
    refusal : str
        Why no fix could be tried; empty if fixes were tried.
    tried : Tried
    """

    def __init__(self, fixes: list[Fix], together: Fix | None, refusal: str, tried: Tried) -> None:
        self.fixes, self.together, self.refusal, self.tried = fixes, together, refusal, tried

    def __len__(self) -> int:
        return len(self.fixes)

    def __getitem__(self, remedy: str) -> Fix:
        """The fix of a remedy, by its name; the one that holds, if there are several."""
        matching = [fix for fix in self.fixes if fix.candidate.remedy == remedy]
        if not matching:
            raise ProfilerError(f"No remedy {remedy!r} was tried.",
                                hint=f"the remedies tried are "
                                     f"{', '.join(repr(fix.candidate.remedy) for fix in self.fixes) or 'none'}.")
        return next((fix for fix in matching if fix.holds), matching[0])

    @property
    def applied(self) -> list[Fix]:
        """The fixes that hold with each other."""
        used = self.together.applied if self.together else ()
        return [fix for fix in self.fixes if fix.candidate in used]

    # what to write

    @property
    def patch(self) -> str:
        """The fixes that hold together as a unified diff, from the current folder; a notebook cell appears as ``In [3]``.

        ``lines`` has the fixes that cannot be expressed as an edit of the text.
        """
        return "".join(unified(_name(file), before, after, ends_of_lines(Path(file)) if Path(file).is_file() else "\n")
                       for file, (before, after) in self._texts().items())

    @property
    def lines(self) -> str:
        """The lines to write by hand, for fixes that hold and are not in the patch, with the reason."""
        return "".join(f"# {fix.candidate.remedy}: {fix.candidate.unpatched}\n{fix.candidate.lines}\n" for fix in self.applied
                       if fix.candidate.unpatched)

    def _texts(self) -> dict[str, tuple[str, str]]:
        """Each file that changes, with its text before and after."""
        return self.tried.subject.texts(self.together.applied) if self.tried.subject and self.together else {}

    def contract(self) -> str:
        """The text of a test for pytest that guards the savings of the fixes, in bytes and counts and never in milliseconds.

        The test imports the step from its module; of a script that trains with PyTorch it runs some steps.
        For a step that cannot be imported, such as a nested function, the test uses
        a fixture ``step``, which you write.

        Raises
        ------
        ProfilerError
            If no fix holds.
        """
        if self.tried.original is None or self.tried.final is None or self.tried.subject is None or not self.applied:
            raise ProfilerError("There is no contract to write: no fix holds.", hint="fixes.table() says why.")
        return self.tried.subject.contract(self.tried.original, self.tried.final, [fix.candidate.remedy for fix in self.applied])

    def apply(self) -> list[Path]:
        """Write the patched text into the files; the only function here that changes the program.

        Returns
        -------
        list of Path
            The files that were written.

        Raises
        ------
        UnsupportedError
            If a cell of a notebook would have to change.
        DataFileError
            If a file has changed since it was run; then no file is written.
        """
        texts = self._texts()
        for file, (before, _) in texts.items():
            if not Path(file).is_file():
                raise UnsupportedError(f"{name_of_file(file)} is not in a file.",
                                       hint="change the cell by hand: print(fixes.patch).")
            if text_of_file(file) != before:
                raise DataFileError(f"{Path(file).name} has changed since it was run.", hint="run it, and try_fixes, again.")
        for file, (_, after) in texts.items():
            write_text(Path(file), after)
        return [Path(file) for file in texts]

    # what it looks like

    def table(self) -> Table:
        """Everything that was tried, with its verdict and its bytes."""
        return Table.of(self._rows(), [(name, name, str) for name in _COLUMNS], self.summary(), "Fixes that were tried")

    def _rows(self) -> list[dict[str, Any]]:  # Any: texts and numbers
        return [self._row(fix) for fix in [*self.fixes, *([self.together] if self.together else [])]]

    def _row(self, fix: Fix) -> dict[str, Any]:  # Any: as above
        before, after = fix.before, fix.after
        return {"fix": ALL if fix is self.together else fix.name, "where": fix.candidate.where, "verdict": fix.verdict,
                "answers": fix.reason, "bytes at the peak": _from_to(before and before.peak, after and after.peak),
                "bytes moved": _from_to(before and before.moved, after and after.moved),
                "patch": "by hand" if fix.candidate.unpatched else "yes" if fix.candidate.edits else "",
                "peak": (before.peak, after.peak) if before and after else None,
                "moved": (before.moved, after.moved) if before and after else None,
                "remedy": fix.candidate.remedy, "what": fix.candidate.what,
                "after": (", ".join(dict.fromkeys(candidate.remedy for candidate in fix.applied))
                          if fix is not self.together else "")}

    def summary(self) -> str:
        """The findings, in sentences."""
        if self.refusal:
            return f"No fix was tried. {self.refusal}"
        if not self.together or not self.together.before or not self.together.after:
            tried = f"{format_count(len(self.fixes))} {'fix was' if len(self.fixes) == 1 else 'fixes were'} tried"
            return f"Nothing to fix: {tried}, and none holds." if self.fixes else "Nothing to fix: no remedy applies."
        before, after = self.together.before, self.together.after
        number = len(self.together.applied)
        return (f"{format_count(number)} of {format_count(len(self.fixes))} fixes that were tried hold{'' if number > 1 else 's'}"
                f"{' together' if number > 1 else ''}: {_less(before.peak, after.peak)} at the peak, "
                f"{_less(before.moved, after.moved)} moved; {self.together.reason}.")

    def figure(self) -> Any:  # Any: a display, a layer above
        """The picture of all fixes, with verdicts and bytes before and after, and the table."""
        table = self.table()
        return displays.call("fixes_figure", self._rows(), self.summary(), table.plain())

    def __repr__(self) -> str:
        if self.refusal:
            return self.summary()
        return "\n".join(part for part in (repr(self.table()), self.lines and f"Lines to write by hand:\n{self.lines}") if part)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        bundle: dict[str, str] = self.figure()._repr_mimebundle_()
        if self.applied and "text/html" in bundle:
            bundle["text/html"] += "\n" + folded(f"<pre>{escape(self.patch + self.lines)}</pre>", "The patch")
        return {**bundle, "text/plain": repr(self)}


_COLUMNS = ("fix", "where", "verdict", "answers", "bytes at the peak", "bytes moved", "patch")


def _from_to(before: int | None, after: int | None) -> str:
    return "" if before is None or after is None else f"{format_bytes(before)} → {format_bytes(after)}"


def _less(before: int, after: int) -> str:
    if not after or before == after:
        return "the same bytes"
    ratio, way = max(before / after, after / before), "fewer" if before > after else "more"
    return f"{format_ratio(ratio) if ratio >= SMALL_RATIO else format_percent(abs(after - before) / before)} {way} bytes"


def _name(file: str) -> str:
    """A file as a patch names it: below the current folder if it is there; a cell by its number."""
    label = name_of_file(file)
    if label.startswith("In ["):
        return label
    path = Path(file).resolve()
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path.name
