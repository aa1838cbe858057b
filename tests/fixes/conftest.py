"""One process from which those of all tests are forked, where a test is not about how they start."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import pytest

from sparsekit.fixes import scripts, trial
from sparsekit.fixes.origin import Origin
from sparsekit.fixes.processes import asked

#: What the steps of the tests import.
MODULES = ("numba", "numpy.random", "sparsekit.fixes.runner", "sparsekit.gluon.nn", "sparsekit.kernels.cpu.warm",
           "sparsekit.optimizer")


@pytest.fixture(scope="session")
def origin() -> Iterator[Origin]:
    """The process that others are forked from."""
    with Origin(MODULES) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def shared(request: pytest.FixtureRequest) -> Iterator[None]:
    """Steps, and scripts, run in processes that are forked from one: its imports take longer than most of them."""

    def start() -> object:  # when it is first needed
        return request.getfixturevalue("origin").start()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "Origin", lambda modules: contextlib.nullcontext(request.getfixturevalue("origin")))
        patch.setattr(scripts, "asked", functools.partial(asked, start=start))
        yield


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests whose processes start as those of users do."""
    monkeypatch.setattr(trial, "Origin", Origin)
    monkeypatch.setattr(scripts, "asked", asked)
