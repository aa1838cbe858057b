"""PyTorch is optional: these tests are skipped without it, and fail then where SPARSEKIT_REQUIRE_TORCH=1."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

MISSING = importlib.util.find_spec("torch") is None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.torch)
            item.add_marker(pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning"))  # PyTorch's own
            item.add_marker(pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"))  # of tensors made here
            if MISSING:
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed: pip install 'sparsekit[torch]'"))


@pytest.fixture
def torch():
    import torch

    torch.manual_seed(0)
    return torch
