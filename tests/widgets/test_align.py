"""Runs aligned step by step: the same step begins at the same place, and nothing is stretched."""

from __future__ import annotations

import re
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsekit as mx
from sparsekit.base.errors import UnknownNameError
from sparsekit.widgets import timelines_figure
from sparsekit.widgets.align import align
from sparsekit.widgets.layout import clean, recorded_steps


def span(name, start, duration, number=None, lane="user"):
    attributes = {} if number is None else {"step": number}
    return {"name": name, "kind": "span", "lane": lane, "start": start, "duration": duration, "self": 0.0, "attrs": attributes}


def op(name, lane, start, duration):
    return {"name": name, "lane": lane, "start": start, "duration": duration, "self": duration}


def run(durations, first=0, begin=0.0, numbered=True, between=0.0):
    """One run whose steps take ``durations``, each filled by a forward, a backward and an update operator."""
    records, time = [], begin
    for i, length in enumerate(durations):
        records.append(span("step", time, length, first + i if numbered else None))
        for k, (name, lane) in enumerate((("dot", "forward"), ("dot", "backward"), ("sgd_update", "update"))):
            records.append(op(name, lane, time + length * k / 3, length / 3))
        time += length + between
    return records


def laid(*runs, **options):
    """The alignment of runs of records, and their events as they lie."""
    found = [clean(records) for records in runs]
    steps = align(found, **options)
    return steps, [[steps.place(i, event) for event in events] for i, events in enumerate(found)]


def begins(steps, index):
    """Where each step of a run begins on the axis, by the label of its slot."""
    found = ((slot.label, steps.in_slot(index, i)) for i, slot in enumerate(steps.slots))
    return {label: steps.shown(index, step.start) for label, step in found if step is not None}


lengths = st.lists(st.floats(0.5, 1000), min_size=1, max_size=8)
made = st.builds(run, lengths, st.integers(0, 5), st.floats(0, 500), st.just(True), st.floats(0, 20))


@given(st.lists(made, min_size=2, max_size=4))
def test_the_same_step_begins_at_the_same_place_and_keeps_its_length(runs):
    steps, placed = laid(*runs)
    assert steps.kind == "recorded"
    for first, second in pairwise(range(len(runs))):
        one, two = begins(steps, first), begins(steps, second)
        assert all(one[label] == pytest.approx(two[label], abs=1e-6) for label in set(one) & set(two))
    for index, (records, events) in enumerate(zip(runs, placed, strict=True)):
        for event, record in zip(events, clean(records), strict=True):
            assert event.duration - event.gap == pytest.approx(record.duration)
            # An operator is never pulled apart; only what runs across a gap spans it.
            assert event.gap == pytest.approx(0, abs=1e-6)
        # Order is kept, so rows need no new layout, and no step runs into the place of the next one.
        assert all(a.start <= b.start + 1e-6 for a, b in pairwise(events))
        for i, slot in enumerate(steps.slots[:-1]):
            step = steps.in_slot(index, i)
            assert step is None or slot.start + step.duration <= steps.slots[i + 1].start + 1e-6
        assert all(start < end for start, end in steps.gaps(index))


def test_a_gap_follows_the_shorter_step():
    steps, _ = laid(run([10, 30, 10]), run([20, 10, 10]))
    assert [(slot.label, slot.start, slot.length) for slot in steps.slots] == [("0", 0, 20), ("1", 20, 30), ("2", 50, 10)]
    assert steps.gaps(0) == [(10, 20)]
    assert steps.gaps(1) == [(30, 50)]


def test_a_profile_that_starts_at_step_five_lies_beside_step_five():
    steps, _ = laid(run([10.0] * 9), run([4.0, 4.0, 4.0], first=5, begin=3.0))
    assert begins(steps, 1) == {"5": 50.0, "6": 60.0, "7": 70.0}
    assert [steps.slots[i].label for i in steps.common] == ["5", "6", "7"]
    # No number in both: what is left to go by is the order.
    steps, _ = laid(run([10.0] * 3), run([4.0] * 4, first=5))
    assert [slot.label for slot in steps.slots] == ["0/5", "1/6", "2/7", "8"]
    assert "No step number occurs in all runs" in steps.reason


def test_numbers_that_are_missing_or_repeat_leave_the_order():
    steps, _ = laid(run([10.0, 10.0], numbered=False), run([4.0, 4.0, 4.0], first=1))
    assert [slot.label for slot in steps.slots] == ["1", "2", "3"]
    twice = run([5.0, 5.0]) + run([5.0], begin=10.0)
    steps, _ = laid(twice, twice)
    assert len(steps.slots) == 3


