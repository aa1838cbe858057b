"""The timeline: what it says, what it draws to scale, what it sums, and what it makes of anything."""

from __future__ import annotations

import itertools
import json
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekit.base.displays import NO_OPERATORS
from sparsekit.base.formatting import format_share
from sparsekit.figures import html_page
from sparsekit.figures.kit import Dots, Line, Rect, Text
from sparsekit.figures.layout import Layout
from sparsekit.figures.timeline import timeline_figure
from sparsekit.figures.timeline_data import APART, STORAGE, Timeline, storage_of, together
from sparsekit.profiler.columns import merged

from .gallery import HOSTILE, drawn
from .recorded import array, tables, training

LANES = ("io", "transfer", "convert", "forward", "backward", "update", "user")


def bars(figure, panel=0, what="event"):
    """The bars of a panel."""
    return [mark for mark in figure.of(Rect) if mark.panel == panel and mark.key.startswith(what)]


def one_after_the_other(layout, start=0.0):
    """Records of a run: ``(lane, milliseconds)`` pairs."""
    records = []
    for lane, milliseconds in layout:
        records.append({"name": f"{lane}_operator", "lane": lane, "start": start, "duration": 1000.0 * milliseconds, "bytes": 10})
        start += 1000.0 * milliseconds
    return records


def called(*calls):
    """One operator after the other; a call is a record without times."""
    return tables([{"name": f"op{place}", "lane": "forward", "start": 100.0 * place, "duration": 90.0, **call}
                   for place, call in enumerate(calls)])  # fmt: skip


# --------------------------------------------------------------------------- words, picture and table

STEP = [("forward", 1), ("backward", 2), ("update", 0.5)]
LAYOUTS = {
    "a few steps": STEP * 4,
    "many steps": STEP * 400,
    "one backward pass among evaluations": [("forward", 1), ("backward", 500), ("update", 0.1),
                                            *([("forward", 1), ("update", 0.1)] * 40)],
    "compilation first": [("compile", 900), *(STEP * 30)],
    "one event": [("forward", 1)],
}  # fmt: skip


def shares_of_words(words):
    """Shares by lane in a headline."""
    return dict(re.findall(rf"\b({'|'.join(LANES)}) (<?[\d.]+ %)", words.partition("the longest")[0]))


def shares_of_picture(figure):
    """Shares by lane that stand beside the lanes of a picture."""
    names, shares = ({round(at, 2): words for axis in figure.marks if getattr(axis, "side", "") == side and axis.panel == 0
                      for at, words in axis.ticks} for side in ("left", "right"))
    return {names[at]: words for at, words in shares.items() if names[at] not in APART}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_timeline_says_the_same_in_words_picture_and_table(layout):
    records = one_after_the_other(LAYOUTS[layout])
    shown = timeline_figure(tables(records), rows=1000)
    totals = {lane: sum(one["duration"] for one in records if one["lane"] == lane) for lane in LANES}
    expected = {lane: format_share(own, sum(totals.values())) for lane, own in totals.items() if own}
    assert shares_of_words(shown.finding) == shares_of_picture(shown) == expected
    assert {row[0]: row[5] for row in shown.table.rows if row[0] in totals} == expected
    assert sum(int(row[3].replace(",", "")) for row in shown.table.rows) == len(records)


def test_a_span_of_the_user_is_no_operator():
    figure = timeline_figure(tables(one_after_the_other([("user", 9), ("forward", 1)])))
    assert "the longest operator is forward_operator" in figure.finding


def test_calls_that_made_an_array_dense_are_counted():
    csr, full = array("csr", (4, 4), 2), array("default", (4, 4))
    dense = {"became_dense": "fallback", "inputs": [csr], "outputs": [full]}
    shown = timeline_figure(called(dense, {**dense, "became_dense": "dense by nature"}, {"inputs": [full], "bytes": 64}))
    assert "2 calls made a sparse array dense, 1 by nature." in shown.finding
    assert [row[-1] for row in shown.table.rows] == ["csr → default (became dense)", "csr → default (became dense by nature)",
                                                     "default →"]  # fmt: skip
    assert [mark.kind for mark in bars(shown)] == ["dense"] * 3


