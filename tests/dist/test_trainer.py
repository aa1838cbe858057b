"""Gluon trainers on servers: W workers and S servers give, bit for bit, what one process gives that sums in their order."""

import copy

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import StaleGradientError
from sparsekit.dist.transport import LocalCluster

ROWS, WORDS, BATCH, STEPS = 700, 600, 6, 3


def batch(rank, step):
    """What a worker reads in a step: csr data, and numbers of words."""
    rng = np.random.default_rng([7, rank, step])
    dense = np.zeros((BATCH, ROWS), np.float32)
    for row in dense:
        row[np.unique(rng.integers(0, ROWS, 5))] = rng.random(1)
    return dense, rng.integers(0, WORDS, (BATCH, 3)).astype(np.float32), rng.standard_normal((BATCH, 4)).astype(np.float32)


class Net:
    """A row_sparse parameter, a dense one with row_sparse gradients, and two dense ones."""

    def __init__(self, contexts, sparse=True, dtype="float32"):
        rng = np.random.default_rng(3)
        make = mx.gluon.Parameter
        self.wide = make("wide", shape=(ROWS, 4), stype="row_sparse", grad_stype="row_sparse") if sparse else None
        self.words = make("words", shape=(WORDS, 4), grad_stype="row_sparse") if sparse else None
        self.out = make("out", shape=(4, 4), lr_mult=0.5, dtype=dtype)
        self.bias = make("bias", shape=(1, 4), wd_mult=0.0, dtype=dtype)
        self.parameters = [one for one in (self.wide, self.words, self.out, self.bias) if one is not None]
        for one in self.parameters:
            one.initialize(mx.init.Zero(), ctx=contexts)
            one.set_data(mx.nd.array(rng.standard_normal(one.shape), dtype=one.dtype))

    def loss(self, read, context):
        dense, ids, wanted = read
        found = mx.nd.dot(mx.nd.array(wanted, ctx=context, dtype=self.out.dtype), self.out.data(context))
        found = mx.nd.broadcast_add(found, self.bias.data(context)).astype("float32")
        if self.wide is not None:
            x = mx.nd.array(dense, ctx=context).tostype("csr")
            found = found + mx.nd.sparse.dot(x, self.wide.row_sparse_data(x.indices))
            words = mx.nd.Embedding(mx.nd.array(ids, ctx=context), self.words.data(context), WORDS, 4, sparse_grad=True)
            found = found + words.sum(axis=1)
        return ((found - mx.nd.array(wanted, ctx=context)) ** 2).sum()

    def values(self):
        return {one.name: one.data(one.list_ctx()[0]).asnumpy() for one in self.parameters}


def train(trainer, net, ranks, contexts, steps=range(STEPS), change=None):
    for step in steps:
        if change is not None:
            change(trainer, step)
        for rank, context in zip(ranks, contexts, strict=True):
            with mx.autograd.record():
                loss = net.loss(batch(rank, step), context)
            loss.backward()
        trainer.step(BATCH + step)


def one_process(workers, name, arguments, change=None, steps=range(STEPS), **options):
    contexts = [mx.cpu(place) for place in range(workers)]
    net = Net(contexts, **options)
    store = mx.kv.create("local")
    trainer = mx.gluon.Trainer(net.parameters, name, copy.deepcopy(arguments), kvstore=store, update_on_kvstore=True)
    train(trainer, net, range(workers), contexts, steps, change)
    return net.values()


def worker(name, arguments, change=None, steps=range(STEPS), kvstore="dist_sync", **options):
    kv = mx.kv.create(kvstore)
    net = Net([mx.cpu()], **options)
    trainer = mx.gluon.Trainer(net.parameters, name, copy.deepcopy(arguments), kvstore=kv)
    train(trainer, net, [kv.rank], [mx.cpu()], steps, change)
    return net.values()


def same(found, wanted):
    for values in found:
        assert values.keys() == wanted.keys()
        for name, value in values.items():
            assert value.tobytes() == wanted[name].tobytes(), (name, np.abs(value - wanted[name]).max())


