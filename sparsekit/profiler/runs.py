"""Runs compared that may also be files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from .differences import Diff
from .differences import diff as differences
from .read_profile import load

if TYPE_CHECKING:
    from .profile import Profile

    #: One run: a profile, or the name of a file; and several that repeat it.
    Run: TypeAlias = Profile | str | os.PathLike[str]
    Runs: TypeAlias = Run | list[Run] | tuple[Run, ...]

__all__ = ["diff"]


def diff(before: Runs, after: Runs) -> Diff:
    """Compare two runs: profiles, names of files, or lists of either that repeat a run each.

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
        If a file cannot be read or is not a profile.
    """
    return differences(_loaded(before), _loaded(after))


def _loaded(given: Runs) -> Profile | list[Profile]:
    if isinstance(given, (list, tuple)):
        return [_one(run) for run in given]
    return _one(given)


def _one(given: Run) -> Profile:
    return load(given) if isinstance(given, (str, os.PathLike)) else given
