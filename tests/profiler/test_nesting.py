import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsekit.core import hooks
from sparsekit.profiler import Profile, Profiler
from sparsekit.profiler.columns import Strings, build
from sparsekit.profiler.nesting import REMEMBERED, Nesting, depths
from sparsekit.profiler.stored import Stored


def trees(depth=3):
    leaf = st.builds(lambda length: (length, []), st.integers(0, 5))
    return st.recursive(leaf, lambda children: st.tuples(st.integers(0, 5), st.lists(children, max_size=3)), max_leaves=20)


def lay(tree, start, out, depth=0):
    """Lay a tree of intervals out in time; give where it ends."""
    own, children = tree
    now = start + own
    for child in children:
        now = lay(child, now, out, depth + 1)
    out.append((start, now, own, depth))
    return now


@given(st.lists(trees(), max_size=4))
def test_own_times_are_exact_for_whatever_nests(forest):
    events, now = [], 0
    for tree in forest:
        now = lay(tree, now, events)
    nesting = Nesting()
    own = [nesting.add(0, start, end, False)[1] for start, end, _, _ in events]
    assert sum(own) == now
    assert all(value >= 0 for value in own)
    if all(start < end for start, end, _, _ in events):  # without empty intervals there is only one reading
        assert own == [event[2] for event in events]
        starts, lengths = [event[0] for event in events], [event[1] - event[0] for event in events]
        assert depths(*np.array([[0] * len(events), starts, lengths], int)).tolist() == [event[3] for event in events]


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 300)), max_size=30))
def test_own_times_are_sound_even_for_intervals_that_overlap(intervals):
    nesting = Nesting()
    total = 0
    for start, length in sorted(intervals, key=lambda pair: sum(pair)):
        moved, own, _ = nesting.add(0, start, start + length, False)
        assert own >= 0
        assert moved >= start
        total += own
    assert total <= max((start + length for start, length in intervals), default=0)


def test_older_intervals_are_put_together_except_across_an_open_span():
    nesting = Nesting()
    nesting.open = {0: [500]}
    for number in range(3 * REMEMBERED):
        nesting.add(0, number * 10, number * 10 + 5, False)
    assert len(nesting.covered()[0]) <= REMEMBERED + 2
    _, own, _ = nesting.add(0, 500, 30 * REMEMBERED, False)
    inside = 3 * REMEMBERED - 50
    assert own == 30 * REMEMBERED - 500 - 5 * inside


def test_compilation_is_never_blamed_on_the_operator(library):
    def compile_kernel():
        start = time.perf_counter_ns()
        time.sleep(0.01)
        hooks.sink.span("compile csr_dot_dense", "compile", start, time.perf_counter_ns(), {"signature": "f4"})

    with Profiler() as prof:
        library.run("dot", (), library.dense(1), inside=compile_kernel)
    dot, compilation = prof.records
    assert compilation["lane"] == "compile"
    assert compilation["attrs"] == {"signature": "f4"}
    assert dot["duration"] >= 10_000
    assert dot["self"] == pytest.approx(dot["duration"] - compilation["duration"], abs=1e-6)
    row = next(row for row in prof.totals if row["name"] == "dot")
    assert row["total"] == pytest.approx(dot["self"], abs=1e-6)
    assert row["max"] == row["total"]


def test_a_profile_without_time_accounts_for_none_and_says_so():
    with Profiler() as prof:
        pass
    nothing = prof.tables.changed({"runs": {"wall": np.array([0]), "overhead": np.array([0])}})
    assert Profile(Stored(nothing)).accounted == 0.0
    for never in (Profile(Stored(nothing)), Profiler()):
        assert never.summary().startswith("Nothing was recorded. No operator")
        assert never.table().footer == never.summary()
    events = {"start": [0, 0, 2], "duration": [3, 9, 2], "kind": [0, 1, 0], "run": [0, 0, 0]}
    columns = build(Strings(), runs={"wall": [10], "overhead": [2]}, kinds={"lane": ["forward", "user"]}, events=events)
    assert Profile(Stored(columns)).accounted == 0.6
