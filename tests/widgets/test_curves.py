"""Curves as a picture and a table, of anything; and what all plots of matplotlib have in common."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest

import sparsekit.widgets as widgets
from sparsekit.base import displays
from sparsekit.base.errors import MissingPackageError

CURVES = {"lazy": [1, 0.9, None, 0.9], "_full of $dollars": [1, 0.9, 0.81]}
BARS = {"sparsekit": {"median": 2, "min": 1, "max": 3}, "$rival": {"median": 5, "min": 5, "max": 5}}
SEEN = {"total": 2, "steps": [1, 2], "loss": [3.0, 2.0]}
PLOTS = {
    "curves": lambda ax=None: widgets.curves_figure(CURVES, "Title", ax=ax),
    "bars": lambda ax=None: widgets.bars_figure("Title", BARS, "ms", ax=ax),
    "monitor": lambda ax=None: widgets.monitor_figure(SEEN, "Title", ax=ax),
}


@pytest.fixture(autouse=True)
def _needs_matplotlib():
    pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_the_same_every_time_whatever_the_user_has_set(name):
    import matplotlib

    first = PLOTS[name]().svg
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert PLOTS[name]().svg == first
        assert matplotlib.rcParams["font.size"] == 30
    assert "Matplotlib" not in first


MEMORY = {"samples": [[0, 10, {"$input": 10}], [5, 40, {"$input": 10, "gradient": 30}], [9, 20, {"gradient": 20}]]}
TURNS = [{"name": "dense"}, {"name": "csr", "verdict": "faster", "ratios": [0.5, 0.6], "ratio": 0.55, "low": 0.5, "high": 0.6}]
#: Pictures of ours that matplotlib draws on axes of the user.
ON_AXES = {
    **PLOTS,
    "memory": lambda ax: widgets.memory_figure(MEMORY, "Title", ax=ax),
    "peaks": lambda ax: widgets.memory_bars({"one": MEMORY, "_two": MEMORY}, title="Title", ax=ax),
    "turns": lambda ax: displays.call("turns_figure", TURNS, "", {}, title="Title", ax=ax),
}


@pytest.mark.parametrize("name", ON_AXES)
def test_a_plot_on_axes_of_the_user(name):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert ON_AXES[name](ax) is ax
    assert ax.get_title() == "Title"
    assert ax.lines or ax.patches or ax.collections
    ax.figure.canvas.draw()


def test_curves_on_axes_of_the_user_hold_their_values():
    from matplotlib.figure import Figure

    ax = PLOTS["curves"](Figure().subplots())
    drawn = [line.get_ydata().tolist() for line in ax.lines if len(line.get_ydata()) == 4]
    assert str(drawn) == "[[1.0, 0.9, nan, 0.9], [1.0, 0.9, 0.81, nan]]"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["lazy", " _full of $dollars"]


def test_memory_on_axes_of_the_user_is_stacked_by_role():
    from matplotlib.figure import Figure

    ax = ON_AXES["memory"](Figure().subplots())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["gradient", "$input"]
    assert max(float(path.vertices[:, 1].max()) for layer in ax.collections for path in layer.get_paths()) == 40


def test_bars_on_axes_of_the_user_are_as_long_as_their_medians():
    from matplotlib.figure import Figure

    ax = PLOTS["bars"](Figure().subplots())
    assert [bar.get_width() for bar in ax.patches] == [2, 5]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["sparsekit", "$rival"]


@pytest.mark.parametrize("name", PLOTS)
def test_without_matplotlib_the_error_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match="matplotlib") as caught:
        _ = PLOTS[name]().svg
    assert "sparsekit[lab]" in str(caught.value)


def test_matplotlib_is_loaded_by_the_first_plot():
    program = ("import sys, sparsekit as mx\nfrom sparsekit.widgets import curves_figure, bars_figure, monitor\n"
               "with monitor() as seen:\n    seen.step(1.0)\nassert 'matplotlib' not in sys.modules\nrepr(seen)\n"
               "assert 'matplotlib' not in sys.modules\nseen.static.svg\nassert 'matplotlib' in sys.modules\n"
               "assert 'matplotlib.pyplot' not in sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=400)


def test_curves_have_names_dashes_and_a_table():
    shown = widgets.curves_figure({"lazy": [1, 0.9, 0.9], "full": [1, 0.9, 0.81]}, "One row", finding="Only full moves on.")
    assert shown.alt == "Only full moves on."
    assert shown.columns == ("step", "lazy", "full")
    assert shown.rows == [("0", "1", "1"), ("1", "0.9", "0.9"), ("2", "0.9", "0.81")]
    picture = ElementTree.fromstring(shown.svg)
    styles = [node.get("style", "") for node in picture.iter() if node.tag.endswith("path")]
    assert sum("stroke: #0072b2" in style and "stroke-dasharray" not in style for style in styles) >= 1
    assert sum("stroke: #e69f00" in style and "stroke-dasharray" in style for style in styles) >= 1
    assert {"lazy", "full", "One row", "Only full moves on."} <= {(node.text or "").strip() for node in picture.iter()}
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
