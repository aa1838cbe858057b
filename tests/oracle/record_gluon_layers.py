"""Record layers of MXNet 1.9.1: outputs, gradients, statistics and reprs; files; training on two contexts."""

import base64
import contextlib
import io
import os
import sys
import tempfile

import mxnet as mx
import numpy as np
import recording

#: Expression, shape of the input, whether it holds numbers of rows.
LAYERS = [("nn.Dense(4)", (3, 5)), ("nn.Dense(4, activation='relu', use_bias=False)", (3, 5)), ("nn.Dense(4)", (2, 3, 5)),
          ("nn.Dense(4, flatten=False, activation='tanh')", (2, 3, 5)), ("nn.Dense(2, in_units=5)", (3, 5)),
          *[(f"nn.Activation('{name}')", (3, 5)) for name in ("relu", "sigmoid", "tanh", "softrelu", "softsign")],
          ("nn.LeakyReLU(0.1)", (3, 5)), ("nn.PReLU()", (3, 5)), ("nn.PReLU(in_channels=5)", (3, 5)), ("nn.ELU()", (3, 5)),
          ("nn.ELU(0.5)", (3, 5)), ("nn.GELU()", (3, 5)), ("nn.Swish()", (3, 5)), ("nn.Swish(2.0)", (3, 5)),
          ("nn.SELU()", (3, 5)), ("nn.Dropout(0)", (3, 5)), ("nn.Dropout(0.5, axes=(0,))", None), ("nn.Flatten()", (2, 3, 4)),
          ("nn.BatchNorm()", (6, 3)), ("nn.BatchNorm(axis=2, momentum=0.5, epsilon=0.01)", (2, 3, 4)),
          ("nn.BatchNorm(center=False)", (6, 3)), ("nn.BatchNorm(scale=False)", (6, 3)),
          ("nn.BatchNorm(use_global_stats=True)", (6, 3)), ("nn.BatchNorm(in_channels=3)", (6, 3, 2)), ("nn.LayerNorm()", (3, 5)),
          ("nn.LayerNorm(axis=1, epsilon=0.01)", (2, 3, 4)), ("nn.LayerNorm(scale=False, center=False, in_channels=5)", (3, 5)),
          ("nn.GroupNorm()", (2, 4, 3)), ("nn.GroupNorm(num_groups=2)", (2, 4, 3)), ("nn.InstanceNorm()", (2, 3, 4)),
          ("nn.InstanceNorm(axis=2, scale=True)", (2, 3, 4)), ("nn.Embedding(7, 3)", (2, 4)),
          ("nn.Embedding(7, 3, sparse_grad=True)", (2, 4)), ("nn.Lambda('tanh')", (3, 5)), ("nn.HybridLambda('relu')", (3, 5)),
          ("gluon.contrib.nn.Identity()", (3, 5)),
          ("stack(gluon.contrib.nn.HybridConcurrent(axis=1), nn.Dense(2), gluon.contrib.nn.Identity())", (3, 5)),
          ("stack(gluon.contrib.nn.Concurrent(), nn.Dense(2), nn.Dense(3, activation='relu'))", (3, 5)),
          ("stack(nn.Sequential(), nn.Dense(4, activation='relu'), stack(nn.HybridSequential(), nn.Dense(3), nn.ELU()))", (3, 5))]


def stack(outer, *blocks):
    with outer.name_scope():
        outer.add(*blocks)
    return outer


def values(shape, start=0):
    """Numbers of few digits, no two alike in a row, on both sides of 0."""
    count = int(np.prod(shape))
    return (((np.arange(count) + start) * 37 % 101 - 50) / 32).reshape(shape).astype(np.float32)


def parameters(block):
    """The parameters without the automatic part of their names."""
    return {name.removeprefix(block.prefix): parameter for name, parameter in block.collect_params().items()}


