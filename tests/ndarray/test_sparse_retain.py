"""``retain`` picks rows by number: sorted or not, repeated, beyond the array, of arrays that store all rows or few."""

import numpy as np
import pytest

import sparsekit as mx


@pytest.mark.parametrize("stored", [[0, 1, 2, 3, 4, 5], [1, 4], [5], []], ids=str)
@pytest.mark.parametrize("wanted", [[1, 4], [4, 1, 4], [0, 0, 5, 5], [-1, 2, 9], [3], []], ids=str)
def test_retain_gives_the_rows_that_are_wanted_and_stored(stored, wanted):
    data = np.arange(1.0, 2 * len(stored) + 1, dtype=np.float32).reshape(-1, 2)
    array = mx.nd.sparse.row_sparse_array((data, np.array(stored, np.int64)), shape=(6, 2))
    made = mx.nd.sparse.retain(array, mx.nd.array(wanted, dtype="int64"))
    expected = [row for row in stored if row in wanted]
    assert made.indices.asnumpy().tolist() == expected
    np.testing.assert_array_equal(made.data.asnumpy(), data[[stored.index(row) for row in expected]].reshape(-1, 2))