def test_steps_inside_others_and_overlapping_ones():
    nested = [span("step", 0, 10, 0), span("step", 2, 3), span("step", 10, 10, 1), span("step", 12, 2, 7),
              span("step", 10, 10, 1)]
    assert [(step.number, step.start) for step in recorded_steps(clean(nested))] == [(0, 0), (1, 10)]
    staggered = [span("step", 0, 10, 0), span("step", 8, 10, 1), span("step", 16, 10, 2)]
    steps, placed = laid(staggered, run([3, 12, 3]))
    assert begins(steps, 0) == begins(steps, 1) == {"0": 0, "1": 8, "2": 20}
    assert [event.duration - event.gap for event in placed[0]] == [10, 10, 10]
    assert placed[0][1].gap == pytest.approx(4)


def test_what_runs_across_a_gap_spans_it_and_keeps_its_own_duration():
    epoch = [span("epoch", 0, 20), *run([10, 10])]
    _, placed = laid(epoch, run([15, 10]))
    assert (placed[0][0].duration, placed[0][0].gap) == (25, 5)


def test_before_the_first_step_and_after_the_last():
    early = [op("load", "io", 0, 7), *run([10, 10], begin=8), op("score", "forward", 30, 5)]
    steps, placed = laid(early, [*run([20, 10]), op("score", "forward", 31, 9)])
    assert (placed[0][0].name, placed[0][0].start) == ("load", -8)
    # What follows begins together too, after everything: the runs' own times since the last step are kept.
    assert steps.tail
    assert [next(e.start for e in events if e.name == "score") for events in placed] == [32, 31]
    assert steps.slots[-1].label == "after"
    assert len(steps.common) == 2


@pytest.mark.parametrize("other", [[], [op("dot", "forward", 3, 5)], run([5], numbered=True)[1:]])
def test_a_run_without_steps_leaves_the_start(other):
    steps, placed = laid(run([10, 10]), other, names=["a", "the other"])
    assert not steps
    assert steps.kind == "none"
    assert placed == [clean(run([10, 10])), clean(other)]
    assert ("in the other: call prof.step()" if other else "no second run") in steps.reason


def test_steps_are_recognised_where_none_were_recorded():
    bare = [record for record in run([10, 10, 10]) if record["name"] != "step"]
    assert laid(bare, run([5, 5]))[0].kind == "recognised"
    assert laid(bare, run([5, 5]), recognise=False)[0].kind == "none"
    steps, _ = laid(bare, [record for record in run([20, 5]) if record["name"] != "step"])
    assert [(slot.label, slot.start) for slot in steps.slots] == [("1", 0), ("2", 20), ("3", 30)]
    assert "prof.step()" in steps.reason


def test_steps_of_a_trace_of_torch():
    trace = [span(f"ProfilerStep#{i}", 10 * i, 10) for i in range(3, 6)]
    assert [step.number for step in recorded_steps(clean(trace))] == [3, 4, 5]
    assert begins(laid(trace, run([20.0] * 5))[0], 0) == {"3": 60, "4": 80, "5": 100}


@pytest.mark.parametrize("odd", [
    [span("step", 0, 0, 0)], [span("step", 5, 0, 0), span("step", 5, 0, 1)], [span("step", 1e15, 1e-3, 1 << 60)],
    [span("step", "x", None, "five")], [{"name": "step", "lane": "user", "attrs": 3}], [span("step", 0, 9, True)],
])  # fmt: skip
def test_odd_steps_are_laid_and_drawn(odd):
    steps, placed = laid(odd, run([5, 5]))
    assert steps.kind == "recorded"
    assert all(event.duration >= event.gap >= 0 for events in placed for event in events)
    for window in ("auto", "step", "all", (0, 3)):
        assert timelines_figure({"a": odd, "b": run([5, 5])}, window=window, align="step").alt


def profiled(count, plan=None):
    with mx.Profiler(schedule=plan) as prof:
        for _ in range(count):
            _ = mx.nd.ones((2, 3)) + 1
            prof.step()
    return prof


def test_profiles_of_this_library():
    whole = profiled(9)
    late = profiled(9, mx.profiler.schedule(wait=4, warmup=1, active=3, repeat=1))
    steps, placed = laid(whole.records, late.records)
    assert [step.number for step in steps.steps[1]] == [5, 6, 7]
    for number in (5, 6, 7):
        first, second = (next(e.start for e in events if e.record["attrs"] == {"step": number}) for events in placed)
        assert first == pytest.approx(second)
    display = timelines_figure({"whole": whole.records, "late": late.records})
    assert display.alt.startswith("3 steps side by side, the median one takes whole ")
    assert display.alt.endswith("Steps: whole 9, late 3.")


