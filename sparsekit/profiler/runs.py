"""Runs compared that may also be traces on disk."""

from __future__ import annotations

import os
from typing import Any

from .differences import Diff
from .differences import diff as differences
from .read_trace import load_trace

__all__ = ["diff"]


def diff(before: Any, after: Any) -> Diff:
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
    ProfilerError, DataFileError
        If something else is given, or a file is not a trace.
    """
    return differences(_loaded(before), _loaded(after))


def _loaded(given: Any) -> Any:
    if isinstance(given, (list, tuple)):
        return [_loaded(one) for one in given]
    return load_trace(given) if isinstance(given, (str, os.PathLike)) else given
