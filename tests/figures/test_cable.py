"""Rows on the cable between servers and a worker, at true scale."""

from __future__ import annotations

import math

import pytest

from sparsekit.figures.cable import MOST, Crossed, Server, cable_figure
from sparsekit.figures.marks import Dots, Rect, Text

from .gallery import drawn

ROWS, WIDTH = 1_000_000, 128


def crossed(rows=1000, servers=2, key="table", whole=False, pushes=True):
    """A table of which so many rows cross each way, the same number to each server."""
    size = rows * WIDTH * 4 if whole else rows * (WIDTH * 4 + 4)
    way = (float(rows), float(size), "dense" if whole else "sparse")
    parts = [Server(f"server {at}", ROWS // servers, rows / servers, rows / servers if pushes else 0.0) for at in range(servers)]
    return Crossed(key, ROWS, ROWS * WIDTH * 4, way, way if pushes else (0.0, 0.0, "sparse"), parts)


def area(mark):
    return (mark.x1 - mark.x0) * (mark.y1 - mark.y0)


def moved(figure, panel):
    """The area of what is on the cables of a panel."""
    return sum(area(mark) for mark in figure.of(Rect) if mark.panel == panel and mark.title.startswith(("pulls", "pushes")))


@pytest.mark.parametrize(("rows", "servers"), [(1000, 1), (1000, 2), (200_000, 3), (3, 16)])
def test_areas_are_the_bytes_on_one_scale(rows, servers):
    one = crossed(rows, servers)
    figure = cable_figure([one])
    assert moved(figure, 0) / moved(figure, 1) == pytest.approx(2 * one.whole / one.bytes)
    dense = [mark for mark in figure.of(Rect) if mark.panel == 0 and " of its " in mark.title]
    assert sum(map(area, dense)) == pytest.approx(moved(figure, 0) / 2)  # what the servers hold crosses twice
    stored = [mark for mark in figure.of(Rect) if mark.panel == 1 and " of its " in mark.title]
    assert sum(map(area, stored)) / sum(map(area, dense)) == pytest.approx(rows / ROWS, rel=1e-5)
    assert len(stored) == min(servers, MOST)
    assert {mark.kind for mark in dense} == {"dense"}
    assert {mark.kind for mark in stored} == {"sparse"}


def test_the_title_the_table_and_the_letters_have_the_numbers():
    figure = cable_figure([crossed(), crossed(4, key="bias")])
    assert figure.title == "table: its rows cross in 1.03 MB, 992× fewer bytes than the whole table"
    assert "pulls 1,000 and pushes 1,000 of 1,000,000 rows (0.1 %): 1.03 MB" in figure.finding
    assert "Rows by server: server 0 500, server 1 500." in figure.finding
    assert figure.table.rows[0] == ("'bias'", "4", "4", "1,000,000", "4.13 kB", "1.02 GB")
    assert [text.text for text in figure.of(Text) if text.size > 20] == ["1.02 GB", "1.03 MB"]
    assert figure.notes[1] == "1 smaller key moved 4.13 kB a step."


def test_what_crosses_whole_has_nothing_to_compare_with():
    figure = cable_figure([crossed(ROWS, whole=True)])
    assert len(figure.panels) == 1
    assert not figure.interaction.frames
    assert figure.title == "table: a step moves 1.02 GB"
    assert not [mark for mark in figure.shapes if mark.kind == "sparse"]


def test_in_the_film_both_sides_send_at_the_same_speed():
    one = crossed(100_000)
    figure = cable_figure([one])
    *frames, last = figure.interaction.frames
    assert last is figure
    filled = [[moved(frame, panel) / moved(figure, panel) for panel in (0, 1)] for frame in frames]
    assert [dense for dense, _ in filled] == pytest.approx([part / 8 for part in range(1, 8)])
    for dense, sparse in filled:
        assert sparse == pytest.approx(min(1.0, dense * 2 * one.whole / one.bytes))


@pytest.mark.parametrize("one", [crossed(1, 1), crossed(0)._replace(pulled=(0.0, 4.0, "sparse")),
                                 Crossed("w", 1, 0, (1.0, 4.0, "sparse"), (0.0, 0.0, "sparse"), [Server("server 0", 0, 0, 0)])])
def test_little_and_empty_tables_are_drawn(one):
    figure = cable_figure([one])
    assert all(math.isfinite(value) for mark in figure.of(Rect) for value in mark[2:6])
    assert figure.of(Dots) or figure.panels
    drawn(figure)
