"""Whether a session of tests leaves files in the checkout: a pytest plugin that looks before and after.

New files are listed at the end; with ``SPARSEKIT_REQUIRE_CLEAN=1``, as in ``.ci/run``, the session fails.  Files that
``.gitignore`` names do not count.  Where there is no git, nothing is looked at.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

REQUIRED = "SPARSEKIT_REQUIRE_CLEAN"


def untracked(root: str) -> set[str]:
    """The files in a checkout that git neither tracks nor ignores."""
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=400)
    except (OSError, subprocess.SubprocessError):
        return set()
    return set(filter(None, done.stdout.split("\0")))


class LeftFiles:
    """The plugin."""

    def __init__(self, config: pytest.Config) -> None:
        self.root = str(config.rootpath)
        self.before = untracked(self.root)
        self.left: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look again."""
        self.left = sorted(untracked(self.root) - self.before)
        if self.left and os.environ.get(REQUIRED) == "1":
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the files."""
        if self.left:
            terminalreporter.section("files that the tests have left in the checkout")
            for name in self.left:
                terminalreporter.line(name)
