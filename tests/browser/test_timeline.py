"""Parts of the live timeline: details below the lanes, colours by storage type, the search."""

from __future__ import annotations

import pytest

from .gallery import made
from .work import BLOCKS, presses


def array(stype):
    return {"stype": stype, "shape": [10, 1000], "dtype": "float32", "nnz": 100, "density": 0.01, "index_dtype": "int64",
            "bytes": 1288, "components": {"data": 400}}  # fmt: skip


#: Name, lane, layer, duration, storage types that go in, that come out, and whether it became dense.
CALLS = [("read", "io", "", 40.0, [], ["csr"], False),
         ("dot", "forward", "net_dense0", 100.0, ["csr", "default"], ["default"], False),
         ("relu", "forward", "net_relu0", 20.0, ["default"], ["default"], False),
         ("log", "forward", "net_log0", 60.0, ["csr"], ["default"], True),
         ("dot", "backward", "net_dense0", 300.0, ["csr", "default"], ["row_sparse"], False),
         ("sgd_update", "update", "net_dense0", 150.0, ["default", "row_sparse"], ["default"], False),
         ("step", "user", "", 10.0, [], [], False)]  # fmt: skip
KINDS = ["csr", "csr", "dense only", "csr", "csr and row_sparse", "row_sparse", "no arrays"]


def records():
    found, time = [], 0.0
    for number, (name, lane, layer, duration, taken, given, dense) in enumerate(CALLS):
        found.append({"name": name, "kind": "op", "lane": lane, "layer": layer, "start": time, "duration": duration,
                      "self": duration, "node": None, "fallback": dense, "became_dense": "fallback" if dense else "",
                      "bytes": 1000 * number, "flops": 0, "dense_flops": 0, "line": f"train.py:{number}", "attrs": {},
                      "inputs": [array(one) for one in taken], "outputs": [array(one) for one in given]})  # fmt: skip
        time += duration
    return found


@pytest.fixture
def timeline(open_report):
    page = open_report({"timeline": {"timeline": records()}})
    page.wait_for_selector(".sk[data-ready]")
    return page


FOUND = {"dot": 2, "dot train.py:1": 1, "net_dense0": 3, "net_dense0 sgd": 1, "line:train.py": 0, "TRAIN.PY": 7}


def test_words_find_the_events_that_have_all_of_them(timeline):
    for typed, count in FOUND.items():
        timeline.get_by_label("Search events").fill(typed)
        assert timeline.locator(".sk-status").inner_text().startswith(f"{count} events match"), typed


def test_colours_by_storage_type_say_what_operators_took_and_gave(timeline):
    for name in dict.fromkeys(KINDS):
        chip = timeline.locator(f'.sk-legend button[title="{name}"]')
        chip.click()
        assert chip.get_attribute("aria-pressed") == "true"
        chip.click()
    stage = timeline.locator(".sk-stage")
    assert stage.get_attribute("data-frame") is not None
    shown = " ".join(timeline.locator(".sk-legend").inner_text().split())
    assert shown == "C csr R row_sparse B csr and row_sparse D dense only no arrays became dense"


ALARMED = """() => {
    const canvas = document.querySelector(".sk-stage canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) found += data[i] === 213 && data[i + 1] === 94 && data[i + 2] === 0;
    return found;
}"""


def test_arrows_go_from_a_conversion_to_its_readers_and_details_lead_back(timeline, open_report):
    without = timeline.evaluate(ALARMED)
    assert "is read by" not in timeline.locator(".sk-legend").inner_text()
    linked = records()
    linked[3]["conversion"] = linked[4]["conversion"] = linked[5]["conversion"] = 3  # the log, a dot and the update
    page = open_report({"timeline": {"timeline": linked}})
    page.wait_for_selector(".sk[data-ready]")
    page.wait_for_timeout(300)
    assert page.evaluate(ALARMED) > without + 100
    assert "is read by" in page.locator(".sk-legend").inner_text()
    page.get_by_label("Search events").fill("sgd_update")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="made dense by log · net_log0").click()
    assert page.locator(".sk-status").inner_text().startswith("log · net_log0")
    assert page.get_by_role("button", name="made dense by").count() == 0


def test_details_leave_the_lanes_their_width(timeline):
    stage = timeline.locator(".sk-stage")
    before = stage.bounding_box()["width"]
    stage.focus()
    timeline.keyboard.press("Enter")
    timeline.keyboard.press("Enter")
    panel = timeline.locator(".sk-panel")
    panel.wait_for()
    assert stage.bounding_box()["width"] == before
    assert panel.bounding_box()["y"] >= stage.bounding_box()["y"] + stage.bounding_box()["height"]


@pytest.mark.thorough
def test_a_frame_of_a_hundred_thousand_events_is_little_work(open_report):
    records = made["training"](1, steps=20_000)
    for place, record in enumerate(records):  # each step makes an array dense, and its other operators read it
        record.update(fallback=place % 5 == 0, conversion=place // 5)
    page = open_report({"timeline": {"timeline": records}}, reduced_motion="reduce")
    page.wait_for_selector(".sk[data-ready]", timeout=180_000)
    page.get_by_role("button", name="Show the whole run").click()
    page.wait_for_timeout(500)
    found = presses(page, ".sk-stage", ["+", "-", "+", "-"])
    assert "100,000 events" in page.locator(".sk-stage").get_attribute("aria-label")
    assert all(0 < blocks <= BLOCKS for blocks in found), found


def test_the_picture_of_the_whole_run_follows_what_it_shows(open_report):
    page = open_report({"timeline": {"timeline": {name: made["training"](number + 1, steps=5)
                                                  for number, name in enumerate(("one", "other"))}}})
    page.wait_for_selector(".sk[data-ready]")

    def shown():
        page.wait_for_timeout(150)
        return page.locator(".sk-map").evaluate("map => map.toDataURL()")

    def whole():
        page.get_by_label("Show the whole run").click()
        page.wait_for_timeout(500)
        return shown()

    before = whole()
    page.get_by_label("Zoom in").click()
    page.wait_for_timeout(500)
    assert shown() != before, "the frame around what is in view"
    assert whole() == before
    page.emulate_media(color_scheme="dark")
    assert shown() != before
    page.emulate_media(color_scheme="light")
    assert shown() == before
    page.set_viewport_size({"width": 900, "height": 900})
    assert shown() != before
    page.set_viewport_size({"width": 1200, "height": 900})
    assert shown() == before
