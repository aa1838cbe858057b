"""Views in narrow pages: whatever is wider than its box is cut, also where it can be scrolled to."""

from __future__ import annotations

import pytest

from tests.sampling import some

from .gallery import VIEWS

#: Elements that do not show all of their width.
CUT = """() => [...document.querySelectorAll('.sk, .sk *')]
    .filter(node => !(node instanceof SVGElement) && node.checkVisibility())
    .filter(node => getComputedStyle(node).display !== 'inline' && getComputedStyle(node).overflowX !== 'visible')
    .filter(node => node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).textOverflow !== 'ellipsis')
    .map(node => `${node.tagName} ${node.className}: ${node.scrollWidth} in ${node.clientWidth}`)"""

#: Elements that end beyond the page, outside of what is scrolled.
BEYOND = """() => [...document.querySelectorAll(".sk *")].filter((node) => node.getClientRects().length
    && !node.closest(".sk-table, .sk-pipe, .sk-panel, .scroll")
    && node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", some([390, 800], one_in=100, always=["390"]))
def test_nothing_is_cut(open_report, width):
    """All views on one page."""
    page = open_report({name: view.content for name, view in VIEWS.items()}, viewport={"width": width, "height": 900})
    page.wait_for_function("count => document.querySelectorAll('.sk[data-ready]').length === count", arg=len(VIEWS))
    for opened in (False, True):
        if opened:
            page.evaluate("() => { for (const part of document.querySelectorAll('.sk details')) part.open = true; }")
            page.wait_for_timeout(400)
            assert page.evaluate(CUT) == []
        else:
            assert page.evaluate(BEYOND) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_pictures_without_scripts_are_as_wide_as_the_page(open_report):
    sections = {name: view.content for name, view in VIEWS.items()}
    page = open_report(sections, viewport={"width": 390, "height": 900}, java_script_enabled=False)
    pictures = page.locator("figure .static img").all()
    assert len(pictures) == len(VIEWS)
    for picture in pictures:
        box = picture.bounding_box()
        assert box["width"] > 300
        assert box["x"] + box["width"] <= 390
