"""Record networks that MXNet exports: the symbol's file, the parameters, an input, and what the network makes of it.

Numbers are few, and such that float32 adds them without rounding of its own choice.
"""

import json
import os
import re
import sys
import tempfile

import mxnet as mx
import numpy as np
import recording
from mxnet.gluon import nn, rnn

NETS = """
def dense():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(5, activation="relu"), nn.Dropout(0.5), nn.Dense(2))
    return net
def normed():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4), nn.BatchNorm(), nn.LeakyReLU(0.1), nn.LayerNorm(), nn.PReLU(), nn.ELU(), nn.SELU(), nn.GELU(),
                nn.Swish(), nn.Flatten(), nn.HybridLambda("tanh"))
    return net
def channels():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.InstanceNorm(), nn.GroupNorm(num_groups=3), nn.BatchNorm(scale=False, epsilon=0.01),
                nn.Dense(2, flatten=False))
    return net
def embedded():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Embedding(5, 3), nn.Dense(2))
    return net
def lstm():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(rnn.LSTM(3, num_layers=2, bidirectional=True, layout="NTC"), nn.Dense(2))
    return net
def gru():
    return rnn.GRU(3, prefix="net_")
class Unrolled(mx.gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = rnn.LSTMCell(3)
            self.out = nn.Dense(2)
    def hybrid_forward(self, F, x):
        outputs, states = self.cell.unroll(4, x, layout="NTC", merge_outputs=True)
        return self.out(outputs), states[0]
def unrolled():
    return Unrolled(prefix="net_")
class Scaled(mx.gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1, 3), init="ones")
            self.fixed = self.params.get_constant("fixed", mx.nd.array([[1, 2, 3]]))
    def hybrid_forward(self, F, x, y, scale, fixed):
        return F.broadcast_mul(x, scale) + F.broadcast_add(y, fixed) * 2 - x / 4, F.concat(x, y, dim=1)
def scaled():
    return Scaled(prefix="net_")
"""

INPUTS = {"dense": [(4, 3)], "normed": [(4, 3)], "channels": [(2, 3, 4)], "embedded": ["ids"], "lstm": [(2, 4, 3)],
          "gru": [(4, 2, 3)], "unrolled": [(2, 4, 3)], "scaled": [(2, 3), (2, 3)]}


def values(shape, seed):
    return np.random.RandomState(seed).randint(-16, 17, shape).astype(np.float32) / 8


def inputs_of(name):
    return [mx.nd.array([[0, 3], [4, 1]]) if shape == "ids" else mx.nd.array(values(shape, 7 + place))
            for place, shape in enumerate(INPUTS[name])]


def made(name):
    names = {"mx": mx, "nn": nn, "rnn": rnn}
    exec(NETS, names)
    net = names[name]()
    net.initialize()
    net(*inputs_of(name))
    for place, (key, parameter) in enumerate(sorted(net.collect_params().items())):
        if not key.endswith(("running_var", "fixed")):
            parameter.set_data(mx.nd.array(values(parameter.shape, 100 + place)))
    return net


def arrays(found):
    found = found if isinstance(found, (list, tuple)) else [found]
    flat = [item for one in found for item in (one if isinstance(one, (list, tuple)) else [one])]
    return [recording.plain(one.asnumpy()) for one in flat]


def record(name):
    net = made(name)
    net.hybridize()
    given = inputs_of(name)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        outputs = arrays(net(*given))
        net.export(path)
        with open(path + "-symbol.json", encoding="utf-8") as file:
            text = json.loads(re.sub(r"(Constant_\w+?_)\d+", r"\g<1>0", file.read()))  # a constant's name has its address
        parameters = {key: recording.plain(value.asnumpy()) for key, value in mx.nd.load(path + "-0000.params").items()}
    return {"net": name, "graph": text, "parameters": parameters, "outputs": outputs,
            "inputs": [recording.plain(one.asnumpy()) for one in given]}


def main():
    names = list(INPUTS)
    records = recording.record_each(len(names), lambda number: record(names[number]))
    recording.save(sys.argv[1], {"nets": NETS, "cases": records})


if __name__ == "__main__":
    main()
