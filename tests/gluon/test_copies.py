"""Blocks, trainers, optimizers and steps can be pickled and copied, and train on as the original does."""

import copy
import pickle

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from tests.calls import differentiated, initialized

COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}


def make(lazy=True, steps=4):
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(gluon.nn.Embedding(10, 3, sparse_grad=True), gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9, "wd": 0.01, "learning_rate": 0.1, "lazy_update": lazy})
    step = gluon.TrainStep(net, gluon.loss.L2Loss(), trainer)
    train(step, range(steps))
    for number in range(steps):  # the trainer has tables of its own
        with autograd.record():
            loss = net(batch(number)[0]).sum()
        loss.backward()
        trainer.step(1)
    return net, trainer, step


def batch(number):
    random = np.random.default_rng(number)
    return mx.nd.array(random.integers(0, 10, (4, 2))), mx.nd.array(random.standard_normal((4, 2)))


def train(step, numbers):
    return [step(*batch(number)).asnumpy() for number in numbers]


@pytest.mark.parametrize("lazy", [True, "exact"])
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_trains_as_the_original_does_and_apart_from_it(way, lazy):
    original, trainer, step = make(lazy)
    net, its_trainer, again = COPIES[way]((original, trainer, step))
    assert its_trainer is not trainer
    for one, other in zip(original.collect_params().values(), net.collect_params().values(), strict=True):
        np.testing.assert_array_equal(one.data().asnumpy(), other.data().asnumpy())
        assert one.data() is not other.data()
    np.testing.assert_array_equal(train(again, range(4, 9)), train(step, range(4, 9)))


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_has_gradients_and_a_scope_of_its_own(way):
    original, _, _ = make()
    net = COPIES[way](original)
    differentiated(lambda: net(batch(0)[0]).sum())
    assert net[1].weight.grad().asnumpy().any()
    with net.name_scope():
        made = gluon.nn.Dense(2)
    assert made.prefix == f"{net.prefix}dense1_"
    with original.name_scope():
        assert gluon.nn.Dense(2).prefix == made.prefix  # the scope of the original has not counted that of the copy


@pytest.mark.parametrize("way", COPIES)
def test_blocks_that_wait_for_their_shapes(way):
    net = initialized(COPIES[way](gluon.nn.Dense(2)))
    assert net(mx.nd.ones((1, 5))).shape == (1, 2)


@pytest.mark.parametrize("way", COPIES)
def test_estimators_between_two_runs(way):
    mx.random.seed(1)
    net, trainer, _ = make(steps=0)
    random = np.random.default_rng(0)
    rows = gluon.data.ArrayDataset(mx.nd.array(random.integers(0, 10, (16, 2))), mx.nd.ones((16, 2)))
    loader = gluon.data.DataLoader(rows, 4)
    original = gluon.contrib.estimator.Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
    original.logger.setLevel("WARNING")
    original.fit(loader, epochs=1)
    again = COPIES[way](original)
    assert again.logger.level == original.logger.level
    for one in (original, again):
        one.fit(loader, epochs=2)
    assert again.train_metrics[0].get() == original.train_metrics[0].get()
    for one, other in zip(original.net.collect_params().values(), again.net.collect_params().values(), strict=True):
        assert one is not other
        np.testing.assert_array_equal(one.data().asnumpy(), other.data().asnumpy())
