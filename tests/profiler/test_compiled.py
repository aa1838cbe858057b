"""Profiles of code that runs as tables: the same events as operator by operator, in everything but time."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.base.formatting import format_bytes
from sparsekit.core.table import timed
from sparsekit.gluon import nn

LOSS = mx.gluon.loss.L2Loss(prefix="loss_")


def sequential(*layers):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(*[layer() for layer in layers])
    return net


class Product(mx.gluon.HybridBlock):
    """A csr product with a row-sparse gradient."""

    def __init__(self, grad_stype="row_sparse"):
        super().__init__(prefix="net_")
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(60, 2), grad_stype=grad_stype)
            self.bias = self.params.get("bias", shape=(2,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        return F.broadcast_add(F.dot(x, weight), bias)


class Falling(Product):
    """With an operator that has no kernel for a csr array: a fallback, which Python runs and the ledger notes."""

    def hybrid_forward(self, F, x, weight, bias):
        return F.broadcast_add(F.dot(F.cos(x), weight), bias)


def dense(rows, seed):
    return mx.nd.array(np.random.default_rng(seed).random((rows, 6)).astype("float32"))


def csr(rows, seed):
    return mx.nd.sparse.csr_matrix(scipy.sparse.random(rows, 60, 0.02 * (seed + 1), format="csr", dtype="float32",
                                                       random_state=seed))


def ids(rows, seed):
    return mx.nd.array(np.random.default_rng(seed).integers(0, 50, rows), dtype="int64")


CASES = {"dense": (lambda: sequential(lambda: nn.Dense(8, in_units=6, activation="relu"), lambda: nn.Dense(2, in_units=8)),
                   dense),
         "views": (lambda: sequential(lambda: nn.Dense(8, in_units=6),
                                      lambda: nn.HybridLambda(lambda F, x: F.reshape(x, shape=(-1, 2, 4)) * 1), nn.Flatten,
                                      lambda: nn.Dense(2, in_units=8)), dense),
         "large": (lambda: sequential(lambda: nn.Dense(20_000, in_units=6), lambda: nn.Dense(2, in_units=20_000)), dense),
         "dropout": (lambda: sequential(lambda: nn.Dense(8, in_units=6), lambda: nn.Dropout(0.5),
                                        lambda: nn.Dense(2, in_units=8)), dense), "csr": (Product, csr),
         "dense gradient": (lambda: Product("default"), csr), "falling": (Falling, csr),
         "embedding": (lambda: sequential(lambda: nn.Embedding(50, 4, sparse_grad=True), lambda: nn.Dense(2, in_units=4)), ids)}

#: The first fallback of each kind warns, and a warning is an error.
pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")]

WAYS = ["hybridized", "step"]


class Training:
    """A model that is trained in one of two ways."""

    def __init__(self, case, way, tables=True):
        make, self.draw = CASES[case]
        mx.random.seed(1)
        self.net = make()
        self.net.initialize(mx.init.Xavier())
        self.net.hybridize()
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.1})
        self.compiled = mx.gluon.TrainStep(self.net, LOSS, self.trainer) if way == "step" else None
        self.tables = tables

    def step(self, rows=5, seed=0):
        mx.config.tables = self.tables
        try:
            data, label = self.draw(rows, seed), mx.nd.ones((rows, 2))
            if self.compiled is not None:
                return self.compiled(data, label)
            with mx.autograd.record():
                loss = LOSS(self.net(data), label)
            loss.backward()
            self.trainer.step(rows)
            return loss
        finally:
            mx.config.tables = True

    def profile(self, before=5, seeds=(0, 1, 2), rows=5):
        for _ in range(before):
            self.step()
        with mx.Profiler() as prof:
            for seed in seeds:
                self.step(rows, seed)
        return prof


def events(prof):
    """The records without their times; nodes are numbered as they come.

    A table writes gradients to what becomes that of the parameter; plain operators to memory that is copied there.
    """
    kept = ("name", "kind", "lane", "layer", "attrs", "fallback", "became_dense", "inputs", "outputs", "bytes", "flops",
            "dense_flops", "line", "thread", "depth")
    numbers = {None: None}
    apart = {"role", "owner"}

    def shown(record, name):
        if name != "outputs" or record["lane"] != "backward":
            return record[name]
        return [{field: value for field, value in array.items() if field not in apart} for array in record[name]]

    return [{**{name: shown(record, name) for name in kept}, "node": numbers.setdefault(record["node"], len(numbers))}
            for record in prof.records if record["lane"] != "compile"]


def same(compiled, plain):
    """Say what differs first."""
    for number, (one, other) in enumerate(zip(compiled, plain, strict=False)):
        changed = {name: (one[name], other[name]) for name in one if one[name] != other[name]}
        assert not changed, (number, other["name"], other["lane"], changed)
    assert [one["name"] for one in compiled] == [one["name"] for one in plain]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_profiles_agree_with_those_of_operators_one_by_one(case, way):
    """By SGD; ``tests/steps`` compares events of random programs by all optimizers."""
    plain, training = Training(case, way, tables=False).profile(), Training(case, way)
    compiled = training.profile()
    same(events(compiled), events(plain))
    assert [one._replace(line="") for one in compiled.ledger] == [one._replace(line="") for one in plain.ledger]
    assert compiled.memory["peak_bytes"] <= plain.memory["peak_bytes"] + plain.memory["idle_bytes"]
    explained = mx.gluon.hybrid.explain(training.net) if way == "hybridized" else training.compiled.explain()
    assert any(not row["reason"] for row in explained) or (way == "step" and case == "falling")


def test_the_step_was_compiled_and_its_operators_have_times_of_their_own():
    training = Training("dense", "step")
    prof = training.profile()
    records = [record for record in prof.records if record["kind"] == "op"]
    assert all(record["duration"] >= 0 for record in records)
    for before, after in itertools.pairwise(records):  # behind one another, and none inside another
        assert after["start"] + 1e-3 >= before["start"] + before["duration"]
    one = records[: len(records) // 3]
    assert sum(record["duration"] for record in one) <= one[-1]["start"] + one[-1]["duration"] - one[0]["start"] + 1e-3
    assert training.compiled._made


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_memory_returns_to_what_it_was(case, way):
    """What a table keeps is counted once, however often it runs."""
    plain, compiled = Training(case, way, tables=False), Training(case, way)
    plain.profile(5, [1] * 3)
    few, many = compiled.profile(5, [1] * 3), compiled.profile(0, [1] * 12)
    assert many.memory["peak_bytes"] == few.memory["peak_bytes"]
    one_by_one = plain.profile(0, [1] * 12).memory["samples"][-1][2]
    assert many.memory["samples"][-1][2] == {role: size for role, size in one_by_one.items() if role != "workspace"}


def test_two_profiles_one_after_the_other_and_a_pause():
    training = Training("dense", "step")
    first, second = training.profile(), training.profile(0)
    same(events(first), events(second))
    with mx.Profiler() as prof:
        training.step()
        prof.pause()
        training.step()
        prof.resume()
        training.step()
    same(events(prof), events(training.profile(0, (0, 0))))


def test_without_a_clock_operators_run_one_by_one(monkeypatch):
    expected = events(Training("dense", "hybridized").profile())
    monkeypatch.setattr(timed, "clock", lambda: None)
    training = Training("dense", "hybridized")
    prof = training.profile()
    assert events(prof) == expected
    assert training.net(dense(5, 0)).shape == (5, 2)


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_times_are_those_of_the_clock(way, follows, monkeypatch):
    """Whether the processor's counter goes with the clock or not; "falling" stops the table in between.

    The program sleeps between its steps, so that at least as much time lies between their operators.
    """
    if not follows:
        monkeypatch.setattr(timed, "_goes_with_the_clock", lambda address: False)
        timed.counter.cache_clear()
    try:
        for kind in ("dense", "csr", "falling", "large"):
            training = Training(kind, way)
            training.profile()
            begin = time.perf_counter_ns()
            with mx.Profiler() as prof:
                started = time.perf_counter_ns()
                for _ in range(5):
                    training.step()
                    time.sleep(0.01)
                ended = time.perf_counter_ns()
            found = [(record["start"], record["start"] + record["duration"]) for record in prof.records  # in microseconds
                     if record["kind"] == "op" and not record["depth"]]
            between = [following[0] - one[1] for one, following in itertools.pairwise(found)]
            assert min(between) >= -1
            assert sorted(between)[-4] >= 10_000
            assert found[-1][1] - found[0][0] <= (ended - started) / 1000 - 10_000
            assert found[-1][1] <= (ended - begin) / 1000 - 10_000
    finally:
        timed.counter.cache_clear()


@pytest.mark.parametrize("pace", ["constant", "backwards", "uneven", "steady"])
def test_a_counter_that_does_not_go_with_the_clock_is_not_used(pace):
    begin, calls = time.perf_counter_ns(), itertools.count(1)

    def count(address, *_):
        since, number = time.perf_counter_ns() - begin, next(calls)
        ctypes.c_int64.from_address(address).value = {"constant": 7, "backwards": -since, "steady": 3 * since,
                                                      "uneven": since + (10**7 if number > 20 else 0)}[pace]
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 5)(count)
    assert timed._goes_with_the_clock(ctypes.cast(function, ctypes.c_void_p).value) == (pace == "steady")


def test_threads_have_tables_and_events_of_their_own():
    trainings = [Training("csr", "step") for _ in range(3)]
    for training in trainings:
        training.profile()
    together = threading.Barrier(3)  # the number of a thread that has ended may be given to another one

    def work(one):
        together.wait()
        for seed in range(20):
            one.step(seed=seed)
        together.wait()

    with mx.Profiler() as prof:
        threads = [threading.Thread(target=work, args=(one,)) for one in trainings]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    each = sum(record["kind"] == "op" for record in Training("csr", "step").profile().records) // 3
    counts = {}
    for record in prof.records:
        if record["kind"] == "op":
            counts[record["thread"]] = counts.get(record["thread"], 0) + 1
    assert sorted(counts.values()) == [20 * each] * 3


@pytest.mark.parametrize("case", ["dense", "csr"])
def test_what_tables_keep_between_runs_is_shown(case, tmp_path):
    training = Training(case, "step")
    prof = training.profile()
    table, = [made.step_program._table for made in training.compiled._made.values()][-1:]
    kept = {id(memory): memory.nbytes for memory in (table.memory, *[memory for memory, _ in table._grown.values()])}
    assert prof.memory["table_bytes"] == sum(kept.values()) >= 64
    said = f"Compiled steps keep {format_bytes(sum(kept.values()))} between runs."
    assert said in prof.memory.figure().finding
    prof.save(tmp_path / "run.npz")
    assert mx.profiler.load(tmp_path / "run.npz").memory["table_bytes"] == sum(kept.values())
    assert "table_bytes" not in Training(case, "step", tables=False).profile().memory
