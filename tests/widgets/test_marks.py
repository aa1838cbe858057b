"""Markers, counters and densifications in the picture of a timeline, its table, and what the live view is sent."""

from __future__ import annotations

import re
import xml.dom.minidom

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.displays import NO_OPERATORS
from sparsekit.base.errors import UnsupportedError
from sparsekit.widgets import html_report, timeline_figure
from sparsekit.widgets.live import TimelineWidget
from sparsekit.widgets.marks import COUNTER, DENSE, KINDS, MARKER, marks_sentence, read_marks, series_of

from .test_live import unpack
from .test_pictures import checked


def counter(name, time, value, unit=""):
    return {"kind": "counter", "name": name, "time": time, "value": value, "unit": unit, "thread": 0}


def marker(name, time):
    return {"kind": "marker", "name": name, "time": time, "value": None, "unit": "", "thread": 0}


def dense(name, time):
    return {"kind": "densification", "name": name, "time": time, "thread": 0, "op": name, "line": "train.py:3", "source": "csr",
            "target": "default", "shape": [3, 4], "bytes_before": 40, "bytes_after": 48_000, "remedy": "none"}


MARKS = [marker("start", 40_010.0), counter("loss", 41_000.0, 0.75, "nats"), dense("exp", 41_500.0),
         counter("loss", 42_000.0, 0.25, "nats"), counter("rows", 43_000.0, 100)]  # fmt: skip


def test_the_picture_shows_them_in_lanes_of_their_own(records):
    shown = timeline_figure(records, window="all", marks=MARKS)
    checked(shown)
    words = re.findall(r">([^<>]+)</text>", shown.svg)
    assert {"markers", "start", "densified", "exp", "loss", "last 0.25 nats", "0.25 to 0.75", "rows", "last 100"} <= set(words)
    assert len(re.findall(r'd="M[\d. ]+h12l-6 11z"', shown.svg)) == 1  # what became dense: a triangle
    assert len(re.findall(r'd="M[\d. ]+l5 6l-5 6l-5 -6z"', shown.svg)) == 1  # a marker: a diamond


