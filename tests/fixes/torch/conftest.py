"""The process that those of tests are forked from has imported PyTorch, whose optimizers import ``torch._dynamo``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparsekit.fixes.origin import Origin
from tests.fixes.conftest import MODULES


@pytest.fixture(scope="session")
def origin() -> Iterator[Origin]:
    """The process that others are forked from."""
    with Origin((*MODULES, "sparsekit.fixes.whole_run", "torch._dynamo")) as made:
        yield made
