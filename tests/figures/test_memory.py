"""Memory as a figure: its levels are a replay of every change, its answers those of ``what_if``, its words the same numbers."""

from __future__ import annotations

import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ProfilerError
from sparsekit.base.formatting import format_bytes
from sparsekit.base.memory_model import Part
from sparsekit.figures.marks import Area, Line, Rect, Table, Text
from sparsekit.figures.memory import MOST_BARS, PLACES, memory_figure, peaks_figure
from sparsekit.profiler.columns import Strings, build

from .gallery import HOSTILE, drawn

FIELDS = ("role", "owner", "layer", "stype", "component", "shape", "part", "dtype", "bytes")


def tables(holdings, changes, wall=1000):
    """Columns of one run: holdings as rows of ``FIELDS``, changes as (time, holding, count)."""
    columns = {name: list(column) for name, column in zip(FIELDS, zip(*holdings, strict=True), strict=True)}
    times, numbers, counts = ([list(column) for column in zip(*changes, strict=True)] or ([], [], []))
    return build(Strings(), runs={"name": ["run"], "wall": [wall]}, holdings=columns,
                 changes={"run": [0] * len(times), "time": times, "holding": numbers, "count": counts})  # fmt: skip


def held(role, owner, stype, size, component="data", dtype="float32"):
    return (role, owner, "layer", stype, component, [size], [size], dtype, size)


WEIGHT, ROWS, INDICES, WORK = (held("parameter", "w", "default", 512_000), held("gradient", "w", "row_sparse", 58_368),
                               held("gradient", "w", "row_sparse", 912, "indices", "int64"),
                               held("workspace", "dot", "default", 300))  # fmt: skip
STEP = [(0, 0, 1), (10, 3, 1), (20, 1, 1), (20, 2, 1), (30, 3, -1), (40, 1, -1), (40, 2, -1)]


def random_run(seed, kinds=60, length=4000):
    draw = np.random.default_rng(seed)
    roles = ("parameter", "optimizer state", "gradient", "activation", "input", "workspace", "odd")
    holdings = [held(roles[draw.integers(7)], f"array {number % 45}", ("default", "csr", "row_sparse")[draw.integers(3)],
                     int(10 ** draw.uniform(0, 7))) for number in range(kinds)]
    counts, changes, time = [0] * kinds, [], 0
    for _ in range(length):
        kind = int(draw.integers(kinds))
        step = -1 if counts[kind] and draw.random() < 0.5 else 1
        counts[kind] += step
        time += int(draw.integers(0, 5))
        changes.append((time, kind, step))
    return holdings, changes


def levels(figure):
    """By the words of each area, its height at the times at which the picture has a step."""
    areas = figure.of(Area)
    for below, above in pairwise(areas):
        assert np.array_equal(np.asarray(below.high), np.asarray(above.low))
    return areas[0].x[:-1], np.asarray(areas[-1].high) - np.asarray(areas[0].low)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window", [None, (2000.0, 2600.0), (100.0, 6_000.0), (0.0, 5.0), (9_000.0, 9_500.0)])
def test_each_level_is_what_a_replay_of_the_changes_has_then(seed, window):
    holdings, changes = random_run(seed)
    columns = tables(holdings, changes)
    figure = memory_figure(columns, {}).interaction.draw(window, {})
    steps = np.array([holdings[kind][-1] * count for _, kind, count in changes])
    times, totals = np.array([time for time, _, _ in changes]), np.cumsum(steps)
    x, drawn = levels(figure)
    first, last = window or (0.0, float(times[-1]))
    after = {time: set(totals[np.flatnonzero(times == time)].tolist()) for time in times.tolist()}
    for place, (time, level) in enumerate(zip(x.tolist(), drawn.tolist(), strict=True)):
        states = after[int(time)] if place or not window else {int(totals[np.searchsorted(times, first, side="right") - 1]),
                                                               *after.get(int(time), ())}  # fmt: skip
        assert level in states
    assert first <= x[0]
    assert np.all(np.diff(x) >= 0)
    assert drawn[-1] == totals[np.searchsorted(times, last, side="right") - 1]  # the state at the end stays
    inside = totals[(times > first) & (times <= last)]
    assert drawn.max() == max([*inside.tolist(), drawn[0]])  # no peak is left out
    if window is None:
        assert drawn.max() == totals.max()
    assert len(x) <= PLACES + 2


