"""The exported slides, presented in a browser: keys, parts that appear, sizes of letters."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

#: Pixels of letters that are read across a room.
LEAST = 24

#: What is written on the slide that is shown, with its size in pixels as it is drawn; arrowheads in pictures are no words.
WRITTEN = """() => {
    const found = [];
    const scan = (root, scale, seen) => {
        for (const node of root.querySelectorAll("*")) {
            const own = [...node.childNodes].filter(child => child.nodeType === 3).map(child => child.data.trim()).join("");
            if (!own || own === "▼" || node.closest("script, style, title, desc") || !seen(node)) continue;
            found.push([parseFloat(getComputedStyle(node).fontSize) * scale, own]);
        }
    };
    const slide = document.querySelector(".slide.now");
    const seen = node => node.checkVisibility({ visibilityProperty: true });
    for (const root of [slide, document.querySelector("nav")]) scan(root, 1, seen);
    for (const image of slide.querySelectorAll("img")) {
        const holder = document.body.appendChild(document.createElement("div"));
        holder.innerHTML = decodeURIComponent(image.src.slice(image.src.indexOf(",") + 1));
        const { width, height } = holder.querySelector("svg").viewBox.baseVal, shown = image.getBoundingClientRect();
        scan(holder, Math.min(shown.width / width, shown.height / height), () => true);
        holder.remove();
    }
    return found;
}"""

SLIDES = Path(__file__).resolve().parents[2] / "notebooks" / "slides"


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    pytest.importorskip("nbconvert", reason="no nbconvert: python -m pip install 'sparsekit[lab]'")
    made = tmp_path_factory.mktemp("slides") / "slides.html"
    runpy.run_path(str(SLIDES / "export.py"))["main"](["-o", str(made)])
    return made


@pytest.fixture
def page(browser, talk):
    context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme="light")
    opened = context.new_page()
    errors, asked = [], []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda request: asked.append(request.url) if request.url.startswith("http") else None)
    opened.goto(talk.as_uri())
    yield opened
    assert errors == []
    assert asked == []
    context.close()


def shown(page):
    return page.locator(".slide.now").get_attribute("id")


def test_keys_go_through_the_talk(page):
    assert shown(page) == "slide-1"
    page.keyboard.press("ArrowRight")
    assert shown(page) == "slide-2"
    page.keyboard.press("End")
    last = shown(page)
    assert page.locator(".slide").last.get_attribute("id") == last
    page.keyboard.press("ArrowRight")
    assert shown(page) == last
    page.keyboard.press("Home")
    assert shown(page) == "slide-1"
    assert page.locator("nav output").inner_text() == f"1 of {page.locator('.slide').count()}"


def test_parts_appear_one_by_one(page):
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    part = page.locator(".slide.now .fragment").first
    assert shown(page) == "slide-4"
    assert not part.is_visible()
    page.keyboard.press("ArrowRight")
    assert shown(page) == "slide-4"
    assert part.is_visible()


def test_a_key_shows_the_notes_of_the_slide(page):
    notes = page.locator(".slide.now .notes")
    assert not notes.is_visible()
    page.keyboard.press("n")
    assert notes.is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator(".slide.now .notes").is_visible()
    page.keyboard.press("n")
    assert not page.locator(".slide.now .notes").is_visible()


def test_the_overview_shows_all_and_leads_to_one(page):
    page.keyboard.press("o")
    assert page.locator(".slide").nth(7).is_visible()
    page.locator(".slide").nth(4).click()
    assert shown(page) == "slide-5"


def test_every_slide_fits_the_screen_and_is_read_across_a_room(page):
    for number in range(page.locator(".slide").count()):
        page.evaluate("number => show(number, true)", number)
        assert page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == [1280, 720]
        written = page.evaluate(WRITTEN)
        assert written
        assert [(round(size, 1), words) for size, words in written if size < LEAST] == [], f"slide {number + 1}"
