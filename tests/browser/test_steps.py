"""Two runs aligned step by step in a page: the same places as in the picture, whatever the runs are like."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from sparsekit.widgets.align import align
from sparsekit.widgets.layout import clean
from sparsekit.widgets.pack import pack_timeline

from .gallery import made
from .test_views import HOSTILE, picture
from .work import BLOCKS, turns


def run(draw: random.Random, steps: int, first: int = 0, numbered: bool = True) -> list[dict[str, Any]]:
    """Steps of random lengths with operators in them, on their edges and across them."""
    records, time = [], draw.uniform(0, 50)
    begin = time
    for number in range(first, first + steps):
        length = round(draw.choice([0.0, draw.uniform(1, 100)]), 3)
        attributes = {"step": number} if numbered else {}
        records.append({"name": "step", "lane": "user", "start": time, "duration": length, "attrs": attributes})
        for _ in range(3):
            start = time + round(draw.choice([0.0, draw.uniform(0, length)]), 3)
            duration = draw.choice([0.0, time + length - start, draw.uniform(0, 200)])
            records.append({"name": "dot", "lane": "forward", "start": start, "duration": max(0.0, duration)})
        time += length + round(draw.choice([0.0, draw.uniform(0, 10)]), 3)
    records.append({"name": "epoch", "lane": "user", "start": begin - 1, "duration": time - begin + draw.choice([0.0, 30.0])})
    return records


PLACES = """async payloads => {
    const { unpack, Data } = window.own;
    const found = [];
    for (const payload of payloads) {
        const bytes = Uint8Array.from(atob(payload), letter => letter.charCodeAt(0));
        const data = new Data(await unpack(new DataView(bytes.buffer)), true);
        const { start, duration } = data.placed;
        const back = [...start].map((place, i) => data.real(data.columns.run[i], place) - data.columns.start[i]);
        const gaps = data.runs.map((_, run) => {
            const all = [];
            data.steps.gaps(run, -1e9, 1e9, (from, to) => all.push([from, to]));
            return all;
        });
        found.push({ aligned: data.aligned, start: [...start], duration: [...duration], back, gaps });
    }
    return found;
}"""


def test_every_event_lies_where_python_lays_it(in_page):
    draw = random.Random(0)
    cases = [{name: run(draw, draw.randrange(1, 9), draw.choice([0, 0, 3]), draw.random() < 0.8)
              for name in ("a", "b", "c")[: draw.choice([2, 3])]} for _ in range(40)]  # fmt: skip
    packed = [base64.b64encode(pack_timeline(case)).decode() for case in cases]
    found = in_page("timeline.js", "unpack, Data", PLACES, packed)
    for case, there in zip(cases, found, strict=True):
        events = [clean(records) for records in case.values()]
        steps = align(events)
        here = [steps.place(i, event) for i, some in enumerate(events) for event in some]
        assert there["aligned"] == bool(steps)
        assert there["start"] == pytest.approx([event.start for event in here], abs=1e-6)
        assert there["duration"] == pytest.approx([event.duration for event in here], abs=1e-6)
        assert all(abs(off) < 1e-6 for off in there["back"])
        for i, gaps in enumerate(there["gaps"]):
            wide = [[pytest.approx(edge, abs=1e-6) for edge in gap] for gap in steps.gaps(i) if gap[1] - gap[0] > 1e-6]
            assert [gap for gap in gaps if gap[1] - gap[0] > 1e-6] == wide


def opened(open_report: Any, runs: dict[str, Any], **more: Any) -> Any:
    page = open_report({"Runs": {"timeline": runs, **more}}, reduced_motion="reduce")
    page.wait_for_selector(".sk-timeline[data-ready]")
    return page.locator(".sk-timeline").first


def test_what_is_pressed_is_kept_in_the_model(open_report):
    view = opened(open_report, {"a": made["looped"](2), "b": made["looped"](1)}, align="start")
    start, each = (view.get_by_role("button", name=name, exact=True) for name in ("start", "each step"))
    assert start.get_attribute("aria-pressed") == "true"
    assert "step" in view.inner_text()
    each.press("Enter")
    assert each.get_attribute("aria-pressed") == "true"
    # What was in view of the first run still is.
    assert "Aligned at each of 6 steps" in view.locator(".sk-status").inner_text()


def test_a_run_without_steps_says_why(open_report):
    view = opened(open_report, {"a": made["looped"](2), "b": made["looped"](1)[1:2]})
    each = view.get_by_role("button", name="each step", exact=True)
    assert each.get_attribute("aria-disabled") == "true"
    assert "No steps were recorded in b" in each.get_attribute("title")
    said = view.locator(".sk-status")
    for key in ("a", "]"):
        view.locator(".sk-stage").focus()
        view.page.keyboard.press("Escape")
        view.page.keyboard.press(key)
        assert "No steps were recorded in b: call prof.step() at the end of each." in said.inner_text()
    each.press("Enter")
    assert said.inner_text().startswith("Not aligned by steps.")
    assert view.get_by_role("button", name="start", exact=True).get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("runs", [{"a": [], "b": []}, {"a": "looped", "b": []}, {"a": "looped"}], ids=["none", "one", "alone"])
def test_less_than_two_runs(open_report, runs):
    found = {name: made["looped"](1) if records else [] for name, records in runs.items()}
    view = opened(open_report, found)
    assert view.get_by_role("button", name="each step", exact=True).count() == (len(runs) > 1)
    view.locator(".sk-stage").focus()
    for key in ("a", "]", "[", "Home", "Enter", "a", "Escape"):
        view.page.keyboard.press(key)
    view.page.wait_for_timeout(300)


def test_steps_that_were_recognised(open_report):
    view = opened(open_report, {"a": made["training"](2, 5), "b": made["training"](1, 4)})
    view.get_by_text("The steps in view as a table").click()
    caption = view.locator(".sk-steps caption")
    caption.wait_for()
    assert "Steps are recognised by their forward pass" in caption.inner_text()


def test_what_crosses_a_gap_shows_through(open_report):
    """A run's epoch around its steps, work before and after them, other numbers of steps: kept as a picture, to be looked at."""
    epoch = made["looped"](1, 5)
    last = max(record["start"] + record["duration"] for record in epoch)
    begin = epoch[0]["start"]
    epoch = [{"name": "load", "lane": "io", "start": -400.0, "duration": 350.0, "self": 350.0},
             {"name": "epoch", "lane": "user", "start": begin, "duration": last - begin, "self": 0.0}, *epoch,
             {"name": "score", "lane": "forward", "start": last + 40, "duration": 500.0, "self": 500.0}]  # fmt: skip
    view = opened(open_report, {"dense": [*made["looped"](1.6, 3)], "sparse": epoch})
    view.locator(".sk-stage").focus()
    view.page.keyboard.press("Home")
    view.page.wait_for_timeout(400)
    said = view.locator(".sk-status").inner_text()
    assert "Time that passed: dense " in said
    picture(view, "disk-steps-across")
    view.locator("input[type=search]").fill("epoch")
    view.locator("input[type=search]").press("Enter")
    # The bar spans the gaps; what is told is what passed.
    assert f"epoch, user, sparse, {(last - begin) / 1000:.2f} ms from" in view.locator(".sk-status").inner_text()


def test_hostile_runs_stay_text(open_report):
    runs = {HOSTILE: made["looped"](1), "b": [{**record, "attrs": {"step": HOSTILE}} for record in made["looped"](2)]}
    view = opened(open_report, runs)
    view.locator(".sk-stage").focus()
    view.page.keyboard.press("]")
    assert HOSTILE in view.locator(".sk-status").inner_text()
    view.get_by_text("The steps in view as a table").click()
    assert HOSTILE in view.locator(".sk-steps thead").inner_text()
    assert view.page.evaluate("() => window.hacked") is None


@pytest.mark.thorough
@pytest.mark.slow
def test_zooming_into_ten_thousand_steps_is_little_work(open_report):
    view = opened(open_report, {"a": made["looped"](2, 8000), "b": made["looped"](1, 8000)})
    view.locator(".sk-stage").focus()
    view.page.keyboard.press("Home")
    view.page.wait_for_timeout(400)
    found = turns(view.page, 160, 10)
    assert all(0 < blocks <= BLOCKS for blocks in found), found