def test_a_counter_is_a_step_line(records):
    marks = [counter("n", time, value) for time, value in ((100.0, 1), (500.0, 3), (700.0, 2))]
    svg = timeline_figure(records, window=(0.0, 1000.0), marks=marks).svg
    line = re.findall(r'<path d="(M[^"]+)" fill="none"', svg)
    assert len(line) == 1
    # Right, then up; right, then half way down; and on to the end: a value holds until the next.
    found = re.fullmatch(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H([\d.]+)V([\d.]+)H([\d.]+)", line[0])
    x0, low, x1, high, x2, middle, end = map(float, found.groups())
    assert x0 < x1 < x2 < end
    assert high < middle < low
    assert middle == pytest.approx((low + high) / 2, abs=0.02)


def test_thousands_of_values_stay_a_small_picture_with_their_extremes(records):
    values = [counter("n", 40_000 + i / 10, 7.0 if i == 5000 else i % 2) for i in range(20_000)]
    shown = timeline_figure(records, marks=[*values, *(marker("m", 40_000 + i / 10) for i in range(20_000))])
    assert len(shown.svg) < 120_000
    assert "0 to 7" in shown.svg
    assert "20,000×" in shown.svg


def test_where_a_part_is_drawn_large_counters_show_the_whole_run(training):
    records = training(steps=30)
    end = records[-1]["start"]
    marks = [counter("loss", end * i / 30, 30 - i) for i in range(30)]
    svg = timeline_figure(records, marks=marks).svg
    (line,) = re.findall(r'<path d="(M[^"]+)" fill="none"', svg)
    assert line.count("H") >= 29
    assert "Large: " in svg


def test_the_table_and_the_sentence_say_the_same(records):
    shown = timeline_figure(records, marks=MARKS)
    rows = {row[:2]: row[3:] for row in shown.rows}
    assert shown.columns[-1] == "storage types or values"
    assert rows["counter", "loss"] == ("2", "", "", "", "last 0.25 nats, 0.25 to 0.75, mean 0.5")
    assert rows["counter", "rows"] == ("1", "", "", "", "last 100")
    assert rows["marker", "start"] == ("1", "", "", "", "at 40.0 ms")
    assert rows["became dense", "exp"] == ("1", "", "", "", "csr → default, 40 B → 48.0 kB, train.py:3; at 41.5 ms")
    assert shown.alt.endswith("Marked: loss from 0.75 to 0.25 nats, rows 100, 1 marker, 1 silent change from sparse to dense.")


def test_a_marker_says_its_value_and_its_line(records):
    marks = [{**marker("start", 41_000.0), "value": "of it", "line": "train.py:7"}]
    assert timeline_figure(records, marks=marks).rows[-1][-1] == "of it, train.py:7; at 41.0 ms"


def test_without_marks_nothing_changes(records):
    plain, empty = timeline_figure(records), timeline_figure(records, marks=[])
    assert plain.svg == empty.svg
    assert plain.text == empty.text
    assert plain.columns[-1] == "storage types"
    assert marks_sentence([]) == ""


def test_many_names_are_summed_in_the_table(records):
    shown = timeline_figure(records, marks=[counter(f"n{i}", 1.0, i) for i in range(100)])
    assert ("all", "80 other marks") in [row[:2] for row in shown.rows]
    assert "94 more counters are in the table." in shown.svg


def test_marks_alone_are_a_picture():
    shown = timeline_figure([], marks=MARKS)
    checked(shown)
    assert "start" in shown.svg
    assert f"{NO_OPERATORS} Marked: loss" in shown.alt


ODD = [
    [None, 3, {}], [{"kind": "counter"}], [{"kind": "counter", "name": None, "time": "x", "value": []}],
    [counter("n", float("nan"), float("inf")), counter("n", 1e15, -1e308), counter("n", 2e15, 1e308)],
    [{"kind": 5, "name": 7, "time": -3, "value": {"a": 1}, "unit": 9}], [counter("n", 1, "nan"), counter("n", 2, True)],
    [{"kind": "densification", "name": "dot"}], {"kind": "marker"}, "marks",
]  # fmt: skip


@pytest.mark.parametrize("marks", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("some", [False, True])
def test_odd_marks_are_drawn_and_packed(marks, some, records):
    kept = records if some else []
    checked(timeline_figure(kept, marks=marks))
    html_report("Odd", [("Time", {"timeline": kept, "marks": marks})])


def test_values_that_are_no_numbers_are_told_not_drawn():
    marks = read_marks([counter("n", 1, 4), counter("n", 2, "nan"), counter("m", 3, "inf")])
    found = {series.name: (series.values, series.odd) for series in series_of(marks)}
    assert found == {"n": ([4.0], 1), "m": ([], 1)}
    rows = {row[1]: row[-1] for row in timeline_figure([], marks=[counter("n", 1, 4), counter("n", 2, "nan"),
                                                                   counter("m", 3, "inf")]).rows}  # fmt: skip
    assert rows == {"n": "last 4, 1 no number", "m": "1 no number"}


def test_hostile_names_stay_text(hostile, records):
    marks = [marker(hostile, 41_000.0), counter(hostile, 41_000.0, 1, hostile), {**dense(hostile, 41_000.0), "line": hostile}]
    shown = timeline_figure(records, title=hostile, window="all", marks=marks)
    checked(shown)
    assert "<script>" not in shown.svg
    xml.dom.minidom.parseString(shown.svg)
    page = html_report("Report", [("Time", {"timeline": records, "marks": marks})])
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_the_live_view_is_sent_every_mark(records):
    widget = TimelineWidget(records, marks=MARKS)
    header, columns = unpack(widget.payload)
    assert [header["strings"][i] for i in columns["mark_name"]] == ["start", "loss", "exp", "loss", "rows"]
    assert [KINDS[kind] for kind in columns["mark_kind"]] == [MARKER, COUNTER, DENSE, COUNTER, COUNTER]
    assert np.isnan(columns["mark_value"][[0, 2]]).all()
    assert columns["mark_value"][[1, 3, 4]].tolist() == [0.75, 0.25, 100]
    # As events do, marks count their time from where the work begins.
    first = next(record["start"] for record in records if record["lane"] != "compile")
    np.testing.assert_allclose(columns["mark_time"], [mark["time"] - first for mark in MARKS])
    assert "Marked: loss" in widget.description
    assert "became dense" in widget.static.text


def test_marks_beside_several_runs_are_refused(records):
    with pytest.raises(UnsupportedError, match="marks needs a single run"):
        TimelineWidget({"a": records, "b": records}, marks=MARKS)


@pytest.mark.filterwarnings("ignore")
def test_every_display_of_a_profile_has_them(tmp_path):
    matrix = mx.nd.array(np.eye(4)).tostype("csr")
    with mx.Profiler() as prof:
        prof.marker("begin & end")
        mx.nd.exp(matrix)
        prof.counter("loss", 0.5, "nats")
    assert prof.densified == 1
    for words in (prof.timeline_figure().text, prof._repr_mimebundle_()["text/html"], prof.timeline().description):
        assert "Marked: loss 0.5 nats, 1 marker, 1 silent change from sparse to dense." in words
    assert "begin &amp; end" in prof._repr_mimebundle_()["text/html"]
    _, columns = unpack(prof.timeline().payload)
    assert len(columns["mark_kind"]) == 3
    page = prof.to_html(tmp_path / "page.html").read_text()
    assert "Marked: loss 0.5 nats" in page
    again = mx.profiler.load(prof.save(tmp_path / "trace.npz"))
    assert again.timeline_figure().alt.partition(" Marked")[2] == prof.timeline_figure().alt.partition(" Marked")[2]


@pytest.mark.filterwarnings("ignore")
def test_view_shows_the_marks_of_a_trace(tmp_path, capsys):
    from sparsekit.cli import main

    with mx.Profiler() as prof:
        prof.marker("begin")
        mx.nd.exp(mx.nd.array(np.eye(4)).tostype("csr"))
    trace = prof.save(tmp_path / "run.npz")
    for name in ("page.html", "picture.svg"):
        main(["view", str(trace), "-o", str(tmp_path / name)])
        assert "1 marker, 1 silent change" in (tmp_path / name).read_text()
