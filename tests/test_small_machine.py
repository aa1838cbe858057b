"""The course on a machine with 2 GB, as Binder gives it: what is too large chooses a smaller size and says so."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

import sparsekit as mx
from sparsekit.base import machine

ROOT = Path(__file__).resolve().parents[1]


def scaling_cell():
    cells = nbformat.read(ROOT / "notebooks" / "03_train_gluon.ipynb", as_version=4).cells
    return next(cell.source for cell in cells if cell.cell_type == "code" and "available_memory" in cell.source)


@pytest.mark.parametrize(("free", "features"), [(24_000_000_000, 1_000_000), (1_000_000_000, 680_000), (100_000_000, 10_000)])
def test_the_dense_variant_takes_what_there_is(monkeypatch, capsys, free, features):
    monkeypatch.setattr(machine, "available_memory", lambda: free)
    names = {"mx": mx, "num_samples": 100, "num_features": 1_000_000}
    exec(scaling_cell(), names)
    assert names["num_features"] == features
    said = capsys.readouterr().out
    assert (f"scaled down to {features:,} features" in said) == (features < 1_000_000)
    if "data" in names:
        assert names["data"].shape == (100, features)
        assert names["data"].stype == "csr"
        assert 2 * 128 * features * 4 < max(free, 100_000_000)
