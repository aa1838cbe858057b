"""``TrainStep``: the losses, weights, gradients and states of the three plain lines, to the last bit."""

import contextlib
import copy
import functools
import signal
import threading
import warnings
import weakref

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core.table.table import Table
from sparsekit.gluon import nn
from sparsekit.optimizer.optimizer import registry
from tests.calls import are_gone, differentiated, initialized, refused

from .blocks import Computes, Loss

FEATURES = 300


class Linear(mx.gluon.HybridBlock):
    """``csr · weight + bias``."""

    def __init__(self, features=FEATURES, units=1, grad_stype="row_sparse", stype="default", bias=True):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(features, units), grad_stype=grad_stype, stype=stype,
                                          init=mx.init.Normal(0.1))
            if bias:
                self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias=None):
        made = F.dot(x, weight)
        return made if bias is None else F.broadcast_add(made, bias)


class WithDropout(Linear):
    """The same, with an operator that Python runs."""

    def hybrid_forward(self, F, x, weight, bias=None):
        return F.Dropout(super().hybrid_forward(F, x, weight, bias), p=0.5)


class Embedded(mx.gluon.HybridBlock):
    """The sum of the embeddings of some ids, and a dense layer."""

    def __init__(self, size=50, sparse_grad=True):
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(size, 4, sparse_grad=sparse_grad)
            self.dense = nn.Dense(1, in_units=4)

    def hybrid_forward(self, F, x):
        return self.dense(F.sum(self.embedding(x), axis=1))


def random(*shape, seed=0, dtype="float32"):
    return mx.nd.array(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


def ids(high, seed, dtype="int64", shape=(8, 3)):
    return mx.nd.array(np.random.default_rng(seed).integers(0, high, shape), dtype=dtype)


def csr(rows, stored, seed, features=FEATURES, dtype="float32"):
    chance, count = np.random.default_rng(seed), rows * stored
    places = np.sort(chance.choice(rows * features, count, replace=False))
    starts = np.searchsorted(places, np.arange(rows + 1) * features)
    return mx.nd.sparse.csr_matrix((chance.standard_normal(count).astype(dtype), places % features, starts), (rows, features))


def sparse_batches(count=8, rows=8):
    return [(csr(rows, 3 + seed % 5, seed), random(rows, 1, seed=seed + 50)) for seed in range(count)]


def dense_batches(count=8, width=6, labels=1):
    return [(random(8, width, seed=seed), random(8, labels, seed=seed + 50)) for seed in range(count)]


def bits(value):
    """Everything of an array that may differ, or of several."""
    if isinstance(value, (tuple, list)):
        return [bits(one) for one in value]
    if value is None:
        return None
    store = value._store
    parts = [getattr(store, name) for name in store.components] if value.stype != "default" else [store]
    return value.stype, value.shape, [(part.dtype.str, part.tobytes()) for part in parts]


class Twin:
    """A net that is trained by a ``TrainStep``, or by the plain lines."""

    def __init__(self, compiled, make, optimizer="sgd", arguments=None, loss=mx.gluon.loss.L2Loss, hybrid=False):
        mx.random.seed(3)
        self.net, self.loss = make(), loss()
        self.net.initialize()
        if hybrid:
            self.net.hybridize()
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), optimizer, dict(arguments or {"learning_rate": 0.1}))
        self.compiled = mx.gluon.TrainStep(self.net, self.loss, self.trainer) if compiled else None
        self.parameters = [*self.net.collect_params().values()]
        self.size = None

    def plain(self, data, label):
        output = differentiated(lambda: self.loss(self.net(data), label))
        self.trainer.step(self.size or data.shape[0])
        self.size = None
        return output

    def step(self, data, label):
        if self.compiled is not None:
            size, self.size = self.size, None
            return self.compiled(data, label, size)
        with mx.config.set(tables=False):
            return self.plain(data, label)

    def made(self):
        """What has been compiled."""
        return [] if self.compiled is None else list(self.compiled._made.values())

    def state(self, gradients=True):
        found = [bits(one.data()) for one in self.parameters]
        for one in self.parameters:
            if gradients and one.grad_req != "null":
                found += [bits(one.grad()), bits(one.list_grad()), bits(one.data().grad)]
        for updater in self.trainer._updaters:
            found += [(index, bits(updater.states[index])) for index in sorted(updater.states)]
        optimizer = self.trainer.optimizer
        return [*found, optimizer.num_update, dict(optimizer._index_update_count)]