def test_areas_and_bars_of_an_array_belong_together_and_add_up_to_the_peak():
    holdings, changes = random_run(1)
    columns = tables(holdings, changes)
    figure = memory_figure(columns, {})
    bars: dict[str, float] = {}
    for bar in figure.of(Rect):
        bars[bar.key] = bars.get(bar.key, 0) + bar.x1 - bar.x0
    areas = {area.key: area for area in figure.of(Area)}
    top = int(np.cumsum([holdings[kind][-1] * count for _, kind, count in changes]).argmax())
    sums: dict[tuple[str, ...], int] = {}
    for _, kind, count in changes[: top + 1]:
        role, owner, _, stype, *_ = holdings[kind]
        sums[role, owner, stype] = sums.get((role, owner, stype), 0) + count * holdings[kind][-1]
    assert sorted(bars.values(), reverse=True) == sorted(sums.values(), reverse=True)[:MOST_BARS]  # the largest arrays
    assert len(bars) == MOST_BARS
    assert set(bars) <= set(areas)
    totals = np.cumsum([holdings[kind][-1] * count for _, kind, count in changes])
    place = int(np.flatnonzero(areas[next(iter(areas))].x[:-1] == changes[int(totals.argmax())][0])[-1])
    assert sum(area.high[place] - area.low[place] for area in areas.values()) == totals.max()
    for key, size in bars.items():
        assert areas[key].high[place] - areas[key].low[place] == size
        assert format_bytes(size) in areas[key].title
        told, table = figure.interaction.select(key, {})
        assert format_bytes(size) in told
        assert isinstance(table, Table)
        assert table.rows


def test_colour_says_storage():
    figure = memory_figure(tables([WEIGHT, ROWS, INDICES, WORK], STEP), {})
    kinds = {area.title.partition(",")[0]: area.kind for area in figure.of(Area)}
    assert kinds == {"w · parameter": "needed", "w · gradient": "sparse", "dot · workspace": "pale-dense"}
    assert {bar.kind for bar in figure.of(Rect)} == {"needed", "sparse", "pale-dense"}


@pytest.mark.parametrize("seed", range(4))
def test_names_stand_inside_of_their_areas(seed):
    figure = memory_figure(tables(*random_run(seed)), {})
    areas = {(area.title.partition(",")[0], f"on {area.kind}"): area for area in figure.of(Area)}
    named = [text for text in figure.of(Text) if text.kind.startswith("on ")]
    assert named
    for text in named:
        area = areas[text.text.rpartition(",")[0], text.kind]
        place = int(np.searchsorted(area.x, text.x, side="right")) - 1
        assert area.low[place] < text.y < area.high[place]


def test_words_and_table_say_the_peak():
    memory = {"process_peak_bytes": 90_000_000, "idle_bytes": 2000, "table_bytes": 64,
              "temporaries": [{"op": "cos", "most": 10**6, "bytes": 1, "layer": ""}]}  # fmt: skip
    figure = memory_figure(tables([WEIGHT, ROWS, INDICES, WORK], STEP), memory)
    assert figure.finding == (
        "Memory peaked at 572 kB after 20.0 ns: parameter 90 %, gradient 10 %, workspace <1 %; 10 % is stored sparse; the "
        "largest array is the parameter of w, 512 kB. Compiled steps keep 64 B between runs.")
    assert figure.table.rows[0] == ("w", "parameter", "layer", "default", "512,000", "data", "512 kB", "90 %", "there before")
    assert [row[5:7] for row in figure.table.rows] == [("data", "512 kB"), ("data", "58.4 kB"), ("indices", "912 B"),
                                                       ("data", "300 B")]  # fmt: skip
    assert figure.notes == ["The whole process has held at most 90.0 MB since its start.",
                            "Not drawn: 2.00 kB in arrays that took no part.",
                            "Not drawn: cos made and freed up to 1.00 MB in one call."]
    drawn(figure)


def test_two_buffers_of_one_gradient_are_told():
    figure = memory_figure(tables([ROWS, INDICES], [(1, 0, 1), (1, 1, 1), (2, 0, 1)]), {})
    assert "2 buffers of the gradient of w are alive at once." in figure.finding
    assert [row[5] for row in figure.table.rows] == ["2 × data", "indices"]
    assert "alive at once" not in memory_figure(tables([ROWS], [(1, 0, 1)]), {}).finding


