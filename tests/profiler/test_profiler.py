import sys
import time

import pytest

from sparsekit.base.errors import MissingPackageError, ProfilerError, UnknownNameError
from sparsekit.core import hooks
from sparsekit.profiler import Profiler, active
from sparsekit.profiler.table import GROUPS, _natural
from tests.profiler.skeletons import skeleton


def test_one_profiler_at_a_time(library):
    with Profiler() as prof:
        with pytest.raises(ProfilerError, match="Another profiler is recording") as caught, Profiler():
            pass
        assert "prof.span" in caught.value.hint
        library.run("add", (), library.dense(1))
        with pytest.raises(ProfilerError, match="recording already"):
            prof.start()
    assert len(prof.records) == 1


def test_a_used_profiler_is_the_profile_of_that_run(library):
    prof = Profiler()
    with prof:
        library.run("add", (), library.dense(1))
    with pytest.raises(ProfilerError, match="has recorded already"), prof:
        pass
    prof.resume()
    library.run("add", (), library.dense(1))
    prof.stop()
    prof.stop()
    assert [row["calls"] for row in prof.totals] == [2]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_inside_keeps_the_events_and_is_raised(library, error):
    def fail():
        library.run("add", (), library.dense(1))
        raise error("mine")

    with pytest.raises(error), Profiler() as prof:
        fail()
    assert hooks.sink is None
    assert [record["name"] for record in prof.records] == ["add"]
    assert prof.state == "finished"


def test_an_operator_that_fails_inside_another_leaves_no_trace_but_those_before_it(library):
    def fail():
        library.run("cast_storage", (), library.dense(1))
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"), Profiler() as prof:
        library.run("dot", (), library.dense(1), inside=fail)
    assert [record["name"] for record in prof.records] == ["cast_storage"]
    assert prof.records[0]["depth"] == 0


def test_pause_leaves_out_what_follows_and_stops_the_clock(library):
    begin = time.perf_counter()
    with Profiler() as prof:
        library.run("first", (), library.dense(1))
        prof.pause()
        assert active() is None
        library.run("second", (), library.dense(1))
        time.sleep(0.05)
        prof.resume()
        assert active() is prof
        library.run("third", (), library.dense(1))
    assert [record["name"] for record in prof.records] == ["first", "third"]
    assert prof.wall < 1e6 * (time.perf_counter() - begin) - 50_000
    with pytest.raises(ProfilerError, match="finished cannot pause"):
        prof.pause()
    with pytest.raises(ProfilerError, match="new cannot resume"):
        Profiler().resume()


@pytest.mark.parametrize("end", ["stop", "pause"])
def test_time_after_the_end_is_not_part_of_the_profile(library, end):
    prof = Profiler().start()
    library.run("dot", (), library.dense(1))
    getattr(prof, end)()
    wall = prof.wall
    time.sleep(0.01)
    assert prof.wall == wall
    prof.stop()
    assert prof.wall == wall


def test_folding_is_exact(library, step):
    def run(capacity, waiting):
        with Profiler(capacity=capacity) as prof:
            prof._run.recorder.waiting = waiting
            for number in range(100):
                with prof.span("step"):
                    step(rows=2 + number % 3, node=number)
        return prof

    whole, folded = run(1_000_000, 100_000), run(50, 7)
    assert whole._data().folded == 0
    assert folded._data().folded > 300
    assert folded._data().folded + len(folded.records) == folded.events
    assert len(folded.records) <= 50

    def counts(prof):
        return {(row["name"], row["lane"]): (row["calls"], row["bytes"], row["flops"], row["dense_flops"])
                for row in prof.totals if row["lane"] != "profiler"}

    assert counts(whole) == counts(folded)
    assert skeleton(whole) == skeleton(folded)
    assert whole.memory["peak_bytes"] == folded.memory["peak_bytes"]
    for prof in (whole, folded):
        assert 0 < sum(row["self"] for row in prof.totals) <= prof.wall
    assert "older events are in these totals only" in repr(folded.table())


