"""Networks and values of the recording of layers; for either library."""

import numpy as np


def values(shape, start=0):
    """Numbers of few digits, no two alike in a row, on both sides of 0."""
    count = int(np.prod(shape))
    return (((np.arange(count) + start) * 37 % 101 - 50) / 32).reshape(shape).astype(np.float32)


def stack(outer, *blocks):
    with outer.name_scope():
        outer.add(*blocks)
    return outer


def parameters(block):
    """The parameters without the automatic part of their names, in the order of the names."""
    return {name.removeprefix(block.prefix): parameter for name, parameter in sorted(block.collect_params().items())}


def filled(mx, net):
    for place, (_, parameter) in enumerate(sorted(net.collect_params().items())):
        parameter.set_data(mx.nd.array(values(parameter.shape, 11 * place)))
    return net


def network(mx, sparse=False, ctx=None):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Embedding(7, 3, sparse_grad=True) if sparse else nn.Dense(3, in_units=4, activation="tanh"))
        net.add(nn.Dense(2, in_units=6 if sparse else 3))
    net.initialize(ctx=ctx)
    return net


def shared_network(mx):
    nn = mx.gluon.nn
    net = stack(nn.HybridSequential(prefix="shared_"), nn.Dense(2, in_units=2, prefix="a_"))
    net.add(nn.Dense(2, in_units=2, prefix="a_", params=net[0].params))
    net.initialize()
    return filled(mx, net)