def test_the_operator_and_the_line_that_made_an_array_are_told():
    weight = mx.nd.ones((300, 100))
    with mx.Profiler() as prof:
        held = weight * 2
    assert held.shape == (300, 100)
    figure = prof.memory.figure()
    (row,) = [row for row in figure.table.rows if row[1] == "activation"]
    assert re.fullmatch(r"_mul_scalar, test_memory\.py:\d+", row[-1])
    key = next(area.key for area in figure.of(Area) if "activation" in area.title)
    assert figure.interaction.select(key, {})[1].rows == [row]


def trained(gradient):
    net = mx.gluon.nn.Dense(8, in_units=2000, weight_grad_stype=gradient, prefix="net_")
    net.initialize()
    trainer, draw = mx.gluon.Trainer(net.collect_params(), "adam"), np.random.default_rng(3)
    with mx.Profiler() as prof:
        for _ in range(3):
            batch = mx.nd.sparse.csr_matrix((draw.random((10, 2000)) < 0.02).astype("float32"))
            with mx.autograd.record():
                loss = net(batch).sum()
            loss.backward()
            trainer.step(10)
    return prof


SWITCHES = [({"index_dtype": "int32"}, {"index_dtype": "int32"}), ({"value_dtype": "float16"}, {"value_dtype": "float16"}),
            ({"gradient": "row_sparse"}, {"gradient": "row_sparse"}), ({"gradient": "default"}, {"gradient": "default"}),
            ({"lazy_state": True}, {"lazy_state": True}), ({"batch": "4 times"}, {"batch_size": 40}),
            ({"batch": "half", "index_dtype": "int32"}, {"batch_size": 5, "index_dtype": "int32"}),
            ({"gradient": "default", "value_dtype": "float64", "batch": "twice"},
             {"gradient": "default", "value_dtype": "float64", "batch_size": 20})]  # fmt: skip


@pytest.mark.parametrize("gradient", ["default", "row_sparse"])
def test_the_switches_draw_and_say_what_the_profile_answers(gradient):
    prof = trained(gradient)
    figure = prof.memory.figure()
    start = {one.name: one.value for one in figure.interaction.inputs}
    assert figure.interaction.draw(None, start).svg() == figure.svg()
    for switches, asked in SWITCHES:
        shown, expected = figure.interaction.draw(None, {**start, **switches}), prof.what_if(**asked)
        assert shown.finding.startswith(expected.summary())
        assert levels(shown)[1].max() == expected.after
        assert shown.panels[0].y[0] > max(expected.before, expected.after)
        assert [line.y[0] for line in shown.of(Line) if line.dash == 1] == [expected.before]
        by_role: dict[str, int] = {}
        for row in expected.rows:
            by_role[row["role"]] = by_role.get(row["role"], 0) + row["after"]
        for role, size in by_role.items():
            listed = [piece for piece in shown.table.rows if piece[1] == role]
            assert bool(listed) == bool(size)
    for name, values in figure.interaction.answers.items():
        assert figure.interaction.draw(None, {**start, **values}).finding, name


def test_what_cannot_be_computed_is_said():
    with mx.Profiler() as prof:
        mx.nd.ones((3, 3)) + 1
    figure = prof.memory.figure()
    shown = figure.interaction.draw(None, {"batch": "twice"})
    assert shown.finding.startswith("This cannot be computed: The profile holds no input array whose rows are the batch.")
    assert shown.table.rows == figure.table.rows


def test_a_change_may_split_an_array_in_several_parts():
    split = Part("parameter", "row_sparse", "indices", 80)
    change = SimpleNamespace(before=512_000, summary=lambda: "Changed.",
                             parts=[(Part("parameter", "row_sparse", "data", 300), split)])
    figure = memory_figure(tables([WEIGHT], [(0, 0, 1)]), {}, ask=lambda changes: change)
    shown = figure.interaction.draw(None, {"gradient": "row_sparse"})
    assert levels(shown)[1].max() == 380
    assert [row[3:7] for row in shown.table.rows] == [("row_sparse", "512,000", "data", "300 B"),
                                                      ("row_sparse", "512,000", "indices", "80 B")]  # fmt: skip
    assert shown.of(Line)[0].y == [512_000] * 2