class TestPicture:
    def test_two_runs_with_steps_are_aligned_by_default(self):
        display = timelines_figure({"dense": run([30, 40, 50]), "sparse": run([10, 20, 25, 30])})
        assert display.columns == ("step or lane", "dense", "sparse")
        assert display.rows[:5] == [("step 0", "30.0 µs", "10.0 µs"), ("step 1", "40.0 µs", "20.0 µs"),
                                    ("step 2", "50.0 µs", "25.0 µs"), ("step 3", "", "30.0 µs"),
                                    ("median step", "40.0 µs", "20.0 µs")]  # fmt: skip
        assert display.alt == ("3 steps side by side, the median one takes dense 40.0 µs, sparse 20.0 µs: dense takes 2.0× as "
                               "long as sparse, 33 % of it in dot (forward). Steps: dense 3, sparse 4.")  # fmt: skip
        assert "sparse: 2.0× faster than dense" in display.svg
        assert all(f">step {i}</text>" in display.svg for i in range(3))
        assert "120 µs in 3 steps" in display.svg
        assert "hatched: the run had ended" in display.svg

    @pytest.mark.parametrize("align", ["step", "start"])
    def test_the_title_is_the_ratio_of_the_numbers_below_it(self, align):
        runs = {"dense": run([40]), "csr": run([10]), "ell": run([20])}
        display = timelines_figure(runs, align=align, window="all")
        told = re.findall(r"(dense|csr|ell)(?: takes)? ([\d.]+) µs", display.alt)
        times = {name: float(value) for name, value in told}
        assert f"csr: {times['dense'] / times['csr']:.1f}× faster than dense" in display.svg

    def test_runs_that_take_as_long_have_no_faster_one(self):
        display = timelines_figure({"one": run([40, 40]), "other": run([40, 41])})
        assert "faster" not in display.svg
        assert "2 ways" in display.svg

    def test_time_between_operators_is_no_operators(self):
        idle = [{**record, "self": 25.0} for record in run([30, 30]) if record["name"] == "step"]
        assert "100 % of it in no operator." in timelines_figure({"a": idle, "b": run([5, 5])}).alt

    def test_lanes_are_told_a_step(self):
        rows = {row[0]: row[1:] for row in timelines_figure({"a": run([30, 60]), "b": run([30] * 4)}).rows}
        assert rows["forward"] == rows["update"] == ("15.0 µs", "10.0 µs")
        assert rows["events in all"] == ("8", "16")

    def test_a_run_too_short_to_be_read_shows_one_step_magnified(self):
        display = timelines_figure({"dense": run([1000, 1100, 1200]), "sparse": run([10, 11, 12])})
        assert "times as wide</text>" in display.svg
        assert "Step 1, of 3 in the table." in display.svg
        assert ">step 2</text>" not in display.svg

    def test_many_steps_are_a_few_in_the_picture_and_a_few_rows(self):
        display = timelines_figure({"a": run([30.0 + i % 3 for i in range(300)]), "b": run([20.0] * 300)})
        assert len(display.rows) < 20
        assert display.rows[10] == ("290 more, their median", "31.0 µs", "20.0 µs")
        assert "of 300 in the table" in display.svg
        assert len(timelines_figure({"a": run([30.0] * 900), "b": run([20.0] * 900)}, window="all").svg) < 200_000

    def test_start_leaves_everything_as_it_was(self):
        runs = {"a": run([30, 60]), "b": run([30] * 4)}
        display = timelines_figure(runs, align="start")
        assert display.columns == ("lane", "a", "b")
        assert display.alt.startswith("Recorded time: a 90.0 µs, b 120 µs")
        # A span is of each run's own time, unless steps are asked for.
        assert timelines_figure(runs, window=(0, 40)).columns[0] == "lane"
        assert timelines_figure(runs, window=(0, 40), align="step").columns[0] == "step or lane"

    def test_why_steps_are_not_aligned_is_said(self):
        assert "No steps were recorded in b" in timelines_figure({"a": run([5, 5]), "b": run([5])[1:]}).svg
        assert "No steps" not in timelines_figure({"a": run([5])[1:], "b": run([5])[1:]}).svg
        assert "No steps were recorded in a and b" in timelines_figure({"a": run([5])[1:], "b": run([5])[1:]}, align="step").svg

    def test_an_alignment_that_there_is_not(self):
        with pytest.raises(UnknownNameError, match="way to align runs named 'steps'"):
            timelines_figure({}, align="steps")


def test_the_live_view_takes_it(monkeypatch):
    pytest.importorskip("anywidget")
    from sparsekit.widgets import TimelineWidget

    runs = {"a": run([30, 60]), "b": run([30] * 4)}
    assert TimelineWidget(runs).static.columns[0] == "step or lane"
    assert TimelineWidget(runs, align="start").static.columns[0] == "lane"
    with pytest.raises(UnknownNameError):
        TimelineWidget(runs, align="end")
    assert SimpleNamespace(**TimelineWidget(runs).get_state(["align"])).align == "auto"
