"""What a picture covers is as large a share of it as what is stored, or as many times larger as it says."""

from __future__ import annotations

import math
import re
from html import unescape

import numpy as np

import sparsekit as mx
from sparsekit.widgets import touched_figure
from sparsekit.widgets.svg import drawn_narrow
from sparsekit.widgets.theme import SERIES

BOX = re.compile(r"M([\d.-]+) ([\d.-]+)h([\d.]+)v([\d.]+)H")


def inked(svg, color, sides):
    """The share of a picture of these sides that boxes of a colour cover, overlaps counted twice, and their number."""
    (path,) = re.findall(rf'<path d="([^"]*)" fill="{color}"/>', svg)
    boxes = [tuple(map(float, box)) for box in BOX.findall(path)]
    return sum(w * h for _, _, w, h in boxes) / (sides[0] * sides[1]), len(boxes)


def drawn(build, *arguments, narrow):
    """The document of a picture on a wide or a narrow page."""
    def document():
        return unescape(build(*arguments).svg)

    return drawn_narrow(document) if narrow else document()


def said(words):
    """How much larger than true the marks are, by the words, and how many stored values one stands for."""
    if "Drawn at true scale" in words:
        return 1.0, None
    scale = float(re.search(r"drawn ([\d,.]+) times (its|their)", words)[1].replace(",", ""))
    each = re.search(r"stands for about ([\d,]+)", words)
    return scale, int(each[1].replace(",", "")) if each else 1


def test_rows_that_a_step_touches_are_dots_of_a_stated_size():
    for rows, stored in ((1_000_000, 100), (1_000_000, 200_000), (10_000, 5_000), (100, 3)):
        found = np.sort(np.random.default_rng(0).permutation(rows)[:stored])
        sparse = mx.nd.sparse.row_sparse_array((np.ones((stored, 1), np.float32), found), shape=(rows, 1))
        figure = touched_figure({"dense": (mx.nd.ones((rows, 1)), 8), "row-sparse": (sparse, 4)})
        side = 300
        share, marks = inked(figure.svg, SERIES[0], (side, side))
        scale, _ = said(figure.alt)
        true = stored / math.ceil(math.sqrt(rows)) ** 2
        assert true * scale / 1.06 - 0.001 <= share <= true * scale * 1.06
        assert marks <= stored
        assert share <= max(1.06 * true, 0.0101)
        written = re.sub(r"<[^>]*>|\s+", "", unescape(figure.svg))
        assert re.sub(r"\s+", "", figure.alt[figure.alt.rindex(". ", 0, -1) + 2:]) in written
