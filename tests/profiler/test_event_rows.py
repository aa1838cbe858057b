"""Events that are read while more of them come are those that are read once, at the end."""

import numpy as np
import pytest

from sparsekit.profiler.columns import NONE, Ragged
from sparsekit.profiler.event_rows import EventRows

KINDS, THREADS = 5, 2


def forest(draw, now, depth=0):
    """Intervals that nest, in the order of their ends: kind, start, end."""
    found, start = [], now
    now += int(draw.integers(1, 4))
    for _ in range(int(draw.integers(0, 4)) if depth < 4 else 0):
        inner, now = forest(draw, now, depth + 1)
        found += inner
    now += int(draw.integers(1, 4))
    return [*found, (int(draw.integers(KINDS)), start, now)], now


def recorded(seed, reads, folds):
    """Columns, and sums of what was folded, of random events; reading and folding happen where these say."""
    draw, rows, now, sums = np.random.default_rng(seed), EventRows(), 0, np.zeros((KINDS, 2), int)
    threads = np.arange(KINDS) % THREADS
    while rows.total < 300:
        found, now = forest(draw, now)
        for kind, start, end in found:
            number = rows.total
            if draw.random() < 0.2:
                rows.more["moved"][number] = int(draw.integers(1, 100))
            if draw.random() < 0.2:
                rows.more["conversion"][number] = int(draw.integers(number + 1))
            makers = draw.integers(NONE, number, int(draw.integers(3))) if number else []
            rows.made_by.extend(int(maker) for maker in makers)
            rows.append(kind, start, end - start, end - start, end - start, number, len(makers))
            if number in reads:
                rows.columns(threads)
            if number in folds:
                folded, moved = rows.fold(len(rows) // 2, threads)
                sums += np.stack([folded.calls, moved], 1)
    return rows.columns(threads), sums


def plain(columns):
    return {name: values.lists() if isinstance(values, Ragged) else values.tolist() for name, values in columns.items()}


@pytest.mark.parametrize("seed", range(6))
def test_reading_in_between_changes_nothing(seed):
    places = set(np.random.default_rng(seed).integers(0, 300, 7).tolist())
    once, _ = recorded(seed, (), ())
    often, _ = recorded(seed, places, ())
    assert plain(often) == plain(once)
    start, depth = once["start"], once["depth"]
    assert (np.diff(start) >= 0).all()
    assert depth.max() > 1
    for own, makers in zip(once["node"], once["made_by"].lists(), strict=True):  # nodes are numbers here
        assert all(once["node"][maker] < own for maker in makers if maker != NONE)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_folded_is_in_the_sums_and_the_rest_is_as_it_was(seed):
    folds = set(np.random.default_rng(seed).integers(50, 250, 2).tolist())
    whole, _ = recorded(seed, (), ())
    rest, sums = recorded(seed, {20, 150}, folds)
    kept = np.isin(whole["node"], rest["node"])
    gone = np.bincount(whole["kind"][~kept], minlength=KINDS)
    assert sums[:, 0].tolist() == gone.tolist()
    assert sums[:, 1].sum() == whole["moved"][~kept].sum()
    assert whole["node"][kept].tolist() == rest["node"].tolist()
    numbers = [[int(whole["node"][maker]) if maker != NONE and kept[maker] else NONE for maker in makers]
               for makers in np.array(whole["made_by"].lists(), object)[kept]]
    assert [[NONE if maker == NONE else int(rest["node"][maker]) for maker in makers]
            for makers in rest["made_by"].lists()] == numbers


def test_columns_that_were_read_cannot_be_changed():
    columns, _ = recorded(0, (), ())
    with pytest.raises(ValueError, match="read-only"):
        columns["start"][0] = 1
