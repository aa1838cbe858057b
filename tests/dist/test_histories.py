"""Whatever happens to a run, it ends as an undisturbed one does; ``histories.py`` says what happens."""

import collections

import pytest

from sparsekit.base.errors import MismatchError

from .histories import Plan, history, made, same, small_blocks
from .mutants import CHANGES, planted

#: Seeds whose histories find a fault, the first ones that do.
FINDS = {
    "messages_taken_again": 1, "calls_of_other_epochs_answered": 3, "steps_pass_a_snapshot": 9, "sum_in_the_order_of_arrival": 1,
    "no_bound_of_staleness": 15, "rows_not_put_aside": 3, "rows_put_aside_again": 2, "state_not_in_snapshot": 1,
    "servers_random_numbers_not_in_snapshot": 0, "optimizers_not_counted": 0, "optimizers_of_servers_not_merged": 3,
    "a_manifest_before_all_parts": 0, "workers_state_of_a_step_before": 23, "workers_state_not_taken": 0,
    "pushes_numbered_from_the_beginning": 0, "trainers_state_not_taken": 67, "one_step_too_few_is_skipped": 28,
    "a_server_that_has_begun_keeps_what_it_has": 13,
}
#: Faults that other tests plant.
ELSEWHERE = {"keys_stay_on_other_servers", "without_checksums"}
#: Seeds that are run, by default and with ``--all``, in pieces.
USUAL, ALL, PIECE = 150, 1000, 50


#: What undisturbed runs end with, for all histories of the library as it is.
ENDS = {}


def run(seeds):
    counts = collections.Counter()
    for seed in seeds:
        try:
            counts += history(seed, ENDS)
        except Exception as error:
            raise AssertionError(f"history {seed}: {type(error).__name__}: {error}") from error
    return counts


@pytest.mark.parametrize("first", range(0, USUAL, PIECE))
def test_histories_end_as_an_undisturbed_run_does(first):
    counts = run(range(first, first + PIECE))
    assert len(counts) == 17  # each kind of event was met
    assert min(counts.values()) > 0


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(USUAL, ALL, PIECE))
def test_more_histories_end_as_an_undisturbed_run_does(first):
    run(range(first, first + PIECE))


def moved(name, servers, folder, workers=2):
    """A run that ends after 7 steps goes on with other servers; whether it ends as one process does."""
    plan = Plan(3, "store", 2, 10, (name, {}), (10, 10))
    with small_blocks():
        parts = (plan._replace(leaves=(7, 7)), plan._replace(workers=workers, leaves=(10,) * workers))
        for plan_now, count in zip(parts, servers, strict=True):
            world = made(plan_now, None, 3, folder)
            world.setup = world.setup._replace(every=3, seconds=None, servers=count)
            found = world.run()
        assert world.counts["went back to a snapshot"] == 1
        return same(found, plan.one_process())


@pytest.mark.parametrize("servers", [(2, 3), (3, 2), (3, 1)])
@pytest.mark.parametrize("name", ["adam", "lamb", "lars", "nadam"])
def test_another_number_of_servers_goes_on_exactly(name, servers, tmp_path):
    assert moved(name, servers, tmp_path)


def test_another_number_of_workers_is_refused(tmp_path):
    with pytest.raises(MismatchError, match="The snapshot is of 2 workers, and the run has 3"):
        moved("adam", (2, 2), tmp_path, workers=3)


def test_keys_that_stay_on_other_servers_are_found(tmp_path):
    with planted("keys_stay_on_other_servers"), pytest.raises(Exception):  # noqa: B017 - as below
        assert moved("lamb", (3, 2), tmp_path)


@pytest.mark.parametrize("name", sorted(FINDS))
def test_histories_find_a_planted_fault(name):
    assert FINDS.keys() | ELSEWHERE == CHANGES.keys()
    seed = FINDS[name]  # without the fault, the test above runs it
    assert seed < USUAL
    with planted(name), pytest.raises(Exception):  # noqa: B017 - a fault may show as any error
        history(seed)
