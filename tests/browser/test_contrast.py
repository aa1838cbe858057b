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
    found = in_page("timeline.js", "inkOn", "colors => colors.map(window.own.inkOn)", colors)
    assert found == [theme.ink_on(color) for color in colors]


#: Of the light page, as report.css says.
ACCENT = "#0b62a8"

#: How many pixels of a canvas have each of these colours, to the last bit.
COUNT = """([selector, colors]) => {
    const seen = document.querySelector(selector);
    const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    [copy.canvas.width, copy.canvas.height] = [seen.width, seen.height];
    copy.drawImage(seen, 0, 0);
    const { data } = copy.getImageData(0, 0, seen.width, seen.height);
    const wanted = new Map(colors.map((color) => [parseInt(color.slice(1), 16), 0]));
    for (let i = 0; i < data.length; i += 4) {
        const color = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
        if (wanted.has(color) && data[i + 3] === 255) wanted.set(color, wanted.get(color) + 1);
    }
    return [...wanted.values()];
}"""


def test_a_brushed_range_lies_below_the_bars_and_their_letters(open_report):
    page = open_report({"timeline": VIEWS["timeline"].content})
    page.wait_for_selector(".sk[data-ready]")
    asked = [".sk-stage canvas", [ACCENT, *theme.SERIES]]
    edges, *before = page.evaluate(COUNT, asked)
    assert edges == 0
    box = page.locator(".sk-stage canvas").first.bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 40, steps=4)
    page.wait_for_timeout(100)
    edges, *during = page.evaluate(COUNT, asked)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert edges > 50
    assert sum(before) > 1000
    # Two edges of 1.5 pixels are all that covers bars.
    assert sum(before) * 0.98 < sum(during) <= sum(before)


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


@pytest.mark.parametrize("name", some(VIEWS, one_in=100, always=["timeline"]))
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
