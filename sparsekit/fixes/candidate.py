"""What a remedy proposes: changes of a clone's objects, of the program's text, or of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program import Clone
    from .source import Edit

__all__ = ["Candidate"]


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
        Changes of the program's text.  Those in functions that the step calls run in the clone; those in lines that ran before,
        such as the making of a layer, are in the patch, and ``change`` does to the clone's objects what they will do.
    change : callable, optional
        Changes the objects of a clone.
    replace : dict
        ``id`` of an array of the program -> function that turns its copy into what the clone has instead.
    extra : dict
        Names that new lines before the step define, and the expressions that they have: ``{"x_csr": "x.tostype('csr')"}``.
    lines : str
        The lines to write, where there is no edit.
    unpatched : str
        Why there is no edit.
    for_time : bool
        Whether it may save time alone, so that its time is measured in interleaved runs.
    by_rows : bool
        Whether rows that a batch touches and others may fare differently, so that it is judged on different batches.
    otherwise : tuple of Candidate
        What to try in its place, in this order, if it does not hold.
    """

    remedy: str
    what: str
    where: str = ""
    edits: tuple[Edit, ...] = ()
    change: Callable[[Clone], None] | None = None
    replace: Mapping[int, Callable[[Any], Any]] = field(default_factory=dict)  # Any: arrays
    extra: Mapping[str, str] = field(default_factory=dict)
    lines: str = ""
    unpatched: str = ""
    for_time: bool = False
    by_rows: bool = False
    otherwise: tuple[Candidate, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The key that identifies the candidate."""
        return self.remedy, self.what
