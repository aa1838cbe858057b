"""Record loops, branches and operators of one's own in symbols: files, names, shapes, results and gradients.

    python tests/oracle/record_control.py tests/golden/control.json

Each case is code that leaves a symbol ``net``; it is run by the tests of sparsekit too.
"""

import re
import sys

import mxnet as mx
import numpy as np
import recording

#: What MXNet writes into its messages: the time.
CLOCK = r"\[\d\d:\d\d:\d\d\] "

SOFTMAX = """
class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1).reshape((x.shape[0], 1)) * self.factor))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0].asnumpy() / self.factor
        y[np.arange(len(y)), in_data[1].asnumpy().ravel().astype(int)] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))

class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self, factor="1"):
        super().__init__(need_top_grad=False)
        self.factor = float(factor)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        made = Softmax()
        made.factor = self.factor
        return made

mx.operator.register("softmax_for_symbols")(SoftmaxProp)
"""

#: name -> (code, shapes that are given).
CASES = {
    "foreach": ("""
def body(x, s):
    y = S.FullyConnected(x, w, num_hidden=3, no_bias=True, name='fc') + s[0] + S.exp(b)
    return y, [y]
outs, states = S.contrib.foreach(body, S.Variable('data'), [S.Variable('s0')])
net = S.Group([outs] + states)""", {"data": (5, 2, 4)}),
    "foreach of one state": ("""
outs, state = S.contrib.foreach(lambda x, s: (x * s, s + x), S.Variable('data'), S.Variable('s0'))
net = S.Group([outs, state * 2])""", {"data": (4, 3), "s0": (3,)}),
    "foreach of several": ("""
def body(items, states):
    x, y = items
    return [x + y, x * states[0]], [states[0] + y, states[1]]
outs, states = S.contrib.foreach(body, [S.Variable('x'), S.Variable('y')], [S.Variable('s'), S.Variable('t')], name='several')
net = S.Group(outs + states)""", {"x": (3, 2), "y": (3, 2), "s": (2,), "t": (2,)}),
    "foreach with what was computed outside": ("""
hidden = S.tanh(w * 2, name='hidden')
outs, states = S.contrib.foreach(lambda x, s: (S.dot(x, hidden) + s[0], [s[0] + 1]), S.Variable('data'), [S.Variable('s0')])
net = S.sum(outs) + S.sum(states[0]) + S.sum(hidden)""", {"data": (3, 2, 2), "w": (2, 2), "s0": (2, 2)}),
    "foreach without outputs": ("""
outs, states = S.contrib.foreach(lambda x, s: ([], [s[0] * x]), S.Variable('data'), [S.Variable('s0')])
net = states[0]""", {"data": (3, 2), "s0": (2,)}),
    "foreach in a foreach": ("""
def outer(x, s):
    inner, last = S.contrib.foreach(lambda y, t: (y * w + t, t + y), x, s)
    return inner, last
outs, states = S.contrib.foreach(outer, S.Variable('data'), S.Variable('s0'))
net = S.Group([outs, states])""", {"data": (2, 3, 4), "s0": (4,), "w": (4,)}),
    "foreach with a batch normalization": ("""
outs, states = S.contrib.foreach(lambda x, s: (S.BatchNorm(x, name='bn', fix_gamma=False) + s[0], [s[0] * 2]),
                                 S.Variable('data'), [S.Variable('s0')])
net = S.Group([outs] + states)""", {"data": (2, 4, 3), "s0": (4, 3)}),
    "while_loop": ("""
i, s = S.Variable('i'), S.Variable('s')
outs, states = S.contrib.while_loop(lambda i, s: i <= 2, lambda i, s: ([i + s], [i + 1, s + i * w]), [i, s], max_iterations=5)
net = S.Group(outs + states)""", {"i": (1,), "s": (1,), "w": (1,)}),
    "cond": ("""
a = S.Variable('a')
net = S.contrib.cond(S.sum(a) < 5, lambda: (a + 5) * (w + 5), lambda: (a - 5) * w)""", {"a": (2,), "w": (2,)}),
    "cond of the other branch": ("""
a = S.Variable('a')
net = S.Group(S.contrib.cond(S.sum(a) > 50, lambda: [a + 5, w], lambda: [(a - 5) * w, a], name='which'))""",
                                 {"a": (2,), "w": (2,)}),
    "custom": ("""
net = S.Custom(data=S.FullyConnected(S.Variable('data'), num_hidden=3, name='fc'), op_type='softmax_for_symbols', name='out')""",
               {"data": (2, 4)}),
    "custom with settings": ("""
net = S.Custom(S.Variable('data'), S.Variable('label'), op_type='softmax_for_symbols', factor=2) * 1""",
                             {"data": (2, 4)}),
}


def value_of(name, shape):
    """Small whole numbers, labels among them, so that results are exact."""
    size = int(np.prod(shape))
    start = sum(map(ord, name)) % 3
    return (np.arange(size, dtype=np.float32).reshape(shape) + start) % 3 if size else np.zeros(shape, np.float32)


def run(mx, code, shapes):
    """The net, what inference says, and what an executor gives for ``value_of`` every argument."""
    names = {"mx": mx, "np": np, "S": mx.sym, "w": mx.sym.Variable("w"), "b": mx.sym.Variable("b")}
    with mx.name.NameManager():  # names count from 0
        exec(code, names)
    net = names["net"]
    inferred = net.infer_shape(**shapes)
    known = dict(zip(net.list_arguments(), inferred[0], strict=True)) if inferred[0] else shapes
    states = dict(zip(net.list_auxiliary_states(), inferred[2] or [], strict=True))
    args, aux = ({name: mx.nd.array(value_of(name, shape)) for name, shape in part.items()} for part in (known, states))
    executor = net.bind(mx.cpu(), args, {name: mx.nd.zeros(array.shape) for name, array in args.items()}, aux_states=aux)
    outputs = [array.asnumpy() for array in executor.forward(is_train=True)]
    executor.backward([mx.nd.ones(array.shape) for array in executor.outputs])
    return net, outputs, {name: array.asnumpy().tolist() for name, array in executor.grad_dict.items()}


#: How many steps a loop takes of those that it may; in the others MXNet leaves memory as it was, and here are zeros.
STEPS = {"while_loop": 3}


def taken(name, values):
    """The first output of a case, with zeros in the steps that its loop does not take."""
    values[STEPS.get(name, len(values)):] = 0
    return values


def record(name):
    code, shapes = CASES[name]
    mx.AttrScope._subgraph_names.clear()
    net, outputs, gradients = run(mx, code, shapes)
    found = {"name": name, "code": code, "shapes": {key: list(shape) for key, shape in shapes.items()}, "json": net.tojson(),
             "arguments": net.list_arguments(), "outputs": net.list_outputs(), "states": net.list_auxiliary_states(),
             "values": [taken(name, outputs[0]).tolist(), *(values.tolist() for values in outputs[1:])], "gradients": gradients}
    found["inferred"] = [part if part is None else [list(shape) for shape in part] for part in net.infer_shape(**shapes)]
    return found


exec(SOFTMAX, {"mx": mx, "np": np})
names = list(CASES)


def one(number):
    try:
        return record(names[number])
    except Exception as error:
        code, shapes = CASES[names[number]]
        reason = re.sub(CLOCK, "", str(error).strip().splitlines()[-1])[:300]
        return {"name": names[number], "code": code, "shapes": shapes, "error": reason}


recording.save(sys.argv[1], {"start": SOFTMAX, "cases": recording.record_each(len(names), one)})
