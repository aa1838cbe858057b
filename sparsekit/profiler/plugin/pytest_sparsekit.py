"""The pytest plugin of sparsekit: ``--sparsekit-profile``, the fixture ``sparse_profile``, the marker ``sparse_contract``.

pytest imports this module whenever it starts, so it imports pytest only, and is installed beside the package: an import of
``sparsekit.anything`` would import numpy.  What it does is in ``sparsekit.profiler.pytest_guard``, imported for the first test
that has a marker, the fixture or the option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import ModuleType

    from sparsekit.profiler.profiler import Profiler
    from sparsekit.profiler.pytest_guard import Guard

CONTRACT, PROFILE = "sparse_contract", "sparse_profile"

_MARKERS = (
    f"{CONTRACT}(no_densify=True, peak_below='2 GB', torch=None, ...): check the test against contracts of sparsekit.expect",
    f"{PROFILE}(torch=False, lines=True, capacity=...): options of the profiler that the fixture {PROFILE} gives",
)

#: What a test is profiled by.
_GUARD = pytest.StashKey["Guard"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("sparsekit").addoption(
        "--sparsekit-profile", action="store_true",
        help="profile each test, and print time, peak bytes and densifications of those that ran operators of sparsekit, or of "
             "PyTorch if it was imported before the test began")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    if config.getoption("sparsekit_profile"):
        config.pluginmanager.register(_Rows())


def _part() -> ModuleType:
    from sparsekit.profiler import pytest_guard

    return pytest_guard


def _guard(item: pytest.Item) -> Guard | None:
    """What the test is profiled by; None if nothing asks for a profile."""
    marks = [mark for name in (CONTRACT, PROFILE) for mark in item.iter_markers(name)]
    fixture = PROFILE in getattr(item, "fixturenames", ())
    asked = bool(item.config.getoption("sparsekit_profile"))
    if not (asked or fixture or any(mark.name == CONTRACT for mark in marks)):
        return None
    guard: Guard = _part().Guard(marks, fixture)
    return guard


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Refuse wrong arguments of markers while tests are collected."""
    report = yield
    marked = [(item, mark) for item in report.result or () if isinstance(item, pytest.Item)
              for name in (CONTRACT, PROFILE) for mark in item.iter_markers(name)]
    wrong = [f"{item.nodeid}: {said}" for item, mark in marked if (said := _part().mistake(mark))]
    if wrong:
        report.outcome, report.result, report.longrepr = "failed", [], "\n".join(wrong)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make the profiler before fixtures are: one of them gives it."""
    guard = _guard(item)
    if guard is not None:
        item.stash[_GUARD] = guard


@pytest.fixture
def sparse_profile(request: pytest.FixtureRequest) -> Generator[Profiler, None, None]:
    """A Profiler that records while the test runs, and not while fixtures do; ``stop()`` it to read it."""
    guard = request.node.stash.get(_GUARD, None)
    if guard is not None:
        yield guard.profiler
        return
    late = _part().Guard([], True)  # it is asked for while the test runs already, by getfixturevalue()
    late.begin()
    yield late.profiler
    late.end()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:  # Any: what pytest's hooks give
    """Profile the test, and hold it to its contracts unless it failed."""
    guard = item.stash.get(_GUARD, None)
    if guard is None:
        return (yield)
    guard.begin()
    try:
        result = yield
    finally:
        guard.end()
    broken = "" if getattr(item, "_excinfo", None) else guard.broken()  # where unittest's tests keep what they raised
    if broken:
        pytest.fail(broken, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:  # Any: the same
    """Send the row of the table along with the report, which processes of xdist send on."""
    report = yield
    if call.when == "call" and item.config.getoption("sparsekit_profile") and (guard := item.stash.get(_GUARD, None)):
        report.sparsekit_profile = guard.row()
    if call.when == "teardown" and _GUARD in item.stash:
        del item.stash[_GUARD]
    return report


class _Rows:
    """Collects the rows of the tests that ran, here or in processes of xdist, and prints their table."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []  # Any: numbers and texts

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the row of a test that ran operators."""
        row = getattr(report, "sparsekit_profile", None)
        if row:
            self.rows.append({"test": report.nodeid, **row})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("sparsekit profile")
        terminalreporter.write_line(_part().table(self.rows))
