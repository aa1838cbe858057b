"""Bars of measurements: the finding, the table, and whatever is measured."""

from __future__ import annotations

import re
import xml.etree.ElementTree

import pytest

from sparsekit.widgets import bars_figure


def row(median, least=None, most=None):
    return {"median": median, "min": least or median, "max": most or median}


def test_the_finding_names_the_best_and_the_next():
    figure = bars_figure("Products", {"sparsekit": row(2.0, 1.5, 3.0), "rival": row(5.0)}, "ms")
    assert figure.alt == "Products: sparsekit takes 2 ms, the next, rival, 5 ms."
    assert figure.rows == [("sparsekit", "2 ms", "1.5 to 3", "1.00"), ("rival", "5 ms", "5 to 5", "2.50")]


def test_of_rates_the_largest_is_best():
    figure = bars_figure("Reading", {"sparsekit": row(300.0), "rival": row(100.0)}, "MB/s", more_is_better=True)
    assert "sparsekit reaches 300 MB/s" in figure.alt
    assert [cells[3] for cells in figure.rows] == ["1.00", "3.00"]


@pytest.mark.parametrize("rows", [{}, {"a": {}}, {"<b>": row(0.0)}, {"a": row(float("nan"))},
                                  {"x" * 200: row(1e12), "y": row(1e-9)}])
def test_anything_can_be_drawn(rows):
    figure = bars_figure("Title " * 40, rows, "ms", note="note " * 60)
    xml.etree.ElementTree.fromstring(figure.svg)
    assert "<b>" not in figure.html


def test_ours_are_set_off_and_the_picture_is_the_same_every_time():
    rows = {"sparsekit": row(2.0), "rival": row(5.0)}
    figure = bars_figure("Products", rows, "ms")
    assert len(re.findall(r"(?:font|font-weight): (?:bold|700)", figure.svg)) == 3
    assert figure.svg == bars_figure("Products", rows, "ms").svg
