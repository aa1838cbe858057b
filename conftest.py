"""What tests and notebooks share: how notebook outputs are compared."""

from __future__ import annotations

import os
from typing import Any

import pytest

#: A progress bar redraws itself and a warning names its file's path, so neither is compared.
NOT_COMPARED = ("stderr",)


def pytest_configure(config: pytest.Config) -> None:
    # Kernels that notebooks start inherit these: no frozen-module chatter, no colour, one behaviour everywhere.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    os.environ.setdefault("NO_COLOR", "1")
    os.environ.pop("SPARSEKIT_PROFILE", None)


def pytest_collectstart(collector: Any) -> None:
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += NOT_COMPARED
