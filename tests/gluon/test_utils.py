"""Splitting and clipping; downloads are in ``datasets/test_downloads.py``."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.gluon import utils
from tests.calls import refused

TWO = [mx.cpu(0), mx.cpu(1)]


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_a_batch_is_cut_without_changing_its_kind(stype):
    values = np.arange(35, dtype=np.float32).reshape(7, 5) % 3
    data = mx.nd.array(values).tostype(stype)
    parts = utils.split_data(data, 3, even_split=False)
    assert [part.shape for part in parts] == [(3, 5), (2, 5), (2, 5)]
    np.testing.assert_array_equal(np.concatenate([part.asnumpy() for part in parts]), values)
    if stype != "row_sparse":
        assert {part.stype for part in parts} == {stype}
        columns = utils.split_data(data, 5, batch_axis=1)
        np.testing.assert_array_equal(columns[3].asnumpy(), values[:, 3:4])
        assert columns[3].stype == stype


def test_cuts_that_cannot_be():
    refused(mx.ShapeError, "evenly split into 2", utils.split_data, mx.nd.ones((3, 2)), 2)
    for parts in (4, 0):
        refused(mx.ShapeError, f"in {parts} parts", utils.split_data, mx.nd.ones((3, 2)), parts, even_split=False)


def test_parts_go_to_their_contexts():
    for data in (np.ones((4, 2)), [[1, 2]] * 4, mx.nd.ones((4, 2)).tostype("csr")):
        parts = utils.split_and_load(data, TWO)
        assert [part.context for part in parts] == TWO
        assert [part.shape for part in parts] == [(2, 2)] * 2
    alone, = utils.split_and_load(data, [mx.cpu(1)])
    assert (alone.context, alone.stype) == (mx.cpu(1), "csr")


def test_clipping_scales_every_kind_in_place():
    dense, sparse = mx.nd.array([3.0, 0]), mx.nd.sparse.row_sparse_array((np.full((1, 2), 4.0, np.float32), [2]), shape=(5, 2))
    csr = mx.nd.array([[0, 2.0], [0, 0]]).tostype("csr").as_in_context(mx.cpu(1))
    stores = [array._store for array in (dense, sparse, csr)]
    norm = utils.clip_global_norm([dense, sparse, csr], 1.0)
    assert norm == pytest.approx(np.sqrt(9 + 32 + 4))
    assert isinstance(norm, float)
    assert all(array._store is store for array, store in zip((dense, sparse, csr), stores, strict=True))
    np.testing.assert_allclose(dense.asnumpy(), [3 / norm, 0], rtol=1e-6)
    np.testing.assert_allclose(sparse.data.asnumpy(), [[4 / norm] * 2], rtol=1e-6)
    assert sparse.indices.asnumpy().tolist() == [2]
    assert utils.clip_global_norm([dense, sparse, csr], 1.0) == pytest.approx(1)
    again = utils.clip_global_norm([dense], 100.0, check_isfinite=False)
    assert (again.shape, float(again.asscalar())) == ((1,), pytest.approx(3 / norm))
    np.testing.assert_allclose(dense.asnumpy(), [3 / norm, 0], rtol=1e-6)


def test_clipping_says_what_is_wrong():
    for wrong in (np.nan, np.inf):
        with pytest.warns(UserWarning, match="nan or inf is detected"):
            utils.clip_global_norm([mx.nd.array([wrong])], 1.0)
    with pytest.raises(mx.SparsekitError, match=r"max_norm must be a number of at least 0, got -1\.0"):
        utils.clip_global_norm([mx.nd.ones(2)], -1.0)
    refused(mx.SparsekitError, "no arrays", utils.clip_global_norm, [], 1.0)


def test_shapes_that_are_known():
    assert utils.shape_is_known((2, 3))
    assert not any(map(utils.shape_is_known, [None, (), (2, 0), (-1,)]))
