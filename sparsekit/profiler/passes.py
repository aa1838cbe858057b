"""When forward and backward passes begin and end, told to whoever watches a training loop."""

from __future__ import annotations

from collections.abc import Callable

from ..core import hooks

__all__ = ["passes_watcher", "watch_passes"]


def passes_watcher() -> Callable[[str, bool], None] | None:
    """What is called for each pass; None if nobody watches."""
    return hooks.passes


def watch_passes(told: Callable[[str, bool], None] | None) -> None:
    """Call ``told`` with ``"forward"`` or ``"backward"`` and whether it begins, for the passes of all threads."""
    hooks.passes = told
