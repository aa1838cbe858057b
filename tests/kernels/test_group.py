"""Groups and ranks of large arrays, which are remembered from one call to the next, and distinct values in a table."""

import threading

import numpy as np
import pytest

from sparsekit.kernels.cpu import group, table_twins

pytestmark = pytest.mark.compiled

SIZE = group.REMEMBERED.start


def check_groups(indices):
    columns, starts, places = group.group_columns(indices)
    np.testing.assert_array_equal(columns, np.unique(indices))
    np.testing.assert_array_equal(places, np.argsort(indices, kind="stable"))
    np.testing.assert_array_equal(starts, [*np.searchsorted(indices[places], columns), len(indices)])
    return columns


def check_ranks(rows, ascending, limit):
    ranks = group.row_ranks(rows, ascending, limit)
    places = np.searchsorted(ascending, rows)
    expected = np.where(ascending[np.minimum(places, len(ascending) - 1)] == rows, places, -1)
    np.testing.assert_array_equal(ranks, expected)


def test_values_that_change_in_place_are_seen():
    random = np.random.default_rng(0)
    indices, ascending = random.integers(0, 3000, SIZE), np.arange(0, 3000, 2)
    for step in range(6):
        for _ in range(2):  # the second call is remembered
            check_groups(indices)
            check_ranks(indices, ascending, 3001)
        if step % 2:
            indices[random.integers(SIZE)] += 1
        else:
            ascending[-1] += 2 * step + 1
            check_ranks(indices, ascending[:-1], 3001)


def test_a_result_that_is_written_to_is_not_given_again():
    indices = np.arange(SIZE)[::-1].copy()
    check_groups(indices)[:] = -1
    check_groups(indices)[:] = -1
    check_groups(indices)


@pytest.mark.parametrize("between", [5, SIZE, 3 * SIZE, group.REMEMBERED.stop + 5])
def test_other_groups_in_between(between):
    """The groups lie in working memory that each call uses again."""
    random = np.random.default_rng(1)
    indices = random.integers(0, 100, SIZE)
    check_groups(indices)
    check_groups(random.integers(0, 50, between))
    check_groups(indices)


def test_what_an_interrupted_call_left_is_not_given(monkeypatch):
    random = np.random.default_rng(2)
    indices, others = random.integers(0, 100, SIZE), random.integers(0, 100, SIZE)
    check_groups(indices)
    real = group._groups

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(group, "_groups", interrupted)
        with pytest.raises(KeyboardInterrupt):
            group.group_columns(others)
    check_groups(indices)
    check_groups(others)


def test_threads_remember_their_own():
    random = np.random.default_rng(3)
    indices, others = random.integers(0, 100, SIZE), random.integers(0, 100, SIZE)
    columns, starts, places = group.group_columns(indices)
    held = columns.copy(), starts.copy(), places.copy()
    thread = threading.Thread(target=check_groups, args=(others,))
    thread.start()
    thread.join()
    for one, other in zip((columns, starts, places), held, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("make", [
    lambda random: random.integers(0, 50, 200), lambda random: np.sort(random.integers(0, 50, 200)),
    lambda random: np.arange(7), lambda random: np.array([3]), lambda random: np.array([4, 4, 4]),
    lambda random: np.array([2**31 - 1, 0])])
def test_distinct_values_in_a_table(make, dtype):
    indices = make(np.random.default_rng(4)).astype(dtype)
    out, room = np.empty_like(indices), np.empty(2 * len(indices), np.uint64)
    count = table_twins.distinct_here(indices, room, out)
    np.testing.assert_array_equal(out[:count], np.unique(indices))
