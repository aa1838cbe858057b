"""Record again networks that MXNet exports: the symbol's file, the parameters, an input, and what the network makes of it.

Numbers are few, and such that float32 adds them without rounding of its own choice.
"""

import json
import os
import re
import tempfile

import mxnet as mx
import numpy as np
import recording
from mxnet.gluon import nn, rnn


def values(shape, seed):
    return np.random.RandomState(seed).randint(-16, 17, shape).astype(np.float32) / 8


def made(nets, name, inputs):
    names = {"mx": mx, "nn": nn, "rnn": rnn}
    exec(nets, names)
    net = names[name]()
    net.initialize()
    net(*inputs)
    for place, (key, parameter) in enumerate(sorted(net.collect_params().items())):
        if not key.endswith(("running_var", "fixed")):
            parameter.set_data(mx.nd.array(values(parameter.shape, 100 + place)))
    return net


def arrays(found):
    found = found if isinstance(found, (list, tuple)) else [found]
    flat = [item for one in found for item in (one if isinstance(one, (list, tuple)) else [one])]
    return [recording.plain(one.asnumpy()) for one in flat]


def record(nets, case):
    given = [mx.nd.array(values) for values in case["inputs"]]
    net = made(nets, case["net"], given)
    net.hybridize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        outputs = arrays(net(*given))
        net.export(path)
        with open(path + "-symbol.json", encoding="utf-8") as file:
            text = json.loads(re.sub(r"(Constant_\w+?_)\d+", r"\g<1>0", file.read()))  # a constant's name has its address
        parameters = {key: recording.plain(value.asnumpy()) for key, value in mx.nd.load(path + "-0000.params").items()}
    return {"net": case["net"], "graph": text, "parameters": parameters, "outputs": outputs, "inputs": case["inputs"]}


if __name__ == "__main__":
    known = recording.known()
    recording.save_each({"nets": known["nets"]}, known["cases"], lambda case: record(known["nets"], case))
