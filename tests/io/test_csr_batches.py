"""Nothing that takes csr rows makes them dense on the way to an operator that does not: 4 million columns, in little memory."""

import importlib.util
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

import sparsekit as mx
from sparsekit import gluon
from tests.calls import initialized
from tests.gluon.blocks import Computes

ROWS, COLUMNS, BATCH = 150, 4_000_000, 64
#: A dense batch takes 1 GB, and a model with its gradient, copies and optimizer 16 MB each.
LIMIT = 250 << 20


def rows(columns=COLUMNS):
    random = np.random.default_rng(0)
    places = np.sort(random.integers(0, columns, (ROWS, 5)), axis=1)
    values = random.integers(1, 9, ROWS * 5).astype(np.float32)
    matrix = sparse.csr_matrix((values, places.ravel(), np.arange(0, ROWS * 5 + 1, 5)), shape=(ROWS, columns))
    matrix.sum_duplicates()
    return matrix, random.integers(0, 2, ROWS).astype(np.float32)


@pytest.fixture(scope="module")
def data():
    """The rows; kernels are compiled before, which takes long while memory is traced."""
    small, labels = rows(40)
    if importlib.util.find_spec("sklearn"):
        importlib.import_module("sparsekit.sklearn").SparseClassifier(max_iter=1).fit(small, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        feed_forward(40).predict(mx.nd.sparse.csr_matrix(small))
        estimator(40).fit(loader((mx.nd.sparse.csr_matrix(small), labels)), epochs=1)
    matrix, labels = rows()
    return mx.nd.sparse.csr_matrix(matrix), labels


@pytest.fixture(autouse=True)
def nothing_may_become_dense():
    with mx.config.set(densify="error"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # FeedForward is deprecated
        tracemalloc.start()
        yield
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < LIMIT


def batches(data, **options):
    x, y = data
    return mx.io.NDArrayIter(x, y, BATCH, label_name="out_label", **options)


def symbol(columns=COLUMNS, stype="default"):
    weight = mx.sym.var("w_weight", shape=(columns, 1), stype=stype, init=mx.init.Constant(0.25))
    return mx.sym.LogisticRegressionOutput(mx.sym.dot(mx.sym.var("data", stype="csr"), weight), name="out")


def module(data, stype="default", contexts=None):
    made, batch = mx.mod.Module(symbol(stype=stype), label_names=["out_label"], context=contexts or mx.cpu()), batches(data)
    made.bind(batch.provide_data, batch.provide_label, for_training=False)
    made.init_params()
    return made


def feed_forward(columns=COLUMNS):
    return mx.model.FeedForward(symbol(columns), num_epoch=1, numpy_batch_size=BATCH, learning_rate=0.1,
                                arg_params={"w_weight": mx.nd.array(np.arange(columns) % 7 / 8).reshape((-1, 1))})


def estimator(columns=COLUMNS):
    net = initialized(Computes(lambda F, x, weight: F.dot(x, weight),
                               weight={"shape": (columns, 1), "grad_stype": "row_sparse", "init": "zeros"}))
    return gluon.contrib.estimator.Estimator(net, gluon.loss.SigmoidBinaryCrossEntropyLoss(), train_metrics=mx.metric.Loss(),
                                             trainer=gluon.Trainer(net.collect_params(), "sgd"))


def loader(data, **options):
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*data), batch_size=BATCH, **options)


MODELS = {
    "FeedForward.predict": lambda data: feed_forward().predict(data[0]),
    "FeedForward.predict of an iterator": lambda data: feed_forward().predict(batches(data)),
    "FeedForward.predict with data": lambda data: feed_forward().predict(batches(data), return_data=True),
    "FeedForward.score": lambda data: feed_forward().score(batches(data), "mse"),
    "FeedForward.fit": lambda data: feed_forward().fit(batches(data), eval_data=batches(data), eval_metric="mse"),
    "Module.predict": lambda data: module(data).predict(batches(data)),
    "Module.predict of an array": lambda data: module(data).predict(data[0][:BATCH]),
    "Module.predict, row_sparse": lambda data: module(data, "row_sparse").predict(batches(data)),
    "Module.predict on two contexts": lambda data: module(data, contexts=[mx.cpu(0), mx.cpu(1)]).predict(batches(data)),
    "Module.iter_predict": lambda data: list(module(data).iter_predict(batches(data))),
    "Module.score": lambda data: module(data).score(batches(data), "mse"),
    "Module.fit": lambda data: mx.mod.Module(symbol(), label_names=["out_label"]).fit(
        batches(data, shuffle=True), batches(data), "mse", num_epoch=1),
    "Estimator.fit": lambda data: estimator().fit(loader(data), val_data=loader(data), epochs=1),
    "Estimator.evaluate": lambda data: estimator().evaluate(loader(data)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_take_csr_batches_as_they_are(data, name):
    MODELS[name](data)


def test_parts_for_contexts_are_csr(data):
    contexts = [mx.cpu(0), mx.cpu(1)]
    for source in (data[0], data[0].asscipy()):
        assert [part.stype for part in gluon.utils.split_and_load(source, contexts)] == ["csr", "csr"]
        assert gluon.utils.split_and_load(source, contexts[:1])[0].stype == "csr"


def test_estimators_of_sklearn_predict(data):
    pytest.importorskip("sklearn")
    model = importlib.import_module("sparsekit.sklearn").SparseClassifier(max_iter=1).fit(data[0].asscipy(), data[1])
    for method in ("predict", "predict_proba", "decision_function"):
        getattr(model, method)(data[0].asscipy())
    model.score(data[0].asscipy(), data[1])


def test_predictions_are_those_of_dense_rows():
    matrix, labels = rows(40)
    x, model = mx.nd.sparse.csr_matrix(matrix), feed_forward(40)
    expected = 1 / (1 + np.exp(-matrix.toarray() @ (np.arange(40) % 7 / 8).reshape(-1, 1)))
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-5)
    batch = mx.io.NDArrayIter(x, labels, BATCH, label_name="out_label")
    outputs, given, found = model.predict(batch, return_data=True)
    np.testing.assert_allclose(outputs, expected, rtol=1e-5)
    assert (given.stype, type(found)) == ("csr", np.ndarray)
    np.testing.assert_array_equal(given.asnumpy(), matrix.toarray())
    np.testing.assert_array_equal(found, labels)
    dense = mx.io.NDArrayIter(mx.nd.array(matrix.toarray()), labels, BATCH, label_name="out_label")
    with mx.config.set(densify="allow"):
        net = mx.sym.LogisticRegressionOutput(mx.sym.dot(mx.sym.var("data"), mx.sym.var("w_weight", shape=(40, 1))), name="out")
        outputs, given, _ = mx.model.FeedForward(net, arg_params=model.arg_params).predict(dense, return_data=True)
    assert type(given) is np.ndarray
    np.testing.assert_allclose(outputs, expected, rtol=1e-5)


@pytest.mark.parametrize("form", ["matrix", "array"])
@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_format_of_scipy_is_one_array(kind, form):
    """A dok_matrix is a dict, and no dict of arrays by name."""
    values = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 3], [0, 0, 0]], "float32")
    given = getattr(sparse, f"{kind}_{form}")(values)
    for source in (given, [given], {"data": given}):
        batches = list(mx.io.NDArrayIter(source, np.arange(4), 2))
        assert [batch.data[0].stype for batch in batches] == ["csr", "csr"]
        np.testing.assert_array_equal(np.concatenate([batch.data[0].asnumpy() for batch in batches]), values)
