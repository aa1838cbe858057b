"""Gluon trainers on servers: W workers and S servers give, bit for bit, what one process gives that sums in their order."""

import copy

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist.transport import LocalCluster
from sparsekit.optimizer.optimizer import registry

ROWS, WORDS, BATCH, STEPS = 700, 600, 6, 3

#: Optimizers with the arguments that make them do all they can.
ARGUMENTS = {
    "sgd": {"momentum": 0.9, "wd": 0.01, "clip_gradient": 0.5}, "nag": {"momentum": 0.9}, "dcasgd": {"momentum": 0.9},
    "signum": {"momentum": 0.9, "wd_lh": 0.1}, "rmsprop": {"centered": True}, "lars": {"momentum": 0.9, "wd": 0.01},
    "lbsgd": {"momentum": 0.9, "batch_scale": 2}, "adam": {"wd": 0.01}, "ftrl": {"wd": 0.01},
}
NAMES = sorted(set(registry) - {"ccsgd"})


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
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_any_number_of_workers_and_servers_equals_one_process(name, workers, servers):
    arguments = {"learning_rate": 0.1, **ARGUMENTS[name]}
    wanted = one_process(workers, name, arguments)
    same(LocalCluster(servers, workers).run(worker, name, arguments), wanted)


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_equals_one_process(name):
    arguments = {"learning_rate": 0.05, **ARGUMENTS.get(name, {})}
    if name == "test":
        arguments = {}
    mx.random.seed(11)
    try:
        wanted = one_process(2, name, arguments)
    except mx.SparsekitError as error:
        pytest.skip(f"it does not take these gradients: {error}")
    mx.random.seed(11)
    same(LocalCluster(2, 2).run(worker, name, arguments), wanted)
