"""``lazy_update="exact"``: the dense update to rounding, at the cost of the rows touched."""

import contextlib
import copy
import pickle

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.base.errors import SparsekitError, UnsupportedError
from sparsekit.kernels import why_numpy
from sparsekit.optimizer import missed
from sparsekit.optimizer.states import described
from tests.calls import alike, initialized, refused, stack
from tests.gluon.blocks import Computes

ROWS, WIDTH = 40, 3


def dense_sgd(w, grads, rates, wd, momentum=0.0):
    m = np.zeros_like(w)
    for g, rate in zip(grads, rates, strict=True):
        m = momentum * m - rate * (g + wd * w)
        w = w + m
    return w, (m,) if momentum else ()


def dense_adamw(w, grads, rates, wd, beta1=0.9, beta2=0.999, epsilon=1e-6):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, (g, rate) in enumerate(zip(grads, rates, strict=True), 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        corrected = rate * np.sqrt(1 - beta2**t) / (1 - beta1**t)
        w = w - corrected * m / (np.sqrt(v) + epsilon) - rate * wd * w
    return w, (m, v)


KINDS = {
    "decay": ("sgd", {"wd": 0.05}, dense_sgd),
    "momentum": ("sgd", {"wd": 0.05, "momentum": 0.9}, dense_sgd),
    "adamw": ("adamw", {"wd": 0.05}, dense_adamw),
    "adamw 0.99": ("adamw", {"wd": 0.05, "beta2": 0.99, "epsilon": 1e-3}, dense_adamw),
    "adamw step by step": ("adamw", {"wd": 0.05, "beta2": 0.9}, dense_adamw),
}


def gradients(steps, seed=0, scale=1.0, most=4, dtype=np.float64):
    """Gradients of a few rows each, as (rows, values)."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(steps):
        rows = np.sort(random.choice(ROWS // 2, random.integers(1, most), replace=False)) * 2  # odd rows never have any
        made.append((rows, (random.standard_normal((len(rows), WIDTH)) * scale).astype(dtype)))
    return made


def dense(gradient):
    made = np.zeros((ROWS, WIDTH))
    made[gradient[0]] = gradient[1]
    return made


def train(name, arguments, grads, rates, dtype="float64", stype="default", read=()):
    """Weight, states and the arrays themselves after steps with these gradients; ``read`` numbers steps behind which to read."""
    start = np.random.default_rng(1).standard_normal((ROWS, WIDTH))
    weight = mx.nd.array(start, dtype=dtype).tostype(stype)
    optimizer = mx.optimizer.create(name, lazy_update="exact", **arguments)
    updater = mx.optimizer.get_updater(optimizer)
    for number, ((rows, values), rate) in enumerate(zip(grads, rates, strict=True)):
        optimizer.set_learning_rate(rate)
        grad = mx.nd.sparse.row_sparse_array((values, rows), shape=(ROWS, WIDTH), dtype=dtype)
        updater(0, grad, weight)
        if number in read:
            weight.asnumpy()
    return start, weight, updater


def rates_of(steps):
    return 0.1 / (1 + 0.03 * np.arange(steps)) * (1 + 0.3 * np.cos(np.arange(steps)))


@pytest.mark.parametrize(("scale", "stype"), [(1.0, "default"), (1e-5, "default"), (1.0, "row_sparse")])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_dense_update(kind, scale, stype):
    name, arguments, reference = KINDS[kind]
    steps = 300  # more than two blocks of maps
    grads, rates = gradients(steps, scale=scale), rates_of(steps)
    start, weight, updater = train(name, arguments, grads, rates, stype=stype, read=(5, 140, 141))
    expected, states = reference(start, [dense(one) for one in grads], rates, **arguments)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-9, atol=1e-12)
    found = updater.states[0]
    alike(found if isinstance(found, tuple) else [found] if found is not None else [], states, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("kind", ["momentum", "adamw"])
def test_rows_that_waited_for_hundreds_of_steps(kind):
    name, arguments, reference = KINDS[kind]
    grads = [gradients(1, seed=2)[0], *[(np.array([0]), np.full((1, WIDTH), 0.5))] * 700, gradients(1, seed=2)[0]]
    rates = rates_of(len(grads))
    start, weight, _ = train(name, arguments, grads, rates)
    expected, _ = reference(start, [dense(one) for one in grads], rates, **arguments)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["decay", "momentum", "adamw", "adamw step by step"])
def test_the_history_is_bounded(kind, monkeypatch):
    monkeypatch.setattr(missed, "LONGEST", 32)
    monkeypatch.setattr(missed, "BLOCK", 8)
    name, arguments, reference = KINDS[kind]
    grads, rates = gradients(150), rates_of(150)
    start, weight, _ = train(name, arguments, grads, rates)
    assert weight._layout.missed._history.count <= 32
    expected, _ = reference(start, [dense(one) for one in grads], rates, **arguments)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["decay", "momentum", "adamw"])
def test_float32_and_float16_with_a_copy(kind):
    name, arguments, reference = KINDS[kind]
    grads, rates = gradients(100), rates_of(100)
    start, weight, _ = train(name, arguments, grads, rates, dtype="float32")
    expected, _ = reference(start, [dense(one) for one in grads], rates, **arguments)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    halves = [(rows, values.astype(np.float16).astype(float)) for rows, values in grads]
    start, weight, _ = train(name, {**arguments, "multi_precision": True}, halves, rates, dtype="float16")
    expected, _ = reference(start.astype(np.float16).astype(float), [dense(one) for one in halves], rates, **arguments)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=2e-3, atol=1e-3)


def test_only_rows_that_are_touched_are_brought_up_to_date():
    _, weight, _ = train("sgd", {"wd": 0.1, "momentum": 0.9}, gradients(50), rates_of(50))
    held = weight._layout.missed
    touched = sum(len(rows) for rows, _ in gradients(50))
    assert held.caught_up <= touched < 50 * ROWS / 10
    before = held.caught_up
    batch = mx.nd.sparse.csr_matrix((np.ones(2), [3, 5], [0, 2]), shape=(1, ROWS), dtype="float64")
    mx.nd.dot(batch, weight)
    assert held.caught_up == before + 2
    mx.nd.Embedding(mx.nd.array([7, 7, 3]), weight, input_dim=ROWS, output_dim=WIDTH)
    mx.nd.take(weight, mx.nd.array([9]))
    assert held.caught_up == before + 4
    weight.asnumpy()
    assert held._history.count == 0
    assert not held.last.any()


def test_a_profile_shows_the_rows():
    _, weight, _ = train("sgd", {"wd": 0.1}, gradients(10), rates_of(10))
    with mx.Profiler() as profile:
        mx.nd.take(weight, mx.nd.array([1, 3]))
    found = [record for record in profile.records if record["name"] == "_scale_catch_up"]
    assert [record["lane"] for record in found] == ["update"]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("profiled", [False, True])
@pytest.mark.parametrize("kind", ["momentum", "adamw"])
def test_training_is_that_of_the_dense_optimizer(kind, hybrid, profiled):
    name, arguments, _ = KINDS[kind]

    def run(lazy):
        mx.random.seed(3)
        random = np.random.default_rng(4)
        net = initialized(stack(gluon.nn.Embedding(ROWS, WIDTH, sparse_grad=True), gluon.nn.Dense(1)))
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), name, {**arguments, "learning_rate": 0.05, "lazy_update": lazy})
        step = gluon.TrainStep(net, gluon.loss.L2Loss(), trainer)
        batches = [(mx.nd.array(random.integers(0, ROWS, (4, 2))), mx.nd.array(random.standard_normal((4, 1))))
                   for _ in range(25)]
        with mx.Profiler() if profiled else contextlib.nullcontext():
            losses = [step(*batch).asnumpy() for batch in batches]
        return net, step, losses

    net, step, losses = run("exact")
    weight = net[0].weight.data()
    assert weight._layout.missed.caught_up <= 25 * 8  # the words of the batches
    other, _, expected = run(False)
    np.testing.assert_allclose(losses, expected, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(weight.asnumpy(), other[0].weight.data().asnumpy(), rtol=2e-5, atol=1e-6)
    assert why_numpy() or any("exact" in row["reason"] for row in step.explain())


def test_a_dense_gradient_and_a_change_of_settings():
    grads, rates = gradients(30), np.full(30, 0.1)
    start, weight, updater = train("sgd", {"wd": 0.05, "momentum": 0.9}, grads, rates)
    everywhere = np.random.default_rng(5).standard_normal((ROWS, WIDTH))
    updater(0, mx.nd.array(everywhere, dtype="float64"), weight)
    expected, _ = dense_sgd(start, [*map(dense, grads), everywhere], np.full(31, 0.1), 0.05, 0.9)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-9, atol=1e-12)
    assert type(weight) is mx.nd.NDArray
    assert "NDArray" in repr(weight)
    assert (copy.copy(weight).asnumpy() == weight.asnumpy()).all()


def test_what_an_array_lacks_and_what_fails_in_it_is_said_as_python_says_it(monkeypatch):
    _, weight, _ = train("sgd", {"wd": 0.05, "momentum": 0.9}, gradients(3), np.full(3, 0.1))
    for array in (weight, mx.nd.ones((2,))):
        with pytest.raises(AttributeError, match="'NDArray' object has no attribute 'form'") as error:
            _ = array.form
        assert (error.value.name, error.value.obj) == ("form", array)  # of which Python makes "Did you mean …?"
        with monkeypatch.context() as patch:
            patch.setattr(mx.nd.NDArray, "T", property(lambda array: array.shape.lost))
            with pytest.raises(AttributeError, match="'tuple' object has no attribute 'lost'"):
                _ = array.T


@pytest.mark.parametrize("name", ["adam", "nag", "adagrad", "ftrl", "rmsprop", "lars", "lamb", "lbsgd", "signum", "groupadagrad"])
def test_others_are_refused(name):
    try:
        optimizer = mx.optimizer.create(name, lazy_update="exact")
    except mx.base.MXNetError:
        return  # it has no such argument
    with pytest.raises(UnsupportedError, match="lazy_update='exact'"):
        mx.optimizer.get_updater(optimizer)(0, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))
    weight = mx.nd.ones((2, 2))
    with pytest.raises(UnsupportedError, match="lazy_update='exact'"):
        optimizer.update(0, weight, mx.nd.ones((2, 2)).tostype("row_sparse"), optimizer.create_state(0, weight))


def test_a_misspelt_value_is_refused():
    with pytest.raises(SparsekitError, match="'exakt'"):
        mx.optimizer.get_updater(mx.optimizer.SGD(lazy_update="exakt"))(0, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))


def test_servers_refuse_it():
    refused(UnsupportedError, "Servers", lambda: described(mx.optimizer.SGD(lazy_update="exact")))


@pytest.mark.parametrize("write", [
    lambda weight: weight.__setitem__(slice(None), 2.0),
    lambda weight: weight.__setitem__(7, 2.0),
    lambda weight: mx.nd.ones(weight.shape, dtype="float64").copyto(weight),
    lambda weight: mx.nd.elemwise_add(weight, weight, out=weight),
    lambda weight: weight.__imul__(0.5),
], ids=["all", "a row", "copyto", "out", "in place"])
@pytest.mark.parametrize("kind", ["momentum", "adamw"])
def test_what_is_written_in_between(kind, write):
    name, arguments, _ = KINDS[kind]
    found = {}
    for lazy in ("exact", False):
        weight = mx.nd.array(np.random.default_rng(1).standard_normal((ROWS, WIDTH)), dtype="float64")
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, lazy_update=lazy, learning_rate=0.1, **arguments))
        for number, (rows, values) in enumerate(gradients(40)):
            if number == 20:
                write(weight)
            updater(0, mx.nd.sparse.row_sparse_array((values, rows), shape=(ROWS, WIDTH), dtype="float64"), weight)
        found[lazy] = weight.asnumpy()
    np.testing.assert_allclose(found["exact"], found[False], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.IndexWarning")
@pytest.mark.parametrize("read", [
    lambda weight: weight.asnumpy(),
    lambda weight: weight[7:9].asnumpy(),
    lambda weight: np.asarray(weight.asscipy().toarray()) if weight.stype != "default" else np.asarray(weight),
    lambda weight: weight.detach().asnumpy(),
    lambda weight: copy.deepcopy(weight).asnumpy(),
    lambda weight: pickle.loads(pickle.dumps(weight)).asnumpy(),
    lambda weight: (weight * 2).asnumpy(),
    lambda weight: mx.nd.dot(mx.nd.ones((2, ROWS), dtype="float64"), weight).asnumpy(),
    lambda weight: mx.nd.dot(mx.nd.ones((2, ROWS), dtype="float64").tostype("csr"), weight).asnumpy(),
    lambda weight: mx.nd.take(weight, mx.nd.array([ROWS + 5, -1, 3]), mode="wrap").asnumpy(),
    lambda weight: mx.nd.take(weight, mx.nd.array([ROWS + 5, -1, 3])).asnumpy(),
    lambda weight: mx.nd.take(weight, mx.nd.array([1, 0]), axis=1).asnumpy(),
    lambda weight: mx.nd.Embedding(mx.nd.array([3, 4]), weight, input_dim=ROWS, output_dim=WIDTH).asnumpy(),
    lambda weight: mx.nd.sparse.retain(weight.tostype("row_sparse"), mx.nd.array([3, 5])).asnumpy(),
    lambda weight: np.array(repr(weight)),
])
def test_readers_get_what_the_dense_update_gives(read):
    """Whatever reads a weight whose rows wait sees the value of the dense update, and not an older one."""
    found = {}
    for lazy in ("exact", False):
        weight = mx.nd.array(np.full((ROWS, WIDTH), 1.0), dtype="float64")
        updater = mx.optimizer.get_updater(mx.optimizer.SGD(lazy_update=lazy, learning_rate=0.5, wd=0.5))  # exact powers of 2
        for rows, _ in gradients(4):
            values = np.ones((len(rows), WIDTH))
            updater(0, mx.nd.sparse.row_sparse_array((values, rows), shape=(ROWS, WIDTH), dtype="float64"), weight)
        found[lazy] = read(weight)
    np.testing.assert_array_equal(found["exact"], found[False])


def test_a_failed_step_leaves_what_was():
    _, weight, updater = train("sgd", {"wd": 0.1, "momentum": 0.9}, gradients(5), rates_of(5))
    _, other, _ = train("sgd", {"wd": 0.1, "momentum": 0.9}, gradients(5), rates_of(5))
    with pytest.raises(SparsekitError):
        updater(0, mx.nd.sparse.row_sparse_array((np.ones((1, WIDTH)), [3]), shape=(ROWS, WIDTH), dtype="float32"), weight)
    np.testing.assert_array_equal(weight.asnumpy(), other.asnumpy())


@pytest.mark.parametrize("kind", ["decay", "momentum", "adamw", "adamw step by step"])
def test_training_goes_on_from_files_bit_for_bit(kind, tmp_path):
    """Training that goes on after saving, and training that goes on from the files, give the same bits."""
    name, arguments, _ = KINDS[kind]

    def make():
        net = initialized(gluon.nn.Embedding(ROWS, WIDTH, sparse_grad=True))
        schedule = mx.lr_scheduler.FactorScheduler(7, 0.9, base_lr=0.05)
        trainer = gluon.Trainer(net.collect_params(), name, {**arguments, "lr_scheduler": schedule, "lazy_update": "exact",
                                                             "learning_rate": 0.05})
        return net, trainer

    def go(net, trainer, numbers):
        for number in numbers:
            with autograd.record():
                loss = (net(mx.nd.array([number % ROWS, 3 * number % ROWS])) ** 2).sum()
            loss.backward()
            trainer.step(1)

    net, trainer = make()
    go(net, trainer, range(30))
    net.save_parameters(str(tmp_path / "net"))
    trainer.save_states(str(tmp_path / "states"))
    go(net, trainer, range(30, 60))
    again, its_trainer = make()
    again.load_parameters(str(tmp_path / "net"))
    its_trainer.load_states(str(tmp_path / "states"))
    go(again, its_trainer, range(30, 60))
    assert net.weight.data().asnumpy().tobytes() == again.weight.data().asnumpy().tobytes()


@pytest.mark.parametrize("update_on_kvstore", [False, True])
def test_row_sparse_weights_of_a_store(update_on_kvstore):
    found = {}
    for lazy in ("exact", False):
        mx.random.seed(5)
        parameter = gluon.Parameter("weight", shape=(ROWS, WIDTH), stype="row_sparse", grad_stype="row_sparse")
        parameter.initialize(mx.init.Normal(1.0))
        trainer = gluon.Trainer([parameter], "sgd", {"wd": 0.1, "momentum": 0.9, "learning_rate": 0.1, "lazy_update": lazy},
                                kvstore="local", update_on_kvstore=update_on_kvstore)
        for number in range(20):
            batch = mx.nd.sparse.csr_matrix((np.ones(2), [number, 39 - number // 2], [0, 2]), shape=(1, ROWS))
            with autograd.record():
                loss = mx.nd.dot(batch, parameter.row_sparse_data(batch.indices)).sum()
            loss.backward()
            trainer.step(1)
        found[lazy] = parameter.row_sparse_data(mx.nd.arange(ROWS)).asnumpy()
    np.testing.assert_allclose(found["exact"], found[False], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kvstore", [None, "local"])
def test_a_module(kvstore):
    def run(lazy):
        mx.random.seed(0)
        random = np.random.default_rng(0)
        weight = mx.sym.Variable("weight", shape=(ROWS, WIDTH))
        found = mx.sym.Embedding(mx.sym.Variable("data"), weight=weight, input_dim=ROWS, output_dim=WIDTH, sparse_grad=True)
        module = mx.mod.Module(mx.sym.LinearRegressionOutput(mx.sym.sum(found, axis=1), name="out"), label_names=["out_label"])
        module.bind([("data", (4, 3))], [("out_label", (4, WIDTH))])
        module.init_params(mx.init.Normal(1.0))
        module.init_optimizer(kvstore, "sgd", {"momentum": 0.9, "wd": 0.1, "learning_rate": 0.1, "lazy_update": lazy})
        for _ in range(15):
            data, label = mx.nd.array(random.integers(0, ROWS, (4, 3))), mx.nd.array(random.standard_normal((4, WIDTH)))
            module.forward_backward(mx.io.DataBatch([data], [label]))
            module.update()
        return module.get_outputs()[0].asnumpy(), module.get_params()[0]["weight"].asnumpy()

    alike(run("exact"), run(False), rtol=2e-5, atol=1e-6)


def test_several_contexts():
    contexts = [mx.cpu(0), mx.cpu(1)]

    def run(lazy):
        mx.random.seed(0)
        random = np.random.default_rng(0)
        net = initialized(gluon.nn.Embedding(ROWS, WIDTH, sparse_grad=True), ctx=contexts)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9, "wd": 0.1, "learning_rate": 0.1,
                                                              "lazy_update": lazy})
        for _ in range(10):
            with autograd.record():
                losses = [(net(mx.nd.array(random.integers(0, ROWS, 4), ctx=ctx)) ** 2).sum() for ctx in contexts]
            for loss in losses:
                loss.backward()
            trainer.step(4)
        return [net.weight.data(ctx).asnumpy() for ctx in contexts]

    alike(run("exact"), run(False), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients_of_the_batch_read_rows_that_are_up_to_date(hybrid):
    found = {}
    for lazy in ("exact", False):
        net = initialized(Computes(lambda F, x, weight: F.dot(x, weight),
                                   weight={"shape": (ROWS, WIDTH), "grad_stype": "row_sparse"}), mx.init.One())
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"wd": 0.5, "learning_rate": 0.5, "lazy_update": lazy})
        for number in (1, 2, 3, 4):
            batch = mx.nd.sparse.csr_matrix((np.ones(1), [number], [0, 1]), shape=(1, ROWS))
            if number == 4:
                batch.attach_grad()
            with autograd.record():
                loss = net(batch).sum()
            loss.backward()
            trainer.step(1)
        found[lazy] = batch.grad.asnumpy()
    np.testing.assert_array_equal(found["exact"], found[False])


def test_factors_clipping_and_scaling():
    found = {}
    for lazy in ("exact", False):
        optimizer = mx.optimizer.create("adamw", lazy_update=lazy, learning_rate=0.1, wd=0.1, clip_gradient=0.3, rescale_grad=0.5,
                                        param_idx2name={0: "a_weight", 1: "b_weight"})
        optimizer.set_lr_mult({"a_weight": 0.5})
        optimizer.set_wd_mult({"b_weight": 3.0})
        updater = mx.optimizer.get_updater(optimizer)
        weights = [mx.nd.array(np.random.default_rng(one).standard_normal((ROWS, WIDTH)), dtype="float64") for one in range(2)]
        for rows, values in gradients(50):
            for index, weight in enumerate(weights):
                updater(index, mx.nd.sparse.row_sparse_array((values, rows), shape=(ROWS, WIDTH), dtype="float64"), weight)
        found[lazy] = [weight.asnumpy() for weight in weights]
    np.testing.assert_allclose(found["exact"], found[False], rtol=1e-9, atol=1e-12)


def test_adamw_with_a_dense_gradient():
    start, grad = np.array([[1.0, -2.0]]), np.array([[0.5, 0.25]])
    weight = mx.nd.array(start)
    updater = mx.optimizer.get_updater(mx.optimizer.contrib.AdamW(learning_rate=0.1, wd=0.1))
    for _ in range(3):
        updater(0, mx.nd.array(grad), weight)
    expected, _ = dense_adamw(start, [grad] * 3, [0.1] * 3, 0.1)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)
