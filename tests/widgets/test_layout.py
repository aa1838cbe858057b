from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

import sparsekit as mx
from sparsekit.widgets import layout

spans = st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 100), st.sampled_from(["forward", "io"])), max_size=40)


def events_of(found):
    return layout.clean(
        {"name": "op", "lane": lane, "start": start, "duration": length} for start, length, lane in found
    )


@given(spans)
def test_events_of_one_row_do_not_overlap(found):
    events = events_of(found)
    ends: dict[tuple[str, int], float] = {}
    for event, row in zip(events, layout.place_rows(events, most=1000), strict=True):
        assert ends.get((event.lane, row), -1.0) <= event.start + 2e-3
        ends[event.lane, row] = event.end


def test_what_lies_inside_another_event_is_placed_below_it():
    events = events_of([(0, 100, "forward"), (10, 20, "forward"), (12, 5, "forward"), (40, 20, "forward")])
    assert layout.place_rows(events) == [0, 1, 2, 1]


def test_more_rows_than_allowed_share_the_last():
    events = events_of([(i, 100, "forward") for i in range(9)])
    assert max(layout.place_rows(events, most=3)) == 2


@given(spans, st.floats(0, 50))
def test_joining_loses_no_event(found, least):
    events = [event for event in events_of(found) if event.lane == "io"]
    assert sum(block.size for block in layout.merge(events, least)) == len(events)


def test_long_events_are_never_joined():
    events = events_of([(0, 1, "io"), (1, 50, "io"), (51, 1, "io"), (52, 1, "io")])
    assert [block.size for block in layout.merge(events, 5)] == [1, 1, 2]


def test_steps_start_where_a_batch_is_read(records):
    events = layout.clean(records)
    found = layout.steps(events)
    reads = [event.start for event in events if event.name == "LibSVMIter.next"]
    assert [start for start, _ in found] == reads
    assert all(end == start for (_, end), (start, _) in pairwise(found))


def test_a_step_ends_with_its_update_whatever_runs_before_it():
    clipped = ["forward", "forward", "backward", "forward", "update", "update"]
    assert layout.steps(events_of([(i * 10, 5, lane) for i, lane in enumerate(clipped * 3)])) == [(0, 60), (60, 120), (120, 175)]
    assert layout.steps(events_of([(i * 10, 5, lane) for i, lane in enumerate(clipped[2:] + clipped)])) == [(40, 95)]
    twice = ["forward", "backward", "forward", "backward"]
    assert len(layout.steps(events_of([(i * 10, 5, lane) for i, lane in enumerate(twice)]))) == 2


def test_no_steps_in_what_does_not_train():
    assert layout.steps([]) == []
    assert len(layout.steps(events_of([(i * 10, 5, "forward") for i in range(20)]))) == 1


def test_the_typical_step_is_the_median_one(training):
    slow = training(steps=3)
    for record in slow:
        if record["node"] == 0 and record["lane"] == "forward":
            record["duration"] = 30.0
    window = layout.typical_window(layout.clean(training(steps=11)))
    assert window.reason.endswith("of 11, the median one")
    assert layout.typical_window(layout.clean(slow), "all").reason == ""
    assert layout.typical_window(layout.clean(slow), (5, 2)) == (2.0, 5.0, "the chosen span")


def test_ticks_are_round_and_few():
    assert layout.ticks(167.0) == [0.0, 50.0, 100.0, 150.0]
    assert len(layout.ticks(0.0)) == 1
    assert all(len(layout.ticks(length)) <= 9 for length in (1e-6, 0.3, 7, 99, 1e12))


def test_own_time_is_never_negative_nor_above_the_duration():
    for own in (-5, 500, None, "x"):
        (event,) = layout.clean([{"name": "a", "duration": 10, "self": own}])
        assert 0 <= event.own <= event.duration == 10


def test_a_long_compilation_does_not_crowd_out_the_work(training):
    events = layout.clean(training(steps=1))
    window = layout.typical_window(events)
    assert window.reason == "what follows compilation"
    assert window.start == events[1].start
    assert layout.typical_window(events, "all").start == events[0].start


def test_one_step_has_one_name_and_steps_one_number_in_every_display():
    """Recorded steps count, also where operators after the last one look like the beginning of another."""
    data = mx.nd.sparse.csr_matrix([[1.0, 0.0, 2.0, 0.0]] * 3)
    net = mx.gluon.nn.Dense(2, in_units=4, weight_grad_stype="row_sparse")
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    with mx.Profiler() as prof:
        for _ in range(16):
            with mx.autograd.record():
                loss = net(data).sum()
            loss.backward()
            trainer.step(3)
            prof.step()
        net(data)   # an evaluation
    single = re.search(r"step (\d+) of (\d+), the median one", prof.timeline_figure().svg)
    beside = mx.widgets.timelines_figure({"one": prof.records, "other": prof.records}, window="step")
    shared = re.search(r"Drawn: one: step (\d+) of (\d+), the median one; other: step", beside.svg)
    assert single[2] == shared[2] == "16"
    assert single[1] == shared[1]
