"""A million rows in JupyterLab: the film, a text of one's own, the inspector, keys, themes."""

from __future__ import annotations

import pytest

from sparsekit.course import million_rows_figure

from .test_figures import cells, press

#: Shares of the square's pixels that are more red than blue, and more blue than red; the first canvas is the dense gradient.
COLORS = """canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let red = 0, blue = 0;
    for (let i = 0; i < pixels.length; i += 4) {
        red += pixels[i] > pixels[i + 2] + 60;
        blue += pixels[i + 2] > pixels[i] + 60;
    }
    return [red, blue].map(count => count / (pixels.length / 4));
}"""


@pytest.fixture
def flood(open_cells):
    """The display in a notebook."""
    view = open_cells(["import sparsekit as mx\nmx.million_rows()"]).run_all()
    view.page.locator(".sk-rows[data-ready]").wait_for()
    return view


def shares(view):
    return [canvas.evaluate(COLORS) for canvas in view.page.locator(".sk-rows .squares canvas").all()]


def said(view):
    return view.page.locator(".sk-rows .said").inner_text()


def finish(view):
    view.page.locator(".sk-rows .squares canvas").first.focus()
    while view.page.locator(".sk-rows figcaption strong").first.inner_text() != "512 MB":
        view.page.keyboard.press(".")


def test_the_film_ends_as_the_figure_says(flood):
    page = flood.page
    page.locator(".sk-rows figcaption span", has_text="finished: 79 rows").wait_for()
    flood.screenshot("flood-film")
    (red, _), (sparse_red, blue) = shares(flood)
    assert 0 < red < 0.9   # the flood is on its way
    assert sparse_red == 0
    assert 0 < blue < 0.04   # points and rings, no more
    finish(flood)
    flood.screenshot("flood-end")
    (red, _), (sparse_red, still) = shares(flood)
    assert red > 0.85
    assert sparse_red == 0
    assert still == pytest.approx(blue, rel=0.2)
    figure = million_rows_figure()
    assert page.locator(".sk-rows h3").inner_text() == figure.title
    shown = page.locator(".sk-rows figcaption strong").all_inner_texts()
    assert shown == [row[2] for row in figure.table.rows] == ["512 MB", "41.1 kB"]
    assert said(flood) == "12,463 times fewer bytes, and the same rows change."


def test_who_types_sees_the_rows_and_enter_starts_the_film(flood):
    page = flood.page
    page.locator(".sk-rows textarea").fill("the cat sat on the mat <img src=x onerror=alert(1)>")
    page.locator(".sk-rows h3", has_text="12 words touch 11").wait_for()
    assert page.locator(".sk-rows figcaption strong").first.inner_text() == "0 B"  # nothing is written yet
    (_, both), (_, blue) = shares(flood)
    assert both > 0
    assert blue > 0
    page.locator(".sk-rows textarea").press("Enter")
    page.locator(".sk-rows figcaption span", has_text="finished: 11 rows").wait_for()
    page.locator(".sk-rows textarea").fill("?!")
    page.locator(".sk-rows .said", has_text="The text has no words").wait_for()
    flood.page.set_viewport_size({"width": 1300, "height": 900})   # what was shown is drawn again
    assert shares(flood)[1][1] > 0
    assert page.get_by_label("Play or pause (Space)").inner_text() != "Pause"
    page.locator(".sk-rows textarea").fill("one")
    page.locator(".sk-rows h3", has_text="1 word touches 1 of 1,000,000 rows").wait_for()


def test_a_dot_leads_to_the_inspector_by_keys_and_by_a_click(flood):
    page = flood.page
    finish(flood)
    page.keyboard.press("ArrowRight")
    assert "“it” is row" in said(flood)
    flood.screenshot("flood-loupe")
    page.keyboard.press("Enter")
    page.locator(".sk-rows .details dd", has_text="“it”").wait_for(timeout=20_000)
    assert page.locator(".sk-rows .details svg").count() == 1
    flood.screenshot("flood-inspector")
    row = int(page.locator(".sk-rows .details dd").nth(1).inner_text().split(" of ")[0].replace(",", ""))
    page.keyboard.press("Escape")
    assert page.locator(".sk-rows .details").inner_text() == ""
    canvas = page.locator(".sk-rows .squares canvas").nth(1)
    side = canvas.evaluate("canvas => canvas.clientWidth")
    canvas.click(position={"x": 1 + (row % 1000 + 0.5) * side / 1000, "y": 1 + (row // 1000 + 0.5) * side / 1000})
    page.locator(".sk-rows .details dd", has_text="“it”").wait_for(timeout=20_000)
    page.keyboard.press("Escape")
    assert page.locator(".sk-rows .details").inner_text() == ""


def test_keys_stay_in_the_view_until_escape_leaves_it(flood):
    page = flood.page
    finish(flood)
    press(page, "b", "x", "d", "d", "Shift+M")  # commands on cells
    assert cells(page) == 1
    press(page, "ArrowRight", "Enter")
    page.locator(".sk-rows .details:focus").wait_for(timeout=20_000)
    assert page.locator(".sk-rows .details").bounding_box()["height"] < 600
    page.keyboard.press("Escape")
    assert "“it” is row" in said(flood)  # back at the word that was looked into
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"
    press(page, "Escape", "Escape")
    assert page.evaluate("document.activeElement.classList.contains('jp-Cell')")
    page.locator(".sk-rows select").focus()
    page.keyboard.press("ArrowUp")
    page.locator(".sk-rows h3", has_text="100,000 rows").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    page.keyboard.press("Escape")
    page.locator(".sk-rows textarea").focus()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('jp-Cell')")


def test_the_same_error_is_said_again(flood):
    text = flood.page.locator(".sk-rows textarea")
    for wrong in ("?", "??"):
        text.fill(wrong)
        flood.page.locator(".sk-rows .said", has_text="The text has no words. The squares stay as they were.").wait_for()
        flood.page.get_by_label("One step back (,)").click()


def test_ten_million_rows_are_said_to_be_a_shape(flood):
    page = flood.page
    page.locator(".sk-rows select").select_option("10000000")
    page.locator(".sk-rows h3", has_text="10,000,000 rows").wait_for()
    page.locator(".sk-rows .squares canvas").first.focus()
    for _ in range(4):
        page.keyboard.press(".")
    page.locator(".sk-rows figcaption strong", has_text="5.12 GB").wait_for()
    assert "was not computed" in said(flood)


def test_a_dark_page_and_a_narrow_one(flood):
    finish(flood)
    flood.theme(dark=True)
    paper = flood.page.locator(".sk-rows").evaluate("root => getComputedStyle(root).backgroundColor")
    assert sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(", "))) < 150
    flood.screenshot("flood-dark")
    flood.page.set_viewport_size({"width": 640, "height": 900})
    flood.page.evaluate("() => document.querySelector('.sk-rows').scrollIntoView()")
    root = flood.page.locator(".sk-rows")
    assert root.evaluate("root => root.scrollWidth <= root.clientWidth")
    flood.screenshot("flood-narrow")
    flood.theme(dark=False)


def test_a_kernel_that_is_gone_is_said(flood):
    flood.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    flood.page.locator(".sk-rows textarea").fill("another text")
    flood.page.locator(".sk-rows .said", has_text="run the cell again").wait_for()
