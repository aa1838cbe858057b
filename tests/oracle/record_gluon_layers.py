"""Record again layers of MXNet 1.9.1: outputs, gradients, statistics and reprs; files; training on two contexts."""

import base64
import contextlib
import io
import os
import sys
import tempfile

import mxnet as mx
import recording

from tests.gluon.layer_nets import filled, network, of_layer, shared_network, stack, trained


def record_layer(case):
    text = case["layer"]
    with mx.name.NameManager():
        block = eval(text, {"nn": mx.gluon.nn, "gluon": mx.gluon, "stack": stack})
        facts = {"layer": text, "before": repr(block), "params": repr(block.collect_params())}
        return {**facts, **of_layer(mx, block, case)} if "x" in case else facts


def record_training(case):
    case = recording.given(case, "sparse", "optimizer", "options", "update_on_kvstore")
    losses, (_, second) = trained(mx, **case)
    return {**case, "losses": losses, "final": {name: recording.plain(array.asnumpy()) for name, array in second.items()}}


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


known = recording.known()
recording.save(sys.argv[1], {"trainings": [record_training(case) for case in known["trainings"]], "files": record_files(),
                             "cases": [record_layer(case) for case in known["cases"]]})
