"""Whatever happens to a run, it ends as an undisturbed one does; ``histories.py`` says what happens."""

import collections

import pytest

from .histories import history
from .mutants import CHANGES, planted

#: Seeds whose histories find a fault, the first ones that do.
FINDS = {}
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


@pytest.mark.parametrize("name", CHANGES)
def test_histories_find_a_planted_fault(name):
    seed = FINDS[name]  # without the fault, the test above runs it
    assert seed < USUAL
    with planted(name), pytest.raises(Exception):  # noqa: B017 - a fault may show as any error
        history(seed)