def test_an_empty_profile_says_what_to_do():
    for columns in (tables([]), {"a": tables([]), "b": tables([])}):
        assert NO_OPERATORS in timeline_figure(columns).alt
    assert NO_OPERATORS in timeline_figure(tables(one_after_the_other([("user", 3)]))).finding


# --------------------------------------------------------------------------- colours


SMALL, WEIGHT = array("default", (4, 4)), array("default", (1000, 100), role="parameter")
STATE, GRADIENT = array("default", (1000, 100), role="optimizer state"), array("default", (1000, 100), role="gradient")
BATCH, ROWS = array("csr", (10, 1000), 20), array("row_sparse", (1000, 100), 5)
KINDS = [
    (([], []), 0, "none"),
    (([SMALL], [SMALL]), 128, "none"),  # less than a hundredth of the weight
    (([BATCH, WEIGHT], [SMALL]), 10_000, "sparse"),  # few rows of the weight are read
    (([BATCH, SMALL], [GRADIENT]), 400_400, "dense"),
    (([BATCH, SMALL], [ROWS]), 3_000, "sparse"),
    (([WEIGHT, GRADIENT], [WEIGHT]), 1_200_000, "dense"),  # the gradient need not be dense
    (([WEIGHT, ROWS], [WEIGHT]), 4_400, "sparse"),
    (([WEIGHT, STATE], [WEIGHT, STATE]), 1_600_000, "needed"),
    (([array("default", (1000, 100))], [array("default", (1000, 100))]), 800_000, "dense"),
    (([BATCH], [BATCH]), 1_000, "sparse"),
    (([array("default", (1000, 5))], []), 20_000, "dense"),  # a twentieth
    (([array("default", (30, 30))], []), 3_600, "none"),
    (([ROWS, GRADIENT], [ROWS]), 4_400, "sparse"),  # few rows of the gradient are read
    (([BATCH, array("default", (50, 50))], []), 10_400, "sparse"),  # the dense array has fewer elements
]


@pytest.mark.parametrize(("arrays", "moved", "kind"), KINDS, ids=range(len(KINDS)))
def test_colour_says_storage(arrays, moved, kind):
    inputs, outputs = arrays
    columns = called({"inputs": inputs, "outputs": outputs, "bytes": moved}, {"inputs": [WEIGHT], "bytes": 400_000})
    assert STORAGE[storage_of(columns)[0]] == kind
    assert bars(timeline_figure(columns))[0].kind == kind


def test_runs_that_are_drawn_together_have_one_measure_of_small():
    """The arrays of a row-sparse run are as large as those of a dense one, however little they store."""
    shown = timeline_figure({"dense": tables(training(True, 2)), "sparse": tables(training(False, 2))})
    assert {mark.kind for mark in bars(shown)} == {"dense", "sparse", "none"}


# --------------------------------------------------------------------------- scale


@pytest.mark.parametrize("width", [1000, 380])
@pytest.mark.parametrize("ratio", [1.5, 4, 7.9, 8.1, 44, 89, 1234])
def test_runs_are_drawn_on_one_true_scale_and_a_short_one_also_magnified(ratio, width):
    runs = {"dense": tables(one_after_the_other([("forward", 100)] * 4)),
            "sparse": tables(one_after_the_other([("forward", 100 / ratio)] * 4))}  # fmt: skip
    figure = timeline_figure(runs)
    layout = Layout(figure, width)
    lengths = [layout.x(0)(mark.x1) - layout.x(0)(mark.x0) for mark in bars(figure)]
    assert lengths[0] / lengths[-1] == pytest.approx(ratio, rel=0.02)
    assert figure.title.startswith(f"dense took {ratio:,.1f}× as" if ratio < 9.95 else f"dense took {ratio:,.0f}× as")
    if ratio < 8:
        assert len(figure.panels) == 1
        return
    assert "In the picture, sparse is also magnified." in figure.finding
    (words,) = re.findall(r">magnified ([\d.,]+) times<", figure.svg(width))
    again = bars(figure, 1)[0]
    wide = layout.x(1)(again.x1) - layout.x(1)(again.x0)
    assert float(words.replace(",", "")) == pytest.approx(wide / lengths[-1], rel=0.02)
    assert bars(figure, 1)[0].key == bars(figure)[4].key


