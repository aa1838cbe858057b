"""Live views without a browser: what they send, what they answer, and what they make of nonsense."""

from __future__ import annotations

import copy
import pickle

import pytest

from sparsekit.base.errors import UnsupportedError
from sparsekit.figures.interaction import checked, declared
from sparsekit.figures.kit import Slider

from .gallery import HOSTILE, asking, everything, played

pytest.importorskip("anywidget")


def test_a_view_draws_what_is_asked_for():
    calls: list[object] = []
    live = asking(calls).live()
    before = live.svg
    values = {"kind": "sparse", "rows": 7.4, "matrix": [[0, 9], [1]]}
    live.answer({"ask": "draw", "window": [10, 50], "width": 640, "values": values})
    window, values = calls[-1]
    assert window == (10, 50)
    assert values == {"density": 0.01, "kind": "sparse", "rows": 7, "index": False, "matrix": ((0, 9), (1, 2))}
    assert live.svg != before
    assert 'width="640"' in live.svg
    assert "<td>7</td>" in live.table
    assert live.values["rows"] == 7
    assert live.answered == 1


def test_a_view_tells_of_what_is_chosen_and_of_what_failed():
    live = asking().live()
    live.answer({"ask": "select", "key": "bar 3"})
    assert live.details == "<dl><dt>key</dt><dd>bar 3</dd><dt>kind</dt><dd>dense</dd></dl>"
    assert live.selected == "bar 3"
    live.answer({"ask": "select", "key": "bar 9"})
    assert live.details == "<p>ValueError: no bar 9 &lt;b&gt;</p>"


@pytest.mark.parametrize("message", [None, [], {}, {"ask": 1}, {"ask": "draw", "window": ["x", None], "width": "wide"},
                                     {"ask": "draw", "window": [2, 1], "width": 1e99},
                                     {"ask": "draw", "values": {"kind": "purple", "matrix": 3}},
                                     {"ask": "draw", "window": [float("nan"), float("inf")]}, {"ask": "select", "key": {"a": 1}},
                                     {"ask": "draw", "values": [1]}])  # fmt: skip
def test_nonsense_from_a_page_is_answered_and_changes_nothing(message):
    calls: list[tuple[object, dict[str, object]]] = []
    figure = asking(calls)
    live = figure.live()
    live.answer(message)
    assert live.answered == 1
    assert calls[-1] == (None, checked(figure.interaction.inputs, {}))


def test_steps_of_a_slider_are_even_unless_factors_are_asked_for():
    even, factors = declared([Slider("rate", "rate", 0.0, 4.0, 1.0), Slider("size", "size", 1.0, 100.0, 10.0, log=True)])
    assert even == {"kind": "slider", "name": "rate", "label": "rate", "low": 0.0, "high": 4.0, "value": 1.0, "unit": "number",
                    "log": False}
    assert factors["log"]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_sent_and_kept_is_harmless(name):
    live = everything(name, name).live()
    assert "<script" not in live.svg + live.table
    data, _ = live._repr_mimebundle_()
    assert "<script" not in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data


def test_frames_are_sent_and_the_last_is_the_figure():
    live = played().live()
    assert len(live.given["frames"]) == 3
    assert "Frame 3" in live.svg


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_view_cannot_be_copied_and_says_what_can(copied):
    with pytest.raises(UnsupportedError, match=r"save\('picture.html'\)"):
        copied(asking().live())
