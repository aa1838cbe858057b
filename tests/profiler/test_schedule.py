import pytest

from sparsekit import profiler
from sparsekit.base.errors import ProfilerError
from sparsekit.core import hooks
from sparsekit.profiler import Profiler, schedule
from sparsekit.profiler.schedules import Schedule


@pytest.mark.parametrize(("plan", "phases"), [
    ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, "wait warmup active active done done"),
    ({"wait": 0, "warmup": 0, "active": 1}, "active active active"),
    ({"wait": 1, "warmup": 0, "active": 1, "repeat": 2}, "wait active wait active done"),
    ({"wait": 1, "warmup": 1, "active": 1, "skip_first": 2}, "wait wait wait warmup active wait warmup"),
])
def test_phases_follow_torch(plan, phases):
    made = schedule(**plan)
    assert [made.phase(step)[0] for step in range(len(phases.split()))] == phases.split()


@pytest.mark.parametrize("wrong", [{"active": 0}, {"wait": -1}, {"warmup": 1.5}, {"repeat": True}])
def test_numbers_that_cannot_be_are_errors(wrong):
    with pytest.raises(ProfilerError, match=f"{next(iter(wrong))}="):
        schedule(**{"wait": 0, "warmup": 0, "active": 1, **wrong})


def loop(library, prof, steps):
    """Step number n adds arrays of n + 1 numbers."""
    for number in range(steps):
        library.run("add", (), library.dense(number + 1))
        prof.step()


def seen(prof):
    return [record["outputs"][0]["shape"][0] - 1 for record in prof.records if record["name"] == "add"]


@pytest.mark.parametrize(("plan", "rounds"), [
    ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, [[2, 3]]),
    ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, [[2, 3], [6, 7]]),
    ({"wait": 0, "warmup": 1, "active": 2}, [[1, 2], [4, 5], [7, 8]]),
    ({"wait": 0, "warmup": 0, "active": 3}, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]),
])
def test_only_active_steps_are_kept_and_each_round_is_handed_over(library, plan, rounds):
    found = []
    with Profiler(schedule=schedule(**plan), on_ready=lambda profile: found.append(seen(profile))) as prof:
        loop(library, prof, 10)
    assert found == rounds
    assert hooks.sink is None
    assert seen(prof) in (rounds[-1], [])


def test_spans_and_marks_of_steps_that_wait_are_not_noted(library):
    with Profiler(schedule=schedule(wait=2, warmup=0, active=1, repeat=1)) as prof:
        for step in range(6):
            with prof.span(f"part {step}"):
                prof.marker("mark", step)
                prof.counter("count", step)
            prof.step()
    assert [record["name"] for record in prof.records] == ["step", "part 2"]
    assert [mark["value"] for mark in prof.marks] == [2, 2]


def test_without_a_schedule_every_step_is_noted_and_on_ready_comes_at_the_end(library):
    found = []
    prof = Profiler(on_ready=found.append).start()
    loop(library, prof, 3)
    assert found == []
    prof.stop()
    assert [seen(profile) for profile in found] == [[0, 1, 2]]


def test_pausing_between_rounds_leaves_them_alone(library):
    with Profiler(schedule=schedule(wait=1, warmup=0, active=1, repeat=1)) as prof:
        prof.pause()
        library.run("add", (), library.dense(99))
        prof.step()
        prof.resume()
        loop(library, prof, 3)
    assert seen(prof) == [1]


def test_a_schedule_that_is_none_and_a_callback_that_is_none_are_refused():
    with pytest.raises(ProfilerError, match=r"schedule must be made by profiler\.schedule, got tuple"):
        Profiler(schedule=(1, 1, 1))
    with pytest.raises(ProfilerError, match="on_ready must be a function of a profile, got int"):
        Profiler(on_ready=3)
    assert isinstance(profiler.schedule(wait=0, warmup=0, active=1), Schedule)