@pytest.mark.parametrize("servers", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_and_servers_equals_one_process(workers, servers):
    arguments = {"learning_rate": 0.1, "wd": 0.01}
    same(LocalCluster(servers, workers).run(worker, "adam", arguments), one_process(workers, "adam", arguments))


def faster(trainer, step):
    trainer.set_learning_rate(0.1 / (1 + step))


@pytest.mark.parametrize(("arguments", "options", "change"), [
    ({"learning_rate": 0.1, "momentum": 0.9}, {}, faster),
    ({"lr_scheduler": mx.lr_scheduler.FactorScheduler(2, factor=0.5, base_lr=0.4), "wd": 0.01}, {}, None),
    ({"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}, {"dtype": "float16", "sparse": False}, None),
    ({"learning_rate": 0.1, "lazy_update": False, "momentum": 0.9, "wd": 0.1}, {}, None),
    ({"learning_rate": 0.1, "begin_num_update": 5, "momentum": 0.9}, {}, None),
], ids=["set_learning_rate", "schedule", "multi_precision", "not lazy", "begun"])
def test_settings_are_those_of_one_process(arguments, options, change):
    steps = range(6)
    wanted = one_process(2, "sgd", arguments, change, steps, **options)
    same(LocalCluster(2, 2).run(lambda: worker("sgd", arguments, change, steps, **options)), wanted)


@pytest.mark.parametrize("kind", ["dist_sync", "dist_device_sync"])
def test_several_contexts_of_each_worker_are_summed_first(kind):
    def one_process_that_sums_pairs():
        net = Net([mx.cpu()])
        kv = mx.kv.create("local")
        kv.set_optimizer(mx.optimizer.Adam(learning_rate=0.1, rescale_grad=1 / 8, param_dict=dict(enumerate(net.parameters))))
        kv.init([0, 1, 2, 3], [one.data() for one in net.parameters])
        for step in range(STEPS):
            sums = []
            for pair in ((0, 1), (2, 3)):
                parts = []
                for part in pair:
                    with mx.autograd.record():
                        loss = net.loss(batch(part, step), mx.cpu())
                    loss.backward()
                    parts.append([one.grad().copy() for one in net.parameters])
                sums.append([one + other for one, other in zip(*parts, strict=True)])
            pairs = [list(pair) for pair in zip(*sums, strict=True)]
            kv.pushpull([0, 1, 2, 3], pairs, out=[one.data() for one in net.parameters])
        return net.values()

    def two_contexts():
        kv, contexts = mx.kv.create(kind), [mx.cpu(0), mx.cpu(1)]
        net = Net(contexts)
        trainer = mx.gluon.Trainer(net.parameters, "adam", {"learning_rate": 0.1}, kvstore=kv)
        for step in range(STEPS):
            with mx.autograd.record():
                losses = [net.loss(batch(2 * kv.rank + place, step), context) for place, context in enumerate(contexts)]
            mx.autograd.backward(losses)
            trainer.step(8)
        return net.values()

    same(LocalCluster(2, 2).run(two_contexts), one_process_that_sums_pairs())


def test_the_trainer_asks_for_the_store_by_name_and_other_workers_get_the_values_of_rank_0():
    def worker():
        rank = mx.kv.create("dist_sync").rank
        weight = mx.gluon.Parameter("w", shape=(2, 2))
        weight.initialize(mx.init.Constant(rank + 1))
        trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 1.0}, kvstore="dist_sync")
        with mx.autograd.record():
            loss = weight.data().sum()
        loss.backward()
        trainer.step(2)
        return weight.data().asnumpy().tolist(), trainer._kvstore.statistics()["round_trips"]

    for values, trips in LocalCluster(1, 2).run(worker):
        assert values == [[0, 0], [0, 0]]  # 1 - (1 + 1) / 2
        assert trips < 12


def test_a_step_is_one_round_trip_and_moves_rows_alone():
    def worker():
        kv = mx.kv.create("dist_sync")
        net = Net([mx.cpu()])
        trainer = mx.gluon.Trainer([net.wide, net.out], "sgd", {"learning_rate": 0.1}, kvstore=kv)
        moved = []

        def count(before):
            after = kv.statistics()
            moved.append([after[name] - before[name] for name in ("round_trips", "bytes_sent", "bytes_received")])

        for step in range(3):
            x = mx.nd.array(batch(0, step)[0]).tostype("csr")
            touched, before = len(np.unique(x.indices.asnumpy())), kv.statistics()
            with mx.autograd.record():
                rows = net.wide.row_sparse_data(x.indices)
                loss = (mx.nd.sparse.dot(x, rows) + net.out.data().sum()).sum()
            loss.backward()
            count(before)
            before = kv.statistics()
            trainer.step(1)
            count(before)
            if step:
                assert moved[-2:] == [[1, 4 * touched, 16 * touched], [1, 20 * touched + 64, 64]]
            assert touched > 5
        return True

    assert LocalCluster(2, 1).run(worker) == [True]


def test_gradients_are_summed_where_the_contexts_make_the_steps():
    def worker(kvstore="dist_sync", count=1):
        kv, contexts = mx.kv.create(kvstore), [mx.cpu(place) for place in range(count)]
        net = Net(contexts, sparse=False)
        trainer = mx.gluon.Trainer(net.parameters, "adam", {"learning_rate": 0.1}, kvstore=kv, update_on_kvstore=False)
        for step in range(STEPS):
            with mx.autograd.record():
                losses = [net.loss(batch(kv.rank + place, step), context) for place, context in enumerate(contexts)]
            mx.autograd.backward(losses)
            trainer.allreduce_grads()
            norm = float(net.out.grad(contexts[0]).norm().asscalar())
            trainer.update(BATCH)
        return net.values(), norm

    wanted, norm = worker("local", 2)
    found = LocalCluster(2, 2).run(worker)
    same([values for values, _ in found], wanted)
    assert [one for _, one in found] == [norm] * 2


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("float32", 1e-5), ("float64", 1e-7)])
def test_a_worker_without_a_new_gradient_adds_nothing(dtype, tolerance):
    def worker():
        kv = mx.kv.create("dist_sync")
        net = Net([mx.cpu()], sparse=False, dtype=dtype)
        trainer = mx.gluon.Trainer(net.parameters, "sgd", {"learning_rate": 1.0, "multi_precision": True}, kvstore=kv)
        before = net.bias.data().asnumpy()
        with mx.autograd.record():
            loss = (net.bias.data().sum() if kv.rank else net.out.data().sum())
        loss.backward()
        with pytest.raises(StaleGradientError):
            trainer.step(1)
        trainer.step(1, ignore_stale_grad=True)
        return before - net.bias.data().asnumpy()

    for moved in LocalCluster(2, 2).run(worker):
        np.testing.assert_allclose(moved, 1, rtol=tolerance)


