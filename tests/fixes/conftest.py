"""Processes that are forked, for tests that are not about how they start."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from types import SimpleNamespace

import pytest

from sparsekit.fixes import processes
from tests.fixes.forked import MODULES, Forked, Origin


@pytest.fixture(scope="session")
def origin() -> Iterator[Origin]:
    """The process that others are forked from."""
    made = Origin(MODULES)
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def forked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Steps run in processes that are forked: a fresh interpreter imports for longer than most steps take."""

    def start(command: list[str], *, env: Mapping[str, str], **_: object) -> Forked:
        return Forked(request.getfixturevalue("origin"), env)

    kept = {name: getattr(subprocess, name) for name in ("PIPE", "TimeoutExpired")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "subprocess", SimpleNamespace(Popen=start, **kept))
        yield


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests whose steps run in fresh interpreters, as those of users do."""
    monkeypatch.setattr(processes, "subprocess", subprocess)