def twins(make, *arguments, way=Twin, **more):
    return way(True, make, *arguments, **more), way(False, make, *arguments, **more)


def outcome(twin, data, label, seed):
    mx.random.seed(seed)
    try:
        return bits(twin.step(data, label))
    except mx.SparsekitError as error:
        return type(error), str(error)


def check(make, batches, *arguments, events=None, made=1, **more):
    """Train both, and compare everything after each step; ``made`` kinds of batches are compiled in the end."""
    one, other = twins(make, *arguments, **more)
    results = []
    for number, (data, label) in enumerate(batches):
        for twin in (one, other):
            if number in (events or {}):
                events[number](twin)
        results.append(outcome(one, data, label, number))
        assert results[-1] == outcome(other, data, label, number), number
        if number % 3 != 1:  # else nobody reads the gradients of a step
            assert one.state() == other.state(), number
    assert one.state() == other.state()
    refused = all(isinstance(result[0], type) for result in results)  # weight decay by an optimizer that has none
    assert (len(one.made()), len(other.made())) == (0 if refused else made, 0), one.compiled.explain()
    return one


#: Why no step with these optimizers is compiled.
IN_PYTHON = {"lars": "LARS reads the values of gradients before it updates",
             "lbsgd": "LBSGD keeps the sum of several gradients between its steps",
             "test": "Test copies each weight after its update"}


@pytest.mark.compiled
@pytest.mark.parametrize("name", sorted(registry))
def test_every_optimizer_is_compiled_or_says_why(name):
    """That the results are the same is what random programs are about (``tests/steps``)."""
    make = functools.partial(Linear, bias=name != "groupadagrad")  # which takes matrices only
    one = check(make, sparse_batches(5), name, {"learning_rate": 0.01}, made=0 if name in IN_PYTHON else 1)
    if name in IN_PYTHON:
        assert one.compiled.explain() == [{"pass": "", "op": "", "reason": IN_PYTHON[name]}]
    reasons = {row["reason"] for row in one.compiled.explain() if row["pass"] == "update"} - {""}
    assert not reasons or name == "lamb" or reasons == {"it draws random numbers"}  # of SGLD


class Mixed(Linear):
    """A float16 product and a float32 bias."""

    def __init__(self):
        super().__init__(units=3)
        self.weight.cast("float16")

    def hybrid_forward(self, F, x, weight, bias):
        return F.broadcast_add(F.cast(F.dot(x, weight), dtype="float32"), bias)


def mixed_batches(count):
    return [(data.astype("float16"), random(8, 3, seed=seed)) for seed, (data, _) in enumerate(sparse_batches(count))]


@pytest.mark.compiled
@pytest.mark.parametrize("optimizer", ["sgd", "ftml"])
def test_float16_and_float32_weights_of_one_net(optimizer):
    check(Mixed, mixed_batches(8), optimizer, {"multi_precision": True, "wd": 0.01}, events={5: schedule})
    check(Mixed, mixed_batches(8), optimizer, {"multi_precision": True},
          events={4: EVENTS["a learning rate"], 5: double, 7: set_optimizer(wd=0.1)})


@pytest.mark.compiled
@pytest.mark.parametrize("value", [1e5, np.inf, np.nan, 6e-8, 65519.0])
def test_float16_weights_beyond_their_range(value):
    """The float32 copy becomes the nearest float16 number, or infinite."""
    batches = [(data.astype("float16"), label * value) for data, label in dense_batches(5)]
    for scale in (1.0, value):
        check(functools.partial(scaled, scale), batches, "sgd", {"multi_precision": True, "learning_rate": 0.7})


