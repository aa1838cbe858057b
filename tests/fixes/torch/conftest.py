"""Processes that are forked from one that has imported PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixes.forked import MODULES, TORCH_MODULES, Origin


@pytest.fixture(scope="session")
def origin() -> Iterator[Origin]:
    """The process that others are forked from."""
    made = Origin((*MODULES, *TORCH_MODULES))
    yield made
    made.close()
