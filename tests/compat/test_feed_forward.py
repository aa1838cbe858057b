"""``FeedForward`` takes arrays, pairs and iterators, says that it is old, and keeps its files."""

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import refused

pytestmark = pytest.mark.filterwarnings("ignore:mxnet.model.FeedForward has been deprecated:DeprecationWarning")

STATE = np.random.RandomState(0)
X = STATE.uniform(-1, 1, (60, 5)).astype("float32")
Y = (X.sum(axis=1) > 0).astype("float32")


def network():
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="softmax")


def trained(**more):
    settings = {"num_epoch": 8, "learning_rate": 1.0, "numpy_batch_size": 20, **more}
    return mx.model.FeedForward.create(network(), X, Y.reshape(-1, 1), **settings)


def test_it_says_that_it_is_old():
    with pytest.warns(DeprecationWarning, match=r"Please use mxnet\.mod\.Module instead"):
        mx.model.FeedForward(network())


def test_arrays_in_arrays_out():
    model = trained(eval_data=(X.tolist(), Y.tolist()))
    predictions, data, labels = model.predict(X, return_data=True)
    assert isinstance(predictions, np.ndarray)
    assert ((predictions.argmax(axis=1) == Y).mean()) > 0.9
    np.testing.assert_array_equal(data, X)
    assert labels.shape == (60,)
    assert model.predict(mx.nd.array(X[:7])).shape == (7, 2)
    assert model.score(mx.io.NDArrayIter(X, Y, 20)) > 0.9


@pytest.mark.parametrize(("how", "rows"), [({}, 60), ({"reset": False}, 40), ({"num_batch": 2}, 40)],
                         ids=["from the start", "from here", "two batches"])
def test_an_iterator_that_is_under_way(how, rows):
    model, iterator, metric = trained(), mx.io.NDArrayIter(X, Y, 20), mx.metric.Accuracy()
    next(iterator)
    assert model.predict(iterator, **how).shape == (rows, 2)
    iterator.reset()
    next(iterator)
    model.score(iterator, metric, **how)
    assert metric.num_inst == rows


def test_epochs_of_so_many_batches():
    seen = []
    trained(num_epoch=2, epoch_size=5, batch_end_callback=lambda param: seen.append((param.epoch, param.nbatch)))
    assert seen == [(epoch, batch) for epoch in range(2) for batch in range(5)]


def test_several_contexts_and_csr_data():
    data = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("fc_weight", stype="row_sparse", shape=(5, 2))
    net = mx.sym.SoftmaxOutput(mx.sym.sparse.dot(data, weight), name="softmax")
    model = mx.model.FeedForward(net, ctx=[mx.cpu(0), mx.cpu(1)], num_epoch=8, learning_rate=1.0)
    csr = mx.nd.array(X).tostype("csr")
    model.fit(mx.io.NDArrayIter(csr, Y, 20))
    assert model.arg_params["fc_weight"].stype == "row_sparse"
    assert (model.predict(csr).argmax(axis=1) == Y).mean() > 0.9


def test_files(tmp_path):
    model = trained()
    model.save(str(tmp_path / "m"))
    again = mx.model.FeedForward.load(str(tmp_path / "m"), 8)
    assert again.begin_epoch == 8
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(("call", "error"), [
    (lambda: mx.model.FeedForward(lambda key: network()), mx.UnsupportedError),
    (lambda: mx.model.FeedForward(network(), num_epoch=1).fit(X), mx.ParameterError),
    (lambda: mx.model.FeedForward(network(), num_epoch=1).fit(X, Y[:3]), mx.ShapeError),
    (lambda: mx.model.FeedForward(network(), num_epoch=1).fit("x", Y), mx.DTypeError),
    (lambda: mx.model.FeedForward(network(), num_epoch=1).fit(X, Y, eval_data=3), mx.DTypeError),
    (lambda: mx.model.FeedForward(network()).fit(X, Y), mx.ParameterError),
    (lambda: mx.model.FeedForward(network()).predict(X), mx.ModuleStateError),
    (lambda: mx.model.FeedForward(network()).save("x"), mx.ModuleStateError),
    (lambda: mx.model.FeedForward.load("/nowhere/m", 1), mx.DataFileError),
])
def test_refusals(call, error):
    refused(error, "", call)


def test_values_that_the_network_has_no_use_for():
    values = {"fc_weight": mx.nd.ones((2, 5)), "fc_bias": mx.nd.zeros(2), "other": mx.nd.ones(3)}
    model = mx.model.FeedForward(network(), arg_params=values, aux_params={}, allow_extra_params=True)
    assert sorted(model.arg_params) == ["fc_bias", "fc_weight"]
    assert model.predict(X).shape == (60, 2)
