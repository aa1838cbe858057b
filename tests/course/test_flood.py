"""A million rows: counts and bytes beside gradients that plain lines make, the picture, and what a page may send."""

from __future__ import annotations

import re
import zlib
from collections import Counter

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError
from sparsekit.course import million_rows_figure
from sparsekit.course.touched_rows import measured, opening, words_of
from sparsekit.figures.marks import Cells, Text


def test_the_gradient_is_the_product_of_the_counts():
    found = measured("The cat, the hat: the CAT.", 1000)
    counts = Counter(zlib.crc32(word.encode()) % 1000 for word in ("the", "cat", "the", "hat", "the", "cat"))
    expected = np.zeros((1000, 128), np.float32)
    for row, count in counts.items():
        expected[row] = count
    assert (found.gradient.asnumpy() == expected).all()
    assert found.dense_bytes == expected.nbytes
    assert found.title == "6 words touch 3 of 1,000 rows"


def test_the_picture_says_what_was_computed():
    found, figure = measured(), million_rows_figure()
    stored = len({zlib.crc32(word.encode()) % 1_000_000 for word in words_of(opening())})
    assert found.gradient.indices.shape[0] == stored == 79
    assert found.gradient.nbytes == stored * (128 * 4 + 8) == 41_080
    assert found.dense_bytes == 1_000_000 * 128 * 4
    assert [text.text for text in figure.of(Text) if text.size > 20] == ["512 MB", "41.1 kB"]
    assert f"{512_000_000 / 41_080:,.0f}× fewer bytes" in figure.finding
    assert figure.table.rows == [("dense gradient", "1,000,000", "512 MB"), ("row-sparse gradient", "79", "41.1 kB")]
    places = figure.of(Cells)[1].boxes
    assert sorted(np.round(places[:, 2] * 1000) * 1000 + np.round(places[:, 0] * 1000)) == sorted(found.stored)


def test_a_gradient_that_is_too_large_is_a_shape():
    found = measured("one", 10_000_000)
    assert found.dense_bytes == 5_120_000_000
    assert not found.made
    assert "was not computed" in million_rows_figure("one", 10_000_000).notes[-1]


@pytest.mark.parametrize(("text", "words"), [("don't", 1), ("Straße STRASSE", 2), ("日本 語", 2), ("a\u202eb", 2),
                                             ("e\u0301 é", 2), ("1 2", 2)])
def test_words_of_any_language(text, words):
    assert measured(text).length == words


def test_bad_arguments_are_named():
    for wrong in ({"text": "?!"}, {"text": ""}, {"text": 5}, {"text": "a " * 20_000}, {"rows": 0}, {"rows": 10**9}, {"rows": 1e6},
                  {"rows": True}, {"rows": "x"}):
        with pytest.raises(ParameterError, match="Hint"):
            million_rows_figure(**wrong)


def test_a_page_may_send_anything():
    pytest.importorskip("anywidget", reason="no anywidget: python -m pip install 'sparsekit[lab]'")
    view = mx.million_rows("the cat")
    row = view.touched.stored[0]
    view.answer({"ask": "row", "row": row})
    assert f"{row:,} of 1,000,000" in view.details
    assert "<svg" in view.details
    view.answer({"ask": "text", "text": "<img src=x>", "rows": 10_000})
    assert view.data["title"] == "3 words touch 3 of 10,000 rows"
    assert view.details == ""
    assert "<img" not in view._repr_mimebundle_()[0]["text/html"].replace("<img alt=", "")
    before = dict(view.data)
    for wrong in (None, 5, {}, {"ask": "text"}, {"ask": "row"}, {"ask": "row", "row": "x"}, {"ask": "row", "row": float("nan")},
                  {"ask": "text", "text": "\ud800", "rows": "many"}, {"ask": "text", "text": "?", "rows": -1}, {"ask": ["row"]}):
        view.answer(wrong)
    assert view.data["error"] == "The text has no words."
    assert {**view.data, "error": ""} != before or view.data["rows"] == before["rows"]
    news = []
    view.observe(news.append, names=["data"])
    view.answer({"ask": "text", "text": "?"})
    assert len(news) == 1  # the same error again is said again
    view.answer({"ask": "text", "text": "x", "rows": 1e30})
    assert view.data["rows"] == 10_000_000


def test_a_row_fits_the_page_and_a_screen():
    pytest.importorskip("anywidget", reason="no anywidget: python -m pip install 'sparsekit[lab]'")
    view = mx.million_rows("the cat")
    for width in (240, 700):
        view.answer({"ask": "row", "row": view.touched.stored[0], "width": width})
        wide, tall = map(float, re.search(r'<svg [^>]*viewBox="0 0 (\S+) (\S+)"', view.details).groups())
        assert wide == width
        assert tall < 500


def test_a_text_that_has_nearly_all_rows_saves_nothing():
    found = measured(" ".join(f"w{number}" for number in range(2500)), 100)
    assert found.gradient.nbytes > found.dense_bytes
    assert found.finding.endswith("takes 52.0 kB, no less, as each row comes with its index.")


def test_a_narrow_page_says_the_same():
    figure = million_rows_figure()
    assert (figure.narrow.finding, figure.narrow.notes) == (figure.finding, figure.notes)
