"""Two recorded runs compared: what is aligned, what causes are named, and that times are not judged."""

import time

import numpy as np
import pytest

from sparsekit import profiler
from sparsekit.base.errors import DataFileError, ProfilerError
from sparsekit.core import hooks
from sparsekit.profiler import Profiler
from sparsekit.profiler.differences import NOT_JUDGED, SAME, _causes


def run(library, steps=6, work=2_000, layer="dense0", calls=1, gradient="row_sparse", size=8):
    """Profile steps that take about ``work`` microseconds each, of whatever clock is in use."""

    def busy():
        time.sleep(work / 1e6 / calls)

    with Profiler() as prof:
        for node in range(steps):
            hooks.state.layer = layer
            for _ in range(calls):
                library.run("dot", (library.csr(2, 1000, 4), library.dense(1000, size)), library.dense(2, size), node, busy)
            hooks.state.lane = "backward"
            made = library.row_sparse(4, (1000, size)) if gradient == "row_sparse" else library.dense(1000, size)
            library.run("dot", (library.dense(2, size),), made, node)
            hooks.state.lane, hooks.state.layer = "forward", ""
            prof.step()
    return prof


def test_the_same_run_twice_shows_no_change(library):
    comparison = run(library).diff(run(library, layer="dense7"))
    assert [row["change"] for row in comparison.rows] == ["same kind"] * 2
    assert all(row["calls"] == (1, 1) for row in comparison.rows)
    assert all(row["bytes"][0] == row["bytes"][1] for row in comparison.rows)
    assert comparison.same
    assert comparison.verdict == SAME


def test_a_slower_recording_is_shown_and_not_judged(library, clock):
    """A recording that took forty times as long may be the same program on a machine that was busy."""
    slower = run(library, work=500).diff(run(library, work=20_000))
    dot = next(row for row in slower.rows if row["lane"] == "forward")
    assert dot["verdict"] == SAME
    assert dot["by_calls"] == dot["by_bytes"] == 0
    assert dot["by_speed"] == pytest.approx(dot["time"][1] - dot["time"][0])
    assert slower.same
    assert slower.time[1] > 20_000 > slower.time[0]
    assert NOT_JUDGED in slower.summary()
    assert not {"faster", "slower"} & {word for row in slower.table().cells for word in row[-1].split(", ")}


def test_more_calls_are_told_from_more_bytes(library):
    base = run(library, work=500)
    more = base.diff(run(library, work=500, calls=3))
    dot = next(row for row in more.rows if row["lane"] == "forward")
    assert dot["calls"] == (1, 3)
    assert dot["flops"] == (2, 6)
    assert "more calls" in dot["verdict"]
    assert dot["by_calls"] > 0
    wider = base.diff(run(library, work=500, size=16))
    dot = next(row for row in wider.rows if row["lane"] == "forward")
    assert dot["change"] == "other shapes"
    assert "more bytes" in dot["verdict"]


def test_a_gradient_that_became_row_sparse_is_fewer_bytes(library):
    comparison = run(library, gradient="default").diff(run(library))
    row = next(row for row in comparison.rows if row["lane"] == "backward")
    assert row["change"] == "other storage"
    assert row["storage"] == "default -> default  ⇒  default -> row_sparse"
    assert "fewer bytes" in row["verdict"]
    assert comparison.peak_bytes[1] < comparison.peak_bytes[0]
    assert "bytes at the peak" in comparison.summary()
    bundle = comparison._repr_mimebundle_()
    assert "fewer bytes" in bundle["text/plain"]
    assert "<table" in bundle["text/html"]


def test_what_only_one_run_has_is_gone_or_new(library):
    with Profiler() as one:
        library.run("sin", (), library.dense(2))
    with Profiler() as other:
        library.run("cos", (), library.dense(2))
    assert {row["name"]: row["change"] for row in one.diff(other).rows} == {"sin": "gone", "cos": "new"}
    assert "from none" not in repr(one.diff(other))


def test_causes_add_up_to_the_change():
    rng = np.random.default_rng(0)
    for _ in range(200):
        calls, moved, time = rng.integers(1, 50, 2), rng.integers(0, 3, 2) * rng.random(2) * 1e6, rng.random(2) * 1e4
        assert sum(_causes(calls, moved, time)) == pytest.approx(time[1] - time[0])
    assert _causes((2, 4), (100, 200), (10.0, 20.0)) == pytest.approx((10, 0, 0), abs=1e-9)
    assert _causes((2, 2), (100, 200), (10.0, 20.0)) == pytest.approx((0, 10, 0), abs=1e-9)
    assert _causes((2, 2), (100, 100), (10.0, 20.0)) == pytest.approx((0, 0, 10), abs=1e-9)
    assert _causes((0, 4), (0, 200), (0.0, 20.0)) == (20, 0, 0)


def test_traces_and_lists_of_runs_are_compared_too(library, tmp_path):
    first, second = run(library, work=100), run(library, work=100)
    first.save(tmp_path / "a.npz")
    second.save(tmp_path / "b.npz")
    comparison = profiler.diff(tmp_path / "a.npz", str(tmp_path / "b.npz"))
    assert comparison.unit == "step"
    assert [row["calls"] for row in comparison.rows] == [(1, 1)] * 2
    runs = profiler.diff([first, tmp_path / "a.npz"], [second])
    assert len(runs.rows) == 2
    with pytest.raises(DataFileError):
        profiler.diff(tmp_path / "none.json", first)


@pytest.mark.parametrize(("arguments", "match"), [
    ((3,), r"must be a profile, got int\."), (([],), "no profile to compare"), ((None,), "must be a profile, got NoneType")])
def test_what_is_no_profile_is_refused(library, arguments, match):
    prof = run(library, steps=1, work=1)
    with pytest.raises(ProfilerError, match=match):
        prof.diff(*arguments)


NAMES = ["l2loss0", "dense0_weight", "net0_w", "block1.dense0", "a#:0", "plain", ""]


@pytest.mark.parametrize("name", NAMES)
def test_layers_have_the_names_that_the_user_wrote(library, name):
    def one(layer, again=""):
        with Profiler() as prof:
            for hooks.state.layer in (layer, again) if again else (layer,):
                library.run("dot", (), library.dense(2))
            hooks.state.layer = ""
        return prof

    comparison = one(name).diff(one(name))
    assert [row["layer"] for row in comparison.rows] == [name]
    assert f"{name or '(no layer)'}: dot" in repr(comparison)
    renamed = name.replace("0", "7").replace("2", "5")
    later = one(name).diff(one(renamed)).rows
    assert [(row["layer"], row["change"]) for row in later] == [(renamed, "same kind")]
    gone = one(name, "other3").diff(one(renamed)).rows
    assert {(row["layer"], row["change"]) for row in gone} == {(renamed, "same kind"), ("other3", "gone")}
