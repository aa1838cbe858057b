"""A schedule is a function of the number of updates: what it was called with before does not matter."""

import copy
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx

GOLDEN = {case["schedule"]: case["rates"] for case in json.loads(
    (Path(__file__).parents[1] / "golden" / "updates.json").read_text(encoding="utf-8"))["schedules"]}
#: Beside those recorded from MXNet; the first decays more often than rates are multiplied one by one.
MORE = ["FactorScheduler(step=1, factor=0.9999, base_lr=1.0)", "FactorScheduler(step=4, factor=1, base_lr=0.3)",
        "FactorScheduler(step=2, factor=0.0, base_lr=0.3)", "MultiFactorScheduler(step=[3, 5], factor=0.0, base_lr=0.3)",
        "FactorScheduler(step=2, factor=0.5, base_lr=0.3, warmup_steps=5, warmup_mode='constant')",
        "PolyScheduler(max_update=9, base_lr=0.4, pwr=0.5, final_lr=0.2, warmup_steps=4, warmup_mode='constant')",
        "CosineScheduler(max_update=9, base_lr=0.4, warmup_steps=8)"]
SCHEDULES = [*GOLDEN, *MORE]


def made(text):
    return eval("mx.lr_scheduler." + text, {"mx": mx})


def numbers(text):
    return [*range(40), 9_999, 10_000, 10_001, 10_002, 20_001, 25_000] if "0.9999" in text else [*range(40)]


def stepped(text):
    schedule = made(text)
    found = [schedule(number) for number in range(numbers(text)[-1] + 1)]
    return {number: found[number] for number in numbers(text)}


@pytest.mark.parametrize("text", GOLDEN)
def test_the_rates_are_those_of_mxnet_and_last(text):
    found = stepped(text)
    assert [found[number] for number in range(16)] == pytest.approx(GOLDEN[text], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("text", SCHEDULES)
def test_any_order_of_calls_gives_the_rates_of_ascending_ones(text):
    wanted, order = stepped(text), np.random.default_rng(0).permutation(numbers(text) * 2).tolist()
    schedule = made(text)
    assert [schedule(number) for number in order] == [wanted[number] for number in order]
    assert [made(text)(number) for number in wanted] == list(wanted.values())
    assert [schedule(number) for number in reversed(wanted)] == list(wanted.values())[::-1]


@pytest.mark.parametrize("text", SCHEDULES)
def test_copies_go_on(text):
    wanted, schedule = stepped(text), made(text)
    for number in numbers(text):
        for twin in (copy.deepcopy(schedule), pickle.loads(pickle.dumps(schedule)), made(text)):
            assert [twin(later) for later in (number, number, 0, number)] == [
                wanted[number], wanted[number], wanted[0], wanted[number]]
        schedule(number)


@pytest.mark.parametrize("text", [text for text in SCHEDULES if "Poly" in text or "Cosine" in text])
def test_the_final_rate_is_there_after_the_last_update(text):
    schedule = made(text)
    assert made(text)(10**9) == made(text)(schedule.max_update) == pytest.approx(schedule.final_lr)


def test_numbers_of_updates_may_be_as_large_as_they_are():
    assert made("FactorScheduler(step=1, factor=0.5, base_lr=1.0)")(10**18) == 1e-8
    assert made("FactorScheduler(step=1, factor=1, base_lr=0.25)")(10**18) == 0.25


@pytest.mark.parametrize("text", ["FactorScheduler(step=3, factor=0.5, base_lr=1.0)",
                                  "MultiFactorScheduler(step=[3, 6, 9], factor=0.5, base_lr=1.0)"])
def test_a_rate_that_is_set_holds_from_there_on(text):
    """As in MXNet, where ``base_lr`` is the rate of the last call."""
    schedule = made(text)
    assert [schedule(number) for number in (0, 3, 4, 6)] == [1.0, 1.0, 0.5, 0.5]
    schedule.base_lr = 8.0
    assert [schedule(number) for number in (6, 7, 10, 6, 2)] == [8.0, 4.0, 2.0, 8.0, 8.0]


def test_a_rate_of_the_optimizer_replaces_the_first_one():
    schedule = made("FactorScheduler(step=2, factor=0.5, base_lr=1.0)")
    with pytest.warns(UserWarning, match="replaces base_lr"):
        mx.optimizer.SGD(learning_rate=0.4, lr_scheduler=schedule)
    assert [schedule(number) for number in (9, 1, 3)] == [0.025, 0.4, 0.2]


@pytest.mark.parametrize("text", [text for text in SCHEDULES if "0.9999" not in text])
def test_an_optimizer_that_starts_late_has_the_rate_of_its_updates(text):
    wanted = stepped(text)
    for begin in (0, 3, 11, 30):
        optimizer = mx.optimizer.SGD(lr_scheduler=made(text), begin_num_update=begin)
        held = mx.nd.zeros((1,), dtype="float64")
        mx.optimizer.get_updater(optimizer)(0, mx.nd.ones((1,), dtype="float64"), held)
        assert held.asscalar() == -wanted[begin + 1]
        assert optimizer.learning_rate == wanted[begin + 1]


def test_ftrl_takes_the_rate_of_its_schedule_as_in_mxnet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = mx.optimizer.Ftrl(lr_scheduler=mx.lr_scheduler.FactorScheduler(step=5))
    assert optimizer.learning_rate == 0.01
    assert mx.optimizer.Ftrl().learning_rate == 0.1
    with pytest.warns(UserWarning, match="replaces"):
        assert mx.optimizer.Ftrl(learning_rate=0.5, lr_scheduler=mx.lr_scheduler.FactorScheduler(step=5)).learning_rate == 0.5
