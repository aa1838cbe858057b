"""The picture of several processes on one clock, and what its live view is given."""

import gzip
import json

import numpy as np
import pytest

from sparsekit.base.errors import UnknownNameError
from sparsekit.widgets import html_report, processes_figure, timelines_figure
from sparsekit.widgets.pack import pack_timeline


def record(name, lane, start, duration, own=None):
    return {"name": name, "kind": "span", "lane": lane, "start": start, "duration": duration,
            "self": duration if own is None else own, "layer": "", "node": None}


def worker(late=0.0, steps=5):
    found = []
    for step in range(steps):
        start = 1000.0 * step
        found += [record("dot", "forward", start + 100 + late, 300),
                  record("push+pull", "exchange", start + 450 + late, 500 - late, 200),
                  *([] if late else [record("wait for rank 1", "wait", start + 500, 300)])]
    return found


def server(steps=5):
    return [one for step in range(steps) for one in (
        record("serve", "serve", 1000.0 * step + 800, 120, 20), record("journal", "journal", 1000.0 * step + 805, 30),
        record("apply", "apply", 1000.0 * step + 840, 70))]


RUN = {"worker 0": worker(), "worker 1": worker(200.0), "server 0": server()}


def header(payload):
    content = gzip.decompress(payload)
    return json.loads(content[8:8 + int.from_bytes(content[4:8], "little")]), content


def column(payload, name):
    about, content = header(payload)
    kind, place, count = about["columns"][name]
    return np.frombuffer(content, f"<{kind}", count, int(place))


def test_the_sentence_says_who_waited_and_who_worked():
    shown = processes_figure(RUN, errors={"worker 0": 40.0, "worker 1": None, "server 0": 0.0})
    assert shown.alt == ("3 processes in 4.85 ms. Worker 0 spent 31 % of its time waiting, mostly for rank 1. "
                         "Server 0 worked 12 % of that time. Clocks agree within 40.0 µs.")


def test_a_step_is_drawn_large_unless_everything_is_chosen():
    assert "step 3 of 5" in processes_figure(RUN).svg
    assert "Large" not in processes_figure(RUN, window="all").svg
    assert "the chosen span" in processes_figure(RUN, window=(0, 100)).svg


def test_the_table_has_each_lane_of_each_process():
    rows = processes_figure(RUN).rows
    assert [row[:3] for row in rows] == [
        ("worker 0", "forward", "5"), ("worker 0", "exchange", "5"), ("worker 0", "wait", "5"),
        ("worker 1", "forward", "5"), ("worker 1", "exchange", "5"),
        ("server 0", "serve", "5"), ("server 0", "journal", "5"), ("server 0", "apply", "5")]
    assert rows[2][3:] == ("1.50 ms", "31 %")


def test_activities_have_colours_and_the_legend_names_them():
    svg = processes_figure(RUN).svg
    for words in ("compute", "exchange with servers", "wait for workers", "serve", "journal", "apply a step"):
        assert f">{words}</text>" in svg
    assert svg == processes_figure(RUN).svg


@pytest.mark.parametrize("runs", [{}, {"a": None}, {"a": []}, {"a": [record("x", "strange", 0, 0)]}, {"<b>": [{}]},
                                  {"a": [record("x", "wait", float("nan"), -3)]}])
def test_odd_data_is_drawn(runs):
    assert processes_figure(runs).svg.startswith("<svg")
    assert "<b>" not in processes_figure(runs).svg


def test_many_processes_are_left_out_and_counted():
    shown = processes_figure({f"worker {i}": worker() for i in range(20)})
    assert "8 more processes are not drawn" in shown.svg
    assert {row[0] for row in shown.rows} == {f"worker {i}" for i in range(20)}


def test_the_live_view_gets_one_clock_and_opens_on_the_step():
    packed = pack_timeline(RUN, None, "common")
    starts = column(packed, "start")
    assert starts.min() == 0
    assert starts[column(packed, "run") == 2].min() == 700  # the server begins 700 µs after the first worker
    about, _ = header(packed)
    assert about["runs"] == list(RUN)
    assert about["view"] == [pytest.approx(1800), pytest.approx(2900)]
    own = pack_timeline(RUN)
    assert column(own, "start")[column(own, "run") == 2].min() == 0
    with pytest.raises(UnknownNameError, match="clock"):
        pack_timeline(RUN, None, "whose")


def test_a_report_shows_processes_on_one_clock():
    page = html_report("A run", {"Timeline": {"timeline": RUN, "clock": "common", "errors": {"worker 0": 40.0}}})
    assert "Clocks agree within 40.0 µs" in page
    assert "Clocks agree" not in html_report("A run", {"Timeline": {"timeline": RUN}})
    assert timelines_figure(RUN).alt in html_report("A run", {"Timeline": {"timeline": RUN}}).replace("&#x27;", "'")