class Own(mx.optimizer.Adam):
    """Doubles each gradient, which it gets in the type of the float32 copy."""

    def update(self, index, weight, grad, state):
        assert weight.dtype == grad.dtype == np.float32
        super().update(index, weight, grad * 2, state)


@pytest.mark.compiled
def test_an_optimizer_of_ones_own_is_left_alone():
    states = []
    for optimizer in (Own(multi_precision=True), mx.optimizer.Adam(multi_precision=True, rescale_grad=2.0)):
        twin = Twin(False, Mixed)
        twin.trainer = mx.gluon.Trainer(twin.net.collect_params(), optimizer)
        step = mx.gluon.TrainStep(twin.net, twin.loss, twin.trainer)
        for data, label in mixed_batches(5):
            step(data, label)
        states.append(twin.state())
        assert {row["reason"] for row in step.explain() if row["pass"] in ("", "update")} == (
            {"the update of Own is not the library's own"} if type(optimizer) is Own else {""})
    assert states[0] == states[1]


def scaled(scale):
    """A float16 weight whose gradients have any size."""
    return Computes(lambda F, x, w: F.sum(F.cast(F.broadcast_mul(x, w), dtype="float32") * scale, axis=1, keepdims=True),
                    w={"shape": (1, 6), "dtype": "float16", "init": "ones"})


BATCHES = {
    "data as labels": (lambda: nn.Dense(6, in_units=6), lambda: [(x, x if seed % 2 else y) for seed, (x, y)
                                                                 in enumerate(dense_batches(7, 6, 6))]),
    "one element": (lambda: nn.Dense(1, in_units=1), lambda: [(random(1, 1, seed=seed), random(1, 1)) for seed in range(5)]),
}


@pytest.mark.compiled
@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_batches_of_one_kind(case, optimizer):
    make, batches = BATCHES[case]
    check(make, batches(), optimizer)


@pytest.mark.compiled
def test_several_kinds_of_batches_have_tables_of_their_own():
    short = [(csr(8 if seed % 3 else 5, 3, seed), random(8 if seed % 3 else 5, 1)) for seed in range(14)]
    check(Linear, short, made=2)
    kinds = [(ids(50, seed, ("int64", "int32", "float32")[seed % 3]), random(8, 1)) for seed in range(12)]
    check(Embedded, kinds, "adam", made=3)
    labels = [(data, label.astype("float64") if seed % 2 else label) for seed, (data, label) in enumerate(dense_batches(10))]
    check(lambda: nn.Dense(1, in_units=6), labels)


@pytest.mark.compiled
def test_arrays_of_any_layout_as_data():
    base = np.random.default_rng(0).standard_normal((40, 40)).astype("float32")
    views = [base[:8, :6], base[:6, :8].T, base[0:16:2, 0:12:2], base[:8, :6].astype(">f4"), base[7::-1, :6]]
    batches = [(mx.nd.array(views[seed % 5]), random(8, 1, seed=seed)) for seed in range(10)]
    whole = mx.nd.array(base)
    batches += [(whole.T[seed: seed + 8, :6], random(8, 1, seed=seed)) for seed in range(3)]
    batches += [(whole[seed: seed + 8].slice_axis(axis=1, begin=0, end=6), random(8, 1, seed=seed)) for seed in range(3)]
    check(lambda: nn.Dense(1, in_units=6), batches)


def schedule(twin):
    twin.trainer.optimizer.lr_scheduler = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)


def set_states(twin):
    states = twin.trainer._updaters[0].states
    for index, state in states.items():
        states[index] = tuple(one + 1 for one in state) if isinstance(state, tuple) else state + 1


def set_optimizer(**attributes):
    return lambda twin: [setattr(twin.trainer.optimizer, name, value) for name, value in attributes.items()]


def set_weight(**attributes):
    return lambda twin: [setattr(twin.parameters[0], name, value) for name, value in attributes.items()]


