"""Programs compared in turns: how often a difference is claimed that is not there, and how often one is missed that is."""

from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import profiler
from sparsekit.base.errors import ProfilerError
from sparsekit.figures.kit import Dots
from sparsekit.profiler import turns
from sparsekit.profiler.turns import SAME, Comparison, Turn, _cut, _fewest, ratio_interval

COMPARISONS = 100


class Machine:
    """A simulated machine with a clock of its own: what runs on it takes time there, and none here.

    Each kind has noise of two percent.  ``drift`` becomes three times as slow in a tenth of a second, ``throttled`` runs at
    half its speed now and then, ``shared`` gives every other four milliseconds to a neighbour, and on ``stalls`` one call in
    fifty takes hundreds of times as long.
    """

    KINDS = ("quiet", "drift", "throttled", "shared", "stalls")

    def __init__(self, kind, seed):
        self.kind, self.rng, self.now, self.until, self.slow = kind, np.random.default_rng(seed), 0.0, 0.0, False
        self.noise = iter(())

    def clock(self):
        """Seconds of the simulated clock."""
        return self.now

    def draw(self):
        """The next number of the noise: normal, drawn a thousand at a time."""
        found = next(self.noise, None)
        if found is None:
            self.noise = iter(self.rng.normal(size=1000).tolist())
            found = next(self.noise)
        return found

    def program(self, seconds):
        """A program whose call takes so long while nothing disturbs it."""

        def work():
            took = seconds * (1 + 0.02 * abs(self.draw()))
            if self.kind == "drift":
                took *= 1 + 20 * self.now
            elif self.kind == "throttled":
                if self.now > self.until:
                    self.slow, self.until = not self.slow, self.now + self.rng.exponential(0.02)
                took *= 1 + self.slow
            elif self.kind == "shared" and self.now > self.until:
                took += 0.004
                self.until = self.now + took + 0.004
            elif self.kind == "stalls" and self.rng.random() < 0.02:
                took *= 1 + 100 * self.rng.pareto(1.2)
            self.now += took

        return work


def compared(monkeypatch, kind, seed, factor, **options):
    """The comparison of two programs on a simulated machine, of which the second takes ``factor`` times as long."""
    machine = Machine(kind, seed)
    monkeypatch.setattr(turns, "_clock", machine.clock)
    programs = {"a": machine.program(5e-5), "b": machine.program(5e-5 * factor)}
    return mx.profiler.compare(programs, rounds=24, turn=0.0005, seed=seed, profile=False, **options)


@pytest.mark.parametrize("kind", Machine.KINDS)
def test_a_program_compared_with_itself_is_seldom_called_different(monkeypatch, kind):
    alarms = sum(not compared(monkeypatch, kind, seed, 1.0, least=0).same for seed in range(COMPARISONS))
    assert alarms <= 0.03 * COMPARISONS  # 1 is expected at 99 %; 4 or more happen once in fifty times


@pytest.mark.parametrize("kind", Machine.KINDS)
def test_a_slowdown_of_a_fifth_is_found(monkeypatch, kind):
    found = sum(compared(monkeypatch, kind, seed, 1.2)["b"]["verdict"] == "slower" for seed in range(COMPARISONS))
    assert found >= 0.95 * COMPARISONS


def simulated(rng, factor, rounds=16):
    """A comparison of two programs of which the second takes ``factor`` times as long, on a quiet machine."""
    slow = iter(rng.lognormal(0, 0.02, 4 * rounds))
    blocks = []
    for _ in range(rounds):
        first = int(rng.integers(2))
        order = (first, 1 - first, 1 - first, first)
        blocks.append([Turn(place, 1e-4 * (factor if place else 1) * next(slow)) for place in order])
    return Comparison(["a", "b"], [5, 5], blocks, 0.99, [])


def test_the_interval_is_that_of_signed_ranks():
    # Critical values of the signed-rank statistic (two-sided 1 %), from the exact distribution: a sum of 3 for 10 pairs,
    # of 19 for 16, of 37 for 20; the interval begins one place further in.
    assert [_cut(count, 0.99) for count in (10, 16, 20)] == [4, 20, 38]
    assert [_cut(count, 0.99) for count in (5, 7)] == [0, 0]
    assert [_fewest(level) for level in (0.5, 0.9, 0.95, 0.99)] == [2, 5, 6, 8]
    assert all(_cut(_fewest(level), level) == 1 for level in (0.9, 0.95, 0.99))
    assert abs(_cut(100, 0.99) - _cut(99, 0.99)) < 60  # where the normal distribution takes over
    middle, low, high = ratio_interval([2.0] * 8, 0.99)
    assert (middle, low, high) == pytest.approx((2.0, 2.0, 2.0))
    assert ratio_interval([1.0, 2.0], 0.99)[1:] == (0.0, float("inf"))


def test_what_other_programs_used_meanwhile_is_said(monkeypatch):
    """Their load does not cancel in the ratio of a program that runs in threads and one that does not."""
    for others, told in ((None, False), (0.1, False), (0.7, True)):
        monkeypatch.setattr(turns, "OtherLoad", lambda others=others: SimpleNamespace(cores=lambda: others))
        found = turns.compare({"a": int, "b": int}, 8, turn=1e-6, profile=False)
        assert (found.others, found.disturbed) == (others, told)
        assert ("Other programs used 0.7 cores meanwhile" in found.summary()) == told


