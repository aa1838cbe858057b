"""What a remedy proposes: edits of the program's text, and what the edited lines that ran before would have made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .source import Edit


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to fix one finding.

    Attributes
    ----------
    remedy : str
        Name of the remedy: ``"row-sparse gradient"``.
    what : str
        What it changes, in one line.
    where : str
        The line of the program that it is about, or an empty text.
    edits : tuple of Edit
        Changes of the program's text.  Those in what the step calls run in the other process; those in lines that ran before,
        such as the making of a layer, are in the patch.
    change : functools.partial, optional
        Gives objects that the step holds what the edited lines that ran before would have given them.  It is a function of a
        module with these objects as arguments, and is called in the other process, with the copies there.
    transposed : tuple
        Parameters whose values the changed program holds transposed.
    lines : str
        The lines to write, where there is no edit.
    unpatched : str
        Why there is no edit.
    otherwise : tuple of Candidate
        What to try in its place, in this order, if it does not hold.
    """

    remedy: str
    what: str
    where: str = ""
    edits: tuple[Edit, ...] = ()
    change: Callable[[], None] | None = None
    transposed: tuple[Any, ...] = ()  # Any: parameters of this library
    lines: str = ""
    unpatched: str = ""
    otherwise: tuple[Candidate, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The key that identifies the candidate."""
        return self.remedy, self.what