def double(twin):
    values = twin.parameters[0].data()
    values[:] = values * 2


#: What random programs (``tests/steps``) do not change between two steps.
EVENTS = {
    "a schedule": schedule,
    "a learning rate": lambda twin: twin.trainer.set_learning_rate(0.03),
    "names": lambda twin: (twin.trainer.optimizer.set_lr_mult({"one": 0.1}),
                           set_optimizer(idx2name={0: "one"}, param_dict={})(twin)),
    "another scale": lambda twin: setattr(twin.trainer, "_scale", 2.0),
    "a size of the batch": lambda twin: setattr(twin, "size", 3),
    "other states": lambda twin: setattr(twin.trainer._updaters[0], "states", dict(twin.trainer._updaters[0].states)),
    "a state less": lambda twin: (twin.trainer._updaters[0].states.pop(0), twin.trainer._updaters[0].states_synced.clear()),
    "a factor of gradients": set_optimizer(rescale_grad=7.0), "states": set_states,
    "values": lambda twin: twin.parameters[0].set_data(mx.nd.ones((FEATURES, 1))), "values in place": double,
    "a cast": lambda twin: twin.net.cast("float64"), "frozen": set_weight(grad_req="null"), "adding": set_weight(grad_req="add"),
    "a gradient attached anew": lambda twin: twin.parameters[0].data().attach_grad("write", twin.parameters[0]._grad_stype),
}


@pytest.mark.compiled
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_changes_after_steps_that_found_everything_as_it_was(event, optimizer):
    one, other = twins(Linear, optimizer, {"wd": 0.1, **({"momentum": 0.9} if optimizer == "sgd" else {})})
    for number, (data, label) in enumerate(sparse_batches(16)):
        if number == 10:
            EVENTS[event](one)
            EVENTS[event](other)
        assert outcome(one, data, label, number) == outcome(other, data, label, number)
        if number == 12:
            assert one.state() == other.state()
    assert one.state() == other.state()


@pytest.mark.compiled
def test_a_label_in_the_memory_of_a_gradient():
    one, other = twins(lambda: Linear(8, 1, "default", bias=False))
    for number in range(12):
        data = csr(8, 3, number, 8)
        labels = [twin.parameters[0].grad() if number > 7 else random(8, 1, seed=number) for twin in (one, other)]
        assert outcome(one, data, labels[0], number) == outcome(other, data, labels[1], number)
    assert one.state() == other.state()


@pytest.mark.compiled
def test_tables_can_be_switched_off(monkeypatch):
    events = {4: lambda twin: monkeypatch.setattr(mx.config, "tables", False),
              6: lambda twin: monkeypatch.setattr(mx.config, "tables", True)}
    check(Linear, sparse_batches(10), events=events)


def test_alternation_with_plain_steps_and_a_second_step():
    one, other = twins(Linear, "adam")
    second, loss = mx.gluon.TrainStep(one.net, mx.gluon.loss.L1Loss(), one.trainer), mx.gluon.loss.L1Loss()
    for number, (data, label) in enumerate(sparse_batches(18)):
        if number % 3 == 2:
            with mx.autograd.record():
                output = loss(other.net(data), label)
            output.backward()
            other.trainer.step(8)
            assert bits(second(data, label)) == bits(output)
        else:
            assert bits((one.plain if number % 5 == 4 else one.step)(data, label)) == bits(other.step(data, label))
        if number % 2:
            assert one.state() == other.state()


@pytest.mark.compiled
def test_two_trainers_share_the_gradients_of_a_step():
    found = []
    for compiled in (True, False):
        twin = Twin(compiled, Linear)
        first, second = (mx.gluon.Trainer([one], "sgd", {"learning_rate": 0.1}) for one in twin.parameters)
        twin.trainer = first
        if compiled:
            twin.compiled = mx.gluon.TrainStep(twin.net, twin.loss, first)
        for data, label in sparse_batches(7):
            twin.step(data, label)
            second.step(8)
        found.append(twin.state())
        assert not compiled or twin.compiled._made
    assert found[0] == found[1]


