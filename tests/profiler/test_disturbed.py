"""Signals that come while a profile is digested, and threads that read it meanwhile."""

import signal
import threading
import time

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.signal_safe import undisturbed


class Alarm(Exception):
    """Raised by the handler of a signal, as KeyboardInterrupt is."""


@pytest.fixture
def alarm():
    """``alarm(seconds)`` raises ``Alarm`` in the main thread then."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no such timer")

    def raises(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, raises)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def calls(prof, name):
    return sum(row["calls"] for row in prof.totals if row["name"] == name)


@pytest.mark.parametrize("milliseconds", [1, 6, 15, 40])
def test_a_signal_while_a_profile_is_first_asked_loses_nothing(alarm, milliseconds):
    x = mx.nd.ones((4, 4))
    with mx.Profiler() as prof:
        for _ in range(4000):
            x + 1
    try:
        alarm(milliseconds / 1000)  # on a busy machine it may come at once
        prof.table()
        time.sleep(0.05)  # where it came after all was done
    except Alarm:
        pass
    assert calls(prof, "_plus_scalar") == 4000
    assert len(prof.records) == 4000
    assert prof.memory["samples"][-1][1] == 64  # of x
    assert prof.memory["peak_bytes"] == 128


def test_signals_during_a_run_that_is_digested_meanwhile_lose_nothing(alarm):
    x = mx.nd.ones((4, 4))
    done = stopped = 0
    with mx.Profiler() as prof:
        prof._run.recorder.waiting = 300
        for attempt in range(40):
            try:
                alarm(0.0005 + attempt * 0.0003)
                while True:
                    x + 1
                    done += 1
                    if done % 200 == 0:
                        prof.summary()
            except Alarm:
                stopped += 1
    assert stopped == 40
    # An operator that was stopped after it ran is noted, but not counted here.
    assert done <= calls(prof, "_plus_scalar") <= done + 40
    assert prof.events == sum(row["calls"] for row in prof.totals)


def test_threads_may_read_a_profile_while_others_work():
    x, stop, raised = mx.nd.ones((4, 4)), threading.Event(), []
    rounds = [0, 0]

    def work(which):
        try:
            while not stop.is_set() and rounds[which] < 5_000:
                x + 1
                rounds[which] += 1
        except Exception as error:
            raised.append(error)

    def read():
        try:
            while not stop.is_set():
                prof.table()
                prof.what_if(index_dtype="int32")
                assert np.isfinite(prof.accounted)
        except Exception as error:
            raised.append(error)

    with mx.Profiler() as prof:
        prof._run.recorder.waiting = 500
        threads = [*(threading.Thread(target=work, args=(which,)) for which in (0, 1)), threading.Thread(target=read)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            prof.summary()
        stop.set()
        for thread in threads:
            thread.join()
    assert raised == []
    assert calls(prof, "_plus_scalar") == sum(rounds)


def test_what_is_undisturbed_gives_what_it_gives_and_raises_what_it_raises():
    assert undisturbed(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)
    found = []
    thread = threading.Thread(target=lambda: found.append(undisturbed(threading.get_ident)))
    thread.start()
    thread.join()
    assert found == [thread.ident]


def test_a_thread_that_python_gives_up_for_lack_of_memory_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("_thread.start_new_thread", lambda _, __: 1)
    with pytest.raises(MemoryError):
        undisturbed(lambda: 3)


def test_a_signal_is_raised_when_the_work_is_done(alarm):
    done = []

    def work():
        time.sleep(0.05)
        done.append(True)

    alarm(0.01)
    with pytest.raises(Alarm):
        undisturbed(work)
    assert done == [True]


def test_without_threads_the_work_is_done_all_the_same(monkeypatch):
    def none_left(*_):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr("_thread.start_new_thread", none_left)
    assert undisturbed(lambda: 4) == 4
