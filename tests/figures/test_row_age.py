"""Row ages: what a monitor saw of each row, beside a plain count, and the map of it."""

from __future__ import annotations

import base64
import re
import struct
import zlib

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError, ShapeError, UnknownNameError
from sparsekit.figures import monitor
from sparsekit.figures.marks import Raster, Rect
from sparsekit.figures.row_age import row_age_figure
from sparsekit.figures.svg import grey_png


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_monitor_knows_the_age_of_each_row(hybrid):
    draw, rows = np.random.default_rng(0), 50
    layer = mx.gluon.nn.Embedding(rows, 2, sparse_grad=True, prefix="words_")
    layer.initialize()
    if hybrid:
        layer.hybridize()
    trainer = mx.gluon.Trainer(layer.collect_params(), "adam", {"learning_rate": 0.1})
    last, times = np.full(rows, -1), np.zeros(rows, int)
    with monitor(trainer, live=False) as m:
        for step in range(9):
            batch = draw.integers(0, rows, 6)
            with mx.autograd.record():
                loss = layer(mx.nd.array(batch)).sum()
            loss.backward()
            trainer.step(1)
            m.step(loss)
            last[batch], times[np.unique(batch)] = step, times[np.unique(batch)] + 1
    assert m.row_ages("words_weight").tolist() == np.where(last < 0, -1, 8 - last).tolist()
    assert m.row_counts("words_weight").tolist() == times.tolist()
    with pytest.raises(UnknownNameError, match="Hint"):
        m.row_ages("words_wieght")


def test_the_table_counts_the_rows_of_each_age():
    ages = np.array([0, 0, 3, 9, 10, 49, 50, 700, -1, -1, -1])
    figure = row_age_figure(ages)
    assert figure.table.rows == [("0", "2"), ("1 to 9", "2"), ("10 to 49", "2"), ("50 to 199", "1"), ("200 or more", "1"),
                                 ("never", "3")]
    assert figure.title == "2 of 11 rows had no gradient for 50 steps or more"
    assert "The last step had a gradient for 2 rows; 3 rows never had one." in figure.finding
    assert [bar.y1 for bar in figure.of(Rect)] == [2, 2, 2, 1, 1, 3]


def test_each_cell_is_a_row_and_older_is_paler():
    changed, apart = np.array([1, 0, 1, 0, 0], bool), [0.1, 0.3, 0.2, 0.0, np.nan]
    figure = row_age_figure(np.array([0, 5, 20, -1, 60]), {"dense": changed}, apart)
    age, other = figure.of(Raster)[:2]
    first, second, third, never, oldest, *rest = age.shades.ravel()
    assert 1 == first > second > third > oldest > never == 0
    assert rest == [0] * 4
    assert other.shades.ravel().tolist() == [1, 0, 1] + [0] * 6
    assert "dense: that step changed 2 rows." in figure.finding
    assert "furthest apart (0.3, median) in rows of age 1 to 9" in figure.finding
    assert [row[2] for row in figure.table.rows] == ["0.1", "0.3", "0.2", "nan", "0"]


def test_a_million_rows_are_a_small_picture_of_means():
    ages = np.where(np.arange(1_000_000) < 500_000, 0, -1)
    figure = row_age_figure(ages)
    shades = figure.of(Raster)[0].shades
    assert max(shades.shape) <= 256
    assert shades[:120].min() == 1
    assert shades[-120:].max() == 0
    assert len(figure.html()) < 300_000


def test_an_image_holds_the_shades():
    shades = np.random.default_rng(0).random((5, 7))
    png = base64.b64decode(grey_png(shades).partition(",")[2])
    assert struct.unpack(">II", png[16:24]) == (7, 5)
    start = png.index(b"IDAT")
    lines = np.frombuffer(zlib.decompress(png[start + 4: start + 4 + struct.unpack(">I", png[start - 4: start])[0]]), np.uint8)
    assert (lines.reshape(5, 8)[:, 0] == 0).all()
    assert lines.reshape(5, 8)[:, 1:] / 255 == pytest.approx(shades, abs=0.002)


def test_masks_of_one_page_have_names_of_their_own():
    figures = [row_age_figure(np.arange(n)) for n in (4, 9)]
    text = "".join(figure.svg() for figure in figures)
    names = re.findall(r'<mask id="([^"]+)"', text)
    assert len(names) == len(set(names)) > 4
    assert all(f"url(#{name})" in text for name in names)


def test_what_makes_no_sense_is_refused():
    for wrong in ([], [0.5], [[1]], "x", [-2], None, 5):
        with pytest.raises(ParameterError, match="Hint"):
            row_age_figure(wrong)
    for wrong in ([1], "xy", [[1, 2]]):
        with pytest.raises(ShapeError, match="Hint"):
            row_age_figure([0, 1], apart=wrong)
        with pytest.raises(ShapeError, match="Hint"):
            row_age_figure([0, 1], {"a": wrong})
    with pytest.raises(ParameterError, match="Hint"):
        row_age_figure([0, 1], changed=[1, 0])
