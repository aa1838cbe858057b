"""A frame of a live view is little work, also of a hundred thousand events, samples, steps or values."""

from __future__ import annotations

import pytest

from .gallery import made
from .work import BLOCKS, blocks_of, presses

MANY = 100_000


def processes():
    """A worker and a server that share a hundred thousand events on one clock."""
    one = made["processes"]()
    records = [{**record, "start": record["start"] + 1e5 * turn} for turn in range(MANY // sum(map(len, one.values())) + 1)
               for record in one["worker 0"]]
    return {"worker 0": records, "server 0": [{**record, "lane": "serve"} for record in records]}


VIEWS = {
    "runs": (lambda: {"timeline": {name: made["training"](1, steps=MANY // 10) for name in ("one", "other")}},
             ".sk-stage", ["+", "-", "ArrowRight", "ArrowLeft"]),
    "processes": (lambda: {"timeline": processes(), "clock": "common"}, ".sk-stage", ["+", "-", "ArrowRight", "ArrowLeft"]),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_a_frame_is_little_work(open_report, name):
    content, selector, keys = VIEWS[name]
    page = open_report({name: content()}, reduced_motion="reduce")
    page.wait_for_selector(".sk[data-ready]", timeout=180_000)
    page.wait_for_timeout(300)
    found = presses(page, selector, keys)
    assert all(0 < blocks <= BLOCKS for blocks in found), found


@pytest.mark.thorough
def test_work_for_each_event_is_counted(browser):
    """A key whose listener looks at a hundred thousand events one by one."""
    page = browser.new_page()
    page.set_content("<button onkeydown='for (let i = 0; i < 100000; i += 1) { if (i % 2) window.seen = i; }'>view</button>")
    assert all(blocks > BLOCKS for blocks in presses(page, "button", ["+", "-"]))
    assert max(blocks_of(page, [lambda: page.evaluate("() => 1")])) < 100
    page.close()