@pytest.mark.compiled
def test_a_strict_step_takes_no_batch_with_a_gradient_of_its_own():
    twin, data = Twin(False, lambda: nn.Dense(1, in_units=6)), random(8, 6)
    data.attach_grad()
    with pytest.raises(mx.base.UnsupportedError, match="the batch itself has a gradient"):
        mx.gluon.TrainStep(twin.net, twin.loss, twin.trainer, strict=True)(data, random(8, 1))


def test_results_are_never_overwritten():
    one, other = twins(Linear)
    losses = [[twin.step(data, label) for data, label in sparse_batches(12)] for twin in (one, other)]
    assert bits(losses[0]) == bits(losses[1])
    gradient = one.parameters[0].grad().copy()
    before = bits(gradient)
    for data, label in sparse_batches(3):
        one.step(data, label)
    assert bits(gradient) == before


def test_copies_have_the_latest_gradient():
    one, other = twins(Linear)
    for data, label in sparse_batches(6):
        one.step(data, label)
        other.step(data, label)
    copies = [copy.deepcopy(twin.net) for twin in (one, other)]
    assert [[bits(one.grad()) for one in net.collect_params().values()] for net in copies[:1]] == [
        [bits(one.grad()) for one in net.collect_params().values()] for net in copies[1:]]
    assert b"_collected" not in one.trainer._updaters[0].get_states(dump_optimizer=True)


@pytest.mark.compiled
@pytest.mark.parametrize("profiled", [False, True])
@pytest.mark.parametrize("make", [Linear, WithDropout])
@pytest.mark.parametrize("stored", [(8, 3), (400, 30)], ids=["small", "shared by threads"])
def test_nothing_is_kept_alive(profiled, make, stored):
    twin = Twin(True, make)
    with mx.Profiler() if profiled else contextlib.nullcontext():
        for seed in range(6):
            twin.step(csr(*stored, seed), random(stored[0], 1))
        assert [row["op"] for row in twin.compiled.explain() if row["reason"]] == ["Dropout"] * (make is WithDropout)
        data, label = csr(*stored, 99), random(stored[0], 1)
        held = [weakref.ref(one) for one in (data, label, data._store, label._store)]
        twin.step(data, label)
        del data, label
        assert [one() for one in held] == [None] * 4
    made = next(iter(twin.compiled._made.values()))
    held = [weakref.ref(one) for one in (twin.compiled, made.step_program, made.step_program._table, twin.net)]
    del made, twin
    assert are_gone(held)