def record_layer(case):
    text, shape = case
    names = {"nn": mx.gluon.nn, "gluon": mx.gluon, "stack": stack}
    with mx.name.NameManager():
        block = eval(text, names)
        facts = {"layer": text, "before": repr(block), "params": repr(block.collect_params())}
        if shape is None:
            return facts
        block.initialize()
        rows = "Embedding" in text
        data = np.arange(np.prod(shape)).reshape(shape) * 3 % 7 if rows else values(shape)
        x = mx.nd.array(data)
        block(x)
        for place, (name, parameter) in enumerate(sorted(parameters(block).items())):
            drawn = values(parameter.shape, 11 * place)
            parameter.set_data(mx.nd.array(np.abs(drawn) + 0.5 if "var" in name else drawn))
        if not rows:
            x.attach_grad()
        with mx.autograd.record():
            out = block(x)
            (out * mx.nd.array(values(out.shape, 5))).sum().backward()
        facts.update(x=recording.plain(data), out=recording.plain(out.asnumpy()), after=repr(block))
        if not rows:
            facts["x_grad"] = recording.plain(x.grad.asnumpy())
        facts["grads"] = {name: recording.encode(parameter.grad()) for name, parameter in sorted(parameters(block).items())
                          if parameter.grad_req != "null"}
        facts["fixed"] = {name: recording.plain(parameter.data().asnumpy())
                          for name, parameter in sorted(parameters(block).items()) if parameter.grad_req == "null"}
        facts["predicted"] = recording.plain(block(x).asnumpy())
    return facts


def network(sparse, prefix, ctx=None):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Embedding(7, 3, sparse_grad=True) if sparse else nn.Dense(3, in_units=4, activation="tanh"))
        net.add(nn.Dense(2, in_units=6 if sparse else 3))
    net.initialize(ctx=ctx)
    for place, (_, parameter) in enumerate(sorted(net.collect_params().items())):
        parameter.set_data(mx.nd.array(values(parameter.shape, 11 * place)))
    return net


def record_training(sparse, optimizer, options, update_on_kvstore):
    """Four steps on two contexts."""
    ctx = [mx.cpu(0), mx.cpu(1)]
    net = network(sparse, "net_", ctx)
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, dict(options), update_on_kvstore=update_on_kvstore)
    losses = []
    for step in range(4):
        data = np.arange(8).reshape(4, 2) * (step + 2) % 5 if sparse else values((4, 4), 7 * step)
        with mx.autograd.record():
            parts = [(net(part) ** 2).sum() for part in mx.gluon.utils.split_and_load(mx.nd.array(data), ctx)]
        mx.autograd.backward(parts)
        losses.append([float(part.asscalar()) for part in parts])
        trainer.step(4)
    final = {name: recording.plain(parameter.list_data()[1].asnumpy()) for name, parameter in net.collect_params().items()}
    return {"sparse": sparse, "optimizer": optimizer, "options": options, "update_on_kvstore": update_on_kvstore,
            "losses": losses, "final": final}


def in_base64(write):
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "file"))
        with open(os.path.join(folder, "file"), "rb") as file:
            return base64.b64encode(file.read()).decode()


def record_files():
    """Files of parameters, by every way of writing them, and a summary."""
    nn = mx.gluon.nn
    shared = stack(nn.HybridSequential(prefix="shared_"), nn.Dense(2, in_units=2, prefix="a_"))
    shared.add(nn.Dense(2, in_units=2, prefix="a_", params=shared[0].params))
    shared.initialize()
    for place, (_, parameter) in enumerate(sorted(shared.collect_params().items())):
        parameter.set_data(mx.nd.array(values(parameter.shape, 11 * place)))
    net = network(False, "net_")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        net.summary(mx.nd.ones((2, 4)))
    shared(mx.nd.ones((1, 2)))
    return {"save_parameters": in_base64(net.save_parameters), "shared": in_base64(shared.save_parameters),
            "deduplicated": in_base64(lambda path: shared.save_parameters(path, deduplicate=True)),
            "collected": in_base64(net.collect_params().save),
            "stripped": in_base64(lambda path: net.collect_params().save(path, strip_prefix="net_")), "summary": text.getvalue()}


rates = {"learning_rate": 0.05, "wd": 0.01}
trainings = [record_training(sparse, optimizer, options, update) for sparse in (False, True)
             for optimizer, options in (("sgd", {**rates, "momentum": 0.9}), ("adam", {**rates, "clip_gradient": 0.5}))
             for update in (None, True, False)]
facts = {"trainings": trainings, "files": record_files(), "cases": [record_layer(case) for case in LAYERS]}
recording.save(sys.argv[1], facts)
