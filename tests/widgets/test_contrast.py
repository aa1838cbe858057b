"""Letters are read on whatever they are painted on: a contrast of 4.5 (WCAG 2, level AA), by the palettes themselves."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from sparsekit.widgets import sources, theme

SOURCES = sorted(path for path in Path(theme.__file__).parent.rglob("*") if path.suffix in (".py", ".js", ".css"))
COLORS = {color: path.name for path in SOURCES for color in re.findall(r"#[0-9a-f]{6}\b", path.read_text(encoding="utf-8"), re.I)}


def test_contrast_is_that_of_the_guidelines():
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert theme.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert theme.contrast("#0072b2", "#0072b2") == 1


def test_letters_are_read_on_any_colour_at_all():
    draw = random.Random(0)
    for _ in range(3000):
        color = f"#{draw.randrange(1 << 24):06x}"
        assert theme.contrast(theme.ink_on(color), color) >= 4.5, color


def variables(text):
    """What a piece of style sheet sets custom properties to; of fallbacks, the last."""
    return {name: found[-1] for name, value in re.findall(r"--(?:sk|jp)-([\w-]+):([^;]+);", text)
            if (found := re.findall(r"#[0-9a-f]{6}", value))}


def themes():
    report = sources.read("report.css")
    names = {"layout-color1": "bg", "layout-color2": "stripe", "ui-font-color1": "fg", "ui-font-color2": "muted"}
    parts = {"light page": r":root \{(.*?)\}", "dark page by its button": r':root\[data-theme="dark"\] \{(.*?)\}',
             "dark page by the reader's setting": r':root:not\(\[data-theme="light"\]\) \{(.*?)\}'}
    for name, pattern in parts.items():
        found = re.search(pattern, report, re.S)
        assert found is not None
        yield name, {names[key]: value for key, value in variables(found[1]).items() if key in names}
    yield "no theme", {key: value for key, value in variables(sources.style()).items() if key in names.values()}
    yield "picture", {"bg": theme.PAPER, "stripe": theme.STRIPE, "fg": theme.INK, "muted": theme.MUTED}
    yield "picture in a dark page", {name: theme.IN_THE_DARK[color] for name, color in (
        ("bg", theme.PAPER), ("stripe", theme.STRIPE), ("fg", theme.INK), ("muted", theme.MUTED))}


@pytest.mark.parametrize(("name", "colors"), [*themes()], ids=lambda value: value if isinstance(value, str) else "")
def test_lane_names_ticks_and_headings_are_read_in_each_theme(name, colors):
    assert set(colors) == {"bg", "stripe", "fg", "muted"}
    for ink in ("fg", "muted"):
        for ground in ("bg", "stripe"):
            assert theme.contrast(colors[ink], colors[ground]) >= 4.5, (name, ink, ground)


def test_a_picture_has_the_colours_of_a_report_in_the_dark():
    _, page = next(found for found in themes() if found[0] == "dark page by the reader's setting")
    _, picture = next(found for found in themes() if found[0] == "picture in a dark page")
    assert picture == page
    assert theme.IN_THE_DARK[theme.LINE] in sources.read("report.css")


def test_what_stands_on_a_colour_stays_as_it_is_in_the_dark():
    """Else dark letters on yellow would become light ones."""
    inks = {theme.ink_on(color) for color in COLORS if color not in theme.IN_THE_DARK}
    assert not inks & set(theme.IN_THE_DARK)