def test_differences_below_the_least_one_are_not_claimed():
    """Two copies of one program differ a little, reliably, by the addresses of their arrays."""
    def found(factor, least):
        blocks = [[Turn(place, 1e-4 * (factor if place else 1)) for place in (0, 1, 1, 0)] for _ in range(16)]
        return Comparison(["a", "b"], [5, 5], blocks, 0.99, [], least)["b"]

    assert found(1.02, 0.05)["verdict"] == SAME
    assert found(0.98, 0.05)["verdict"] == SAME
    assert found(1.02, 0.01)["verdict"] == "slower"
    assert found(0.98, 0.01)["verdict"] == "faster"
    assert (found(1.06, 0.05)["verdict"], found(0.94, 0.05)["verdict"]) == ("slower", "faster")


def test_turns_are_balanced_and_mirrored_within_a_round():
    order = []
    programs = {"a": lambda: order.append("a"), "b": lambda: order.append("b"), "c": lambda: order.append("c")}
    found = mx.profiler.compare(programs, rounds=12, turn=1e-9, profile=False)
    for block in found.blocks:
        places = [turn.program for turn in block]
        assert places == places[::-1]
        assert sorted(places) == [0, 0, 1, 1, 2, 2]
    assert len({tuple(turn.program for turn in block) for block in found.blocks}) > 1
    assert order.count("a") == order.count("b") == order.count("c")


def test_programs_that_take_about_as_long_are_called_equally_often(monkeypatch):
    machine = Machine("quiet", 0)
    monkeypatch.setattr(turns, "_clock", machine.clock)
    programs = {"a": machine.program(0.0005), "b": machine.program(0.0008), "c": machine.program(0.006)}
    found = mx.profiler.compare(programs, rounds=9, profile=False)
    calls = [row["calls"] for row in found.rows]
    assert calls[0] == calls[1]
    assert calls[2] == 3
    assert found["c"]["verdict"] == "slower"


def test_a_long_program_is_called_twice_before_its_turns(monkeypatch):
    machine = Machine("quiet", 0)
    monkeypatch.setattr(turns, "_clock", machine.clock)
    counts = {"short": 0, "long": 0}

    def counting(name, seconds):
        work = machine.program(seconds)

        def call():
            counts[name] += 1
            work()
        return call

    mx.profiler.compare({"short": counting("short", 0.01), "long": counting("long", 1.0)}, rounds=8, profile=False)
    assert counts == {"short": 4 + 8 * 2 * 3, "long": 2 + 8 * 2}


def test_counts_come_from_one_profiled_call_of_each():
    data = mx.nd.sparse.csr_matrix(np.eye(50, dtype=np.float32))
    found = mx.profiler.compare({"dense": lambda: mx.nd.log(1 + data), "sparse": lambda: mx.nd.log1p(data)}, rounds=8)
    dense, sparse = found["dense"], found["sparse"]
    assert (dense["operators"], sparse["operators"]) == (2, 1)
    assert sparse["bytes"] < dense["bytes"]
    assert sparse["peak"] < dense["peak"]
    assert [profile.totals[0]["name"] for profile in found.profiles] == ["_plus_scalar", "log1p"]


@pytest.mark.parametrize("factor", [1.0, 1.3, 0.004, 900.0])
def test_headline_picture_and_table_say_the_same(factor):
    found = simulated(np.random.default_rng(1), factor)
    row, shown, headline = found["b"], found.figure(), found.summary()
    for text in (headline, unescape(shown.svg()), repr(shown), repr(found)):
        assert row["finding"] in text
    assert headline == shown.finding
    assert found.table().cells[1][3] in unescape(shown.svg())
    assert [len(dots.x) for dots in shown.of(Dots)] == [len(row["ratios"])]
    assert set(found._repr_mimebundle_()) == {"text/plain", "text/html"}
    expected = {1.0: SAME, 1.3: "× the time", 0.004: "× as fast", 900.0: "× the time"}[factor]
    assert expected in row["finding"]
    assert found.same == (factor == 1.0)


def test_names_are_escaped_and_odd_numbers_drawn():
    blocks = [[Turn(0, 1e-12), Turn(1, 1e9), Turn(1, 1e9), Turn(0, 1e-12)] for _ in range(9)]
    found = Comparison(["<b>", "</svg><script>"], [1, 1], blocks, 0.99, [])
    assert "<script>" not in found._repr_mimebundle_()["text/html"]
    assert "<script>" not in found.figure().svg()


@pytest.mark.parametrize(("arguments", "options", "match"), [
    ((3,), {}, "at least two"), (({"a": print},), {}, "at least two"), (({"a": print, "b": 3},), {}, "'b' must be callable"),
    (({"a": int, "b": int},), {"rounds": 5}, "at least 8"), (({"a": int, "b": int},), {"rounds": 2.5}, "integer"),
    (({"a": int, "b": int},), {"rounds": 10**9}, "at most"), (({"a": int, "b": int},), {"turn": -1}, "seconds"),
    (({"a": int, "b": int},), {"least": -1}, "least"),
    (({"a": int, "b": int},), {"turn": float("nan")}, "seconds"), (({"a": int, "b": int},), {"confidence": 99}, "confidence"),
])
def test_what_cannot_be_compared_is_refused(arguments, options, match):
    with pytest.raises(ProfilerError, match=match):
        profiler.compare(*arguments, **options)


def test_a_running_profiler_and_an_unknown_name_are_refused():
    with mx.Profiler(), pytest.raises(ProfilerError, match="while a profiler records"):
        profiler.compare({"a": int, "b": int})
    found = simulated(np.random.default_rng(1), 1.0)
    with pytest.raises(mx.base.errors.UnknownNameError, match="program named 'c'"):
        found["c"]


def test_an_error_of_a_program_is_the_users():
    with pytest.raises(ZeroDivisionError):
        profiler.compare({"a": int, "b": lambda: 1 / 0})
    assert not profiler.active()
