"""Rows that ``row_sparse_data`` pulled before ``record()`` are linked to their parameter, as MXNet's are."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon, nd
from sparsekit.dist.transport import LocalCluster
from tests.calls import differentiated, initialized, refused

ROWS = [0, 3, 1]
X = np.array([[1, 0, 0, 2, 0, 0], [0, 3, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]], np.float32)
START = np.arange(12, dtype=np.float32).reshape(6, 2) / 8


def ids(*rows):
    return nd.array(rows, dtype="int64")


def parameter(values=START, grad_stype="row_sparse", grad_req="write", name="w"):
    made = initialized(gluon.Parameter(name, shape=values.shape, stype="row_sparse", grad_stype=grad_stype, grad_req=grad_req))
    made.set_data(nd.array(values))
    return made


def csr(values=X):
    return nd.array(values).tostype("csr")


def gradient_of(weight, x=X):
    """The gradient of ``sum((x @ weight) ** 2)``."""
    return 2 * x.T @ (x @ weight)


def squares(rows, x=None):
    return (nd.dot(csr() if x is None else x, rows) ** 2).sum()


# gradients


@pytest.mark.parametrize("grad_stype", ["row_sparse", "default"])
@pytest.mark.parametrize("pull", ["row_sparse_data", "list_row_sparse_data"])
@pytest.mark.parametrize("inside", [False, True])
def test_the_gradient_reaches_the_parameter(inside, pull, grad_stype):
    weight = parameter(grad_stype=grad_stype)

    def pulled():
        rows = getattr(weight, pull)(ids(*ROWS))
        return rows[0] if isinstance(rows, list) else rows

    rows = pulled()
    with autograd.record():
        rows = pulled() if inside else rows
        loss = squares(rows)
    loss.backward()
    assert weight.grad().stype == grad_stype
    np.testing.assert_allclose(weight.grad().asnumpy(), gradient_of(START), rtol=1e-6)


@pytest.mark.parametrize("on_kvstore", [None, True, False])
def test_one_pull_serves_several_steps_with_the_values_it_had(on_kvstore):
    """As in MXNet, whose kvstore changes its own copy of the weight; ``examples/test_same_as_mxnet.py`` trains beside it."""
    weight = parameter()
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.01}, kvstore="local", update_on_kvstore=on_kvstore)
    rows = weight.row_sparse_data(ids(*ROWS))
    for _ in range(3):
        differentiated(squares, rows)
        np.testing.assert_allclose(weight.grad().asnumpy(), gradient_of(START), rtol=1e-6)
        trainer.step(1)
    np.testing.assert_array_equal(rows.data.asnumpy(), START[sorted(ROWS)])
    np.testing.assert_allclose(weight.data().asnumpy(), START - 0.03 * gradient_of(START), rtol=1e-5)
    fresh = weight.row_sparse_data(ids(*ROWS))
    np.testing.assert_array_equal(fresh.data.asnumpy(), weight.data().asnumpy()[sorted(ROWS)])


def two_pulls(weight):
    first, second = weight.row_sparse_data(ids(0, 1)), weight.row_sparse_data(ids(3))
    with autograd.record():
        return (first * first).sum() + (second * 5).sum() + (first * second).sum()


def rows_written_to_after_the_pull(weight):
    wanted = ids(*ROWS)
    rows = weight.row_sparse_data(wanted)
    wanted[:] = 5
    with autograd.record():
        return squares(rows)


def embeddings(weight):
    words = nd.array([0, 3, 3])
    rows = weight.row_sparse_data(words)
    with autograd.record():
        return (nd.Embedding(words, rows, input_dim=6, output_dim=2, sparse_grad=True) ** 2).sum()


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize(("function", "factors"), [
    (two_pulls, {0: 2 * START[0], 1: 2 * START[1], 3: [5, 5]}), (embeddings, {0: 2 * START[0], 3: 4 * START[3]}),
    (rows_written_to_after_the_pull, dict(enumerate(gradient_of(START))))])
def test_gradients_of_pulled_rows(function, factors, grad_req):
    weight = parameter(grad_req=grad_req)
    for _ in range(2):
        function(weight).backward()
    expected = np.zeros_like(START)
    for row, value in factors.items():
        expected[row] = value
    np.testing.assert_allclose(weight.grad().asnumpy(), expected * (2 if grad_req == "add" else 1), rtol=1e-6)


def test_without_a_gradient_nothing_is_recorded():
    rows = parameter(grad_req="null").row_sparse_data(ids(*ROWS))
    with autograd.record():
        loss = squares(rows)
    refused(mx.GradientError, "not computed while recording", loss.backward)


def test_copies_and_detached_rows_are_cut_off():
    weight = parameter()
    for cut in ("copy", "detach"):
        rows = getattr(weight.row_sparse_data(ids(*ROWS)), cut)()
        with autograd.record():
            loss = squares(rows)
        refused(mx.GradientError, "not computed while recording", loss.backward)


def test_grad_of_the_rows_and_of_the_parameter():
    weight = parameter()
    rows = weight.row_sparse_data(ids(*ROWS))
    with autograd.record():
        loss = squares(rows)
    of_rows, of_weight = autograd.grad(loss, [rows, weight.data()])
    np.testing.assert_allclose(of_rows.asnumpy(), gradient_of(START), rtol=1e-6)
    np.testing.assert_allclose(of_weight.asnumpy(), gradient_of(START), rtol=1e-6)


def test_a_second_derivative():
    weight = parameter()
    rows = weight.row_sparse_data(ids(*ROWS))
    with autograd.record():
        loss = (nd.dot(csr(), rows) ** 3).sum()
        first = autograd.grad(loss, [weight.data()], create_graph=True)[0]
        loss = (first ** 2).sum()
    loss.backward()
    out = X @ START
    first = 3 * X.T @ out ** 2
    np.testing.assert_allclose(weight.grad().asnumpy(), X.T @ (12 * out * (X @ first)), rtol=1e-5)


class Squares(gluon.HybridBlock):
    def hybrid_forward(self, F, x, rows):
        return F.square(F.dot(x, rows))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("hybridize", [False, True])
def test_blocks_take_pulled_rows(hybridize, inside):
    weight, net = parameter(), Squares()
    net.hybridize(hybridize)
    trainer = gluon.Trainer([weight], "adagrad", {"learning_rate": 0.1})
    values, history = START.astype(np.float64), np.zeros(START.shape)
    for step in range(4):
        wanted = ids(*ROWS, *[5] * (step % 2))
        rows = weight.row_sparse_data(wanted)
        with autograd.record():
            rows = weight.row_sparse_data(wanted) if inside else rows
            loss = net(csr(), rows)
        loss.backward()
        trainer.step(2)
        gradient = gradient_of(values) / 2
        history += gradient ** 2
        values -= 0.1 * gradient / np.sqrt(history + 1e-7)
    np.testing.assert_allclose(weight.data().asnumpy(), values, rtol=1e-5)


class HybridPulls(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=START.shape, stype="row_sparse", grad_stype="row_sparse")

    def hybrid_forward(self, F, x, weight):
        return F.square(F.dot(x, self.weight.row_sparse_data(ids(*ROWS))))


def test_a_hybridized_block_that_pulls_rows_runs_in_python():
    block = initialized(HybridPulls())
    block.weight.set_data(nd.array(START))
    block.hybridize()
    with pytest.warns(mx.HybridizeWarning, match="row_sparse_data was called while"), autograd.record():
        loss = block(csr())
    loss.backward()
    np.testing.assert_allclose(block.weight.grad().asnumpy(), gradient_of(START), rtol=1e-6)


def test_contexts_have_gradients_of_their_own():
    weight = gluon.Parameter("w", shape=START.shape, stype="row_sparse", grad_stype="row_sparse")
    contexts = [mx.cpu(0), mx.cpu(1)]
    weight.initialize(ctx=contexts)
    weight.set_data(nd.array(START))
    pulled = weight.list_row_sparse_data(ids(*ROWS))
    with autograd.record():
        losses = [squares(rows, csr().as_in_context(rows.context)) * factor for rows, factor in zip(pulled, (1, 3), strict=True)]
    autograd.backward(losses)
    for gradient, factor in zip(weight.list_grad(), (1, 3), strict=True):
        np.testing.assert_allclose(gradient.asnumpy(), factor * gradient_of(START), rtol=1e-6)


@pytest.mark.parametrize("change", [lambda weight: setattr(weight, "grad_req", "add"), lambda weight: weight.cast("float64"),
                                    lambda weight: weight.reset_ctx(mx.cpu(0))], ids=["grad_req", "cast", "reset_ctx"])
def test_a_step_says_that_rows_belong_to_an_array_the_parameter_had(change):
    """MXNet's ``cast`` and ``reset_ctx`` make new arrays too; the old ones train nothing, and the step must not hide it."""
    weight = parameter()
    trainer = gluon.Trainer([weight], "sgd")
    rows = weight.row_sparse_data(ids(*ROWS))
    change(weight)
    differentiated(squares, rows)
    refused(mx.StaleGradientError, "", trainer.step, 1)