def test_matplotlib_says_how_much_a_box_magnifies():
    figures = pytest.importorskip("matplotlib.figure")
    figure = timeline_figure({"dense": tables(training(True, 2)), "sparse": tables(training(False, 2))})
    ax = figure.on(figures.Figure().subplots())
    said = [one.get_title("right") for one in ax.child_axes]
    assert [words for words in said if words] == re.findall(r"magnified [\d.,]+ times", figure.svg())


def test_the_longest_run_fills_the_axis_and_compilation_does_not_count():
    records = training(steps=2)
    shown = timeline_figure({"a": tables(records), "b": tables([{**one, "start": one["start"] + 7e6} for one in records[1:]])})
    assert shown.title == "The same work, 2 ways"
    assert shown.panels[0].x[0] == 0
    assert max(mark.x1 for mark in bars(shown)) == shown.panels[0].x[1]
    assert "compile" not in shown.svg()
    (first, second) = (row for row in shown.table.rows if row[1] == "from start to end")
    assert first[3] == second[3]
    assert ("a", "compile") in {row[:2] for row in shown.table.rows}


def test_of_runs_with_many_steps_the_median_one_is_drawn_and_a_live_view_shows_the_whole():
    runs = {"dense": tables(training(True, 13)), "sparse": tables(training(False, 14))}
    shown = timeline_figure(runs)
    assert shown.finding.startswith("One step, as recorded: dense 149 ms, sparse 603 µs. Of dense, ")
    assert shown.title == "dense took 247× as long as sparse"
    assert [mark.text for mark in shown.of(Text) if mark.bold] == ["dense: step 6 of 13, 149 ms", "sparse: step 6 of 14, 603 µs"]
    assert [row[2] for row in shown.table.rows if row[1] == "from start to end"] == ["5", "5"]
    assert shown.table.caption == "Own time by run and lane, one training step (the median one)"
    whole = shown.interaction.draw(None, {"show": "whole runs"})
    assert whole.finding.startswith("As recorded: dense 1.94 s, sparse 8.48 ms")
    assert [row[2] for row in whole.table.rows if row[1] == "from start to end"] == ["66", "71"]
    told = (shown.interaction.select("event 3", {"show": name}) for name in ("one step", "whole runs"))
    assert [one["operator"] for one in told] == ["dot in dense0", "relu in relu0"]
    assert len(timeline_figure({"dense": tables(training(True, 13)), "few": tables(training(False, 2))}).interaction.inputs) == 0


def test_one_step_of_many_is_magnified():
    figure = timeline_figure(tables(training(steps=11)))
    found = re.fullmatch(r"Magnified ([\d.]+) times: step (\d+) of 11, the median one, 606 µs", figure.panels[1].title)
    whole, part = (abs(panel.x[1] - panel.x[0]) for panel in figure.panels)
    assert float(found[1]) == pytest.approx(whole / part, rel=0.02)
    assert part == pytest.approx(606_000)
    assert [mark.label for mark in bars(figure, 1)][:5] == ["LibSVMIter.next", "dot", "relu", "dot", "sgd_update"]
    edges = [line.x[0] for line in figure.of(Line) if line.panel == 0]
    assert edges == list(figure.panels[1].x)


def test_what_follows_a_long_compilation_is_magnified():
    figure = timeline_figure(tables(one_after_the_other([("compile", 900), ("forward", 5), ("forward", 5)])))
    assert figure.panels[1].title == "Magnified 91 times: the operators, 10.0 ms"
    assert figure.panels[1].x == (9e8, 9.1e8)


# --------------------------------------------------------------------------- steps


def steps_of(records):
    return (Timeline(tables(records)).runs[0].steps / 1000).tolist()


def lanes(*names):
    return [{"name": "op", "lane": lane, "start": 10.0 * place, "duration": 5.0} for place, lane in enumerate(names)]


def test_steps_start_where_a_batch_is_read():
    records = training(steps=4)
    found = steps_of(records)
    assert [start for start, _ in found] == [one["start"] for one in records if one["lane"] == "io"]
    assert [end for _, end in found[:-1]] == [start for start, _ in found[1:]]


