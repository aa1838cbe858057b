"""The memory that is available on this machine and in the container around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_memory"]

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")


def available_memory(proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Give the bytes that can still be taken, the smallest of what machine and control groups allow.

    Parameters
    ----------
    proc, groups : Path
        Where the kernel's tables are mounted.

    Returns
    -------
    int or None
        None where the system does not say.
    """
    found = [*_of_machine(proc), *_of_groups(proc, groups)]
    return max(0, min(found)) if found else None


def _of_machine(proc: Path) -> Iterator[int]:
    yield from _fields(proc / "meminfo", "MemAvailable:", 1024)


def _of_groups(proc: Path, groups: Path) -> Iterator[int]:
    """What each group around this process leaves, in version 2 and in version 1 of the hierarchy."""
    for line in _lines(proc / "self" / "cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            yield from _upward(groups, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _upward(groups / "memory", path, *names)


def _upward(top: Path, path: str, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    """Every group from the innermost to the outermost; in a container the inner ones may not be mounted."""
    inner = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(inner), -1, -1):
        folder = top.joinpath(*inner[:depth])
        most, used = _number(folder / limit), _number(folder / usage)
        if most is not None and used is not None:
            # Cached pages of files count as used, but are given back when memory is wanted.
            yield most - used + next(_fields(folder / "memory.stat", reclaimable), 0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def _fields(path: Path, name: str, unit: int = 1) -> Iterator[int]:
    for line in _lines(path):
        words = line.split()
        if len(words) > 1 and words[0] == name and words[1].isdecimal():
            yield int(words[1]) * unit


def _number(path: Path) -> int | None:
    """The number a file holds; None if there is none, or ``max``."""
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdecimal() else None
