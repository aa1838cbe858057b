"""The timeline as a reader uses it: with keys and the mouse, in a page without Python and in a notebook that draws the detail."""

from __future__ import annotations

import pytest

from sparsekit.figures.answers import script, style
from sparsekit.figures.timeline import timeline_figure
from tests.figures.gallery import HOSTILE
from tests.figures.recorded import tables, training
from tests.figures.test_timeline import MARKS

from .test_figures import PICTURE

RUNS = {"dense": tables(training(True, 4)), "row-sparse": tables(training(False, 4))}


def test_a_page_without_python_zooms_searches_and_tells_of_operators(open_page):
    page = open_page(timeline_figure(RUNS))
    page.locator("[data-key='event 4']").first.click()
    said = page.locator(".details").inner_text()
    assert "dot in dense0" in said
    assert "csr 10 × 1,000,000, float32, 100 stored (0.001 %)" in said
    page.locator(PICTURE).focus()
    page.keyboard.press("+")
    assert "scale(2,1)" in page.locator(".scaled").first.get_attribute("transform")
    page.keyboard.press("Home")
    page.keyboard.press("/")
    page.keyboard.type("sgd_update")
    assert page.locator(".status").inner_text().startswith("12 of ")  # four of each run, and those of the box again
    page.keyboard.press("Enter")
    assert "sgd_update in dense0" in page.locator(".status").inner_text()


def test_a_bar_and_itself_in_the_box_light_up_together(open_page):
    page = open_page(timeline_figure(RUNS))
    number = len(training(True, 4)) + 4
    page.locator(f"[data-key='event {number}']").last.hover()
    assert page.locator(".on").count() == 2


def test_hostile_names_are_shown_and_never_run(open_page):
    figures = []
    for name in HOSTILE:
        records = [{**one, "name": name, "layer": name, "line": name, "attrs": {name: name}} for one in training(False, 2)]
        figures.append(timeline_figure(tables(records, [{**mark, "name": name} for mark in MARKS]), name))
    page = open_page(*figures)
    for place in range(len(HOSTILE)):
        figure = page.locator("figure[data-figure]").nth(place)
        figure.locator("[data-key='event 4']").first.click()
        assert "csr 10 × 1,000,000" in figure.locator(".details").inner_text()
    assert page.locator("img").count() == 0


ASKS = """async (given) => {
    const found = await import(URL.createObjectURL(new Blob([given.script], { type: "text/javascript" })));
    const root = document.body.appendChild(document.createElement("section"));
    root.innerHTML = `${given.svg}<div class="the-table">${given.table}</div>`;
    let svg = given.svg;
    const made = found.enhance(root, given.given, async (message) => {
        const answer = await window.python(message);
        if (answer.svg !== svg) made.replace(svg = answer.svg, answer.table);
        made.details.innerHTML = answer.details;
        made.answered();
    });
}"""


def test_zooming_asks_python_for_single_events(browser):
    """The enhancer and Python talk as in a notebook, without one between them."""
    pytest.importorskip("anywidget")
    records = [{"name": f"op{i % 5}", "lane": "forward", "start": 10.0 * i, "duration": 5.0, "line": "train.py:3"}
               for i in range(5000)]  # fmt: skip
    live = timeline_figure(tables(records)).live()
    page = browser.new_page(viewport={"width": 1100, "height": 700})

    def answer(message):
        live.answer(message)
        return {"svg": live.svg, "table": live.table, "details": live.details}

    page.expose_function("python", answer)
    page.set_content(f"<style>{style()}</style>")
    page.evaluate(ASKS, {"script": script(), "svg": live.svg, "table": live.table, "given": live.given})
    events = page.locator(".sk-live > svg:not(.over) [data-key^='event']")
    assert events.count() == 0
    page.locator(".sk-live > svg:not(.over) [data-key^='sum']").first.click()
    page.locator(".details", has_text="train.py:3").wait_for()
    page.locator(".sk-live > svg:not(.over)").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.wait_for_function("() => document.querySelectorAll(\".sk-live > svg:not(.over) [data-key^='event']\").length > 100")
    assert page.locator(".sk-live .over").is_visible()
    events.nth(50).click()
    page.locator(".details", has_text="took").wait_for()
    before = events.first.get_attribute("data-key")
    page.keyboard.press("Shift+ArrowRight")
    first = "document.querySelector('.sk-live > svg:not(.over) [data-key]').dataset.key"
    page.wait_for_function(f"key => {first} !== key", arg=before)
    page.keyboard.press("Home")
    page.wait_for_function("() => !document.querySelector(\".sk-live > svg:not(.over) [data-key^='event']\")")
    page.close()
