"""Editing an array in the inspector: the components are those that scipy gives, and what changed is said."""

from __future__ import annotations

import random

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.widgets import sources
from sparsekit.widgets.inspector import inspector_payload

from .gallery import VIEWS, made

scipy_sparse = pytest.importorskip("scipy.sparse")


def in_scipy(edits):
    """The components after edits, by scipy: a dense copy says what is stored, since no edit stores a zero."""
    small = made["SMALL"]
    dense = scipy_sparse.csr_matrix((small["data"], small["indices"], small["indptr"]), shape=small["shape"]).toarray()
    for row, column, value in edits:
        dense[row, column] = value or 0
    found = scipy_sparse.csr_matrix(dense)
    return found.indptr.tolist(), found.indices.tolist(), found.data.tolist()


def test_edits_give_the_components_that_scipy_gives(in_page):
    draw = random.Random(0)
    edits = [(draw.randrange(6), draw.randrange(12), draw.choice([None, float(draw.randrange(1, 9))])) for _ in range(60)]
    steps = in_page("inspector.js", "edited", """([data, edits]) => edits.map(([row, column, value]) => {
        ({ data } = window.own.edited(data, row, column, value));
        return [data.indptr, data.lines.flatMap((line) => line[2]), data.lines.flatMap((line) => line[3]), data.components];
    })""", [inspector_payload(made["SMALL"]), edits])
    for count, (indptr, indices, data, sizes) in enumerate(steps, 1):
        assert (indptr, indices, data) == in_scipy(edits[:count]), count
        assert sizes == {"data": 4 * len(data), "indices": 8 * len(data), "indptr": 8 * len(indptr)}


def test_an_element_is_set_and_removed_by_hand(open_report):
    page = open_report({"inspector": {"inspector": made["SMALL"]}})
    page.wait_for_selector(".sk[data-ready]")
    arrows, effect = page.locator(".sk-arrows path[fill='none']"), page.locator(".sk-effect")
    assert arrows.count() == 7
    for column in ("4", "7"):
        page.get_by_label("Row to edit").fill("1")
        page.get_by_label("Column to edit").fill(column)
        page.get_by_role("button", name="remove").click()
    assert "indptr[2] to indptr[6] each become 1 less. The array takes 212 B." in effect.inner_text()
    ends = arrows.evaluate_all("paths => paths.map(path => path.getAttribute('d').split(' ').at(-2))")
    assert ends[1] == ends[2]  # row 1 is empty now: its pointer and the next lead to one place
    page.get_by_label("New value").fill("nine")
    page.get_by_role("button", name="set", exact=True).click()
    assert effect.inner_text() == "A value is a number, such as 2.5."
    page.get_by_label("New value").fill("9")
    page.get_by_label("New value").press("Enter")
    assert "is stored at position 4" in effect.inner_text()
    assert page.locator(".sk-said").inner_text().startswith("data[4] = 9 is in row 1, column 7")
    page.get_by_role("button", name="reset").click()
    assert page.locator(".sk-slot[aria-label^='data']").count() == 15


def test_the_xray_plays_from_stage_to_stage_with_real_numbers(open_report):
    page = open_report({"xray": VIEWS["xray"].content})
    page.wait_for_selector(".sk[data-ready]")
    stage = page.get_by_role("button", name="4 Lazy update")
    page.locator(".sk-pipe").focus()
    for key in ("ArrowRight", "ArrowRight", *["ArrowDown"] * 6):
        page.keyboard.press(key)
    said = page.locator(".sk-said").inner_text()
    assert "Column 22 is stored by batch rows 0, 4" in said
    assert "its gradient is 1.5·g0 + 0.5·g4 = 1.5·(0.13, -0.13) + 0.5·(" in said
    page.get_by_role("button", name="play").click()
    page.wait_for_function("() => document.querySelector('.sk-xray [aria-pressed=true]').innerText.startsWith('4')")
    assert stage.get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="play").wait_for()


@pytest.mark.parametrize("rows", [6, 7])
def test_a_row_has_its_own_colour_only_where_there_are_enough(open_report, rows):
    page = open_report({"inspector": {"inspector": mx.nd.sparse.csr_matrix(np.eye(rows, 4))}})
    page.wait_for_selector(".sk[data-ready]")
    assert page.get_by_text("Each row has its own colour").count() == (rows <= 6)
    assert page.get_by_text("the 6 colours repeat").count() == (rows > 6)


def test_a_view_that_is_built_outside_of_the_page_has_its_colours_when_it_is_in_it(browser):
    """Jupyter builds a view first and then puts it into the page; a colour that is not known then is drawn as black."""
    page = browser.new_page()
    try:
        colours = "".join(f"--sk-{name}: #{number}f{number}f{number}f;" for number, name in enumerate(
            ("bg", "fg", "muted", "line", "stripe", "accent"), 4))
        page.add_style_tag(content=f".sk {{ {colours} }} .sk-matrix {{ width: 300px; height: 200px; }}")
        page.add_script_tag(content=f"{sources.module('inspector.js')}\nwindow.own = {{ Inspector }};", type="module")
        page.wait_for_function("() => window.own")
        black = page.evaluate("""async (data) => {
            const root = document.createElement("div");
            root.className = "sk";
            const view = new window.own.Inspector(root, data);
            document.body.append(root);
            const frame = () => new Promise(requestAnimationFrame);
            for (let i = 0; i < 5; i++) await frame();
            const { width, height } = view.canvas;
            const pixels = view.canvas.getContext("2d").getImageData(0, 0, width, height).data;
            let found = 0, drawn = 0;
            for (let i = 0; i < pixels.length; i += 4) {
                drawn += pixels[i + 3] > 250;
                found += pixels[i + 3] > 250 && pixels[i] + pixels[i + 1] + pixels[i + 2] === 0;
            }
            return [found, drawn > 1000];
        }""", inspector_payload(made["SMALL"]))
    finally:
        page.close()
    assert black == [0, True]
