"""What a notebook takes when the tests run it: a pytest plugin that measures time and memory and holds both to limits.

The time is the processor's, of the kernel's process and those that it waited for, which other programs hardly change; the
memory is the most that the kernel's process held (``VmHWM``). Both are Linux's. A notebook that takes more fails at its last
cell.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SECONDS, BYTES = 60.0, 1_500_000_000

#: What is run before notebooks: compiling takes more time and memory than a notebook may.  ``sparsekit demo`` does it for users.
WARM = "from sparsekit.kernels import warm; warm()"
NOTEBOOK = "notebook_cost"  # the property of a report that has them


class Cost(NamedTuple):
    """What one notebook took."""

    seconds: float | None
    bytes: int | None


def peak_bytes(pid: int, proc: Path = Path("/proc")) -> int | None:
    """The most memory that a living process has held; None where the system does not say."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", (proc / str(pid) / "status").read_text(encoding="ascii"), re.M)
    except OSError:
        return None
    return 1024 * int(found.group(1)) if found else None


def processor_seconds(pid: int, proc: Path = Path("/proc")) -> float | None:
    """The processor time of a living process and its ended children; None where the system does not say."""
    try:
        fields = (proc / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def too_much(cost: Cost) -> str:
    """How a cost exceeds the limits; empty if it does not."""
    found = []
    if cost.seconds is not None and cost.seconds > SECONDS:
        found.append(f"{cost.seconds:.0f} s of processor time, at most {SECONDS:.0f} s")
    if cost.bytes is not None and cost.bytes > BYTES:
        found.append(f"{cost.bytes / 1e9:.2f} GB, at most {BYTES / 1e9:.2f} GB")
    return "; ".join(found)


class Costs:
    """The plugin: asks what a notebook took before its kernel ends."""

    def __init__(self) -> None:
        self.found: dict[str, Cost] = {}
        self.next: Any = None
        self.compiled = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Generator[None, Any, Any]:
        """Remember what comes next, which tells a notebook's last cell; compile what is missing before the first notebook."""
        self.next = nextitem
        if type(item).__name__ == "IPyNbCell" and not self.compiled:
            self.compiled = True
            subprocess.run([sys.executable, "-c", WARM], check=False, timeout=400)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        """Fail the last cell of a notebook that took too much."""
        report = yield
        if type(item).__name__ != "IPyNbCell":
            return report
        notebook = item.parent
        if call.when == "call" and getattr(self.next, "parent", None) is not notebook:
            kernel = kernel_of(notebook)
            cost = Cost(processor_seconds(kernel), peak_bytes(kernel))
            report.user_properties.append((NOTEBOOK, [notebook.name, *cost]))  # a worker's report takes it to the one that prints
            excess = too_much(cost)
            if excess and report.passed:
                report.outcome, report.longrepr = "failed", f"{notebook.name} takes too much: {excess}"
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what a notebook took, whichever process ran it."""
        self.found.update((value[0], Cost(*value[1:])) for key, value in report.user_properties if key == NOTEBOOK)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what each notebook took."""
        if self.found:
            terminalreporter.section(f"notebooks: at most {SECONDS:.0f} s of the processor and {BYTES / 1e9:.1f} GB each")
        for name, cost in sorted(self.found.items()):
            memory = "memory unknown" if cost.bytes is None else f"{cost.bytes / 1e9:.2f} GB"
            seconds = "time unknown" if cost.seconds is None else f"{cost.seconds:.1f} s"
            terminalreporter.write_line(f"{seconds:>12}  {memory:>14}  {name}")


def kernel_of(notebook: Any) -> int:
    """The number of the process that runs a notebook's cells; 0 if there is none."""
    manager = getattr(getattr(notebook, "kernel", None), "km", None)
    process = getattr(getattr(manager, "provisioner", None), "process", None)
    return int(getattr(process, "pid", 0) or 0)
