"""Every display in its four lives: in JupyterLab, as HTML from disk, with scripts off, and as text; both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from .gallery import MADE, VIEWS

ARTEFACTS = Path(__file__).parent / "artefacts"

def picture(target: Any, name: str) -> None:
    """Keep what is seen, to be looked at; a picture of nothing is a failure."""
    ARTEFACTS.mkdir(exist_ok=True)
    path = ARTEFACTS / f"{name}.png"
    target.screenshot(path=path)
    assert path.stat().st_size > 8_000


@pytest.mark.parametrize("name", VIEWS)
def test_from_disk_without_kernel_or_network(open_report, name):
    """Every other view is opened in the dark, and each is turned to the other theme."""
    view, first = VIEWS[name], list(VIEWS).index(name) % 2 == 1
    page = open_report({name: view.content}, first)
    page.wait_for_selector(".sk[data-ready]")
    assert page.locator("figure .static").is_hidden()
    root = page.locator(".sk").first
    assert nameless_controls(page) == []
    assert MAIN.get(name, "sk-matrix") in reached_by_tab(page)
    view.use(root)
    for dark in (first, not first):
        page.emulate_media(color_scheme="dark" if dark else "light")
        picture(root, f"disk-{name}-{'dark' if dark else 'light'}")
        # Nothing is wider than the page, and text stands out from what it stands on.
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert is_dark(page) == dark
        assert page.evaluate(FAINT) == []


def is_dark(page: Any) -> bool:
    """Whether a view's text is lighter than its background, by far."""
    ink, ground = page.evaluate(LIGHTNESS)
    assert abs(ink - ground) > 150
    return ink > ground


LIGHTNESS = """() => ['color', 'backgroundColor'].map(key => {
    const parts = getComputedStyle(document.querySelector('.sk'))[key].match(/[\\d.]+/g).slice(0, 3).map(Number);
    return parts.reduce((a, b) => a + b) / 3;
})"""

#: Every visible text of the views whose contrast with what it stands on is below 4.5, as WCAG 2 computes it.
FAINT = """() => {
    const numbers = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const linear = value => (value <= 10.3 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
    const found = [];
    for (const root of document.querySelectorAll('.sk')) {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const node = walker.currentNode.parentElement;
            const words = walker.currentNode.data.trim();
            // Letters on coloured shapes have a fill of their own, and a test of theirs.
            if (!words || node.hasAttribute('fill') || node.closest(':disabled, option, title')) continue;
            if (!node.checkVisibility({visibilityProperty: true})) continue;
            const style = getComputedStyle(node);
            const ink = numbers(node instanceof SVGElement ? style.fill : style.color);
            let ground = node;
            while (numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
            const paper = numbers(getComputedStyle(ground).backgroundColor);
            const seen = ink.slice(0, 3).map((value, i) => value * (ink[3] ?? 1) + paper[i] * (1 - (ink[3] ?? 1)));
            const [low, high] = [luminance(seen), luminance(paper)].sort((a, b) => a - b);
            if (high / low < 4.5) found.push(`${words.slice(0, 40)}: ${(high / low).toFixed(2)}`);
        }
    }
    return [...new Set(found)];
}"""


#: Keys of a keyboard, as browsers name them, and those of a timeline that its help names otherwise or leaves out.
KEYBOARD = [*"abcdefghijklmnopqrstuvwxyzMPZ0123456789+-=−/[],.", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End",
            "PageUp", "PageDown", "Enter", "Escape", " ", "Delete"]
NAMED = {"←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown"}
ALSO = {"+": {"="}, "−": {"-"}, "Home": {"End"}, "m": {"M"}}


@pytest.mark.parametrize("name", ["marks", "processes"])
def test_keys_that_a_timeline_does_not_name_reach_the_page_and_no_others(open_report, name):
    """JupyterLab has commands on keys: ``a`` adds a cell, ``m`` makes text of one."""
    page = open_report({name: VIEWS[name].content}, False)
    page.wait_for_selector(".sk[data-ready]")
    named = {NAMED.get(word, word) for kbd in page.locator(".sk-keys kbd").all() for word in kbd.text_content().split()}
    taken = set().union(named, *(more for key, more in ALSO.items() if key in named)) - {"Tab"}
    reached = set(page.evaluate("""(keys) => {
        const stage = document.querySelector('.sk-stage'), found = [];
        document.addEventListener('keydown', event => found.push(event.key));
        for (const key of ['Enter', ...keys]) {   // inside, so that Escape has something to leave
            stage.focus();
            stage.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
        }
        return found;
    }""", KEYBOARD))
    assert reached == set(KEYBOARD) - taken
    assert taken <= set(KEYBOARD)
    held = page.evaluate("""(keys) => {
        const stage = document.querySelector('.sk-stage'), found = [];
        document.addEventListener('keydown', event => found.push(event.key));
        for (const key of keys) stage.dispatchEvent(new KeyboardEvent('keydown', {key, ctrlKey: true, bubbles: true}));
        return found;
    }""", KEYBOARD)
    assert len(held) >= len(KEYBOARD), "with Ctrl they are the browser's"


