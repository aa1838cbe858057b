"""One cluster for all tests of this folder, with two machines that are processes of this one."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: So that a lost machine is noticed in about two seconds rather than after a minute.
QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_timeout_ms": 1000,
         "health_check_failure_threshold": 3, "max_direct_call_object_size": 1 << 20}

WARNINGS = ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning",
            "ignore::pytest.PytestUnraisableExceptionWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    missing = importlib.util.find_spec("ray") is None
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.ray)
            for warning in WARNINGS:  # Ray's own
                item.add_marker(pytest.mark.filterwarnings(warning))
            if missing:
                item.add_marker(pytest.mark.skip(reason="Ray is not installed: pip install 'sparsekit[dist]'"))
