"""What every test starts from."""

from __future__ import annotations

import signal
import sys

import pytest

from sparsekit.base import workers
from sparsekit.core import dispatch, hooks
from sparsekit.core.op import registry
from sparsekit.kernels import why_numpy

#: Threads that read batches ahead; those that compute are idle when no kernel runs.
READERS = ("sparsekit-prefetch", "sparsekit-data")


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

    And a thread that still reads a batch would be recorded by the next test.
    """
    before, running = set(dict.keys(registry)), {id(threads) for threads in workers._alive}
    yield
    for threads in workers._alive:
        if threads._name in READERS and id(threads) not in running:
            threads.close(5)
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