def test_threads():
    pairs, errors = [twins(Linear), twins(Linear)], []
    batches = sparse_batches(10)

    def work(twin, rounds):
        try:
            for _ in range(rounds):
                for data, label in batches:
                    twin.step(data, label)
        except Exception as error:
            errors.append(error)

    def run(jobs):
        threads = [threading.Thread(target=work, args=job) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    run([(one, 5) for one, _ in pairs])
    for one, other in pairs:
        work(other, 5)
        assert one.state() == other.state()
    shared = pairs[0][0]
    run([(shared, 5)] * 3)
    assert shared.trainer.optimizer.num_update == 50 + 150


class Interruption(Exception):
    """Raised by a signal."""


@pytest.mark.compiled
def test_gradients_are_read_while_another_thread_trains():
    """Whoever reads a row-sparse gradient gets the memory of the table, unless the next step has begun."""
    one, _ = twins(Linear, "sgd", {})
    batches = list(sparse_batches(7))
    for number, (data, label) in enumerate(batches):
        outcome(one, data, label, number)
    done, read = threading.Event(), []

    def look():
        while not done.is_set():
            store = one.parameters[0].grad()._store
            read.append(store.data.base is None and store.indices.base is None)

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(600):
        one.compiled(*batches[number % 7])
    done.set()
    reader.join()
    assert len(read) > 1
    assert all(read)
    data, label = batches[3]
    one.compiled(data, label)
    gradient = one.parameters[0].grad()
    assert gradient.indices.asnumpy().tolist() == sorted({int(column) for column in data.indices.asnumpy()})


@pytest.mark.compiled
def test_an_interrupted_step_counts_the_updates_that_it_made():
    def interrupt(*_):
        raise Interruption

    def long(F, x, w):
        made = F.sum(w) + x
        for _ in range(30):
            made = F.broadcast_add(made, F.sum(F.tanh(w)) * 0)
        return made

    net = initialized(Computes(long, w={"shape": (400, 400), "init": "zeros"}))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    step, one, interrupted = mx.gluon.TrainStep(net, Loss(lambda F, output, label: output * label), trainer), mx.nd.ones((1,)), 0
    for _ in range(4):
        step(one, one)
    assert step._made
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(12):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0007 * number)
                for _ in range(1000):
                    step(one, one)
            except Interruption:
                interrupted += 1
            weight = net.w.data().asnumpy()
            assert (weight == weight[0, 0]).all()
            assert abs(-weight[0, 0] - trainer.optimizer._index_update_count[0]) <= 1  # Python itself may be interrupted
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 12


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_large_batches_after_tiny_ones(optimizer, dtype):
    def make():
        made = Linear(20_000, 8)
        made.cast(dtype)
        return made

    for lazy in (True, False):
        batches = [(csr(64, stored, seed, 20_000, dtype), random(64, 8, seed=seed, dtype=dtype))
                   for seed, stored in enumerate([2, 4, 3, 2, 2000, 0, 3])]
        one = check(make, batches, optimizer, {"lazy_update": lazy, "wd": 0.01, "multi_precision": True})
        assert dtype == "float16" or next(iter(one.compiled._made.values())).step_program._table.stops


@pytest.mark.parametrize(("loss", "name"), [(None, "None"), (mx.gluon.loss.L2Loss(prefix="mine_"), "mine")])
def test_a_repr_names_the_net_and_the_loss(loss, name):
    net = initialized(nn.Dense(2, in_units=3, prefix="net_"))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    assert repr(mx.gluon.TrainStep(net, loss, trainer)) == f"TrainStep(net, {name}, {trainer.optimizer!r})"


@pytest.mark.compiled
def test_a_loss_that_is_an_array_of_the_net_is_not_compiled():
    one = check(lambda: Computes(lambda F, x, w: w, w={"shape": (8, 6), "init": "ones"}), dense_batches(5),
                loss=lambda: Loss(lambda F, output, label: output), made=0)
    assert one.compiled.explain()[0]["reason"] == "the loss is one of the arrays that it is computed from"


def lines(net, loss, trainer, data, label, size, clip=None):
    """One step by the plain lines."""
    with mx.autograd.record():
        output = net(*data)
        made = loss(output, *label) if loss is not None else output
    head = made[0] if isinstance(made, (list, tuple)) else made
    head.backward()
    if clip is not None:
        mx.gluon.utils.clip_global_norm([one.grad() for one in trainer._params], clip * size)
    trainer.step(size)
    return made


def twin_of(make, loss, optimizer="adagrad", **more):
    twin = Twin(False, make, optimizer, loss=lambda: loss)
    twin.compiled = mx.gluon.TrainStep(twin.net, loss, twin.trainer, **more)
    return twin


class Recurrent(mx.gluon.HybridBlock):
    """Returns its own loss, and the states."""

    def __init__(self, dropout=0):
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(50, 6, sparse_grad=True)
            self.lstm = mx.gluon.rnn.LSTM(5, 2, dropout=dropout, input_size=6)
            self.dense = nn.Dense(50, in_units=5, flatten=False)

    def hybrid_forward(self, F, words, states, target):
        out, states = self.lstm(self.embedding(words), states)
        return -F.pick(F.log_softmax(self.dense(out)), target, axis=2), states


