"""The rows that a step touches, at their places, and README's first picture, which is drawn by a program."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ShapeError
from sparsekit.figures.marks import Cells, Dots, Raster, Rect, Text
from sparsekit.figures.touched import touched_figure

from .gallery import drawn

PROFILES = Path(__file__).resolve().parents[2] / "profiles"


def rows_of(numbers, length):
    return mx.nd.sparse.row_sparse_array((np.ones((len(numbers), 2), "float32"), numbers), shape=(length, 2))


def test_each_stored_row_has_its_place_in_the_square_and_a_dense_gradient_fills_it():
    shown = touched_figure({"dense": (mx.nd.zeros((10_000, 2)), 500), "sparse": (rows_of([0, 99, 5000], 10_000), 50)})
    whole = shown.of(Rect)[0]
    assert (whole.panel, whole.kind, whole[2:6]) == (0, "dense", (0, 1, 0, 1))
    on_dense, sparse = shown.of(Cells)
    assert (on_dense.kind, sparse.kind) == ("paper", "sparse")
    for marks in (on_dense, sparse):  # 100 rows in each of 100 lines, and the same rows in both squares
        assert np.round(marks.boxes[:, [0, 2]] * 100).tolist() == [[0, 0], [99, 0], [0, 50]]
        assert np.round((marks.boxes[:, 1] - marks.boxes[:, 0]) * 100, 6).max() <= 1  # at true scale
    assert [(dots.kind, len(dots.x)) for dots in shown.of(Dots)] == [("paper", 3), ("dense", 3), ("sparse", 3), ("paper", 3)]


@pytest.mark.parametrize(("length", "count"), [(10_000, 401), (1_000_000, 50_000), (999_999, 7000), (30, 3)])
def test_many_rows_are_as_dark_as_their_share(length, count):
    rows = np.sort(np.random.default_rng(0).permutation(length)[:count])
    rows[-1] = length - 1
    shown = touched_figure({"dense": mx.nd.zeros((length, 2)), "sparse": rows_of(rows, length)})
    (raster,) = shown.of(Raster)
    across = int(np.ceil(np.sqrt(length)))
    covered = raster.shades.mean() * (raster.x1 - raster.x0) * (raster.y1 - raster.y0)
    assert covered == pytest.approx(count / across**2)
    assert not shown.of(Dots)
    each = raster.x1 * across / raster.shades.shape[0]
    assert raster.shades[int(rows[0] // across // each), int(rows[0] % across // each)] > 0
    assert len(shown.html()) < 200_000


def test_gradients_alone_need_no_profile():
    shown = touched_figure({"dense": mx.nd.zeros((10_000, 2)), "sparse": rows_of([1, 2], 10_000)})
    assert shown.title == "sparse: it has 2,500× fewer bytes"
    assert shown.table.columns == ("gradient", "stored rows", "bytes of the gradient")
    assert [text.text for text in shown.of(Text) if text.size > 20] == ["80.0 kB", "32 B"]


def test_words_and_table_say_the_counts_and_bytes():
    shown = touched_figure({"dense": (mx.nd.zeros((10_000, 2)), 500_000), "sparse": (rows_of([1, 2], 10_000), 5_000)})
    assert shown.finding == "dense: 10,000 of 10,000 rows, 80.0 kB. sparse: 2 of 10,000 rows, 32 B."
    assert shown.table.rows == [("dense", "10,000", "80.0 kB", "500 kB"), ("sparse", "2", "32 B", "5.00 kB")]
    assert shown.title == "sparse: a step moves 100× fewer bytes"
    assert [bar.x1 for bar in shown.of(Rect)] == [1, 500_000, 5_000]
    drawn(shown)


def test_a_dense_weight_may_be_turned():
    assert "10,000 of 10,000" in touched_figure({"a": (mx.nd.zeros((2, 10_000)), 1), "b": (rows_of([1], 10_000), 1)}).alt


def test_gradients_of_two_weights_are_refused():
    with pytest.raises(ShapeError, match="one weight"):
        touched_figure({"a": (mx.nd.zeros((3, 2)), 1), "b": (rows_of([1], 10_000), 1)})


def test_the_picture_of_the_readme_is_what_its_program_draws():
    drawn = runpy.run_path(str(PROFILES / "contrast.py"))["picture"]()
    assert drawn.svg() == (PROFILES / "contrast.svg").read_text(encoding="utf-8")
    (alt,) = re.findall(r"!\[([^\]]+)\]\(profiles/contrast\.svg\)", (PROFILES.parent / "README.md").read_text(encoding="utf-8"))
    assert all(row[2] in alt for row in drawn.table.rows)


def test_where_nothing_is_stored_no_marks_are_told_of():
    for rows in (0, 100):
        said = touched_figure({"sparse": (mx.nd.sparse.zeros("row_sparse", (rows, 2)), 0)}).finding
        assert said == f"sparse: 0 of {rows} rows, 0 B."
