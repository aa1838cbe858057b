"""What every test starts from."""

from __future__ import annotations

import importlib.util
import signal
import sys
import threading
import time

import pytest

import sparsekit.ndarray  # noqa: F401 - declares the operators
from sparsekit.base import workers
from sparsekit.core import dispatch, hooks
from sparsekit.core.op import registry
from sparsekit.kernels import why_numpy

#: Threads that read batches ahead; those that compute are idle when no kernel runs.
READERS = ("sparsekit-prefetch", "sparsekit-data")


#: Of tests in folders named ``torch``: PyTorch's own warnings.
TORCH_WARNS = ("ignore:Sparse CSR tensor support:UserWarning", "ignore:Sparse invariant checks:UserWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PyTorch is optional: its tests are skipped without it, and fail then where SPARSEKIT_REQUIRE_TORCH=1."""
    missing = importlib.util.find_spec("torch") is None
    for item in items:
        if item.path.parent.name == "torch":
            item.add_marker(pytest.mark.torch)
            for warning in TORCH_WARNS:
                item.add_marker(pytest.mark.filterwarnings(warning))
            if missing:
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed: pip install 'sparsekit[torch]'"))


@pytest.fixture
def torch():
    import torch

    torch.manual_seed(0)
    return torch


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The ledger is bounded, and full after a few thousand tests: its length would say nothing."""
    hooks.ledger.clear()
    if item.get_closest_marker("compiled") and why_numpy():
        pytest.skip(f"the kernels are those in numpy: {why_numpy()}")


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_as_usual():
    """A suite that was started with SIGINT ignored, as a shell starts what runs behind it, hands that on to its programs."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a program that is started finds as the usual one
    yield
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def _what_a_test_made_goes_with_it():
    """Tests of the registry and of its stubs count every operator: those that another test declared are none of the library's.

    And a thread that still reads a batch would be recorded by the next test, also one that nobody holds any more.
    """
    before, running = set(dict.keys(registry)), {id(threads) for threads in workers._alive}
    read_before = set(threading.enumerate())
    yield
    for threads in workers._alive:
        if threads._name in READERS and id(threads) not in running:
            threads.close(5)
    for thread in threading.enumerate():
        if thread.name.startswith(READERS) and thread not in read_before:
            thread.join(5)
    for name in set(dict.keys(registry)) - before:
        if not registry[name]._module.get("__name__", "").startswith("sparsekit."):
            del registry[name]
            for module in ("sparsekit.ndarray", "sparsekit.symbol"):   # which keep the function made of it
                if module in sys.modules:
                    vars(sys.modules[module]).pop(name, None)


@pytest.fixture
def no_fallback():
    """The first fallback of each kind warns, and a warning is an error; results that are dense by nature do not warn."""
    dispatch._warned.clear()


class Clock:
    """A simulated clock in nanoseconds; reading it takes 100 of them, and ``sleep`` any number."""

    def __init__(self):
        self.now = 10**9

    def read(self):
        self.now += 100
        return self.now

    def sleep(self, seconds):
        self.now += round(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch):
    """What ``time.perf_counter``, ``perf_counter_ns`` and ``sleep`` read and move for whoever looks them up in ``time``."""
    made = Clock()
    monkeypatch.setattr(time, "perf_counter_ns", made.read)
    monkeypatch.setattr(time, "perf_counter", lambda: made.read() / 1e9)
    monkeypatch.setattr(time, "sleep", made.sleep)
    return made


@pytest.fixture
def calls_of():
    """A function that counts the functions that another one calls, in Python and in C: work, which no other program changes."""

    def calls_of(function):
        found = 0

        def count(frame, event, argument):
            nonlocal found
            found += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            function()
        finally:
            sys.setprofile(before)
        return found

    return calls_of
