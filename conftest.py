"""What tests and notebooks share: how outputs are compared, and where no test of some kinds may be skipped."""

from __future__ import annotations

import faulthandler
import gc
import importlib.util
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

#: A progress bar redraws itself and a warning names its file's path, so neither is compared.
NOT_COMPARED = ("stderr",)

#: Seconds after which a test that has not ended says where it stands, at least and at most; ``timeout`` ends it later.
SAYS_WHERE = 300, 360


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--op", metavar="NAME", help="only the tests that concern this operator; see tests/one_operator.py")
    parser.addoption("--all", action="store_true", help="also tests marked thorough, and another sample of each sweep")


def pytest_configure(config: pytest.Config) -> None:
    # Kernels that notebooks start inherit these: no frozen-module chatter, no colour, one behaviour everywhere.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    os.environ.setdefault("NO_COLOR", "1")
    os.environ.pop("SPARSEKIT_PROFILE", None)
    os.environ.pop("PYTEST_ADDOPTS", None)  # .ci/run's, which this session has read; sessions that tests start have their own
    os.environ["SPARSEKIT_PROGRESS"] = "off"  # nobody's progress enters a test, and no test's enters somebody's
    plugin_of_tests("sampling").choose(another=config.getoption("--all"))
    if importlib.util.find_spec("hypothesis"):
        import hypothesis

        hypothesis.settings.register_profile("sample", derandomize=not config.getoption("--all"))
        hypothesis.settings.load_profile("sample")
    config.pluginmanager.register(Watchdog())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(plugin_of_tests("left_files").LeftFiles(config))
        config.pluginmanager.register(plugin_of_tests("parts").Parts())
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(plugin_of_tests("scheduling").Briefly())
    if operator := config.getoption("--op"):
        config.pluginmanager.register(plugin_of_tests("one_operator").plugin(operator))
    else:  # what each notebook takes is measured, printed at the end, and held to limits
        config.pluginmanager.register(plugin_of_tests("notebook_costs").Costs())


class Watchdog:
    """Says where a test stands that does not end.

    pytest's own option ``faulthandler_timeout`` starts and ends a thread for each test, which takes as long as most tests do.
    """

    def __init__(self) -> None:
        self.stream = os.fdopen(os.dup(2), "w")  # before it is captured
        self.until = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """See that enough time is left for a test."""
        least, most = SAYS_WHERE
        if self.until < time.monotonic() + least:
            self.until = time.monotonic() + most
            faulthandler.dump_traceback_later(most, file=self.stream)
        return (yield)

    def pytest_exception_interact(self) -> None:
        """After a failure pytest calls the watchdog off."""
        self.until = 0.0

    def pytest_unconfigure(self) -> None:
        """Nothing is watched any more."""
        faulthandler.cancel_dump_traceback_later()
        self.stream.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the garbage collector away from the tests themselves, which are never garbage, and let it run less often after that.

    Compilations of kernels make many objects that stay: a tenth of their time was spent in looking through these.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def pytest_make_parametrize_id(val: Any, argname: str) -> str | None:
    """Name a parameter of bytes by its argument: what an archive holds differs with the second in which it was made."""
    return argname if isinstance(val, bytes) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuse parameters that are a set: processes list its members in different orders, and those of ``-n`` must agree."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if isinstance(mark.kwargs.get("argvalues", mark.args[-1]), (set, frozenset)):
            raise pytest.UsageError(f"{metafunc.definition.nodeid}: its parameters are a set; list them in an order.")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``-n``, a file is run by one process, the longest first."""
    return plugin_of_tests("scheduling").LongestFirst(config, log)


def pytest_report_header(config: pytest.Config) -> str:
    """Say which samples of the sweeps are tried."""
    return f"samples: seed {plugin_of_tests('sampling').seed()} ({plugin_of_tests('sampling').VARIABLE} chooses another)"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave thorough tests to ``--all``; put those of a process of ``-n`` in the order in which files are given out."""
    if not config.getoption("--all") and not config.getoption("--op"):
        named = {(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args}
        left = [item for item in items if item.get_closest_marker("thorough") and item.path not in named]
        if left:
            config.hook.pytest_deselected(items=left)
            left_out = set(left)
            items[:] = [item for item in items if item not in left_out]
    if hasattr(config, "workerinput"):
        plugin_of_tests("scheduling").longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that leaves recording or training mode on fails itself, not those that come after it."""
    ended = yield
    autograd = sys.modules.get("sparsekit.autograd")
    if autograd is not None:
        left = [name for name in ("recording", "training") if getattr(autograd, f"set_{name}")(False)]
        if left:
            pytest.fail(f"The test left {' and '.join(left)} mode on.", pytrace=False)
    return ended


def plugin_of_tests(name: str) -> Any:
    """A module of ``tests`` that has a plugin."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "tests" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        for marker in ("browser", "others", "ray", "torch"):
            variable = f"SPARSEKIT_REQUIRE_{marker.upper()}"
            if os.environ.get(variable) == "1" and item.get_closest_marker(marker):
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
                report.outcome = "failed"
                report.longrepr = f"{variable}=1, but this {marker} test was skipped: {reason}"
    return report


def pytest_collectstart(collector: Any) -> None:
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += NOT_COMPARED
