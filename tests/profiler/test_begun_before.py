"""Profiles that begin and end while a compiled step runs, as another thread may have them."""

from __future__ import annotations

import threading

import pytest

import sparsekit as mx
from sparsekit.core import hooks, program


def step_with_dropout():
    """A compiled step, one operator of which Python runs."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, in_units=3), mx.gluon.nn.Dropout(0.5), mx.gluon.nn.Dense(1, in_units=4))
    net.initialize()
    step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), mx.gluon.Trainer(net.collect_params(), "sgd"))
    for _ in range(4):
        step(mx.nd.ones((2, 3)), mx.nd.ones((2, 1)))
    assert [row["op"] for row in step.explain() if row["reason"]]
    return step


@pytest.mark.compiled
def test_a_profile_leaves_out_a_step_whose_beginning_it_was_not_told(monkeypatch):
    step, real, switched = step_with_dropout(), program.execute, []
    first, second = mx.Profiler(), mx.Profiler()

    def switch(*arguments):
        if not switched:
            switched.append(True)
            first.stop()
            second.start()
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(program, "execute", switch)
        first.start()
        step(mx.nd.ones((2, 3)), mx.nd.ones((2, 1)))
    assert switched
    step(mx.nd.ones((2, 3)), mx.nd.ones((2, 1)))
    second.stop()
    updates = [record for record in second.records if record["name"] == "sgd_update"]
    assert len(updates) == 4  # of the second step
    assert first.totals


def traced(inside):
    """Run a function while another thread traces."""
    tracing, go_on = threading.Event(), threading.Event()

    class Slow(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            if hooks.state.tracing:
                tracing.set()
                assert go_on.wait(60)
            return x + 1

    net = Slow()
    net.hybridize()
    thread = threading.Thread(target=lambda: [net(mx.nd.ones((2, 2))) for _ in range(4)])
    thread.start()
    assert tracing.wait(60)
    try:
        inside()
    finally:
        go_on.set()
        thread.join()


def test_a_profile_that_ends_while_another_thread_traces_does_not_come_back():
    first = mx.Profiler().start()
    traced(first.stop)
    assert hooks.sink is None
    with mx.Profiler() as second:
        mx.nd.ones((2,)) + 1
    assert second.events == 2


def test_a_profile_that_goes_on_comes_back_after_the_trace_and_is_the_only_one():
    def refused():
        with pytest.raises(mx.base.MXNetError, match="Another profiler"):
            mx.Profiler().start()

    with mx.Profiler() as first:
        traced(refused)
        assert hooks.sink is not None
        mx.nd.ones((2,)) + 1
    assert first.events >= 2