def test_a_step_ends_with_its_update_whatever_runs_before_it():
    clipped = ["forward", "forward", "backward", "forward", "update", "update"]
    assert steps_of(lanes(*clipped * 3)) == [[0, 60], [60, 120], [120, 175]]
    assert len(steps_of(lanes(*["forward", "backward"] * 2))) == 2
    assert steps_of(lanes(*["forward"] * 20)) == []
    assert steps_of([]) == []


def test_recorded_steps_count_and_those_inside_others_do_not():
    spans = [("step", 0, 10), ("step", 2, 3), ("step", 10, 10), ("step", 12, 2), ("ProfilerStep#3", 20, 5), ("other", 30, 4)]
    records = [{"name": name, "lane": "user", "start": start, "duration": length} for name, start, length in spans]
    assert steps_of(records) == [[0, 10], [10, 20], [20, 25]]


# --------------------------------------------------------------------------- rows


spans = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100), st.sampled_from(["forward", "io", "strange"]),
                           st.integers(0, 2)), min_size=1, max_size=40)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(spans)
def test_every_event_is_drawn_once_in_the_row_of_its_lane_and_thread(found):
    records = [{"name": f"op{place}", "lane": lane, "start": start, "duration": length, "thread": thread}
               for place, (start, length, lane, thread) in enumerate(found)]  # fmt: skip
    columns = tables(records)
    timeline = Timeline(columns)
    rows = timeline.runs[0].rows
    assert sorted(np.concatenate([row.events for row in rows]).tolist()) == list(range(len(records)))
    for row in rows:
        assert len(set(columns.events.thread[row.events].tolist())) == 1
        assert set(columns.texts(columns.kinds.lane[columns.events.kind[row.events]])) == {row.lane}
        outer = row.events[timeline.level[row.events] == 0]
        assert (timeline.start[outer[1:]] >= timeline.end[outer[:-1]]).all()
    assert sorted(mark.key for mark in bars(timeline_figure(columns))) == sorted(f"event {i}" for i in range(len(records)))


def test_what_lies_inside_another_event_is_drawn_inside_it():
    records = [{"name": "op", "lane": "forward", "start": start, "duration": length}
               for start, length in ((0, 100), (10, 20), (12, 5), (40, 20))]  # fmt: skip
    heights = [mark.y1 - mark.y0 for mark in sorted(bars(timeline_figure(tables(records))), key=lambda mark: mark.key)]
    assert heights == pytest.approx([0.82, 0.58, 0.34, 0.58])
    assert [bool(mark.label) for mark in bars(timeline_figure(tables(records)))] == [False, False, True, True]


def test_threads_have_rows_of_their_own_unless_there_are_too_many():
    def rows(threads):
        found = Timeline(tables([{"name": "op", "lane": lane, "start": 10 * i, "duration": 5, "thread": 7 + i}
                                 for i in range(threads) for lane in ("forward", "update")]))  # fmt: skip
        return [row.name for row in found.runs[0].rows]

    assert rows(2) == ["forward · 0", "forward · 1", "update · 0", "update · 1"]
    assert rows(40) == ["forward", "update"]


# --------------------------------------------------------------------------- very many events


def test_a_bar_says_how_many_short_calls_it_is_and_what_its_grey_means():
    records = [{"name": "op", "lane": "forward", "start": start, "duration": 1.0} for start in (*range(0, 8000, 2), 20_000)]
    words = [mark.title for mark in bars(timeline_figure(tables(records)), what="sum")]
    assert words[-1] == "1 short call, forward: no array, or only small ones"
    assert words[0].endswith(" short calls, forward: no array, or only small ones")


