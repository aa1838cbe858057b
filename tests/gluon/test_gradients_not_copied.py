"""Row-sparse gradients of blocks go to their buffers as they are: none is copied on the way."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon, nd
from sparsekit.demo.variants import FullyConnectedSparse
from sparsekit.storage import RowSparse
from tests.calls import differentiated, initialized


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("hybrid", [False, True])
def test_no_row_sparse_gradient_is_copied(monkeypatch, hybrid, tables):
    copies, copy = [], RowSparse.copy
    monkeypatch.setattr(RowSparse, "copy", lambda store: copies.append(store.shape) or copy(store))
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, 100, (10, 10)) + np.arange(10) * 100).reshape(-1)
    data = nd.sparse.csr_matrix((rng.random(100, np.float32), indices, np.arange(0, 101, 10)), shape=(10, 1000))
    net = initialized(FullyConnectedSparse(1000, 8, "row_sparse"), hybrid=hybrid)
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with mx.config.set(tables=tables):
        for _ in range(6):
            differentiated(lambda: net(data).sum())
            trainer.step(10)
    np.testing.assert_array_equal(net.weight.grad().indices.asnumpy(), np.unique(indices))
    assert copies == []
