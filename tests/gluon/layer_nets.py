"""What is recorded of layers: networks, values, one layer's results and gradients, and training; for either library."""

import numpy as np

from tests.oracle.encoding import encode, plain


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


def of_layer(mx, block, case):
    """Results, gradients and statistics of a layer, whose parameters have values that are few digits long."""
    shape, rows = np.shape(case["x"]), "Embedding" in case["layer"]
    x = mx.nd.array(np.arange(np.prod(shape)).reshape(shape) * 3 % 7 if rows else values(shape))
    block.initialize()
    block(x)
    for place, (name, parameter) in enumerate(parameters(block).items()):
        drawn = values(parameter.shape, 11 * place)
        parameter.set_data(mx.nd.array(np.abs(drawn) + 0.5 if "var" in name else drawn))
    if not rows:
        x.attach_grad()
    with mx.autograd.record():
        out = block(x)
        (out * mx.nd.array(values(out.shape, 5))).sum().backward()
    found = {"x": plain(x.asnumpy()), "out": plain(out.asnumpy()), "after": repr(block)}
    if not rows:
        found["x_grad"] = plain(x.grad.asnumpy())
    learnt = {name: parameter for name, parameter in parameters(block).items() if parameter.grad_req != "null"}
    found["grads"] = {name: encode(parameter.grad()) for name, parameter in learnt.items()}
    found["fixed"] = {name: plain(parameter.data().asnumpy())
                      for name, parameter in parameters(block).items() if name not in learnt}
    found["predicted"] = plain(block(x).asnumpy())
    return found


def trained(mx, sparse, optimizer, options, update_on_kvstore, **more):
    """Losses of four steps on two contexts, and the weights after them on each."""
    ctx = [mx.cpu(0), mx.cpu(1)]
    net = filled(mx, network(mx, sparse, ctx))
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, dict(options), update_on_kvstore=update_on_kvstore, **more)
    losses = []
    for step in range(4):
        data = np.arange(8).reshape(4, 2) * (step + 2) % 5 if sparse else values((4, 4), 7 * step)
        with mx.autograd.record():
            parts = [(net(part) ** 2).sum() for part in mx.gluon.utils.split_and_load(mx.nd.array(data), ctx)]
        mx.autograd.backward(parts)
        losses.append([float(part.asscalar()) for part in parts])
        trainer.step(4)
    weights = net.collect_params().items()
    return losses, [{name: parameter.list_data()[place] for name, parameter in weights} for place in range(2)]