def test_a_picture_stays_small_however_many_events_and_calls_are_summed_not_lost(calls_of):
    columns = tables(training(steps=3, compiles=False))
    each, length = len(columns.events), 2_000_000
    turns = 200_000 // each
    rows = columns.taken({"events": np.tile(np.arange(each), turns)})
    many = rows.changed({"events": {"start": rows.events.start + np.repeat(np.arange(turns), each) * length}})
    figure = timeline_figure(many)
    html = figure.html()
    assert calls_of(lambda: timeline_figure(many).html()) < len(many.events)  # it does not go through the events one by one
    assert len(html) < 150_000
    assert len(figure.marks) < 2000
    sums = sum(int(re.match(r"[\d,]+", mark.title)[0].replace(",", "")) for mark in bars(figure, 0, "sum"))
    assert sums + len(bars(figure)) == len(many.events)
    key = bars(figure, 0, "sum")[0].key
    told = figure.interaction.select(key, {})
    assert told.columns[0] == "operator"
    assert told.rows
    assert len(html_page("A page", {"": figure})) < 1_000_000


@pytest.mark.parametrize("wide", [False, True])
def test_no_picture_has_more_than_two_thousand_marks(wide):
    draw = random.Random(0)
    records = [{"name": "op", "lane": f"lane{i % 9}", "start": 40.0 * i, "thread": i % 3,
                "duration": 350.0 if wide else draw.choice((0.01, 5.0, 30.0))} for i in range(9000)]  # fmt: skip
    whole = tables(records)
    first = {count: whole.taken({"events": np.arange(count)}) for count in (300, 900, *range(7900, 9100, 100))}
    many = {f"run {count}": first[count] for count in sorted(first, reverse=True)[:12]}
    for columns in (whole, {"a": first[9000], "b": first[900], "c": first[300]}, many):
        figure = timeline_figure(columns)
        assert len(figure.marks) < 2000
        window = figure.panels[0].x[0], figure.panels[0].x[0] + abs(figure.panels[0].x[1] - figure.panels[0].x[0]) / 30
        assert 0 < len(figure.interaction.draw(window, {}).marks) < 2000


def test_of_calls_that_are_equally_long_the_upper_rows_keep_theirs_on_every_machine():
    records = [{"name": "op", "lane": f"lane{i % 9}", "start": 40.0 * i, "duration": 350.0 if i % 2 else 340.0}
               for i in range(3000)]  # fmt: skip
    figure = timeline_figure(tables(records))
    drawn = np.array([int(mark.key.split()[1]) for mark in bars(figure)])
    assert len(drawn) == 1000
    assert (drawn % 2 == 1).all()  # the longer ones
    lanes = np.bincount(drawn % 9, minlength=9)
    assert np.count_nonzero((lanes > 0) & (lanes < 166)) <= 1  # of a lane's long calls, 166 or 167, all are drawn, or none


def test_short_calls_are_as_high_as_the_time_that_they_take():
    records = [{"name": "op", "lane": "forward", "start": 10.0 * i, "duration": 5.0 if i < 2000 else 10.0} for i in range(4000)]
    figure = timeline_figure(tables(records))
    heights = {round((mark.y1 - mark.y0) / 0.82, 3): mark for mark in bars(figure, 0, "sum")}
    assert heights[0.5].x1 <= 20_100_000
    assert heights[1.0].x0 >= 19_900_000
    rare = timeline_figure(tables([{"name": "op", "lane": "forward", "start": 10.0 * i, "duration": 0.01} for i in range(4000)]))
    assert {round((mark.y1 - mark.y0) / 0.82, 3) for mark in bars(rare, 0, "sum")} == {0.125}


def test_threads_that_share_a_row_share_its_height():
    kinds = [{"inputs": [BATCH], "bytes": 1000}, *[{"inputs": [GRADIENT], "bytes": 400_000}] * 3]
    records = [{"name": "op", "lane": "forward", "start": 10.0 * i, "duration": 10.0, "thread": thread, **kinds[thread % 4]}
               for i in range(1000) for thread in range(20)]  # fmt: skip
    heights = {mark.kind: round((mark.y1 - mark.y0) / 0.82, 3) for mark in bars(timeline_figure(tables(records)), 0, "sum")}
    assert heights == {"dense": 0.75, "sparse": 0.25}


def test_a_reader_who_zooms_gets_single_events():
    columns = tables([{"name": "op", "lane": "forward", "start": 10.0 * i, "duration": 5.0} for i in range(4000)])
    figure = timeline_figure(columns)
    part = figure.interaction.draw((20_000.0, 120_000.0), {})
    assert part.panels[0].x == (20_000.0, 120_000.0)
    assert [mark.key for mark in bars(part)] == [f"event {i}" for i in range(2, 12)]
    for odd in ((5e9, 6e9), (3.0, 2.0), (float("-inf"), float("inf"))):
        assert figure.interaction.draw(odd, {}).panels[0].x == figure.panels[0].x


