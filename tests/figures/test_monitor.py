"""The training monitor: sees each step, stays small, costs little, shows even what is odd."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError, UnsupportedError
from sparsekit.figures import monitor
from sparsekit.figures.marks import Line
from sparsekit.figures.monitor import MOST_POINTS
from sparsekit.figures.training import SERIES, training_figure

from .gallery import drawn


def test_a_real_loop():
    net = mx.gluon.nn.Dense(1, in_units=500, weight_grad_stype="row_sparse")
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    batch = mx.nd.sparse.csr_matrix((np.ones(3), [1, 7, 7], [0, 2, 3]), shape=(2, 500), dtype="float32")
    with monitor(trainer) as seen:
        for one in [batch] * 5:
            with mx.autograd.record():
                loss = (net(one) - 1) ** 2
            loss.backward()
            trainer.step(2)
            seen.step(loss)
    data = seen.data
    assert "step" not in vars(trainer)
    assert data["steps"] == [1, 2, 3, 4, 5]
    assert data["rows"] == [2] * 5
    # The bias's dense gradient has one value, the weight's two of 500.
    assert data["density"] == [pytest.approx(3 / 501)] * 5
    assert data["loss"][-1] < data["loss"][0]
    assert data["bytes"] == [2 * 4 + 2 * 8 + 4] * 5
    assert "a step touched 2 of 500 rows" in seen.figure().finding
    assert repr(seen) == f"<TrainingMonitor: {seen.figure().finding}>"
    assert sorted(seen._repr_mimebundle_()) == ["text/html", "text/plain"]


def test_points_are_bounded_and_their_means_exact():
    with monitor() as seen:
        for i in range(5000):
            seen.step(float(i), rows=2)
    data = seen.data
    assert len(data["steps"]) < 2 * MOST_POINTS
    assert data["total"] == data["steps"][-1] == 5000
    weights = np.diff([0, *data["steps"]])
    assert np.dot(weights, data["loss"]) / 5000 == pytest.approx(np.mean(np.arange(5000)))


def test_a_step_costs_little(calls_of):
    """Some forty calls of functions a step, however many there were before."""
    with monitor() as seen:
        for _ in range(5):
            assert calls_of(lambda: [seen.step(1.0) for _ in range(2000)]) < 80 * 2000


def test_the_live_view_is_updated_seldom(clock):
    class Widget:
        def __init__(self, seconds):
            self.shown, self.seconds = 0, seconds

        def show(self, figure):
            self.shown += 1
            clock.sleep(self.seconds)

    for took, most in ((0.002, 9), (0.01, 3)):  # a view that takes long is updated in a twentieth of the time
        seen = monitor(every=0.05)
        seen._widget = Widget(took)
        with seen:
            for _ in range(400):
                clock.sleep(0.001)
                seen.step(1.0)
        assert most - 1 <= seen._widget.shown <= most + 1


def test_a_front_end_that_is_gone_ends_no_training():
    class Widget:
        def show(self, figure):
            raise OSError

    seen = monitor(every=0.05)
    seen._widget = Widget()
    with seen:
        seen.step(1.0)
    assert seen.data["total"] == 1


def test_a_loss_that_is_not_finite_is_told():
    with monitor() as seen:
        for loss in (1.0, math.nan, math.inf, "x", mx.nd.array([1, 3])):
            seen.step(loss)
    assert seen.data["strange"] == [2, 3, 4]
    assert seen.data["loss"] == [1.0, None, None, None, 2.0]
    assert "not finite at 3 steps, first at 2" in seen.figure().finding


ODD = [None, {}, {"steps": []}, {"steps": [1], "loss": ["x"], "took": [3]},
       {"steps": [1, 2], "loss": [math.nan], "rows": [math.inf, None]},
       {"steps": [1], "<script>": ["x"], "took": math.inf, "first": "<script>", "strange": [1]},
       {"steps": ["x", 5], "loss": [1e300, -1e300], "density": [0, 0]}]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_data_are_drawn(odd):
    drawn(training_figure(odd, title="<script>"))


def test_it_is_shown_live_in_a_notebook(monkeypatch):
    pytest.importorskip("anywidget")
    display = pytest.importorskip("IPython.display")
    shown, updates = [], []

    class Handle:
        def update(self, widget):
            updates.append(widget)

    monkeypatch.setattr(display, "display", lambda widget, display_id: shown.append(widget) or Handle())
    drawn = []
    with monitor(live=True, every=0.05) as seen:
        for i in range(3):
            seen.step(1 / (i + 1))
            drawn.append(shown[0].svg)
    assert shown == updates
    assert drawn[0] != shown[0].svg
    assert shown[0].figure.finding.startswith("3 steps: the loss went from 1 to 0.3333")
    assert "3 steps" in shown[0]._repr_mimebundle_()[0]["text/html"]


@pytest.mark.parametrize("count", [2, 30, 400])
def test_a_first_step_that_is_far_off_does_not_flatten_the_rest(count):
    loss = [1e6] + [200.0 + i % 7 for i in range(count - 1)]
    figure = training_figure({"steps": list(range(count)), "loss": loss})
    assert figure.panels[0].y[0] < (2e6 if count == 2 else 400)
    assert "cut off: up to 1e+06" in figure.panels[0].title
    assert training_figure({"steps": [1], "loss": [5.0]}).panels[0].y[0] == pytest.approx(5.5)


def test_each_panel_draws_what_was_recorded_and_the_table_says_it():
    seen = {"total": 3, "steps": [1, 2, 3], "loss": [2.0, None, 1.0], "rows": [10, 20, 30], "density": [0.1, 0.2, 0.3],
            "bytes": [100, 200, 300], "strange": [2], "all_rows": 50}  # fmt: skip
    figure = training_figure(seen)
    lines = [line for line in figure.of(Line) if line.key]
    assert [line.key for line in lines] == [one.name for one in SERIES]
    assert [np.nan_to_num(line.y, nan=-1).tolist() for line in lines] == [
        [2.0, -1, 1.0], [10, 20, 30], pytest.approx([0.1, 0.2, 0.3]), [100, 200, 300]]
    assert [line.title for line in figure.of(Line) if not line.key] == ["step 2: the loss is not finite"]
    assert [row[1:3] for row in figure.table.rows] == [("2", "1"), ("10", "30"), ("10 %", "30 %"), ("100 B", "300 B")]
    assert "a step touched 20 of 50 rows, and 20 % of the gradients was stored, 200 B" in figure.finding
    alone = training_figure({"steps": [1, 2], "loss": [1, 2]})
    assert alone.notes == ("Not recorded: rows touched, density of the gradients, bytes of the gradients.",)


def test_the_first_step_is_told_apart(clock):
    with monitor() as seen:
        for seconds in (0.5, 0.01, 0.01):
            clock.sleep(seconds)
            seen.step(1.0)
    assert seen.data["took"] == pytest.approx(10_000, rel=0.01)
    assert "10.0 ms a step; the first step, which compiles, took 500 ms" in seen.figure().finding


def spiking(profile=None, steps=6, slow=4):
    """A loop whose fourth step does more than the others."""
    x = mx.nd.ones((50, 50))
    with monitor(profile=profile) as seen:
        for number in range(1, steps + 1):
            for _ in range(40 if number == slow else 1):
                x * 2
            seen.step(1.0)
    return seen


def test_a_spike_opens_its_timeline():
    with mx.Profiler() as prof:
        with prof.span("before"):
            mx.nd.ones((2, 2)) + 1
        prof.step()
        seen = spiking(prof)
    words = r"The slowest step after the first is step (\d), [\d.]+ [mµ]s: m.timeline\(\) opens it"
    said = re.search(words, seen.figure().finding)
    assert seen.timeline().title == f"Step {said[1]}"
    counts = [{row[1]: row[3] for row in seen.timeline(step).table.rows}["_mul_scalar"] for step in (3, 4, 5)]
    assert counts == ["1", "40", "1"]
    assert seen.timeline(4).title == "Step 4"


@pytest.mark.parametrize("wrong", [0, 7, -1, 1.5, "4", True])
def test_a_step_that_is_not_there_has_no_timeline(wrong):
    with mx.Profiler() as prof:
        seen = spiking(prof)
    with pytest.raises(ParameterError, match="a step from 1 to 6"):
        seen.timeline(wrong)


def test_without_a_profile_the_error_says_how_there_is_one():
    with pytest.raises(UnsupportedError, match="no profile") as found:
        spiking().timeline()
    assert "profile=prof" in str(found.value)
    assert "timeline" not in spiking().figure().finding
