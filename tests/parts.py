"""How long each part of the tests took: a pytest plugin that prints the seconds of each folder at the end of a long session."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

#: Seconds of a session from which on its parts are told, and of a part that is.
LONG, SHOWN = 60.0, 1.0


class Parts:
    """Adds up what the reports of tests say, those of other processes too."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of a test, and of what is made before it and undone after it."""
        file = report.nodeid.partition("::")[0]
        self.seconds[file.rpartition("/")[0] or file] += getattr(report, "seconds", report.duration)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the parts, the longest first."""
        if sum(self.seconds.values()) < LONG:
            return
        terminalreporter.section("seconds of processes, by folder")
        for part, seconds in sorted(self.seconds.items(), key=lambda item: -item[1]):
            if seconds >= SHOWN:
                terminalreporter.write_line(f"{seconds:8.0f}  {part}")