# --------------------------------------------------------------------------- arrows and details


CSR, FULL = array("csr", (4, 4), 1), array("default", (4, 4))
CONVERTED = ({"name": "plus", "inputs": [CSR], "outputs": [FULL], "became_dense": "fallback", "conversion": 0, "line": "a.py:3"},
             {"name": "log", "inputs": [FULL], "outputs": [FULL], "bytes": 128, "conversion": 0, "made_by": [0]},
             {"name": "dot", "inputs": [FULL, CSR], "bytes": 128, "conversion": 0, "made_by": [1, -1], "attrs": {"lr": 0.1}},
             {"name": "relu", "inputs": [FULL], "bytes": 128})  # fmt: skip


def arrows(figure):
    return [mark.title for mark in figure.of(Line) if mark.arrow]


def test_arrows_lead_from_where_an_array_was_made_dense_to_where_it_is_read():
    figure = timeline_figure(called(*CONVERTED))
    assert arrows(figure) == ["made dense by plus, read by log", "made dense by plus, read by dot"]
    assert figure.legend["arrow"] == "made dense → read here"
    assert arrows(timeline_figure(called(*({**call, "conversion": -1} for call in CONVERTED)))) == []
    many = timeline_figure(called(CONVERTED[0], *[CONVERTED[1]] * 100))
    assert len(arrows(many)) == 24


def test_selecting_an_operator_tells_its_arrays_its_line_and_who_made_them():
    told = timeline_figure(called(*CONVERTED)).interaction.select("event 2", {})
    assert told["operator"] == "dot"
    assert told["storage"] == "dense"
    assert told["input 0"] == "dense 4 × 4, float32, 64 B, made by log, 100 µs"
    assert told["input 1"] == "csr 4 × 4, float32, 1 stored (6.2 %), 52 B"
    assert told["made dense by"] == "plus, a.py:3"
    assert told["arguments"] == "lr=0.1"


@pytest.mark.parametrize("key", ["", "event", "event x", "event 99", "event -1", "sum", "sum 0 forward", "sum 0 forward a b",
                                 "sum 9 forward 0 1", "mark 0", "event " + "9" * 40, "sum 0 forward 1 " + "9" * 40])  # fmt: skip
def test_a_key_that_there_is_not_tells_nothing(key):
    assert timeline_figure(called(*CONVERTED)).interaction.select(key, {}) is None


# --------------------------------------------------------------------------- instants


def counter(name, when, value, unit=""):
    return {"kind": "counter", "name": name, "time": when, "value": value, "unit": unit}


def marker(name, when):
    return {"kind": "marker", "name": name, "time": when}


MARKS = [marker("start", 40_010.0), counter("loss", 41_000.0, 0.75, "nats"), counter("loss", 42_000.0, 0.25, "nats"),
         counter("rows", 43_000.0, 100)]  # fmt: skip
LEDGER = [{"op": "exp", "time": 41_500.0}]


def test_marks_have_rows_of_their_own_words_and_details():
    figure = timeline_figure(tables(training(), MARKS, LEDGER))
    names = [words for mark in figure.marks if getattr(mark, "side", "") == "left" and mark.panel == 0 for _, words in mark.ticks]
    assert [name for name in names if name not in (*LANES, *APART)] == ["markers", "became dense", "loss", "rows"]
    assert [(mark.kind, mark.x[0], mark.key) for mark in figure.of(Dots)] == [("ink", 40_010_000, "mark 0"),
                                                                             ("dense", 41_500_000, "ledger 0")]  # fmt: skip
    assert {"start", "exp"} <= {mark.text for mark in figure.of(Text)}
    assert figure.interaction.select("mark 0", {}) == {"at": "40.0 ms", "kind": "marker", "name": "start", "value": "null"}
    told = figure.interaction.select("ledger 0", {})
    assert told["became dense"] == "csr → default, 40 B → 48.0 kB, fallback, train.py:3"
    rows = {row[:2]: (row[3], row[-1]) for row in figure.table.rows}
    assert rows["counter", "loss"] == ("2", "last 0.25 nats, 0.25 to 0.75, mean 0.5")
    assert rows["counter", "rows"] == ("1", "last 100")
    assert rows["marker", "start"] == ("1", "at 40.0 ms")
    assert rows["became dense", "exp"] == ("1", "csr → default, 40 B → 48.0 kB, fallback, train.py:3; at 41.5 ms")
    assert figure.finding.endswith("Marked: loss from 0.75 to 0.25 nats, rows 100, 1 marker, "
                                   "1 silent change from sparse to dense.")  # fmt: skip


