"""Every row lies on exactly one server, in order, and small keys spread; messages carry arrays and count their bytes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekit.base.errors import RowIndexError
from sparsekit.dist.messages import Answer, Exchange, KeySpec, Pull, Push, Waited, payload_bytes
from sparsekit.dist.partition import ELEMENTS, ROWS, Partition, dealt


@st.composite
def partitions(draw):
    stype = draw(st.sampled_from(["default", "row_sparse"]))
    rows = draw(st.one_of(st.integers(0, 5), st.integers(0, 5000)))
    shape = (rows, *draw(st.sampled_from([(), (1,), (3,), (40, 50), (30_000,)])))
    shards = draw(st.integers(1, 9))
    placement = draw(st.sampled_from(["rows:1", "rows:16", "rows:300", f"whole:{shards - 1}"]))
    key = draw(st.one_of(st.text(max_size=5), st.integers(-5, 500)))
    return Partition(key, KeySpec(shape, "float32", stype, placement), shards)


@settings(max_examples=150, deadline=None)
@given(partitions(), st.integers(0, 2**32 - 1))
def test_every_row_lies_on_one_server_in_order(partition, seed):
    """Also the rows of a push, which are split, and of a value that is taken apart and put together."""
    random = np.random.default_rng(seed)
    parts = [partition.rows_of(shard) for shard in range(partition.shards)]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(partition.rows))
    width = min(partition.shape[1], 3) if len(partition.shape) > 1 else 1
    whole = np.arange(partition.rows * width, dtype=np.float32).reshape(partition.rows, width)
    found = np.full_like(whole, -1)
    for shard, rows in enumerate(parts):
        assert len(rows) == partition.count(shard) == partition.local_shape(shard)[0]
        assert bool((rows[:-1] < rows[1:]).all())
        assert (shard in partition.holders) == (len(rows) > 0) or (partition.rows == 0 and len(partition.holders) == 1)
        if shard in partition.holders:
            part = partition.take(whole, shard)
            assert np.array_equal(part, whole[rows])
            partition.put(found, shard, part)
    assert np.array_equal(found, whole)
    rows = np.flatnonzero(random.random(partition.rows) < random.random())
    seen, shards = np.zeros(len(rows), int), []
    for shard, local, places in partition.split(rows):
        shards.append(shard)
        seen[places] += 1
        assert np.array_equal(parts[shard][local], rows[places])
        assert bool((local[:-1] < local[1:]).all())
    assert tuple(shards) == partition.holders
    assert bool((seen == 1).all())


def test_a_value_without_axes_lies_on_one_server():
    partition = Partition("scale", KeySpec((), "float32"), 3)
    assert len(partition.holders) == 1
    assert partition.local_shape(partition.holders[0]) == ()
    assert partition.take(np.float32(3).reshape(()), partition.holders[0]) == 3


def busiest(ids, rows, shards):
    """Rows of the server with most of them, as a multiple of the mean."""
    partition = Partition("w", dealt(KeySpec((rows, 4), "float32", "row_sparse")), shards)
    loads = [len(part.rows) for part in partition.split(ids)]
    return max(loads) / np.mean(loads)


#: Rows that batches touch: the first rows of a vocabulary most; those of one field of several; every 4,096th.
TOUCHED = {
    "log-uniform": lambda draw: np.expm1(draw.random(200_000) * np.log(2_000_000)).astype(np.int64),
    "zipf": lambda draw: draw.zipf(1.2, 200_000),
    "every eighth": lambda draw: 8 * np.expm1(draw.random(200_000) * np.log(250_000)).astype(np.int64),
    "every 4,096th": lambda draw: 4096 * draw.integers(0, 20_000, 20_000),
}


@pytest.mark.parametrize("kind", TOUCHED)
@pytest.mark.parametrize("shards", [2, 8, 32])
def test_touched_rows_are_balanced(kind, shards):
    """As evenly as chance would spread them: 4 standard deviations of a binomial distribution, and half a block."""
    ids = np.unique(TOUCHED[kind](np.random.default_rng(0)))
    ids = ids[ids < 100_000_000]
    mean = len(ids) / shards
    assert busiest(ids, 100_000_000, shards) < 1 + 4 / mean**0.5 + ROWS / 2 / mean


def test_small_keys_spread_over_servers():
    holders = [Partition(key, dealt(KeySpec((10,), "float32")), 4).holders for key in range(200)]
    assert all(len(one) == 1 for one in holders)
    counts = np.bincount([one[0] for one in holders], minlength=4)
    assert counts.min() > 25


def test_large_dense_values_are_shared_by_servers():
    assert len(Partition(0, dealt(KeySpec((ELEMENTS * 4,), "float32")), 4).holders) == 4
    assert len(Partition(0, dealt(KeySpec((64, 1024), "float32")), 4).holders) == 4
    assert len(Partition(0, dealt(KeySpec((ROWS + 1, 1), "float32", "row_sparse")), 4).holders) == 2


@pytest.mark.parametrize("rows", [[-1], [10], [3, 11]])
def test_rows_outside_are_refused(rows):
    with pytest.raises(RowIndexError, match="from 0 to 9"):
        Partition("w", KeySpec((10, 2), "float32"), 3).split(np.array(rows))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("ids", [0, 1, 1000])
def test_the_bytes_of_a_message_are_those_of_its_rows_and_their_numbers(dtype, ids):
    width, size = 7, np.dtype(dtype).itemsize
    push = Push("w", 1, np.arange(ids, dtype=np.int32), np.zeros((ids, width), dtype))
    request = Exchange(0, 1, (push, push._replace(rows=None)), (Pull("w", 1, np.arange(ids, dtype=np.int64)),), "{}")
    assert payload_bytes(request) == ids * (4 + width * size) + ids * width * size + 8 * ids
    assert payload_bytes(Answer((push.values, push.values))) == 2 * ids * width * size
    assert payload_bytes(Waited("w", 2, (1,))) == 0
    assert len(pickle.dumps(request)) < payload_bytes(request) + 1000


def test_row_numbers_travel_in_four_bytes_where_they_fit():
    for rows, dtype in ((2**31 - 1, np.int32), (2**31, np.int64)):
        (part,) = Partition("w", KeySpec((rows, 1), "float32", "row_sparse", "whole:0"), 1).split(np.array([1, 2]))
        assert part.rows.dtype == dtype
