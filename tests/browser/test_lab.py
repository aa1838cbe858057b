"""Notebooks opened and run in JupyterLab, and the live views in them used as a reader would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import write_cells
from .gallery import MADE, VIEWS

NOTEBOOKS = sorted(path.name for path in (Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))

#: All are run cell by cell elsewhere; in JupyterLab the first one, and all of them with ``--all``.
ALWAYS = "00_start_here.ipynb"

MEMORY = "import sparsekit as mx\nwith mx.Profiler() as prof:\n    mx.nd.ones((9, 9)) + 1\nprof.memory.figure().live()"
FIXES = '''
import numpy as np
import sparsekit as mx
from sparsekit import autograd, gluon

net = gluon.nn.Dense(8, in_units=3000)
net.initialize()
data = mx.nd.sparse.csr_matrix((np.ones(12, "float32"), np.arange(12), np.arange(5) * 3), shape=(4, 3000))

def step():
    with autograd.record():
        loss = net(data.tostype("default")).sum()
    loss.backward()
    return loss

with mx.Profiler() as prof:
    step()
prof.timeline(step)
'''


def in_lab(reader, folder, name, cells):
    """A notebook of these cells, opened and run."""
    write_cells(folder / name, cells)
    yield reader.open(name).run_all()
    reader.leave()
    (folder / name).unlink()


@pytest.fixture
def live(reader, jupyter_server):
    """A small notebook that shows both live views, run."""
    cells = [MADE, VIEWS["timeline"].cell, MEMORY]
    yield from in_lab(reader, jupyter_server.folder, "live.ipynb", cells)


@pytest.fixture
def fixable(reader, jupyter_server):
    """A notebook with the live timeline of a program that wastes memory, run."""
    yield from in_lab(reader, jupyter_server.folder, "fixable.ipynb", [FIXES])


def click_an_operator(view: Any, timeline: Any) -> Any:
    """Click down the timeline's canvas until an operator is hit; returns the panel of its details."""
    stage, panel = timeline.locator(".sk-stage"), timeline.locator(".sk-panel")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    for share in (0.5, 0.3, 0.7, 0.2, 0.4, 0.6, 0.8, 0.9):
        for y in range(6, int(box["height"]), 8):
            view.page.mouse.click(box["x"] + share * box["width"], box["y"] + y)
            if panel.is_visible() and panel.locator(".sk-arrays").count():  # a span has none
                return panel
    raise AssertionError("no click on the timeline opened the details of an operator")


def both_themes(view: Any, name: str) -> None:
    timelines = view.page.locator(".sk-stage")
    if timelines.count():
        timelines.first.evaluate("stage => stage.scrollIntoView({block: 'center'})")
    now = view.page.evaluate("() => document.body.dataset.jpThemeName") == "JupyterLab Dark"
    for dark in (now, not now):  # a switch takes most of a second
        view.theme(dark)
        path = view.screenshot(f"{name}-{'dark' if dark else 'light'}")
        assert path.stat().st_size > 10_000


def test_a_click_on_the_timeline_reads_out_the_operator(live):
    timeline = live.page.locator(".sk-stage").locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea-output')][1]")
    panel = click_an_operator(live, timeline)
    said = panel.inner_text()
    for word in ("csr", "100", "dot"):
        assert word in said, said
    both_themes(live, "timeline")


def test_one_click_in_the_timeline_tries_fixes(fixable):
    button = fixable.page.get_by_role("button", name="Try what the advice recommends on copies of the program")
    button.click()
    answer = fixable.page.locator(".sk-fixes")
    answer.get_by_text("holds").first.wait_for(timeout=180_000)
    assert button.is_enabled()
    both_themes(fixable, "fixes")


def test_the_timeline_is_used_from_the_keyboard(live):
    stage = live.page.locator(".sk-stage").first
    stage.scroll_into_view_if_needed()
    stage.focus()
    panel = live.page.locator(".sk-panel").first
    live.page.keyboard.press("Enter")
    live.page.keyboard.press("Enter")
    panel.wait_for(state="visible")
    first = panel.inner_text()
    live.page.keyboard.press("Tab")
    live.page.wait_for_function("before => document.querySelector('.sk-panel').innerText !== before", arg=first)
    live.page.keyboard.press("Escape")
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
    assert live.page.locator(".jp-OutputArea-output canvas").count() >= 2


@pytest.mark.slow
@pytest.mark.parametrize("notebook", [
    pytest.param(name, marks=() if name == ALWAYS else pytest.mark.thorough) for name in NOTEBOOKS])
def test_a_notebook_of_the_course_runs_and_its_timeline_answers(reader, notebook):
    view = reader.open(notebook).run_all()
    assert view.unrun() == 0
    timelines = view.page.locator(".jp-OutputArea-output:has(.sk-stage)")
    if notebook == ALWAYS:
        assert timelines.count() >= 1
    if timelines.count():
        search = timelines.first.get_by_label("Search events")
        search.fill("dot")
        search.press("Enter")
        said = timelines.first.locator(".sk-panel").inner_text()
        assert any(stype in said for stype in ("csr", "row_sparse", "default")), said
    both_themes(view, Path(notebook).stem)
    view.leave()
