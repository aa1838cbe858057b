"""Every display as a page from disk: in both themes, narrow and wide, and with scripts off."""

from __future__ import annotations

import pytest

import sparsekit as mx
from sparsekit.course import million_rows_figure
from sparsekit.figures import bars_figure, contagion_figure, curves_figure, html_page, row_age_figure, touched_figure, xray
from sparsekit.figures.array import array_figure
from sparsekit.figures.cable import cable_figure
from sparsekit.figures.timeline import timeline_figure
from tests.figures.recorded import tables, training
from tests.figures.test_cable import crossed

from .conftest import widths_of
from .gallery import made


def profile():
    data, weight = mx.nd.array([[0, 1], [2, 0]]).tostype("csr"), mx.nd.ones((2, 3))
    with mx.Profiler() as prof:
        for _ in range(4):
            mx.nd.dot(data, weight).wait_to_read()
    return prof


def dense_step():
    data = mx.nd.sparse.csr_matrix(([1.0, 2.0], ([0, 1], [7, 9])), shape=(2, 5000))
    with mx.Profiler() as prof:
        mx.nd.dot(data + 1, mx.nd.ones((5000, 3))).wait_to_read()
    return prof


def graph():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, in_units=9, activation="relu"), mx.gluon.nn.Dense(1, in_units=4))
    net.initialize()
    return net.graph(mx.nd.ones((2, 9)))


def watched():
    with mx.figures.monitor(live=False) as seen:
        for step in range(30):
            seen.step(1 / (1 + step), rows=step % 7, density=0.1)
    return seen.figure()


def compared():
    return mx.profiler.compare({"one": lambda: None, "other": lambda: None}, rounds=8, profile=False).figure()


#: One of every display.
VIEWS = {
    "timeline": lambda: timeline_figure(tables(training())), "memory": lambda: profile().memory.figure(), "graph": graph,
    "array": lambda: array_figure(made["SMALL"]), "large array": lambda: array_figure(made["LARGE"]),
    "xray": lambda: xray(made["BATCHES"], 2, upstream=made["UPSTREAM"]), "monitor": watched, "turns": compared,
    "bars": lambda: bars_figure("Time", {"a": {"median": 2, "min": 1, "max": 3}, "b": {"median": 4, "min": 4, "max": 5}}, "ms"),
    "curves": lambda: curves_figure({"a": [1, 3, 2], "b": [2, 2, 4]}, "Loss"), "progress": lambda: mx.progress(),
    "touched": lambda: touched_figure({"dense": (mx.nd.ones((90, 2)), 720)}), "million rows": million_rows_figure,
    "contagion": lambda: contagion_figure(dense_step()),
    "cable": lambda: cable_figure([crossed()]),
    "row ages": lambda: row_age_figure([0, 3, 70, -1] * 9, {"dense Adam": [True, False] * 18}),
}  # fmt: skip

#: Visible texts whose contrast with what they stand on is below 4.5, as WCAG 2 computes it; letters on marks have colours of
#: their own, and a test of theirs.
FAINT = """() => {
    const numbers = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const linear = value => (value <= 10.3 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
    const found = [];
    for (const node of document.querySelectorAll("body *")) {
        const words = [...node.childNodes].filter(child => child.nodeType === 3).map(child => child.data.trim()).join("");
        if (!words || node.closest("g.panel, script, style, title, option, noscript") || !node.checkVisibility()) continue;
        const style = getComputedStyle(node);
        const ink = numbers(node instanceof SVGElement ? style.fill : style.color);
        let ground = node;
        while (ground.parentElement && numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
        const paper = numbers(getComputedStyle(ground).backgroundColor);
        const [low, high] = [luminance(ink), luminance(paper)].sort((a, b) => a - b);
        if (high / low < 4.5) found.push(`${words.slice(0, 40)}: ${(high / low).toFixed(2)}`);
    }
    return found;
}"""

#: Controls that say nothing of themselves to a screen reader.
NAMELESS = """() => [...document.querySelectorAll("button, select, input, [tabindex='0']")]
    .filter(node => !(node.getAttribute("aria-label") || node.innerText?.trim() || node.labels?.length || node.title))
    .map(node => node.outerHTML.slice(0, 100))"""

#: Elements that end beyond the page.
BEYOND = """() => [...document.querySelectorAll("body *")]
    .filter(node => node.getClientRects().length && !node.closest(".scroll, table"))
    .filter(node => node.getBoundingClientRect().right > innerWidth + 1).map(node => node.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def figures():
    return {name: view() for name, view in VIEWS.items()}


def test_every_display_is_read_in_both_themes_and_on_a_phone(open_page, figures):
    page = open_page(*figures.values())
    for width in widths_of(page, 390, 1200):
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert page.evaluate(FAINT) == [], (width, theme)
        assert page.evaluate(NAMELESS) == [], width
        assert page.evaluate(BEYOND) == [], width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_with_scripts_off_every_picture_and_table_stands(browser, tmp_path, figures):
    html_page("A page", figures, path=tmp_path / "page.html")
    context = browser.new_context(offline=True, java_script_enabled=False, viewport={"width": 1000, "height": 800})
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    sections = page.locator("section").all()
    assert len(sections) == len(VIEWS)
    for section, figure in zip(sections, figures.values(), strict=True):
        assert section.locator("figure svg, figure img").first.bounding_box()["height"] > 50
        section.locator("summary").first.click()
        words = " ".join(section.inner_text().split())
        for row in figure.table.rows:
            for cell in row:
                assert " ".join(cell.split()) in words
    context.close()


def test_a_page_of_many_parts_has_a_list_of_them():
    page = html_page("A page", {f"Part {number}": "words" for number in range(4)})
    assert page.count('href="#section-') == 4
    assert "href" not in html_page("A page", {"Part": "words"})


def test_hostile_values_stay_text(open_page):
    hostile = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    with mx.figures.monitor(live=False, title=hostile) as seen:
        seen.step(1.0)
    records = [{**record, "name": hostile, "layer": hostile, "line": hostile} for record in training()]
    bars = bars_figure(hostile, {hostile: {"median": 1, "min": 1, "max": 1}}, hostile)
    page = open_page(timeline_figure(tables(records), hostile), bars, seen.figure())
    assert page.evaluate("window.hacked") is None


def test_a_wide_table_is_printed_whole(browser, tmp_path):
    names = ("operator", "lane", "storage types", "calls", "moved", "own time", "by calls", "by bytes", "by time", "verdict")
    table = mx.figures.kit.Table(names, [("adam_update of net_weight", "update", "default, default, default, default → default",
                                          "1 → 4", "1.28 MB → 5.12 MB", "5.92 ms → 8.98 ms", "+10.2 ms", "+0 s", "−7.12 ms",
                                          "more calls, more bytes")] * 4, "Changes")  # fmt: skip
    html_page("A page", [("Changes", table)], path=tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 720, "height": 1000})
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator(".scroll").evaluate("one => one.scrollWidth > one.clientWidth")
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("th", has_text="verdict").evaluate("one => one.getBoundingClientRect().right <= window.innerWidth")
    page.close()
