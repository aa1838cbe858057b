"""Several runs in one picture: their steps, the title's ratio, the finding and the table."""

from __future__ import annotations

import re

import pytest

from sparsekit.widgets import timelines_figure
from sparsekit.widgets.layout import clean, recorded_steps


def span(name, start, duration, number=None, lane="user"):
    attributes = {} if number is None else {"step": number}
    return {"name": name, "kind": "span", "lane": lane, "start": start, "duration": duration, "self": 0.0, "attrs": attributes}


def run(durations):
    """One run whose steps take ``durations``, each filled by a forward, a backward and an update operator."""
    records, time = [], 0.0
    for number, length in enumerate(durations):
        records.append(span("step", time, length, number))
        for k, (name, lane) in enumerate((("dot", "forward"), ("dot", "backward"), ("sgd_update", "update"))):
            part = length / 3
            records.append({"name": name, "lane": lane, "start": time + k * part, "duration": part, "self": part})
        time += length
    return records


def test_steps_inside_others_do_not_count():
    nested = [span("step", 0, 10, 0), span("step", 2, 3), span("step", 10, 10, 1), span("step", 12, 2, 7),
              span("step", 10, 10, 1)]
    assert [(step.number, step.start) for step in recorded_steps(clean(nested))] == [(0, 0), (1, 10)]


def test_steps_of_a_trace_of_torch():
    trace = [span(f"ProfilerStep#{i}", 10 * i, 10) for i in range(3, 6)]
    assert [step.number for step in recorded_steps(clean(trace))] == [3, 4, 5]


@pytest.mark.parametrize("odd", [
    [span("step", 0, 0, 0)], [span("step", 5, 0, 0), span("step", 5, 0, 1)], [span("step", 1e15, 1e-3, 1 << 60)],
    [span("step", "x", None, "five")], [{"name": "step", "lane": "user", "attrs": 3}], [span("step", 0, 9, True)],
])  # fmt: skip
def test_odd_steps_are_drawn(odd):
    for window in ("auto", "step", "all", (0, 3)):
        display = timelines_figure({"a": odd, "b": run([5, 5])}, window=window)
        assert display.alt
        assert display.svg


@pytest.mark.parametrize("window", ["all", "step"])
def test_the_title_is_the_ratio_of_the_numbers_below_it(window):
    display = timelines_figure({"dense": run([40]), "csr": run([10]), "ell": run([20])}, window=window)
    times = {name: float(value) for name, value in re.findall(r"(dense|csr|ell)(?: takes)? ([\d.]+) µs", display.alt)}
    assert f"csr: {times['dense'] / times['csr']:.1f}× faster than dense" in display.svg


def test_runs_that_take_as_long_have_no_faster_one():
    display = timelines_figure({"one": run([40, 40]), "other": run([40, 41])})
    assert "faster" not in display.svg
    assert "2 ways" in display.svg


def test_few_steps_are_drawn_whole_and_one_of_many_on_request():
    runs = {"a": run([30, 60, 45]), "b": run([30] * 4)}
    whole = timelines_figure(runs)
    assert whole.columns == ("lane", "a", "b")
    assert whole.alt.startswith("Recorded time: a 135 µs, b 120 µs")
    one = timelines_figure(runs, window="step")
    assert one.alt.startswith("One training step takes a 45.0 µs, b 30.0 µs: a takes 1.5× as long as b")
    assert "Drawn: a: step 2 of 3, the median one; b: step 1 of 4, the median one." in one.svg
    assert timelines_figure({"a": run([30] * 30), "b": run([20] * 30)}).alt.startswith("One training step takes")


def test_a_run_too_short_to_be_read_is_magnified():
    display = timelines_figure({"dense": run([1000, 1100, 1200]), "sparse": run([10, 11, 12])}, window="step")
    assert "times as wide</text>" in display.svg
    assert re.search(r"In the picture, sparse is also drawn \d+ times as wide", display.alt)