def test_rows_pulled_from_servers_train():
    def worker():
        weight = parameter()
        trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.01}, kvstore="dist_sync")
        for _ in range(3):
            rows = weight.row_sparse_data(ids(*ROWS))
            differentiated(squares, rows)
            trainer.step(1)
        return weight.data().asnumpy()

    values = START.astype(np.float64)
    for _ in range(3):
        values -= 0.02 * gradient_of(values)  # of two workers
    for found in LocalCluster(2, 2).run(worker):
        np.testing.assert_allclose(found, values, rtol=1e-5)


# handles of dense parameters


HANDLES = {"data": lambda one: one.data(), "list_data": lambda one: one.list_data()[0], "[:]": lambda one: one.data()[:],
           "as_in_context": lambda one: one.data().as_in_context(mx.cpu()),
           "astype": lambda one: one.data().astype("float32", copy=False)}
CHANGES = {"none": lambda one: None, "set_data": lambda one: one.set_data(nd.array(START + 1)),
           "load": lambda one: one._load_init(nd.array(START + 1), None), "grad_req": lambda one: setattr(one, "grad_req", "add")}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("handle", HANDLES)
def test_handles_taken_before_record_stay_linked(handle, change):
    """Each line was run with MXNet 1.9.1, which returns the parameter's own array."""
    weight = initialized(gluon.Parameter("w", shape=START.shape))
    weight.set_data(nd.array(START))
    values = HANDLES[handle](weight)
    CHANGES[change](weight)
    gradient = weight.grad()
    differentiated(lambda: squares(values, nd.array(X)))
    expected = gradient_of(weight.data().asnumpy())
    np.testing.assert_allclose(weight.grad().asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-6)
