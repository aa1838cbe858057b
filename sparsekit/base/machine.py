"""The memory that is available on this machine and in the container around it, and what else runs on it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from .platform import by_psutil

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")

#: Cores that other programs may use while times are measured.  With more, a program that runs in several threads takes many times
#: as long, and one that runs in a single thread does not: their ratio says nothing of a quiet machine.
BUSY = 0.3

#: Of the kernel's tables in a second, on every system that has them.
TICKS = 100


def available_memory(proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """Give the bytes that can still be taken, the smallest of what machine and control groups allow.

    Parameters
    ----------
    proc, groups : Path
        Where the kernel's tables are mounted.

    Returns
    -------
    int or None
        None where neither the system nor psutil says.
    """
    limits = [*_of_machine(proc), *_of_groups(proc, groups)] or by_psutil("virtual_memory", "available")
    return max(0, min(limits)) if limits else None


class OtherLoad:
    """How many of the machine's cores other programs use from now on.

    Parameters
    ----------
    proc : Path
        Where the kernel's tables are mounted.
    """

    def __init__(self, proc: Path = PROC) -> None:
        self._proc, self._start = proc, self._now(proc)

    @staticmethod
    def _now(proc: Path) -> tuple[float, float, float]:
        """Seconds that passed, that all cores worked (nan where the system does not say), and that this process worked."""
        fields = next((line.split()[1:] for line in _lines(proc / "stat") if line.startswith("cpu ")), [])
        # user nice system idle iowait irq softirq steal, which other machines on the same hardware used; guests are users too.
        worked = [int(fields[place]) for place in (0, 1, 2, 5, 6, 7)] if len(fields) > 7 else [float("nan")]
        return time.monotonic(), sum(worked) / TICKS, sum(os.times()[:4])

    def cores(self) -> float | None:
        """Cores that other programs used since the start, in the mean; None where the system does not say."""
        passed, worked, own = (now - before for now, before in zip(self._now(self._proc), self._start, strict=True))
        used = (worked - own) / passed if passed > 0 else float("nan")
        return max(0.0, used) if used == used else None


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
