"""What all plots of matplotlib have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sparsekit.widgets as widgets
from sparsekit.base.errors import MissingPackageError

SEEN = {"total": 2, "steps": [1, 2], "loss": [3.0, 2.0]}
PLOTS = {
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


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_on_axes_of_the_user(name):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert PLOTS[name](ax) is ax
    assert ax.get_title() == "Title"
    assert ax.lines or ax.patches or ax.collections
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", PLOTS)
def test_without_matplotlib_the_error_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match="matplotlib") as caught:
        _ = PLOTS[name]().svg
    assert "sparsekit[lab]" in str(caught.value)


def test_matplotlib_is_loaded_by_the_first_plot():
    program = ("import sys, sparsekit as mx\nfrom sparsekit.widgets import monitor\n"
               "with monitor() as seen:\n    seen.step(1.0)\nassert 'matplotlib' not in sys.modules\nrepr(seen)\n"
               "assert 'matplotlib' not in sys.modules\nseen.static.svg\nassert 'matplotlib' in sys.modules\n"
               "assert 'matplotlib.pyplot' not in sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=400)
