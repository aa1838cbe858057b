"""Runs compared that may also be traces on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from .differences import Diff
from .differences import diff as differences
from .read_trace import load_trace

if TYPE_CHECKING:
    from .profile import Profile

    #: One run: a profile, or the name of a trace; and several that repeat it.
    Run: TypeAlias = Profile | str | os.PathLike[str]
    Runs: TypeAlias = Run | list[Run] | tuple[Run, ...]

__all__ = ["diff"]


def diff(before: Runs, after: Runs) -> Diff:
    """Compare two runs: profiles, names of traces, or lists of either that repeat a run each.

    Parameters
    ----------
    before, after : Profile, path, or list of them

    Returns
    -------
    Diff
        See ``differences.diff`` for how runs are aligned and what is compared.

    Raises
    ------
    ProfilerError
        If an argument is neither a profile nor a file name, or a run is still being recorded.
    DataFileError
        If a file cannot be read or is not a trace.
    """
    return differences(_loaded(before), _loaded(after))


def _loaded(given: Runs) -> Profile | list[Profile]:
    if isinstance(given, (list, tuple)):
        return [_one(run) for run in given]
    return _one(given)


def _one(given: Run) -> Profile:
    return load_trace(given) if isinstance(given, (str, os.PathLike)) else given
