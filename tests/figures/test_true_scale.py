"""A sparse array looks as full as it is, and what is drawn larger says by how much."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sparsekit.figures.array import array_figure
from sparsekit.figures.kit import Cells
from sparsekit.figures.layout import Layout


def flat(rng, rows, columns, density):
    """Row and column of about as many different elements, in order."""
    count = max(1, min(rows * columns, round(density * rows * columns)))
    if count > rows * columns / 3:
        chosen = np.sort(rng.permutation(rows * columns)[:count])
    else:
        chosen = np.unique(rng.integers(0, rows * columns, count))
    return np.divmod(chosen, columns)


def csr(rng, rows, columns, density):
    places, found = flat(rng, rows, columns, density)
    return {"stype": "csr", "shape": (rows, columns), "data": np.ones(len(found), np.float32), "indices": found,
            "indptr": np.searchsorted(places, np.arange(rows + 1))}


def row_sparse(rng, rows, columns, density):
    found, _ = flat(rng, rows, 1, density)
    return {"stype": "row_sparse", "shape": (rows, columns), "data": np.broadcast_to(np.float32(1), (len(found), columns)),
            "indices": found}


def inked(figure, panel):
    """The share of a panel that its cells cover, overlaps counted twice, and their number."""
    (cells,) = (mark for mark in figure.of(Cells) if mark.panel == panel)
    (x0, x1), (y0, y1) = figure.panels[panel].x, figure.panels[panel].y
    boxes = cells.boxes
    return float(((boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])).sum() / ((x1 - x0) * (y1 - y0))), len(boxes)


def said(words):
    """How much larger than true the marks are, by the words, and how many stored values one stands for."""
    scale = float(re.search(r"drawn ([\d,.]+) times (its|their)", words)[1].replace(",", ""))
    each = re.search(r"stands for about ([\d,]+)", words)
    return scale, int(each[1].replace(",", "")) if each else 1


@pytest.mark.parametrize("make", [csr, row_sparse])
@pytest.mark.parametrize("seed", range(40))
def test_the_ink_is_the_stored_share_and_what_is_enlarged_says_by_how_much(make, seed):
    rng = np.random.default_rng(seed)
    while True:
        rows, columns = (int(10 ** rng.uniform(1.3, 7)) for _ in range(2))
        density = 10 ** rng.uniform(-9, 0)
        if density * rows * (columns if make is csr else 1) < 200_000 and rows * columns < 10**12:
            break
    array = make(rng, rows, columns, density)
    figure = array_figure(array)
    count = len(array["indices"])
    true = count / (rows * columns if make is csr else rows)
    share, marks = inked(figure, 0)
    one = 1 / (400 * 133) if make is csr else 1 / 133  # a mark that is seen, as a share of the smallest picture
    assert share == pytest.approx(true, rel=0.02, abs=1.5 * one if true > one else 1e-12)
    assert marks <= count
    if "drawn larger" in figure.panels[1].title or "times their size" in figure.panels[1].title:
        share, marks = inked(figure, 1)
        scale, each = said(figure.finding)
        assert share <= true * scale * 1.06 + 1e-4, "the words round a scale to two figures"
        assert share >= true * scale / 1.06 - (0.002 if make is csr else 0.0101), "less than one mark is left over"
        assert share <= 0.021
        assert each == 1 or each == pytest.approx(count / marks, abs=0.5)


def test_three_thousandths_of_a_percent_look_like_it():
    figure = array_figure(csr(np.random.default_rng(1), 2000, 100_000, 3e-5))
    assert figure.panels[0].title == "At true scale: 0.003 % is blue"
    assert inked(figure, 0)[0] == pytest.approx(3e-5, rel=0.3)
    (path,) = re.findall(r'<g class="f-sparse"[^>]*><path d="([^"]*)"', figure.svg().partition("The same places")[0])
    pixels = sum(float(w) * float(h) for w, h in re.findall(r"h([\d.]+)v([\d.]+)h-", path))
    box = Layout(figure, 1000).boxes[0]
    assert pixels / (box.width * box.height) == pytest.approx(3e-5, rel=0.3)


def test_values_that_lie_together_are_not_spread():
    """A hundredth of a percent in one corner: the corner is drawn, and nothing else."""
    rows, columns = np.divmod(np.arange(10_000), 100)
    array = {"stype": "csr", "shape": (10_000, 10_000), "data": np.ones(10_000, np.float32), "indices": columns,
             "indptr": np.searchsorted(rows, np.arange(10_001))}
    scale, _ = said(array_figure(array).finding)
    assert inked(array_figure(array), 1)[0] <= 1e-4 * scale * 1.06
    assert scale < 7, "the block of 250 × 250 elements, of which 10,000 are stored, is covered at most"


def test_one_value_is_one_dot_at_its_place():
    array = {"stype": "csr", "shape": (1000, 1000), "data": np.ones(1), "indices": np.array([750]),
             "indptr": np.array([0] * 251 + [1] * 750)}
    figure = array_figure(array)
    (true,), (larger,) = (mark.boxes for mark in figure.of(Cells) if mark.panel < 2)
    assert (true[1] - true[0]) * (true[3] - true[2]) == pytest.approx(1.0)
    assert ((larger[0] + larger[1]) / 2, (larger[2] + larger[3]) / 2) == pytest.approx((750.5, 250.5), abs=0.01)
    assert said(figure.finding) == (round((larger[1] - larger[0]) * (larger[3] - larger[2])), 1)
