"""A run that is drawn larger says by how much."""

from __future__ import annotations

import re
from html import unescape

import pytest

from sparsekit.widgets import timelines_figure
from sparsekit.widgets.svg import drawn_narrow


def drawn(build, *arguments, narrow):
    """The document of a picture on a wide or a narrow page."""
    def document():
        return unescape(build(*arguments).svg)

    return drawn_narrow(document) if narrow else document()


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