@pytest.mark.compiled
@pytest.mark.parametrize("dropout", [0, 0.3])
@pytest.mark.parametrize("clip", [None, 0.01, 1e9, 0.0])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_net_that_returns_its_loss_and_states_that_are_carried_on(optimizer, clip, dropout):
    one, other = (twin_of(lambda: Recurrent(dropout), None, optimizer, clip_norm=clip) for _ in range(2))
    states = [one.net.lstm.begin_state(3)] * 2
    for seed in range(8):
        words, target, size = ids(50, seed, shape=(4, 3)), ids(50, seed + 9, shape=(4, 3)), 12 if seed < 6 else 5
        mx.random.seed(seed)
        found, states[0] = one.compiled((words, states[0], target), batch_size=size)
        mx.random.seed(seed)
        expected, after = lines(other.net, None, other.trainer, (words, states[1], target), (), size, clip)
        states[1] = [state.detach() for state in after]
        assert bits([found, *states[0]]) == bits([expected, *states[1]])
        if seed % 3:
            assert one.state() == other.state()
    assert one.state() == other.state()
    reasons = [(row["op"], row["reason"]) for row in one.compiled.explain() if row["reason"]]
    assert reasons == [("RNN", "it draws random numbers")] * (dropout > 0)


@pytest.mark.compiled
def test_clipping_warns_of_what_is_not_finite():
    def warned(step):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            step()
        return [(str(one.message), one.category, one.filename) for one in found]

    one, other = (twin_of(Linear, mx.gluon.loss.L2Loss(), clip_norm=1.0) for _ in range(2))
    for number, (data, label) in enumerate(sparse_batches(6)):
        if number == 5:
            label = label * np.inf
        said = [warned(functools.partial(one.compiled, data, label)),
                warned(functools.partial(lines, other.net, other.loss, other.trainer, (data,), (label,), 8, 1.0))]
        assert said[0] == said[1]
    assert "nan or inf" in said[0][0][0]
    assert one.state() == other.state()


@pytest.mark.compiled
def test_results_that_are_arrays_of_the_net():
    def weighted():
        return Computes(lambda F, x, w: (F.broadcast_mul(x, w), w), w={"shape": (1, 6), "init": "ones"})

    one, other = twin_of(weighted, None), twin_of(weighted, None)
    for data, _ in dense_batches(6):
        assert bits(one.compiled(data)) == bits(lines(other.net, None, other.trainer, (data,), (), 8))
    assert "is an array of the net" in one.compiled.explain()[0]["reason"]


class Returns(mx.gluon.loss.Loss):
    def __init__(self, function):
        super().__init__(None, 0)
        self.function = function

    def forward(self, output, *label):
        return self.function(output)


@pytest.mark.parametrize(("function", "message"), [
    (lambda out: {"loss": out}, "got {'loss':"), (lambda out: (out, 3), "got int"), (lambda out: 3.0, "got float"),
    (lambda out: (None, out), "got (None"), (lambda out: (), "got ()"), (lambda out: ((out,), out), "begins with it"),
    (lambda out: None, "got None")])
def test_other_results_are_refused_by_name(function, message):
    twin = twin_of(Linear, Returns(function))
    before = twin.state(gradients=False)
    for data, label in sparse_batches(4):
        caught = refused(mx.base.errors.DTypeError, "must be the loss, or a tuple or list", twin.compiled, data, label)
        assert message in str(caught)
    assert twin.state(gradients=False) == before


@pytest.mark.parametrize(("data", "label", "message"), [
    (3, None, "data must be an NDArray, or a list or tuple of them, got int"),
    ([], random(8, 1), "data must be an NDArray, or a list or tuple of at least one"),
    (([],), random(8, 1), "data must be an NDArray, or a list or tuple of at least one"),
    ((random(8, 6), None), random(8, 1), "data must be an NDArray, or a list or tuple of them, got NoneType"),
    (np.ones((8, 6)), random(8, 1), "data must be an NDArray, or a list or tuple of them, got ndarray"),
    (random(8, 6), "label", "label must be an NDArray, or a list or tuple of them, got str"),
    (random(8, 6), [random(8, 1), {}], "label must be an NDArray, or a list or tuple of them, got dict")])
