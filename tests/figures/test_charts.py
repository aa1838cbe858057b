"""Bars of measurements, curves, interleaved runs and fixes: their findings, tables and marks, of whatever is given."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

import sparsekit as mx
from sparsekit.base import displays
from sparsekit.figures.bars import bars_figure
from sparsekit.figures.cable import Crossed, Server, cable_figure
from sparsekit.figures.curves import curves_figure
from sparsekit.figures.fixes import fixes_figure
from sparsekit.figures.marks import Dots, Line, Rect, Table
from sparsekit.figures.monitor import monitor
from sparsekit.figures.page import html_page
from sparsekit.figures.row_age import row_age_figure
from sparsekit.figures.touched import touched_figure
from sparsekit.figures.turns import turns_figure
from sparsekit.figures.xray import xray

from .gallery import HOSTILE, drawn


def row(median, least=None, most=None, **more):
    return {"median": median, "min": least or median, "max": most or median, **more}


def test_the_finding_names_the_best_and_the_next():
    figure = bars_figure("Products", {"sparsekit": row(2.0, 1.5, 3.0), "rival": row(5.0)}, "ms")
    assert figure.alt == "Products. The least is 2 ms, of sparsekit; the next is 5 ms, of rival."
    assert figure.table.rows == [("sparsekit", "2 ms", "1.5 to 3", "1.00"), ("rival", "5 ms", "5 to 5", "2.50")]


def test_of_rates_the_largest_is_best():
    figure = bars_figure("Reading", {"sparsekit": row(300.0), "rival": row(100.0)}, "MB/s", more_is_better=True)
    assert figure.finding == "The most is 300 MB/s, of sparsekit; the next is 100 MB/s, of rival."
    assert [cells[3] for cells in figure.table.rows] == ["1.00", "3.00"]


def test_bars_are_as_long_as_their_medians_and_have_no_colour_of_storage_unless_they_say_which():
    rows = {"sparsekit": row(2.0, 1.0, 3.0), "rival": row(5.0), "csr": row(1.0, kind="sparse")}
    bars = bars_figure("Products", rows, "ms").of(Rect)
    assert [(bar.x0, bar.x1, bar.kind) for bar in bars] == [(0, 2, "muted"), (0, 5, "outline"), (0, 1, "sparse")]
    ranges = [line for line in bars_figure("Products", rows, "ms").of(Line) if line.y[0] == line.y[1] and line.kind == "ink"]
    assert [line.x for line in ranges] == [[1.0, 3.0]]


@pytest.mark.parametrize("rows", [{}, {"a": {}}, {"<b>": row(0.0)}, {"a": row(float("nan"))}, {"a": row(-3.0)},
                                  {"x" * 200: row(1e12), "y": row(1e-9)}, {name: row(1.0) for name in HOSTILE}])  # fmt: skip
def test_any_measurements_can_be_drawn(rows):
    figure = drawn(bars_figure("Title " * 40, rows, "ms", note="note " * 60))
    assert "<b>" not in figure.html()


def test_curves_are_ink_and_grey_with_dashes_and_names_and_a_table():
    figure = curves_figure({"lazy": [1, 0.9, 0.9], "full": [1, 0.9, 0.81]}, "One row", finding="Only full moves on.")
    assert figure.alt == "One row. Only full moves on."
    assert figure.table.columns == ("step", "lazy", "full")
    assert figure.table.rows == [("0", "1", "1"), ("1", "0.9", "0.9"), ("2", "0.9", "0.81")]
    assert [(line.kind, line.dash, line.label) for line in figure.of(Line)] == [("ink", 0, "lazy"), ("ink", 1, "full")]
    assert curves_figure({"lazy": [1, 2]}).finding == "lazy ends at 2."


def test_a_value_between_gaps_is_a_dot():
    root = ElementTree.fromstring(curves_figure({"a": [None, 3, None, 1, 2]}).svg())
    assert [path.get("d").endswith("h0") for path in root.iter("{http://www.w3.org/2000/svg}path")].count(True) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_any_curves_are_drawn(name):
    for curves in ({}, {"a": []}, {"a": [None]}, {name: [1, float("nan"), "x", 1e308], "b": [5]}, {"a": [3, 3, 3]}):
        drawn(curves_figure(curves, name, name, name))
    drawn(curves_figure({str(place): [place] for place in range(20)}))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    drawn(touched_figure({name: (GRADIENT, 1)}, name))
    drawn(row_age_figure([0, -1, 70], {name: [True, False, True]}, title=name))
    drawn(cable_figure([Crossed(name, 9, 36, (1.0, 8.0, "sparse"), (1.0, 8.0, "sparse"), [Server(name, 9, 1.0, 1.0)])]))


TURNS = [{"name": "dense", "ratios": [1.0], "ratio": None, "low": None, "high": None},
         {"name": "csr", "verdict": "faster", "ratios": [0.5, 0.6], "ratio": 0.55, "low": 0.5, "high": 0.6, "time": 2300.0,
          "finding": "0.55 × the time"}]  # fmt: skip


def test_interleaved_runs_have_a_dot_for_each_block_and_a_bar_for_the_interval():
    rows = [tuple("1111"), tuple("222i")]
    figure = displays.call("turns_figure", TURNS, "csr is faster.", {"columns": ("a", "b", "c", "d"), "rows": rows})
    assert [dots.x for dots in figure.of(Dots)] == [[0.5, 0.6]]
    assert [0.5, 0.6] in [line.x for line in figure.of(Line)]
    for text in ("0.55 × the time", "2.30 ms a call", "as a multiple of that of dense"):
        assert text in figure.svg()


def test_dots_of_many_blocks_share_three_heights_above_the_interval():
    [dots] = turns_figure([TURNS[0], {**TURNS[1], "ratios": [0.5] * 20}], "many", {}).of(Dots)
    assert dots.y[:4] == pytest.approx([0.2, 0.3, 0.4, 0.2])
    assert max(dots.y) == pytest.approx(0.4)


def test_odd_runs_are_drawn():
    odd = {**TURNS[1], "name": "<b>", "ratios": [float("nan"), 0, -1, 1e300], "low": 0.0, "high": float("inf"),
           "ratio": float("nan")}  # fmt: skip
    drawn(turns_figure([TURNS[0], odd], "odd", {}))
    drawn(turns_figure([], "none", {}))


def test_fixes_have_a_sign_and_bars_before_and_after():
    one = {"remedy": "<b>&", "what": "x" * 500, "verdict": "unheard of", "answers": "", "where": "", "after": "",
           "peak": None, "moved": (0, 0)}  # fmt: skip
    holds = {**one, "remedy": "sparse_grad", "verdict": "holds", "peak": (1e15, 1)}
    figure = drawn(fixes_figure([one, holds], "found", {"columns": ("fix",), "rows": [["<b>"]]}))
    assert "&lt;b&gt;" in figure.svg()
    assert "<b>" not in figure.svg()
    assert "✓ sparse_grad" in figure.svg()
    assert [(bar.x1, bar.kind) for bar in figure.of(Rect) if bar.panel == 0] == [(1e15, "outline"), (1, "muted")]
    assert drawn(fixes_figure([], "nothing", {"columns": (), "rows": []})).finding == "nothing"


def test_what_is_no_number_wins_nothing():
    rows = {"a": {"median": float("inf")}, "b": {"median": float("nan")}, "c": {"median": 5, "min": 4, "max": 6}}
    figure = bars_figure("Time", rows, "ms")
    assert figure.finding == "The least is 5 ms, of c."
    assert [row[1:] for row in figure.table.rows] == [("no number", "", ""), ("no number", "", ""), ("5 ms", "4 to 6", "1.00")]
    assert curves_figure({"a": [1, 2, float("nan")], "b": []}).finding == "a ends at 2."
    assert curves_figure({}).finding == "No curve has a value."


X = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
GRADIENT = mx.nd.ones((4, 2)).tostype("row_sparse")
BARS = {"a": {"median": 1, "min": 1, "max": 1}}
ANYTHING = (None, True, 5, -1, 10**400, math.nan, math.inf, "x", b"x", [], {}, object(), 3 + 1j, [math.nan], {"a": 5},
            {"a": None})
#: What draws with one argument of the user's, and which of ``ANYTHING`` it may be.
TEXT, FLAG, NAMES = ("x",), (True,), ({},)
ARGUMENTS = {"bars title": (lambda v: bars_figure(v, BARS, "ms"), TEXT),
             "bars rows": (lambda v: bars_figure("t", v, "ms"), NAMES), "bars unit": (lambda v: bars_figure("t", BARS, v), TEXT),
             "bars own": (lambda v: bars_figure("t", BARS, "ms", own=v), TEXT),
             "bars better": (lambda v: bars_figure("t", BARS, "ms", more_is_better=v), FLAG),
             "bars note": (lambda v: bars_figure("t", BARS, "ms", note=v), TEXT), "curves": (curves_figure, NAMES),
             "a curve": (lambda v: curves_figure({"a": v}), ([], [math.nan])),
             "curves title": (lambda v: curves_figure({}, v), TEXT), "curves x": (lambda v: curves_figure({}, x=v), TEXT),
             "curves finding": (lambda v: curves_figure({}, finding=v), TEXT), "touched": (touched_figure, ()),
             "a step": (lambda v: touched_figure({"a": v}), ()), "gradient": (lambda v: touched_figure({"a": (v, 5)}), ()),
             "its bytes": (lambda v: touched_figure({"a": (GRADIENT, v)}), (5,)),
             "touched title": (lambda v: touched_figure({"a": (GRADIENT, 5)}, v), TEXT), "batches": (xray, ()),
             "units": (lambda v: xray(X, units=v), (None, 5)), "upstream": (lambda v: xray(X, upstream=v), (None,)),
             "xray title": (lambda v: xray(X, title=v), TEXT), "trainer": (lambda v: monitor(v, live=False), (None,)),
             "every": (lambda v: monitor(every=v), (5,)), "monitor title": (lambda v: monitor(title=v), TEXT),
             "live": (lambda v: monitor(live=v), (None, True)), "profile": (lambda v: monitor(profile=v), (None,)),
             "page": (lambda v: html_page(v, {}), TEXT),
             "sections": (lambda v: html_page("t", v), ([], {}, {"a": 5}, {"a": None})),
             "footer": (lambda v: html_page("t", {}, footer=v), TEXT), "inspect": (X.inspect, TEXT),
             "rows": (lambda v: mx.Profiler().timeline(rows=v), (5,)),
             "window": (lambda v: mx.Profiler().timeline(window=v), (None,)),
             "memory": (lambda v: mx.Profiler().memory.figure({"a": v}), ()), "merge": (mx.profiler.merge, ()),
             "width": (lambda v: curves_figure({}).svg(v), ()), "file": (lambda v: curves_figure({}).save(v), ()),
             "its width": (lambda v: curves_figure({}).save("never.svg", v), ()), "axes": (lambda v: curves_figure({}).on(v), ()),
             "mark": (lambda v: curves_figure({}).add(v), ()), "columns": (Table, ([], {}, [math.nan], {"a": 5}, {"a": None})),
             "table rows": (lambda v: Table(("a",), v), (*NAMES, [])), "step": (lambda v: mx.Profiler().try_fixes(v), ()),
             "steps": (lambda v: mx.Profiler().try_fixes(len, steps=v), (5,)),
             "tolerance": (lambda v: mx.Profiler().try_fixes(len, tolerance=v), ()),
             "timeout": (lambda v: mx.Profiler().try_fixes(len, timeout=v), (5,))}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_wrong_argument_is_named_and_a_right_one_is_drawn(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sparsekit.fixes.trial._Trial.result", lambda trial: None)
    draw, right = ARGUMENTS[name]
    for value in ANYTHING:
        if any(type(value) is type(one) and repr(value) == repr(one) for one in right):
            draw(value)
            continue
        with pytest.raises(mx.base.errors.SparsekitError, match="Hint: ") as raised:
            draw(value)
        assert "failed with these arguments" not in str(raised.value), value
