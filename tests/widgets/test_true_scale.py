"""What a picture covers is as large a share of it as what is stored, or as many times larger as it says."""

from __future__ import annotations

import math
import re
from html import unescape

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.widgets import array_figure, timelines_figure, touched_figure
from sparsekit.widgets.inspector import inspector_payload
from sparsekit.widgets.spy import BLUE
from sparsekit.widgets.svg import drawn_narrow
from sparsekit.widgets.theme import IN_THE_DARK, PAPER, SERIES, contrast

BOX = re.compile(r"M([\d.-]+) ([\d.-]+)h([\d.]+)v([\d.]+)H")


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


def inked(svg, color, sides):
    """The share of a picture of these sides that boxes of a colour cover, overlaps counted twice, and their number."""
    (path,) = re.findall(rf'<path d="([^"]*)" fill="{color}"/>', svg)
    boxes = [tuple(map(float, box)) for box in BOX.findall(path)]
    return sum(w * h for _, _, w, h in boxes) / (sides[0] * sides[1]), len(boxes)


def frame(svg):
    """Sides of the picture of the array: the first rectangle with the paper's fill after the page's own."""
    return tuple(map(float, re.findall(rf'width="([\d.]+)" height="([\d.]+)" fill="{PAPER}" stroke="#d3d3cc"', svg)[0]))


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


def magnifier_removed(svg):
    """The picture without the elements that are drawn one by one beside it, which have the same colour."""
    return svg.partition("True scale: each square is one element")[0]


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("make", [csr, row_sparse])
@pytest.mark.parametrize("seed", range(40))
def test_the_ink_is_the_stored_share_times_what_is_said(make, seed, narrow):
    rng = np.random.default_rng(seed)
    while True:
        rows, columns = (int(10 ** rng.uniform(1.2, 7)) for _ in range(2))
        density = 10 ** rng.uniform(-9, 0)
        if density * rows * (columns if make is csr else 1) < 200_000 and rows * columns < 10**12:
            break
    array = make(rng, rows, columns, density)
    figure = array_figure(array)
    svg = magnifier_removed(drawn(array_figure, array, narrow=narrow))
    count = len(array["indices"])
    true = count / (rows * columns if make is csr else rows)
    share, marks = inked(svg, BLUE, frame(svg))
    scale, each = said(figure.alt)
    assert share <= true * scale * 1.06 + 1e-4, "the words round a scale to two figures"
    assert share >= true * scale / 1.06 - (0.002 if make is csr else 0.0101), "less than one mark is left over"
    assert marks <= count
    assert share <= max(1.06 * true, 0.021)
    assert scale == 1 or each is None or each == 1 or each == pytest.approx(count / marks, abs=0.5)
    assert (scale > 1) == (true * scale > 1.05 * true)
    assert inspector_payload(array)["finding"] == figure.alt


@pytest.mark.parametrize("density", [0.02, 0.1, 0.5, 0.97, 1.0])
def test_what_can_be_drawn_at_true_scale_is(density):
    array = csr(np.random.default_rng(1), 500, 800, density)
    figure = array_figure(array)
    share, _ = inked(magnifier_removed(figure.svg), BLUE, frame(figure.svg))
    assert share == pytest.approx(len(array["indices"]) / 400_000, rel=0.02)
    assert "Drawn at true scale" in figure.alt
    assert "Drawn at true scale" in figure.svg


def test_values_that_lie_together_are_not_spread():
    """A hundredth of a percent in one corner: the corner is drawn, and nothing else."""
    rows, columns = np.divmod(np.arange(10_000), 100)
    array = {"stype": "csr", "shape": (10_000, 10_000), "data": np.ones(10_000, np.float32), "indices": columns,
             "indptr": np.searchsorted(rows, np.arange(10_001))}
    figure = array_figure(array)
    share, _ = inked(magnifier_removed(figure.svg), BLUE, frame(figure.svg))
    scale, _ = said(figure.alt)
    assert share <= 1e-4 * scale * 1.06
    assert scale < 7, "the block of 250 × 250 elements, of which 10,000 are stored, is covered at most"


def test_one_value_is_one_dot_at_its_place():
    array = {"stype": "csr", "shape": (1000, 1000), "data": np.ones(1), "indices": np.array([750]),
             "indptr": np.array([0] * 251 + [1] * 750)}
    ((left, top, wide, tall),) = inspector_payload(array)["marks"]
    assert (left + wide / 2, top + tall / 2) == pytest.approx((0.7505, 0.2505), abs=1e-5)
    assert said(array_figure(array).alt) == (round(wide * tall * 1e6), 1)


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


def test_marks_are_seen_on_paper_and_in_the_dark():
    for color in (BLUE, SERIES[0]):
        assert contrast(color, PAPER) >= 3
        assert contrast(color, IN_THE_DARK[PAPER]) >= 3


def records(length, name="dot"):
    return [{"name": name, "lane": "forward", "start": i * length, "duration": length, "self": length} for i in range(4)]


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("ratio", [3.5, 4, 5.3, 10, 44, 89, 1234.5])
def test_a_magnified_run_says_how_many_times_as_wide_it_is_drawn(ratio, narrow):
    runs = {"dense": records(1000.0), "sparse": records(1000.0 / ratio)}
    figure, svg = timelines_figure(runs), drawn(timelines_figure, runs, narrow=narrow)
    (words,) = re.findall(r">(drawn [\d.,]+ times as wide)</text>", svg)
    assert f"sparse is also {words}." in figure.alt
    assert "dense is also" not in figure.alt
    places = [float(x) for x in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="[\d.]+" height="17" fill="#d3d3cc"', svg)]
    whole, magnified = places[3] - places[0], places[-1] - places[-4]
    assert float(words.split()[1].replace(",", "")) == pytest.approx(magnified / (whole / ratio), rel=0.02)


def test_runs_that_are_seen_are_not_magnified():
    figure = timelines_figure({"dense": records(1000.0), "sparse": records(500.0)})
    assert "times as wide" not in figure.svg + figure.alt