def test_totals_agree_with_records(library, step):
    with Profiler() as prof:
        for _ in range(20):
            step()
    for row in prof.totals:
        found = [r for r in prof.records if (r["name"], r["lane"]) == (row["name"], row["lane"])]
        times = [record["duration"] for record in found]
        assert row["calls"] == len(found)
        assert row["total"] == pytest.approx(sum(times))
        assert row["self"] == pytest.approx(sum(record["self"] for record in found))
        assert (row["min"], row["max"]) == pytest.approx((min(times), max(times)))
        assert row["mean"] == pytest.approx(sum(times) / len(times))
        assert row["bytes"] == sum(record["bytes"] for record in found)


def test_wall_time_is_accounted_for(library, clock):
    with Profiler() as prof:
        library.run("dot", (), library.dense(1), inside=lambda: clock.sleep(0.02))
        clock.sleep(0.02)
    assert prof.accounted == pytest.approx(0.5, abs=0.01)
    lanes = {row["lane"]: row for row in prof.table(group_by="lane")}
    assert lanes["forward"]["calls"] == 1
    assert lanes["profiler"]["self"] == pytest.approx(prof._data().overhead, abs=0.01)
    assert sum(row["self"] for row in lanes.values()) <= prof.wall


def test_spans_as_blocks_and_decorators(library):
    with Profiler() as prof:
        with prof.span("epoch"), prof.span("batch"):
            library.run("add", (), library.dense(1))

        @prof.span("work")
        def work(again):
            if again:
                work(False)

        work(True)
        prof.marker("half", 1)
        prof.counter("loss", 0.25)
    spans = [(record["name"], record["depth"]) for record in prof.records]
    assert spans == [("epoch", 0), ("batch", 1), ("add", 2), ("work", 0), ("work", 1)]
    assert prof.records[0]["kind"] == "span"
    assert prof.records[0]["lane"] == "user"
    assert [(mark["kind"], mark["name"], mark["value"]) for mark in prof.marks] == [
        ("marker", "half", 1), ("counter", "loss", 0.25)]
    with prof.span("afterwards"):
        pass
    prof.marker("afterwards")
    assert len(prof.records) == 5
    assert len(prof.marks) == 2


def test_a_profile_shows_itself(profile):
    bundle = profile._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "dot" in bundle["text/plain"]
    assert bundle["text/html"].count("<img ") == 2
    assert "<script" not in bundle["text/html"]
    assert len(bundle["text/html"]) < 150_000
    assert repr(profile).startswith("<Profiler: ")


def test_a_display_that_fails_leaves_the_text(profile, monkeypatch):
    monkeypatch.setattr(type(profile), "timeline", lambda self: 1 / 0)
    assert set(profile._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("capacity", [0, 1, -5, 2.5, "many", True, None, float("nan")])
def test_a_capacity_must_be_a_number_of_events(capacity):
    with pytest.raises(ProfilerError, match="capacity must be an integer of at least 2, got "):
        Profiler(capacity=capacity)


@pytest.mark.parametrize("group_by", ["op", "layer", "lane", "storage", "op+layer", "line", "cell"])
@pytest.mark.parametrize("sort_by", ["total", "self", "avg", "min", "max", "count", "bytes", "flops", "name"])
def test_tables_sort_and_group(profile, group_by, sort_by):
    field = {"avg": "mean", "count": "calls", "name": GROUPS[group_by][0]}.get(sort_by, sort_by)
    table = profile.table(sort_by=sort_by, group_by=group_by)
    values = [row[field] for row in table]
    assert values == sorted(values, key=_natural, reverse=sort_by != "name")
    values = [row[field] for row in profile.table(sort_by=sort_by, group_by=group_by, ascending=True)]
    assert values == sorted(values, key=_natural)
    assert len(table) > 1
    assert "<table>" in table._repr_mimebundle_()["text/html"]
    assert table._repr_mimebundle_()["text/plain"] == repr(table)


def test_unknown_sorts_and_groups_are_named(profile):
    with pytest.raises(UnknownNameError, match="'duration'"):
        profile.table(sort_by="duration")
    with pytest.raises(UnknownNameError, match="'operator'"):
        profile.table(group_by="operator")


def test_pytorch_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"Profiler\(torch=True\) needs the package 'torch'") as caught:
        Profiler(torch=True)
    assert caught.value.hint == "python -m pip install 'sparsekit[torch]'"