def test_a_long_run_is_a_small_picture():
    draw = np.random.default_rng(0)
    sizes = [held(("activation", "gradient", "workspace")[number % 3], f"a{number}", "default", 1000 + number)
             for number in range(30)]
    kinds = draw.integers(0, 30, 500_000)
    changes = [(place, kind, count) for place, kind in enumerate(kinds.tolist()) for count in (1, -1)]
    figure = memory_figure(tables(sizes, changes, 500_000), {})
    assert len(figure.marks) < 100
    assert len(figure.html()) < 150_000


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    rows = [(name, name, name, name, name, [3], [3], "float32", 9), held("gradient", name, "default", 8)]
    figure = drawn(memory_figure(tables(rows, [(0, 0, 1), (1, 1, 1)]), {}, title=name))
    drawn(peaks_figure({name: {"at_peak": [{"role": name, "stype": name, "bytes": 5}]}}, name))
    assert figure.interaction.select("array 0", {})


@pytest.mark.parametrize("key", ["", "array", "array -1", "array 99", "array x", "other 1", "array 1e3", "array 99999999999"])
def test_other_keys_tell_nothing(key):
    assert memory_figure(tables([WEIGHT], [(0, 0, 1)]), {}).interaction.select(key, {}) is None


def test_memory_of_other_profilers_has_no_list():
    columns = tables([("", "", "", "", "", [], [], "", 1)], [(0, 0, 500), (5, 0, 300), (9, 0, -100)])
    figure = memory_figure(columns, {})
    assert [area.kind for area in figure.of(Area)] == ["none"]
    assert not figure.of(Rect)
    assert figure.finding.startswith("Memory peaked at 800 B")


# ---- several runs


def memory_of(*parts):
    return {"at_peak": [{"role": role, "stype": stype, "bytes": size} for role, stype, size in parts]}


def test_peaks_name_the_part_that_shrank():
    dense = memory_of(("parameter", "default", 512_000), ("gradient", "default", 512_000_000))
    sparse = memory_of(("parameter", "default", 512_000), ("gradient", "row_sparse", 58_368), ("gradient", "row_sparse", 912))
    figure = peaks_figure({"dense": dense, "row-sparse": sparse})
    assert figure.finding == ("At its peak, dense holds 513 MB, row-sparse holds 571 kB: dense needs 897× the memory of "
                              "row-sparse; its gradient alone 8,637× (512 MB against 59.3 kB).")
    assert figure.table.columns == ("run", "parameter", "gradient", "total")
    assert figure.table.rows[1] == ("row-sparse", "512 kB", "59.3 kB", "571 kB")
    assert [(bar.kind, bar.x1 - bar.x0) for bar in figure.of(Rect)] == [
        ("needed", 512_000), ("dense", 512_000_000), ("needed", 512_000), ("pale-sparse", 59_280)]
    assert peaks_figure({}).finding == peaks_figure({"a": memory_of()}).finding == "No memory was recorded."


def test_a_budget_is_a_line_that_says_who_stays_within():
    runs = {"large": memory_of(("gradient", "default", 8_000)), "<small>": memory_of(("gradient", "row_sparse", 999))}
    figure = peaks_figure(runs, budget=1_000)
    assert figure.finding.startswith("Within the budget of 1.00 kB: <small>. Above it: large. ")
    assert [(*line.x, *line.y) for line in figure.of(Line) if line.kind == "ink"] == [(1_000, 1_000, 0, 2)]
    assert peaks_figure(runs, budget=1e6).panels[0].x[1] > 1e6
    assert peaks_figure(runs, budget=999).finding.startswith("Within the budget of 999 B: none. Above it: large, <small>.")
    assert not peaks_figure(runs).of(Line)


def test_a_run_is_compared_with_others():
    dense, sparse = trained("default"), trained("row_sparse")
    figure = sparse.memory.figure({"dense": dense.memory}, "row-sparse")
    assert [row[0] for row in figure.table.rows] == ["dense", "row-sparse"]
    assert [row[-1] for row in figure.table.rows] == [format_bytes(one.memory["peak_bytes"]) for one in (dense, sparse)]
    tall, low = (sparse.memory.figure(top=top).panels[0].y[0] for top in (10**9, 0))
    assert tall / 1.1 == pytest.approx(10**9)
    assert low / 1.1 == pytest.approx(sparse.memory["peak_bytes"])
    assert "Within the budget of 1.00 MB: this run." in sparse.memory.figure(budget="1 MB").finding
    with pytest.raises(ProfilerError, match="A size must be"):
        sparse.memory.figure(budget="much")