def test_names_of_dots_do_not_meet():
    marks = [marker("first", 100.0), marker("a long name", 600.0), marker("another name", 900.0)]
    figure = timeline_figure(tables([{"name": "op", "lane": "forward", "start": 0, "duration": 1000}], marks))
    ends = sorted((text.x - text.room, text.x) if text.anchor == "end" else (text.x, text.x + text.room)
                  for text in figure.of(Text) if "name" in text.text or text.text == "first")  # fmt: skip
    assert len(ends) == 3
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ends))


def test_a_counter_is_a_step_line_that_holds_until_the_next_value():
    figure = timeline_figure(tables([{"name": "op", "lane": "forward", "start": 0, "duration": 1000}],
                                    [counter("n", when, value) for when, value in ((100, 1), (500, 3), (700, 2))]))  # fmt: skip
    (line,) = (mark for mark in figure.of(Line) if mark.title.startswith("n: "))
    assert list(line.x[:5]) == [100_000, 500_000, 500_000, 700_000, 700_000]
    low, _, high, _, middle, _ = line.y
    assert high < middle < low
    assert middle == pytest.approx((low + high) / 2)


def test_thousands_of_marks_stay_a_small_picture_with_their_extremes():
    values = [counter("n", 40_000 + i / 10, 7.0 if i == 5000 else i % 2) for i in range(20_000)]
    figure = timeline_figure(tables(training(), [*values, *(marker("m", 40_000 + i / 10) for i in range(20_000))]))
    assert len(figure.svg()) < 150_000
    assert figure.table.rows[-2][-1] == "last 1, 0 to 7, mean 0.5004"
    assert sum("more, at" in mark.title for mark in figure.of(Dots)) > 3


def test_values_that_are_no_numbers_are_told_not_drawn():
    marks = [counter("n", 1, 4), counter("n", 2, "nan"), counter("m", 3, "inf"), counter("k", 4, None), counter("j", 5, [1])]
    figure = timeline_figure(tables(training(), marks))
    said = {row[1]: row[-1] for row in figure.table.rows if row[0] == "counter"}
    assert said == {"n": "last 4, 1 no number", "m": "1 no number", "k": "1 no number", "j": "1 no number"}
    assert "Marked: n 4, m, never a number, k, never a number, 1 more counter." in figure.finding


def test_marks_alone_are_a_picture():
    figure = timeline_figure(tables([], MARKS, LEDGER))
    assert figure.panels[0].x[0] < 40_010_000 < 43_000_000 < figure.panels[0].x[1]  # whole dots
    assert f"{NO_OPERATORS} Marked: loss" in figure.finding
    drawn(figure)


# --------------------------------------------------------------------------- processes


def span(name, lane, start, duration, own=None):
    return {"name": name, "lane": lane, "start": start, "duration": duration, "self": duration if own is None else own}


def worker(late=0.0, steps=5):
    return [one for start in range(0, 1000 * steps, 1000) for one in (
        span("dot", "forward", start + 100 + late, 300), span("push+pull", "exchange", start + 450 + late, 500 - late, 200),
        *([] if late else [span("wait for rank 1", "wait", start + 500, 300)]))]  # fmt: skip


def server(steps=5):
    return [one for step in range(steps) for one in (
        span("serve", "serve", 1000.0 * step + 800, 120, 20), span("snapshot", "snapshot", 1000.0 * step + 805, 30),
        span("apply", "apply", 1000.0 * step + 840, 70))]  # fmt: skip


