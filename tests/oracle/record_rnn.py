"""Record the operator ``RNN``: results, last states and gradients of every kind of network, and what is refused.

Arrays are ``wave(size)``, so that the file holds results only.
"""

import sys

import mxnet as mx
import numpy as np
import recording

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 2, 3
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def wave(*shape, speed=1.0, scale=1.0):
    return mx.nd.array((np.sin(np.arange(np.prod(shape)) * speed) * scale).reshape(shape).astype("float32"))


def parameter_count(mode, layers, directions, width, projected):
    count, inputs = 0, INPUTS
    for _ in range(layers):
        sums = GATES[mode] * HIDDEN
        count += directions * (sums * (inputs + width + 2) + (width * HIDDEN if projected else 0))
        inputs = width * directions
    return count


def arrays_of(case):
    mode, layers, directions = case["mode"], case["num_layers"], 1 + case["bidirectional"]
    width = case.get("projection_size") or HIDDEN
    count = parameter_count(mode, layers, directions, width, "projection_size" in case)
    arrays = [wave(STEPS, BATCH, INPUTS, speed=0.7), wave(count, speed=1.3, scale=0.6),
              wave(layers * directions, BATCH, width, speed=2.1)]
    if mode == "lstm":
        arrays.append(wave(layers * directions, BATCH, HIDDEN, speed=0.3))
    return arrays


def run(case):
    arrays = arrays_of(case)
    record = {"attrs": case, "shapes": [list(array.shape) for array in arrays]}
    train = "projection_size" not in case
    for array in arrays:
        array.attach_grad()
    call = lambda: mx.nd.RNN(*arrays, state_size=HIDDEN, **case)  # noqa: E731
    if not train:
        return {**record, "results": [recording.plain(result.asnumpy().ravel()) for result in call()]}
    with mx.autograd.record():
        results = call()
    results = results if isinstance(results, list) else [results]
    heads = [wave(*result.shape, speed=0.9 + place) for place, result in enumerate(results)]
    mx.autograd.backward(results, heads)
    return {**record, "results": [recording.plain(result.asnumpy().ravel()) for result in results],
            "gradients": [recording.plain(array.grad.asnumpy().ravel()) for array in arrays]}


CASES = [{"mode": mode, "num_layers": layers, "bidirectional": both, "state_outputs": True}
         for mode in GATES for layers in (1, 2) for both in (False, True)]
CASES += [{"mode": mode, "num_layers": 2, "bidirectional": True, "state_outputs": False} for mode in GATES]
CASES += [{"mode": "lstm", "num_layers": layers, "bidirectional": both, "state_outputs": True, "projection_size": 2}
          for layers in (1, 2) for both in (False, True)]

SETUP = """x, h, c = mx.nd.ones((4, 3, 2)), mx.nd.zeros((1, 3, 3)), mx.nd.zeros((1, 3, 3))
p, g = mx.nd.ones((84,)), mx.nd.ones((63,))"""
LSTM = "state_size=3, num_layers=1, mode='lstm'"
REFUSED = ["mx.nd.RNN(x, mx.nd.ones((7,)), h, c, " + LSTM + ")", "mx.nd.RNN(x, p, h, " + LSTM + ")",
           "mx.nd.RNN(x, p, " + LSTM + ")", "mx.nd.RNN(x, p, h, mx.nd.zeros((1, 1, 3)), " + LSTM + ")",
           "mx.nd.RNN(x, p, mx.nd.zeros((2, 3, 3)), c, " + LSTM + ")", "mx.nd.RNN(x[0], p, h, c, " + LSTM + ")",
           "mx.nd.RNN(x, p.astype('float64'), h, c, " + LSTM + ")", "mx.nd.RNN(x, g, h, state_size=3, num_layers=1, mode='sum')",
           "mx.nd.RNN(x, g, h, state_size=3, num_layers=1)", "mx.nd.RNN(x, g, h, num_layers=1, mode='gru')",
           "mx.nd.RNN(x, g, h, state_size=3, mode='gru')", "mx.nd.RNN(x, g, h, c, state_size=3, num_layers=1, mode='gru')",
           "mx.nd.RNN(x, g, h, state_size=3, num_layers=1, mode='gru', projection_size=2)",
           "mx.nd.RNN(x, p, h, c, p=1.5, " + LSTM + ")", "mx.nd.RNN(x, p, h, c, p=-1, " + LSTM + ")",
           "mx.nd.RNN(x.astype('int32'), p.astype('int32'), h.astype('int32'), c.astype('int32'), " + LSTM + ")"]


def refuse(expression):
    names = {"mx": mx}
    exec(SETUP, names)
    return {"expression": expression, **recording.attempt(lambda: eval(expression, names))}


recording.save(sys.argv[1], {"setup": SETUP, "refused": [refuse(one) for one in REFUSED], "cases": [run(one) for one in CASES]})
