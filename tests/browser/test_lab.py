"""Notebooks opened and run in JupyterLab, and the live views in them used as a reader would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))

#: All are run cell by cell elsewhere; in JupyterLab the first one, and all of them with ``--all``.
ALWAYS = "00_start_here.ipynb"

#: Live timelines, by what their pictures say.
TIMELINES = ".jp-OutputArea-output .sk-live:has(svg[aria-label*='Where the time goes'])"

MEMORY = "import sparsekit as mx\nwith mx.Profiler() as prof:\n    mx.nd.ones((9, 9)) + 1\nprof.memory.figure().live()"
TIMELINE = """
import sparsekit as mx
x, w = mx.nd.array([[0, 1], [2, 0]]).tostype("csr"), mx.nd.ones((2, 3))
with mx.Profiler() as prof:
    for _ in range(4):
        mx.nd.dot(x, w).wait_to_read()
prof.timeline().live()
"""


@pytest.fixture
def live(open_cells):
    """A small notebook that shows both live views, run."""
    return open_cells([TIMELINE, MEMORY]).run_all()


def both_themes(view: Any, name: str) -> None:
    timelines = view.page.locator(TIMELINES)
    if timelines.count():
        timelines.first.evaluate("view => view.scrollIntoView({block: 'center'})")
    now = view.page.evaluate("() => document.body.dataset.jpThemeName") == "JupyterLab Dark"
    for dark in (now, not now):  # a switch takes most of a second
        view.theme(dark)
        path = view.screenshot(f"{name}-{'dark' if dark else 'light'}")
        assert path.stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name == ALWAYS else pytest.mark.thorough) for name in NOTEBOOKS])
def test_a_notebook_of_the_course_runs_and_its_timeline_answers(lab, name):
    view = lab(name).run_all()
    assert view.unrun() == 0
    timelines = view.page.locator(TIMELINES)
    if name == ALWAYS:
        assert timelines.count() >= 1
    if timelines.count():
        timelines.first.get_by_placeholder("search").fill("dot")
        view.page.keyboard.press("Enter")
        view.page.keyboard.press("Escape")
    both_themes(view, Path(name).stem)


def test_a_click_on_the_timeline_reads_out_the_operator(live):
    timeline = live.page.locator(TIMELINES).first
    timeline.locator("[data-key^='event']").first.click()
    timeline.locator(".details", has_text="csr 2 × 2").wait_for()
    both_themes(live, "timeline")


def test_the_timeline_is_used_from_the_keyboard(live):
    timeline = live.page.locator(TIMELINES).first
    timeline.locator("svg:not(.over)").focus()
    live.page.keyboard.press("ArrowRight")
    live.page.keyboard.press("Enter")
    timeline.locator(".details:not(:empty)").wait_for()
    live.page.keyboard.press("Escape")
    assert timeline.locator(".on").count() == 0
    assert live.unrun() == 0


def test_live_views_carry_their_static_twins(live):
    shown = [output["data"] for output in live.outputs() if output["output_type"] == "execute_result"]
    assert [sorted(data) for data in shown] == [
        ["application/vnd.jupyter.widget-view+json", "text/html", "text/plain"]
    ] * 2
    for data in shown:
        html = "".join(data["text/html"])
        assert "<img alt=" in html
        assert "data:image/svg+xml;" in html
        assert "<table" in html
