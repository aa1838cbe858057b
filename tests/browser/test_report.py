"""The saved report used as a reader would: from disk, no network, no kernel, both themes, with and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparsekit.base import formatting

from .work import BLOCKS, presses

ARTEFACTS = Path(__file__).parent / "artefacts"


def array(stype: str, stored: int, components: dict[str, int]) -> dict[str, Any]:
    return {"stype": stype, "shape": [1000, 128], "dtype": "float32", "nnz": stored, "density": stored / 128_000,
            "index_dtype": "int64" if len(components) > 1 else None, "bytes": sum(components.values()),
            "components": components}  # fmt: skip


CSR = array("csr", 100, {"data": 400, "indices": 800, "indptr": 8008})
DENSE = array("default", 128_000, {"data": 512_000})
ROWS = {**array("row_sparse", 1280, {"data": 5120, "indices": 80}), "rows": 10}
PHASES = (("LibSVMIter.next", "io", 40.0), ("dot", "forward", 100.0), ("relu", "forward", 20.0),
          ("relu", "backward", 20.0), ("dot", "backward", 300.0), ("sgd_update", "update", 150.0))  # fmt: skip


def training(steps: int) -> list[dict[str, Any]]:
    records, time = [], 0.0
    for step in range(steps):
        for name, lane, duration in PHASES:
            records.append({
                "name": name, "kind": "op", "lane": lane, "start": time, "duration": duration, "self": duration,
                "layer": "dense0", "node": 2 * step + (name == "dot") if lane in ("forward", "backward") else None,
                "fallback": name == "dot" and lane == "forward", "attrs": {"transpose_a": True},
                "inputs": [CSR, DENSE], "outputs": [ROWS], "bytes": 9000, "flops": 25_600, "dense_flops": 2_560_000,
                "line": "train.py:7",
            })  # fmt: skip
            time += duration + 5
    return records


def timeline_of(page: Any) -> Any:
    page.wait_for_selector(".sk-timeline[data-ready]")
    return page.locator(".sk-timeline").first


def still(page: Any) -> None:
    """Wait until a zoom has come to rest and been painted."""
    page.wait_for_timeout(350)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_click_opens_what_the_operator_did(open_report, dark):
    page = open_report({"Time": {"timeline": training(12), "title": "The run"}}, dark)
    view = timeline_of(page)
    assert page.locator("figure[data-view=timeline] .static").is_hidden()
    still(page)
    box = view.locator(".sk-stage canvas").bounding_box()
    # One step is in view: the long bar of the backward lane lies right of the middle, third lane from above.
    page.mouse.click(box["x"] + 92 + 0.55 * (box["width"] - 92), box["y"] + 24 + 28 * 2 + 14)
    panel = view.locator(".sk-panel")
    said = panel.inner_text()
    facts = ["dot · dense0", "backward", "train.py:7", "2.56 M", "100× less", "transpose_a"]
    facts += ["csr 1,000 × 128", "nnz 100 of 128,000", "density 0.078 %", "indices 800 B", "9.21 kB"]
    facts += ["row_sparse 1,000 × 128", "in 10 rows"]
    assert [words for words in facts if words not in said] == []
    panel.get_by_text("forward partner: dot").click()
    assert "made dense here" in panel.inner_text()
    still(page)
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"report-{'dark' if dark else 'light'}.png", full_page=True)
    styles = "() => ['color', 'backgroundColor'].map(key => getComputedStyle(document.querySelector('.sk'))[key])"
    colors = page.evaluate(styles)
    light = [sum(map(int, color[4:-1].split(","))) / 3 for color in colors]
    assert (light[0] > light[1]) == dark
    assert abs(light[0] - light[1]) > 150


def test_the_timeline_answers_the_keyboard(open_report):
    page = open_report({"Time": {"timeline": training(12)}})
    view = timeline_of(page)
    stage, status = view.locator(".sk-stage"), view.locator(".sk-status")
    stage.focus()
    page.keyboard.press("Home")
    still(page)
    assert f"{len(training(12))} events" in status.inner_text()
    page.keyboard.press("+")
    still(page)
    assert int(status.inner_text().split(",")[1].split()[0]) < len(training(12))
    page.keyboard.press("Home")
    still(page)
    page.keyboard.press("Enter")
    assert status.inner_text().startswith("LibSVMIter.next · dense0, io")
    page.keyboard.press("Tab")
    assert status.inner_text().startswith("dot · dense0, forward")
    assert "made a sparse array dense" in status.inner_text()
    page.keyboard.press("p")
    assert status.inner_text().startswith("dot · dense0, backward")
    assert view.locator(".sk-panel").is_hidden()
    page.keyboard.press("Enter")
    assert "row_sparse" in view.locator(".sk-panel").inner_text()
    page.keyboard.press("Escape")
    assert view.locator(".sk-panel").is_hidden()
    # Outside again, Tab goes on to the next control: no keyboard trap.
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "sk-chip"


def test_search_legend_colours_and_the_table_twin(open_report):
    page = open_report({"Time": {"timeline": training(12)}})
    view = timeline_of(page)
    view.locator("input[type=search]").fill("SGD")
    assert "12 events match" in view.locator(".sk-status").inner_text()
    view.locator("input[type=search]").press("Enter")
    assert view.locator(".sk-panel h4").inner_text() == "sgd_update · dense0"
    view.locator(".sk-legend button").first.click()
    assert view.locator(".sk-legend button").first.get_attribute("aria-pressed") == "true"
    view.get_by_role("button", name="Show the whole run").click()
    still(page)
    view.get_by_text("The events in view as a table").click()
    rows = view.locator(".sk-main details tbody tr")
    rows.last.wait_for()
    assert rows.count() == len(training(12))
    rows.nth(1).locator("button").click()
    assert view.locator(".sk-panel h4").inner_text() == "dot · dense0"


def test_dragging_pans_and_with_shift_measures(open_report):
    page = open_report({"Time": {"timeline": training(12)}})
    view = timeline_of(page)
    box = view.locator(".sk-stage canvas").bounding_box()
    x, y = box["x"] + 300, box["y"] + box["height"] - 4
    for key in (None, "Shift"):
        if key:
            page.keyboard.down(key)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 200, y, steps=4)
        page.mouse.up()
        if key:
            page.keyboard.up(key)
        still(page)
        said = view.locator(".sk-status").inner_text()
        assert said.startswith("Measured span" if key else "In view"), said


def test_on_paper_the_pictures_stand(open_report):
    page = open_report({"Time": {"timeline": training(12)}})
    view = timeline_of(page)
    page.emulate_media(media="print")
    assert view.is_hidden()
    assert page.locator("figure .static img").is_visible()


def test_hostile_names_are_shown_and_never_run(open_report):
    name = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    records = [{**record, "name": name, "layer": name, "line": name, "attrs": {name: name}} for record in training(1)]
    marks = [{"kind": kind, "name": name, "time": records[0]["start"] + 1, "value": value, "unit": name, "line": name}
             for kind, value in (("marker", name), ("counter", 1), ("densification", None))]
    page = open_report([(name, {"timeline": records, "title": name, "marks": marks})])
    view = timeline_of(page)
    view.locator(".sk-stage").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert name in view.locator(".sk-panel").inner_text()
    page.keyboard.press("m")
    assert f"Marker {name}, {name}, {name}, at " in view.locator(".sk-status").inner_text()
    view.get_by_text("Markers and counters in view as a table").click()
    assert name in view.locator(".sk-marks tbody").last.inner_text()
    assert page.evaluate("() => window.hacked") is None


def test_nothing_to_show(open_report):
    page = open_report({"Time": {"timeline": []}, "Runs": {"timeline": {"a": [], "b": []}}})
    page.wait_for_function("() => document.querySelectorAll('.sk[data-ready]').length === 2")
    assert page.locator(".sk-timeline[data-ready]").count() == 2
    stage = page.locator(".sk-stage").first
    stage.focus()
    for key in ("Enter", "Tab", "+", "Home", "ArrowDown", "p", "z", "Escape"):
        page.keyboard.press(key)


def test_marks_without_events_are_shown(open_report):
    marks = [{"kind": "marker", "name": "only", "time": 5.0}, {"kind": "counter", "name": "n", "time": 9.0, "value": 2}]
    page = open_report({"Time": {"timeline": [], "marks": marks}})
    view = timeline_of(page)
    view.locator(".sk-stage").focus()
    for key in ("Enter", "Tab", "m"):
        page.keyboard.press(key)
    view.locator(".sk-stage").focus()
    page.keyboard.press("m")
    assert view.locator(".sk-status").inner_text() == "Marker only, at 0 s."


@pytest.mark.thorough
@pytest.mark.slow
def test_a_hundred_thousand_values_of_counters_are_little_work(open_report):
    marks = [{"kind": ("counter", "counter", "marker")[i % 3], "name": f"n{i % 3}", "time": float(i), "value": i % 1000}
             for i in range(100_000)]
    page = open_report({"Time": {"timeline": training(6), "marks": marks}}, reduced_motion="reduce")
    timeline_of(page)
    found = presses(page, ".sk-stage", ["Home", "+", "-"])
    assert all(0 < blocks <= BLOCKS for blocks in found), found


def test_the_theme_button_turns_the_page(open_report):
    page = open_report({"Time": {"timeline": training(3)}})
    timeline_of(page)
    background = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(background)
    for _ in range(2):
        page.locator("header button").click()
    assert page.locator("header button").inner_text() == "theme: dark"
    assert page.evaluate(background) != before


def test_figures_read_the_same_in_both_languages(in_page):
    values = [0, 1e-4, 0.07, 0.85, 0.99996, 1, 9.994, 9.996, 12.34, 88, 99.94, 99.96, 999.4, 999.6, 1288, 59_280]
    values += [999_700, 1_048_576, 5.12e8, 1.576e9, 3.7e13, -2048]
    shares = [0, 1e-13, 9.6e-6, 1e-5, 0.0049, 0.01, 0.0999, 0.25, 0.5, 0.9994, 0.99999, 1]
    figures = [0, 1, -3, 0.6931471, 0.5, 1e-4, 2.5e-7, -1.25e-12, 12_345, 12_345.678]
    figures += [999_949.9, 999_950.0, 1_234_567.8, -2048.55, 3e21, 1e300]
    names = "formatBytes, formatDuration, formatCount, formatDensity, formatShare, formatShape, formatValue"
    cases = {"formatBytes": (values, formatting.format_bytes), "formatDuration": (values, formatting.format_duration),
             "formatCount": (values, formatting.format_count), "formatDensity": (shares, formatting.format_density),
             "formatShare": (shares, formatting.format_share), "formatValue": (figures, formatting.format_value),
             "formatShape": ([[], [10, 1_000_000]], formatting.format_shape)}
    shown = in_page("timeline.js", names, "cases => cases.map(([name, inputs]) => inputs.map(value => window.own[name](value)))",
                    [[name, inputs] for name, (inputs, _) in cases.items()])
    for (name, (inputs, twin)), found in zip(cases.items(), shown, strict=True):
        assert found == [twin(value) for value in inputs], name