def processes(count=1):
    """Two workers and some servers on one clock, of which the first worker's is known to 40 µs."""
    return merged([tables(worker(), name="worker 0", process="worker", error=40_000),
                   tables(worker(200.0), name="worker 1", process="worker"),
                   *(tables(server(), name=f"server {i}", process="server", error=0) for i in range(count))])  # fmt: skip


def test_processes_are_on_one_clock_and_the_sentence_says_who_waited_and_how_well_clocks_agree():
    figure = timeline_figure(processes())
    assert figure.finding == ("3 processes in 4.85 ms. Worker 0 spent 31 % of its time waiting, mostly for rank 1. "
                              "Server 0 worked 12 % of that time. Clocks agree within 40.0 µs.")  # fmt: skip
    first = {mark.label: mark.x0 for mark in reversed(bars(figure))}
    assert (first["dot"], first["serve"]) == (100_000, 800_000)
    assert [row[:3] for row in figure.table.rows if row[1] != "from start to end"] == [
        ("worker 0", "forward", "5"), ("worker 0", "exchange", "5"), ("worker 0", "wait", "5"),
        ("worker 1", "forward", "5"), ("worker 1", "exchange", "5"),
        ("server 0", "serve", "5"), ("server 0", "snapshot", "5"), ("server 0", "apply", "5")]  # fmt: skip


def test_many_processes_are_left_out_and_counted():
    figure = timeline_figure(processes(18))
    assert "8 more processes are in the table only." in figure.notes
    assert len({row[0] for row in figure.table.rows}) == 20


# --------------------------------------------------------------------------- anything


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    records = [{**one, "name": name, "layer": name, "line": name, "lane": name if one["lane"] == "io" else one["lane"]}
               for one in training(True, 2)]  # fmt: skip
    marks = [marker(name, 41_000.0), counter(name, 41_000.0, 1, name)]
    one = tables(records, marks, [{"op": name, "time": 41_500.0, "line": name, "source": name}])
    for figure in (timeline_figure(one, title=name), timeline_figure({name: one, f"{name} 2": tables(training())}, title=name)):
        page = html_page("A page", {name: drawn(figure)})
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        for key in ("event 3", "mark 0", "ledger 0"):
            json.dumps(figure.interaction.select(key, {}))


ODD = [
    [{"name": "a", "start": 0, "duration": 0}], [{"name": "a", "start": 1e12, "duration": 1e-3, "lane": "forward"}],
    [{"name": f"op{i}", "lane": f"lane{i}", "start": i, "duration": 1} for i in range(40)],
    [{"name": "step", "lane": "user", "start": 0, "duration": 0}] * 5,
    [{"name": "step", "lane": "user", "start": 1e9, "duration": 1e-3}],
    [{"name": "a", "lane": "forward", "start": 5, "duration": 0, "conversion": 0, "made_by": [0]}],
    [{"name": "a", "start": 0, "duration": 1, "inputs": [array("default", ()), array("csr", (0, 0))]}],
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_records_are_drawn(odd):
    for columns in (tables(odd), {"a": tables(odd), "b": tables([{"name": "x", "start": 1, "duration": 1}])}):
        figure = drawn(timeline_figure(columns))
        for mark in figure.of(Rect):
            assert figure.interaction.select(mark.key, {})


def test_a_run_with_steps_of_its_own_is_compared_with_one_without_by_what_its_operators_took():
    plain = training(steps=30)
    end = max(record["start"] + record["duration"] for record in plain)
    each = end / 30
    spans = [{"name": "step", "kind": "span", "lane": "user", "start": number * each, "duration": each, "self": 0.0, "layer": "",
              "depth": 0, "inputs": [], "outputs": []} for number in range(30)]
    with_steps = sorted([*plain, *spans], key=lambda record: (record["start"], -record["duration"]))
    figure = timeline_figure(together({"with": tables(with_steps), "without": tables(plain)}))
    assert "faster" not in figure.title, figure.title


def test_a_part_in_which_nothing_began_is_no_run_without_operators():
    figure = timeline_figure(tables(training(steps=3)), window=(1e9, 2e9))
    assert figure.finding.startswith("Nothing began from 16.7 min to 33.3 min after the start; ")
    assert NO_OPERATORS not in figure.finding