def test_with_scripts_off_every_picture_and_table_stands(open_report):
    page = open_report({name: view.content for name, view in VIEWS.items()}, java_script_enabled=False)
    pictures = page.locator("figure .static img")
    assert pictures.count() == len(VIEWS)
    assert page.locator(".sk").count() == 0
    assert page.locator("header button").is_hidden()
    for name, shown, table in zip(VIEWS, pictures.all(), page.locator("figure > details").all(), strict=True):
        assert shown.is_visible()
        assert shown.bounding_box()["height"] > 150
        picture(shown, f"static-{name}")
        display = VIEWS[name].static()
        # The text twin says what the picture's alternative and the table beside it say.
        assert shown.get_attribute("alt") == display.alt
        assert display.text.startswith(display.alt)
        table.locator("summary").click()
        words = " ".join(table.inner_text().split())
        for row in display.rows:
            for cell in row:
                assert " ".join(str(cell).split()) in words
                assert " ".join(str(cell).split()) in " ".join(display.text.split())


def nameless_controls(page: Any) -> list[str]:
    """What can be operated and says nothing of itself to a screen reader."""
    return page.evaluate("""() => [...document.querySelectorAll('.sk button, .sk select, .sk input, .sk [tabindex="0"]')]
        .filter(node => !(node.getAttribute('aria-label') || node.innerText?.trim() || node.labels?.length || node.title))
        .map(node => node.outerHTML.slice(0, 100))""")


def reached_by_tab(page: Any) -> list[str]:
    """Classes of what gets the focus in the view, from the heading above it on."""
    page.evaluate("""() => {
        window.reached = [];
        document.addEventListener('focusin', ({target}) => window.reached.push(target.getAttribute('class') ?? ''));
    }""")
    page.locator("h2").first.click()
    for _ in range(25):
        page.keyboard.press("Tab")
    return page.evaluate("() => window.reached")


MAIN = {"timeline": "sk-stage", "marks": "sk-stage", "runs": "sk-stage", "processes": "sk-stage"}


@pytest.fixture
def notebook(open_cells):
    """A notebook that shows every live view, run."""
    return open_cells([MADE, *(view.cell for view in VIEWS.values())]).run_all()


def exported(outputs: list[dict[str, Any]], path: Path) -> Path:
    """What nbconvert makes of saved outputs, live views and all."""
    exporter = pytest.importorskip("nbconvert.exporters").HTMLExporter
    cell = nbformat.v4.new_code_cell("", outputs=[nbformat.from_dict(output) for output in outputs])
    page, _ = exporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.thorough
def test_in_jupyterlab_in_both_themes(notebook, browser, tmp_path):
    page = notebook.page
    page.wait_for_function(f"() => document.querySelectorAll('.sk[data-ready]').length === {len(VIEWS)}")
    roots = page.locator(".jp-OutputArea-output .sk")
    for place, view in enumerate(VIEWS.values()):
        roots.nth(place).scroll_into_view_if_needed()
        view.use(roots.nth(place))
    for dark in (False, True):
        notebook.theme(dark)
        for place, name in enumerate(VIEWS):
            picture(roots.nth(place), f"lab-{name}-{'dark' if dark else 'light'}")
        assert is_dark(page) == dark
        assert page.evaluate(FAINT) == []
    shown = [output["data"] for output in notebook.outputs() if "data" in output]
    assert len(shown) == len(VIEWS)
    for data in shown:
        assert sorted(data) == ["application/vnd.jupyter.widget-view+json", "text/html", "text/plain"]
        html = "".join(data["text/html"])
        assert html.count("<img alt=") == html.count("<table") == 1
    # Saved and exported, every view is its picture and its table: no kernel answers, and no network.
    context = browser.new_context(offline=True)
    saved = context.new_page()
    saved.goto(exported(notebook.outputs(), tmp_path / "views.html").as_uri(), wait_until="domcontentloaded")
    for each in (pictures := saved.locator("img[src^='data:image/svg+xml']")).all():
        assert each.evaluate("image => image.decode().then(() => image.naturalHeight)") > 150
    assert pictures.count() == saved.locator("table").count() == len(VIEWS)
    context.close()
