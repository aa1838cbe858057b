"""The exported slides, presented in a browser: keys, parts that appear, the live figure, both themes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from .conftest import ARTEFACTS

SLIDES = Path(__file__).resolve().parents[2] / "notebooks" / "slides"


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    pytest.importorskip("nbconvert", reason="no nbconvert: python -m pip install 'sparsekit[lab]'")
    made = tmp_path_factory.mktemp("slides") / "slides.html"
    runpy.run_path(str(SLIDES / "export.py"))["main"](["-o", str(made)])
    return made


@pytest.fixture
def page(browser, talk):
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
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


def test_no_slide_is_wider_than_the_screen_and_the_live_figure_lives(page):
    ARTEFACTS.mkdir(exist_ok=True)
    for number in range(page.locator(".slide").count()):
        page.evaluate("number => show(number, true)", number)
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        if page.locator(".slide.now iframe").count():
            view = page.locator(".slide.now iframe").content_frame
            view.locator("[data-ready] svg").first.wait_for()
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                page.screenshot(path=ARTEFACTS / f"slides-live-{theme}.png")
    assert page.locator("iframe").count() == 1
