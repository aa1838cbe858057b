"""Weights at a learning rate of 0 in compiled steps: they stay or coast, the others train, with the bits of other steps."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.optimizer.optimizer import registry

NAMES = sorted(name for name, cls in registry.items() if cls.__name__.lower() == name and cls.__module__.startswith("sparsekit.")
               and name != "test")  # which takes no rate
SETTINGS = {
    "sgd": {"momentum": 0.9, "wd": 0.1}, "nag": {"momentum": 0.9, "wd": 0.1}, "dcasgd": {"momentum": 0.9, "wd": 0.1},
    "rmsprop": {"centered": True, "wd": 0.1}, "groupadagrad": {}, "lars": {"momentum": 0.9, "eta": 0.5, "wd": 0.1},
    "lbsgd": {"momentum": 0.9, "batch_scale": 2, "wd": 0.1},
}
#: Optimizers with momentum, which moves a weight on.
COASTING = {"sgd", "nag", "dcasgd", "rmsprop", "lars", "lbsgd"}
#: The factor of each of two weights from a step on: one is frozen, both, the other alone, none.
FACTORS = {0: (1, 1), 5: (0, 1), 8: (0, 0), 11: (1, 0), 14: (1, 1)}


def trained(name, how):
    """All weights and gradients after each step."""
    mx.random.seed(1)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3, in_units=4, use_bias=False), mx.gluon.nn.Dense(2, in_units=3, use_bias=False))
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    loss, parameters = mx.gluon.loss.L2Loss(), [*net.collect_params().values()]
    trainer = mx.gluon.Trainer(parameters, name, {"learning_rate": 0.05, **SETTINGS.get(name, {"wd": 0.1})})
    step = mx.gluon.TrainStep(net, loss, trainer)
    found, frozen, updater = [], FACTORS[0], None
    for number in range(18):
        if number in FACTORS:
            frozen = FACTORS[number]
            for parameter, factor in zip(parameters, frozen, strict=True):
                parameter.lr_mult = factor
        random = np.random.default_rng(number)
        data, label = mx.nd.array(random.normal(size=(5, 4))), mx.nd.array(random.normal(size=(5, 2)))
        before = [parameter.data().asnumpy() for parameter in parameters]
        if how == "step":
            step(data, label)
        else:
            with mx.autograd.record():
                made = loss(net(data), label)
            made.backward()
            if how == "one by one":
                updater = updater or mx.optimizer.get_updater(trainer.optimizer)
                trainer.optimizer.rescale_grad = 0.2
                for index, parameter in enumerate(parameters):
                    updater(index, parameter.grad(), parameter.data())
            else:
                trainer.step(5)
        after = [parameter.data().asnumpy() for parameter in parameters]
        for factor, one, other in zip(frozen, after, before, strict=True):
            assert factor or name in COASTING or one.tobytes() == other.tobytes(), number
        found += [*after, *[parameter.grad().asnumpy() for parameter in parameters]]
    assert all(np.isfinite(one).all() for one in found)
    return [one.tobytes() for one in found]


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_weight_stays_in_every_kind_of_step(name):
    found = [trained(name, how) for how in ("one by one", "tables", "step")]
    assert found[0] == found[1] == found[2]
