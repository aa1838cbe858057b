"""Letters on canvases: the page chooses their colour as the pictures do, and nothing is laid over them."""

from __future__ import annotations

import io
import random

import pytest

from sparsekit.widgets import theme
from tests.sampling import some

from .gallery import VIEWS


def test_the_page_chooses_the_colour_of_letters_as_the_pictures_do(in_page):
    draw = random.Random(0)
    colors = [*theme.SERIES, theme.OTHER, theme.ALARM, *(f"#{draw.randrange(1 << 24):06x}" for _ in range(500))]
    found = in_page("memory.js", "inkOn", "colors => colors.map(window.own.inkOn)", colors)
    assert found == [theme.ink_on(color) for color in colors]


def paper_of(page):
    """The colour of the picture's paper, beside its upper left corner."""
    image = pytest.importorskip("PIL.Image", reason="no Pillow: pip install 'sparsekit[test]'")
    box = page.locator("img").first.bounding_box()
    shot = page.screenshot(clip={"x": box["x"] + 8, "y": box["y"] + 8, "width": 1, "height": 1})
    return "#{:02x}{:02x}{:02x}".format(*image.open(io.BytesIO(shot)).convert("RGB").getpixel((0, 0)))


@pytest.fixture(scope="module")
def systems(browser):
    """A page of a reader whose system is light, and one of a reader whose system is dark."""
    contexts = {system: browser.new_context(viewport={"width": 1100, "height": 600}, color_scheme=system)
                for system in ("light", "dark")}
    yield {system: context.new_page() for system, context in contexts.items()}
    for context in contexts.values():
        context.close()


@pytest.fixture(scope="module")
def phone(browser):
    """A page as wide as a phone's."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    yield page
    page.close()


@pytest.mark.parametrize("name", some(VIEWS, one_in=100, always=["memory", "monitor"]))
def test_a_picture_follows_the_page_and_not_the_readers_system(systems, name):
    """As in JupyterLab and in what nbconvert exports, whose themes say themselves what they are."""
    html = VIEWS[name].static().html
    for system, page in systems.items():
        for light, expected in (("true", theme.PAPER), ("false", theme.IN_THE_DARK[theme.PAPER])):
            page.set_content(f'<body data-jp-theme-light="{light}">{html}</body>')
            page.locator("img").evaluate("image => image.decode()")
            assert paper_of(page) == expected, (system, light)


@pytest.mark.parametrize("name", VIEWS)
def test_letters_of_a_picture_keep_their_size_on_a_phone(phone, name):
    """A phone shows the picture that is drawn for it, and nothing of it is cut."""
    phone.set_content(f'<meta name="viewport" content="width=device-width">{VIEWS[name].static().html}')
    shrunk, wider = phone.evaluate("""async () => {
        const image = document.querySelector("img");
        await image.decode();
        const right = Math.max(document.documentElement.scrollWidth, image.getBoundingClientRect().right);
        return [image.width / image.naturalWidth, right - innerWidth];
    }""")
    assert shrunk > 0.79
    assert wider <= 0
