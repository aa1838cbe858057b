"""Views in narrow pages: whatever is wider than its box is cut, also where it can be scrolled to."""

from __future__ import annotations

import pytest

from tests.sampling import some

from .gallery import VIEWS

#: Lists of cells whose length is the array's, which are moved through by keys.
MOVED_THROUGH = ".sk-strip, .sk-strip *"

#: Elements that do not show all of their width.
CUT = """moved => [...document.querySelectorAll('.sk, .sk *')]
    .filter(node => !node.matches(moved) && !(node instanceof SVGElement) && node.checkVisibility())
    .filter(node => getComputedStyle(node).display !== 'inline' && getComputedStyle(node).overflowX !== 'visible')
    .filter(node => node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).textOverflow !== 'ellipsis')
    .map(node => `${node.tagName} ${node.className}: ${node.scrollWidth} in ${node.clientWidth}`)"""


@pytest.mark.parametrize("width", some([390, 800], one_in=100, always=["390"]))
@pytest.mark.parametrize("name", VIEWS)
def test_nothing_is_cut(open_report, name, width):
    page = open_report({name: VIEWS[name].content}, viewport={"width": width, "height": 900})
    page.wait_for_selector(".sk[data-ready]")
    page.evaluate("() => { for (const part of document.querySelectorAll('.sk details')) part.open = true; }")
    page.wait_for_timeout(400)
    assert page.evaluate(CUT, MOVED_THROUGH) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", VIEWS)
def test_the_picture_without_scripts_is_as_wide_as_the_page(open_report, name):
    page = open_report({name: VIEWS[name].content}, viewport={"width": 390, "height": 900}, java_script_enabled=False)
    box = page.locator("figure img").first.bounding_box()
    assert box["width"] > 300
    assert box["x"] + box["width"] <= 390