def test_states_of_a_trainer_go_on_in_one_process(tmp_path):
    def saving():
        net = Net([mx.cpu()])
        trainer = mx.gluon.Trainer(net.parameters, "adam", {"learning_rate": 0.1}, kvstore="dist_sync")
        train(trainer, net, [0], [mx.cpu()])
        trainer.save_states(tmp_path / "states")
        before = net.values()
        train(trainer, net, [0], [mx.cpu()], range(STEPS, 5))
        return before, net.values()

    (before, wanted), = LocalCluster(2, 1).run(saving)

    def loading(kvstore="dist_sync"):
        net = Net([mx.cpu()])
        trainer = mx.gluon.Trainer(net.parameters, "adam", {"learning_rate": 0.1}, kvstore=kvstore)
        for one in net.parameters:
            one.set_data(mx.nd.array(before[one.name]))
        trainer.load_states(tmp_path / "states")
        assert kvstore is None or trainer.optimizer is trainer._kvstore.optimizer
        train(trainer, net, [0], [mx.cpu()], range(STEPS, 5))
        return net.values()

    same(LocalCluster(3, 1).run(loading), wanted)
    same([loading(None)], wanted)


def test_what_a_trainer_on_servers_refuses():
    def worker():
        net = Net([mx.cpu()])
        with pytest.raises(mx.ParameterError, match="update_on_kvstore=False on a dist kvstore"):
            mx.gluon.Trainer(net.parameters, "sgd", kvstore="dist_sync", update_on_kvstore=False)
        trainer = mx.gluon.Trainer(net.parameters, "sgd", {"learning_rate": 0.1}, kvstore="dist_sync")
        net.out.set_data(mx.nd.ones((4, 4)))  # still this worker's
        train(trainer, net, [0], [mx.cpu()], range(1))
        for parameter in (net.out, net.wide):
            with pytest.raises(mx.UnsupportedError, match=f"'{parameter.name}' lie on the servers of the kvstore 'dist_sync'"):
                parameter.set_data(mx.nd.ones(parameter.shape))
        with pytest.raises(mx.UnsupportedError, match="allreduce_grads"):
            trainer.allreduce_grads()
        with pytest.raises(mx.SparsekitError, match="The key 0 has been initialized already"):
            train(mx.gluon.Trainer([net.out], "sgd", kvstore="dist_sync"), net, [0], [mx.cpu()], range(1))
        copy.deepcopy(net.wide).set_data(mx.nd.zeros(net.wide.shape))  # a copy is of this process alone
        return True

    assert LocalCluster(1, 1).run(worker) == [True]
    with pytest.raises(mx.ParameterError, match="in async mode"):
        LocalCluster(1, 1).run(lambda: mx.gluon.Trainer(Net([mx.cpu()], sparse=False).parameters, "sgd", kvstore="dist_async",
                                                        update_on_kvstore=False))
