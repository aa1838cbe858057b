"""A pytest plugin that writes down which functions of the mutated folders each test calls.

``mutate.py --map`` starts pytest with it.  It sees calls only, not lines, so that a suite takes little longer.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: At most so many tests of one file are kept for a function.
KEPT = 60

#: At most so many tests of one file are run, taken evenly.
RUN = 2500


class Calls:
    """Collects, test by test, the code objects that ran."""

    def __init__(self, path: Path, folders: tuple[str, ...]) -> None:
        self.path = path
        self.folders = tuple(str(ROOT / folder) for folder in folders)
        self.tests: list[tuple[str, float]] = []
        self.functions: dict[str, list[int]] = defaultdict(list)
        self.seen: set[CodeType] = set()
        self.failed = False

    def _note(self, frame: FrameType, _event: str, _argument: Any) -> None:
        self.seen.add(frame.f_code)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files: dict[Path, list[pytest.Item]] = defaultdict(list)
        for item in items:
            files[item.path].append(item)
        items[:] = [item for some in files.values() for item in some[::-(-len(some) // RUN)]]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.seen.clear()
        self.failed = False
        start = time.perf_counter()
        threading.settrace(self._note)
        sys.settrace(self._note)
        try:
            result = yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        if not self.failed:
            number = len(self.tests)
            self.tests.append((item.nodeid, round(time.perf_counter() - start, 3)))
            for code in list(self.seen):
                if code.co_filename.startswith(self.folders):
                    self.functions[key(code)].append(number)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:  # what fails or is skipped here says nothing about a mutant
            self.failed = True

    def pytest_sessionfinish(self) -> None:
        thinned = {}
        for name, numbers in self.functions.items():
            files: dict[str, list[int]] = defaultdict(list)
            for number in numbers:
                files[self.tests[number][0].split("::")[0]].append(number)
            thinned[name] = sorted(n for group in files.values() for n in group[::-(-len(group) // KEPT)])
        self.path.write_text(json.dumps({"tests": self.tests, "functions": thinned}))


def key(code: CodeType) -> str:
    """What names a function: its file, its qualified name and its first line."""
    return f"{os.path.relpath(code.co_filename, ROOT)}::{code.co_qualname}:{code.co_firstlineno}"


def pytest_configure(config: pytest.Config) -> None:
    wanted = os.environ.get("MUTATION_MAP")
    if wanted:
        folders = tuple(os.environ["MUTATION_FOLDERS"].split(os.pathsep))
        config.pluginmanager.register(Calls(Path(wanted), folders), "mutation-calls")
