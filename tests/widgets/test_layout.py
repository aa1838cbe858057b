from __future__ import annotations

from sparsekit.widgets import layout


def test_ticks_are_round_and_few():
    assert layout.ticks(167.0) == [0.0, 50.0, 100.0, 150.0]
    assert len(layout.ticks(0.0)) == 1
    assert all(len(layout.ticks(length)) <= 9 for length in (1e-6, 0.3, 7, 99, 1e12))
