"""Whatever happens to a run, it ends as an undisturbed one does; ``histories.py`` says what happens."""

import collections

import pytest

from sparsekit.base.errors import MismatchError

from .histories import Plan, history, made, same, small_blocks

#: Seeds that are run, by default and with ``--all``, in pieces.
USUAL, ALL, PIECE = 150, 1000, 50


def run(seeds):
    counts = collections.Counter()
    for seed in seeds:
        try:
            counts += history(seed)
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
