"""A learner's folder of its own for every test."""

from __future__ import annotations

import pytest

from sparsekit.course import predictions, record


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The folder that progress is kept in."""
    monkeypatch.setenv("SPARSEKIT_PROGRESS", str(tmp_path / "progress"))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(record, "_memory", {})
    monkeypatch.setattr(predictions, "_asked", {})
    return tmp_path / "progress"
