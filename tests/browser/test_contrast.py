"""Letters on canvases: the page chooses their colour as the pictures do, and nothing is laid over them."""

from __future__ import annotations

import random

from sparsekit.widgets import sources, theme

from .gallery import VIEWS


def test_the_page_chooses_the_colour_of_letters_as_the_pictures_do(browser):
    draw = random.Random(0)
    colors = [*theme.SERIES, theme.OTHER, theme.ALARM, *(f"#{draw.randrange(1 << 24):06x}" for _ in range(500))]
    page = browser.new_page()
    try:
        page.add_script_tag(content=f"{sources.module('timeline.js')}\nwindow.own = {{ inkOn }};", type="module")
        page.wait_for_function("() => window.own")
        assert page.evaluate("colors => colors.map(window.own.inkOn)", colors) == [theme.ink_on(color) for color in colors]
    finally:
        page.close()


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
