"""Several layers share one weight: their gradients are added, whatever the storage type of each."""

from typing import Any

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import gluon, nd
from tests.calls import differentiated, initialized, refused

WORDS, SIZE = 5, 3
WEIGHT = np.arange(WORDS * SIZE, dtype="float32").reshape(WORDS, SIZE) / 10
BATCH = np.array([[0, 2], [2, 4]], "float32")


def _embedding(**kwargs: Any) -> Any:
    return gluon.nn.Embedding(WORDS, SIZE, **kwargs)


def _dense(**kwargs: Any) -> Any:
    return gluon.nn.Dense(WORDS, flatten=False, in_units=SIZE, use_bias=False, **kwargs)


class Tied(gluon.HybridBlock):
    """What is looked up once or twice, times the same weight; the layer that is made first owns the weight."""

    def __init__(self, kind: str, sparse_grad: bool) -> None:
        super().__init__()
        with self.name_scope():
            if kind == "dense first":
                self.out = _dense()
                self.look_up = _embedding(sparse_grad=sparse_grad, params=self.out.params)
            else:
                self.look_up = _embedding(sparse_grad=sparse_grad)
                self.out = _dense(params=self.look_up.params)
            if kind == "three":
                self.again = _embedding(sparse_grad=not sparse_grad, params=self.look_up.params)
        self.kind = kind

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        found = self.look_up(x)
        return self.out(found + self.again(x) if self.kind == "three" else found)


def gradient(kind: str, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """The loss, the sum of squares, and its gradient in numpy."""
    factor = 2 if kind == "three" else 1
    rows = BATCH.astype(int).reshape(-1)
    hidden = factor * weight[rows]
    out = hidden @ weight.T
    found = 2 * out.T @ hidden
    np.add.at(found, rows, factor * 2 * out @ weight)
    return float((out ** 2).sum()), found


def made(kind: str, sparse_grad: bool, hybrid: bool = False, ctx: Any = None) -> Any:
    net = initialized(Tied(kind, sparse_grad), ctx=ctx)
    net.look_up.weight.set_data(nd.array(WEIGHT))
    if hybrid:
        net.hybridize()
    return net


def plain_step(net: Any, trainer: Any, x: Any) -> Any:
    loss = differentiated(lambda: (net(x) ** 2).sum())
    trainer.step(1)
    return loss


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("sparse_grad", [False, True])
@pytest.mark.parametrize("kind", ["embedding first", "dense first", "three"])
def test_gradients_of_all_users_are_added(kind: str, sparse_grad: bool, hybrid: bool) -> None:
    net = made(kind, sparse_grad, hybrid)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    weight = WEIGHT
    for _ in range(3):
        loss = plain_step(net, trainer, nd.array(BATCH))
        value, expected = gradient(kind, weight)
        found = net.out.weight.grad()
        assert found.stype == ("row_sparse" if sparse_grad and kind != "dense first" else "default")  # as who made it asks
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-4)
        np.testing.assert_allclose(loss.asscalar(), value, rtol=1e-4)
        weight = weight - 0.01 * expected
    np.testing.assert_allclose(net.look_up.weight.data().asnumpy(), weight, rtol=1e-4)


def test_an_exported_net_has_the_weight_once(tmp_path: Any) -> None:
    net = made("three", True, hybrid=True)
    expected = net(nd.array(BATCH)).asnumpy()
    files = net.export(str(tmp_path / "tied"))
    again = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    assert len(again.collect_params()) == 1
    np.testing.assert_allclose(again(nd.array(BATCH)).asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("stored", [range(WORDS), [0, 2, 4]])
def test_a_sparse_embedding_shares_its_row_sparse_weight(stored: Any) -> None:
    """MXNet's ``Dense`` refuses such a weight."""
    look_up = gluon.contrib.nn.SparseEmbedding(WORDS, SIZE)
    out = _dense(params=look_up.params)
    look_up.initialize()
    weight = np.where(np.isin(np.arange(WORDS), list(stored))[:, None], WEIGHT, 0)
    look_up.weight.set_data(nd.array(weight))
    trainer = gluon.Trainer(look_up.collect_params(), "sgd", {"learning_rate": 0.01})
    plain_step(lambda x: out(look_up(x)), trainer, nd.array(BATCH))
    np.testing.assert_allclose(look_up.weight.data().asnumpy(), weight - 0.01 * gradient("", weight)[1], rtol=1e-4)


def test_a_transposed_weight_is_not_shared() -> None:
    """Of a square weight the shapes would agree."""
    dense = gluon.nn.Dense(4, in_units=4, weight_grad_stype="row_sparse")
    for share in (lambda: gluon.nn.Embedding(4, 4, sparse_grad=True, params=dense.params),
                  lambda: gluon.nn.Dense(4, in_units=4, params=dense.params)):
        refused(mx.MXNetError, "transposed", share)
