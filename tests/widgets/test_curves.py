"""Curves as a picture and a table, of anything."""

from __future__ import annotations

from xml.etree import ElementTree

import sparsekit.widgets as widgets


def test_curves_have_names_dashes_and_a_table():
    shown = widgets.curves_figure({"lazy": [1, 0.9, 0.9], "full": [1, 0.9, 0.81]}, "One row", finding="Only full moves on.")
    assert shown.alt == "Only full moves on."
    assert shown.columns == ("step", "lazy", "full")
    assert shown.rows == [("0", "1", "1"), ("1", "0.9", "0.9"), ("2", "0.9", "0.81")]
    picture = ElementTree.fromstring(shown.svg)
    curves = [node for node in picture.iter() if node.tag.endswith("path") and node.get("fill") == "none"]
    assert len({(node.get("stroke"), node.get("stroke-dasharray")) for node in curves}) == 2
    assert widgets.curves_figure({"lazy": [1, 2]}).alt == "lazy ends at 2."


def test_long_curves_have_a_short_table():
    shown = widgets.curves_figure({"a": range(1000)})
    assert [row[0] for row in shown.rows][::8] == ["0", "999"]
    assert len(shown.rows) == 9


def test_anything_is_drawn(hostile):
    for curves in ({}, {"a": []}, {"a": [None]}, {hostile: [1, float("nan"), "x", 1e308], "b": [5]}, {"a": [3, 3, 3]}):
        shown = widgets.curves_figure(curves, hostile, hostile, hostile)
        ElementTree.fromstring(shown.svg)
        assert "<script" not in shown.html