def test_other_batches_are_refused_by_name(data, label, message):
    twin = twin_of(lambda: nn.Dense(1, in_units=6), mx.gluon.loss.L2Loss())
    caught = refused(mx.base.errors.DTypeError, "", twin.compiled, data, label)
    assert message in str(caught)


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_norm_to_clip_to_is_not_negative(value):
    twin = Twin(False, Linear)
    with pytest.raises(mx.SparsekitError, match="clip_norm must be a number of at least 0, or None"):
        mx.gluon.TrainStep(twin.net, twin.loss, twin.trainer, clip_norm=value)


@pytest.mark.compiled
def test_data_without_axes():
    net = initialized(Computes(lambda F, x, weight: F.broadcast_mul(F.reshape(x, (1,)), weight), weight=(3,)))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), trainer)
    x, label = mx.nd.array(np.float32(2)), mx.nd.ones((3,))
    assert x.shape == ()
    losses = [float(step(x, label, batch_size=1).mean().asscalar()) for _ in range(6)]
    assert step._made
    assert losses == sorted(losses, reverse=True)
    refused(mx.base.errors.ShapeError, "no axes", step, x, label)


@pytest.mark.compiled
def test_an_interrupt_stops_a_table_between_two_of_many_pieces(monkeypatch):
    def deep(F, x):
        for _ in range(150):
            x = F.dot(F.sigmoid(x), x)
        return x

    def interrupt(*_):
        raise Interruption

    def counted(table, *arguments):
        run = table._run

        def piece(rows, place):
            pieces.append(place)
            if len(pieces) == last:
                signal.raise_signal(signal.SIGALRM)
            return run(rows, place)

        if run not in counters:
            counters.append(piece)
            table._run = piece
        return begin(table, *arguments)

    net, data, pieces, counters, begin, last = Computes(deep), mx.nd.ones((200, 200)), [], [], Table.begin, 0
    monkeypatch.setattr(Table, "begin", counted)
    net.hybridize()
    for _ in range(4):
        pieces.clear()
        net(data)
    whole = len(pieces)
    assert whole > 10
    assert {row["reason"] for row in mx.gluon.hybrid.explain(net)} == {""}
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for stop in (1, 4, whole):
            pieces.clear()
            last = stop
            refused(Interruption, "", net, data)
            assert len(pieces) == stop
            last = 0
            for _ in range(3):  # an interrupted run takes its memory with it, and the first with another make no table
                assert net(data).shape == (200, 200)
    finally:
        signal.signal(signal.SIGALRM, before)


class AsksByContext(mx.gluon.HybridBlock):
    """Asks for its weight on the context of its input, as MXNet's programs for several devices do."""

    def __init__(self):
        super().__init__()
        self.weight = self.params.get("weight", shape=(12, 3))

    def hybrid_forward(self, F, x, weight):
        return F.Embedding(x, self.weight.data(x.context), input_dim=12, output_dim=3)


@pytest.mark.compiled
@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("first", [lambda: mx.gluon.contrib.nn.SparseEmbedding(12, 3), AsksByContext])
def test_a_layer_may_ask_for_its_weight_on_the_context_of_its_input(first, hybridized):
    found = []
    for compiled in (False, True):
        mx.random.seed(3)
        net, loss = nn.Sequential(), mx.gluon.loss.L2Loss()
        net.add(first(), nn.Dense(2, in_units=3), nn.Lambda("identity"))
        net.initialize()
        if hybridized:
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        step = mx.gluon.TrainStep(net, loss, trainer)
        for number in range(5):
            data, label = mx.nd.array([1, 2, 3, 3, number]), mx.nd.ones((5, 2))
            if compiled:
                step(data, label)
            else:
                lines(net, loss, trainer, (data,), (label,), 5)
        found.append([one.asnumpy().tobytes() for weight in net.collect_params().values()
                      for one in (weight.data(), weight.grad())])
    assert found[0] == found[1]
    assert not any(row["pass"] == "" for row in step.explain())
