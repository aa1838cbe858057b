"""Record recurrent cells and layers of Gluon: names, shapes, files, outputs, states and gradients, and refusals.

Parameters are filled with ``wave`` of the file's setup in the order of their names, so that the file holds results only.
"""

import base64
import os
import tempfile

import mxnet as mx
import record_expressions
import recording


def run(setup, expression):
    scope = record_expressions.namespace(setup)
    call, data, net = eval(expression, scope)
    data.attach_grad()
    backward = "projection_size" not in expression  # of which MXNet has no gradient
    if not backward:
        found = call(data)
    else:
        with mx.autograd.record(train_mode="Dropout" not in expression):
            found = call(data)
    outputs = scope["flat"](found)
    record = {"expression": expression, "merged": isinstance(found, tuple) and not isinstance(found[0], list),
              "shapes": [list(output.shape) for output in outputs],
              "outputs": [recording.plain(output.asnumpy().ravel()) for output in outputs]}
    if backward:
        mx.autograd.backward(*scope["heads"](outputs))
        record["gradient"] = recording.plain(data.grad.asnumpy().ravel())
        record["totals"] = {}
        for name, parameter in sorted(net.collect_params().items()):
            record["totals"][name] = recording.plain(parameter.grad().asnumpy().ravel()[::3])
    return record


def file_of(setup, expression):
    scope = record_expressions.namespace(setup)
    net = eval(expression, scope)
    data = mx.nd.ones((1, 2, 3))
    scope["fill"](net, lambda: net.unroll(2, data) if hasattr(net, "unroll") else net(data))
    with tempfile.TemporaryDirectory() as folder:
        net.save_parameters(os.path.join(folder, "net.params"))
        with open(os.path.join(folder, "net.params"), "rb") as file:
            return {"expression": expression, "file": base64.b64encode(file.read()).decode()}


def tried(setup, expression):
    try:
        return run(setup, expression)
    except mx.MXNetError as error:
        return {"expression": expression, "error": type(error).__name__}


if __name__ == "__main__":
    known = recording.known()
    files, nets = ([record(known["setup"], case["expression"]) for case in known[name]]
                   for name, record in (("files", file_of), ("nets", tried)))
    record_expressions.save(known, files=files, nets=nets)
