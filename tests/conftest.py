"""What every test starts from."""

from __future__ import annotations

import pytest

from sparsekit.core import hooks


@pytest.fixture(autouse=True)
def _empty_ledger():
    """The ledger is bounded, and full after a few thousand tests: its length would say nothing."""
    hooks.ledger.clear()
