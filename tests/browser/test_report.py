"""The saved report used as a reader would: from disk, no network, no kernel, both themes, with and without scripts."""

from __future__ import annotations

from sparsekit.base import formatting
from sparsekit.figures.timeline import timeline_figure
from tests.figures.recorded import tables, training

MEMORY = {
    "peak_bytes": 517_200, "peak_time": 20.0, "process_peak_bytes": 90_000_000,
    "samples": [[0.0, 512_000, {"parameter": 512_000}], [20.0, 517_200, {"parameter": 512_000, "gradient": 5200}],
                [30.0, 512_000, {"parameter": 512_000}]],
    "at_peak": [{"owner": "dense0_weight", "role": "parameter", "stype": "default", "shape": [1000, 128],
                 "component": "data", "bytes": 512_000},
                {"owner": "dense1_weight", "role": "gradient", "stype": "row_sparse", "shape": [1000, 128],
                 "component": "data", "bytes": 300_000},
                {"owner": "dense1_weight", "role": "gradient", "stype": "row_sparse", "shape": [1000, 128],
                 "component": "indices", "bytes": 80_000}],
}  # fmt: skip


def test_hostile_names_are_shown_and_never_run(open_report):
    name = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
    memory = {**MEMORY, "at_peak": [{**MEMORY["at_peak"][0], "owner": name, "role": name}]}
    page = open_report([("m", {"memory": memory})])
    page.wait_for_selector(".sk-memory[data-ready]")
    page.locator(".sk-cell").first.click()
    assert page.evaluate("() => window.hacked") is None


def test_the_memory_view(open_report):
    page = open_report({"Memory": {"memory": MEMORY}})
    page.wait_for_selector(".sk-memory[data-ready]")
    view = page.locator(".sk-memory")
    area, status = view.locator(".sk-area"), view.locator(".sk-main .sk-status")
    assert "517 kB at 20.0 µs, the peak" in status.inner_text()
    area.focus()
    page.keyboard.press("ArrowRight")
    assert status.inner_text().startswith("512 kB at 30.0 µs.")
    assert area.get_attribute("aria-valuetext") == "512 kB at 30.0 µs"
    view.locator(".sk-cell").nth(1).click()
    assert [cell.inner_text().split("\n")[0] for cell in view.locator(".sk-cell").all()] == ["data", "indices"]
    view.locator(".sk-cell").first.focus()
    page.keyboard.press("Escape")
    assert view.locator(".sk-cell").count() == 1
    page.keyboard.press("Escape")
    assert view.locator(".sk-cell").count() == 2
    box = area.bounding_box()
    page.mouse.click(box["x"] + 80, box["y"] + 100)
    assert status.inner_text().startswith("512 kB at 0 s")


def test_on_paper_the_pictures_stand(open_report):
    page = open_report({"Memory": {"memory": MEMORY}})
    page.wait_for_selector(".sk-memory[data-ready]")
    view = page.locator(".sk-memory")
    page.emulate_media(media="print")
    assert view.is_hidden()
    assert page.locator("figure .static img").is_visible()


def test_nothing_to_show(open_report):
    page = open_report({"Time": timeline_figure(tables([])), "Memory": {"memory": {}}})
    page.wait_for_selector(".sk-memory[data-ready]")
    page.locator("figure > svg:not(.over)").focus()
    for key in ("Enter", "+", "Home", "ArrowDown", "Escape"):
        page.keyboard.press(key)


def test_the_theme_button_turns_the_page(open_report):
    page = open_report({"Time": timeline_figure(tables(training(steps=3)))})
    page.wait_for_selector("[data-ready]")
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
    names = "formatBytes, formatDuration, formatCount, formatDensity, formatShare, formatShape"
    cases = {"formatBytes": (values, formatting.format_bytes), "formatDuration": (values, formatting.format_duration),
             "formatCount": (values, formatting.format_count), "formatDensity": (shares, formatting.format_density),
             "formatShare": (shares, formatting.format_share),
             "formatShape": ([[], [10, 1_000_000]], formatting.format_shape)}
    shown = in_page("memory.js", names, "cases => cases.map(([name, inputs]) => inputs.map(value => window.own[name](value)))",
                    [[name, inputs] for name, (inputs, _) in cases.items()])
    for (name, (inputs, twin)), found in zip(cases.items(), shown, strict=True):
        assert found == [twin(value) for value in inputs], name
