"""Record what symbols MXNet makes of expressions: names, arguments, files, inferred shapes and types, refusals.

The expressions are the lines of ``symbol_expressions.txt``, each evaluated after ``VARIABLES`` and ``NETS``, with names
counted anew.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path

import mxnet as mx
import recording

VARIABLES = """
S = mx.sym
a, b, c, d, e, label = map(S.Variable, ("a", "b", "c", "d", "e", "label"))
"""

NETS = """
net = S.FullyConnected(S.FullyConnected(S.Variable("data"), num_hidden=4, name="fc1"), num_hidden=5, name="fc2")
with mx.AttrScope(ctx_group="dev1", lr_mult="0.1"):
    scoped = S.FullyConnected(S.Variable("q"), num_hidden=2, name="zf")
with mx.name.Prefix("mynet_"):
    prefixed = S.Activation(S.FullyConnected(S.Variable("data"), num_hidden=3, name="fc1"), act_type="relu")
many = S.add_n(*[S.Variable("x%d" % i) for i in range(25)], name="s")
wide = S.Group([S.Variable("x%d" % i) * 2 for i in range(11)])
normed = S.FullyConnected(S.BatchNorm(S.Variable("data"), name="bn", fix_gamma=False), num_hidden=2, name="fc")
deep = S.Variable("data")
for i in range(3):
    below = S.FullyConnected(deep, num_hidden=8)
    deep = S.LayerNorm(S.Activation(below, act_type="relu")) + deep * 0.5 if i else below
deep = S.Group([S.SoftmaxOutput(deep, name="softmax"), S.BlockGrad(deep, name="features")])
recurrent = S.RNN(S.Variable("data"), state_size=4, num_layers=2, mode="lstm", bidirectional=True, state_outputs=True, name="r")
states = S.FullyConnected(S.Variable("data"), num_hidden=4, name="i2h") + S.FullyConnected(
    S.zeros((0, 4), name="begin"), num_hidden=4, name="h2h")
"""


def record(line):
    names = {"mx": mx}
    with mx.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(VARIABLES + NETS, names)
            with mx.name.NameManager():
                made = eval(line, names)
        except Exception as error:
            return {"expression": line, "error": type(error).__name__}
    if not isinstance(made, mx.sym.Symbol):
        return {"expression": line, "value": repr(made)}
    text = made.tojson()
    graph = json.loads(text)
    return {"expression": line, "repr": repr(made), "arguments": made.list_arguments(), "aux": made.list_auxiliary_states(),
            "outputs": made.list_outputs(), "graph": graph, "sha256": hashlib.sha256(text.encode()).hexdigest()}


lines = Path(__file__).with_name("symbol_expressions.txt").read_text(encoding="utf-8").splitlines()
cases = recording.record_texts(lines, lambda number: record(lines[number]), crashes=False)
recording.save(sys.argv[1], {"variables": VARIABLES, "nets": NETS, "cases": cases})
