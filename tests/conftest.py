"""What every test starts from."""

from __future__ import annotations

import pytest

from sparsekit.core import dispatch, hooks


@pytest.fixture(autouse=True)
def _empty_ledger():
    """The ledger is bounded, and full after a few thousand tests: its length would say nothing."""
    hooks.ledger.clear()


@pytest.fixture
def no_fallback():
    """The first fallback of each kind warns, and a warning is an error; results that are dense by nature do not warn."""
    dispatch._warned.clear()
