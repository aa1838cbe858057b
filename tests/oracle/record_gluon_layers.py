"""Record again layers of MXNet 1.9.1: outputs, gradients, statistics and reprs; files; training on two contexts."""

import base64
import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import mxnet as mx
import numpy as np
import recording

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gluon"))

from layer_nets import filled, network, parameters, shared_network, stack, values


def record_layer(case):
    text, shape = case["layer"], np.shape(case["x"]) if "x" in case else None
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
        for place, (name, parameter) in enumerate(parameters(block).items()):
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
        facts["grads"] = {name: recording.encode(parameter.grad()) for name, parameter in parameters(block).items()
                          if parameter.grad_req != "null"}
        facts["fixed"] = {name: recording.plain(parameter.data().asnumpy())
                          for name, parameter in parameters(block).items() if parameter.grad_req == "null"}
        facts["predicted"] = recording.plain(block(x).asnumpy())
    return facts


def record_training(sparse, optimizer, options, update_on_kvstore):
    """Four steps on two contexts."""
    ctx = [mx.cpu(0), mx.cpu(1)]
    net = filled(mx, network(mx, sparse, ctx))
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
    shared = shared_network(mx)
    net = filled(mx, network(mx))
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        net.summary(mx.nd.ones((2, 4)))
    shared(mx.nd.ones((1, 2)))
    return {
        "save_parameters": in_base64(net.save_parameters), "shared": in_base64(shared.save_parameters),
        "deduplicated": in_base64(lambda path: shared.save_parameters(path, deduplicate=True)),
        "collected": in_base64(net.collect_params().save),
        "stripped": in_base64(lambda path: net.collect_params().save(path, strip_prefix="net_")),
        "summary": text.getvalue(),
    }


def main():
    known = recording.known()
    trainings = [record_training(**recording.given(case, "sparse", "optimizer", "options", "update_on_kvstore"))
                 for case in known["trainings"]]
    facts = {"trainings": trainings, "files": record_files(), "cases": [record_layer(case) for case in known["cases"]]}
    recording.save(sys.argv[1], facts)


if __name__ == "__main__":
    main()
