"""Record recurrent cells and layers of Gluon: names, shapes, files, outputs, states and gradients, and refusals.

Parameters are filled with ``wave`` in the order of their names, so that the file holds results only.
"""

import base64
import os
import tempfile
import warnings

import expressions
import mxnet as mx
import recording

SETUP = """rnn, contrib = mx.gluon.rnn, mx.gluon.contrib.rnn
def wave(*shape, speed=1.0, scale=1.0):
    return mx.nd.array((np.sin(np.arange(np.prod(shape)) * speed) * scale).reshape(shape).astype('float32'))
def stack(*cells, kind='SequentialRNNCell'):
    made = getattr(rnn, kind)(prefix='stack_')
    for cell in cells:
        made.add(cell)
    return made
def fill(net, once):
    net.initialize()
    once()
    for name, parameter in sorted(net.collect_params().items()):
        parameter.set_data(wave(*parameter.shape, speed=0.3 + len(name) / 10, scale=0.5))
    net.reset() if hasattr(net, 'reset') else None
def flat(found):
    return [one for part in found for one in flat(part)] if isinstance(found, (list, tuple)) else [found]
def heads(outputs):
    distinct = list({id(output): output for output in outputs}.values())  # an output may be a state too
    return distinct, [wave(*output.shape, speed=0.9 + place) for place, output in enumerate(distinct)]
def waves(net, batch):
    return [wave(*info['shape'], speed=0.7 + place) for place, info in enumerate(net.state_info(batch))]
def step(cell, batch=3, inputs=4):
    data, states = wave(batch, inputs, speed=1.1), waves(cell, batch)
    run = lambda data: cell(data, states)
    fill(cell, lambda: run(data))
    return run, data, cell
def unroll(cell, layout='NTC', split=False, states=False, steps=3, batch=2, inputs=4, **more):
    if states:
        more['begin_state'] = waves(cell, batch)
    data = wave(*((batch, steps, inputs) if layout == 'NTC' else (steps, batch, inputs)), speed=1.1)
    axis = layout.find('T')
    def run(data):
        given = mx.nd.split(data, num_outputs=steps, axis=axis, squeeze_axis=True) if split else data
        return cell.unroll(steps, given, layout=layout, **more)
    fill(cell, lambda: run(data))
    return run, data, cell
def layer(net, states=True, shape=(3, 2, 4), batch=2):
    data, given = wave(*shape, speed=1.1), waves(net, batch)
    run = lambda data: net(data, given) if states else net(data)
    fill(net, lambda: run(data))
    return run, data, net
"""
CELLS = ["RNNCell(3, prefix='a_')", "RNNCell(3, activation='relu', prefix='a_')", "RNNCell(3, 'softsign', prefix='a_')",
         "LSTMCell(3, prefix='a_')", "LSTMCell(3, prefix='a_', activation='softsign', recurrent_activation='tanh')",
         "GRUCell(3, prefix='a_')", "GRUCell(3, prefix='a_', input_size=4)"]
TWO = "rnn.LSTMCell(3, prefix='a_'), rnn.GRUCell(4, prefix='b_')"
BOTH = "rnn.BidirectionalCell(rnn.LSTMCell(3, prefix='l_'), rnn.GRUCell(2, prefix='r_'))"
LENGTHS = "valid_length=mx.nd.array([2, 3])"
NETS = [
    *(f"step(rnn.{cell})" for cell in CELLS), *(f"unroll(rnn.{cell})" for cell in CELLS),
    "step(contrib.LSTMPCell(3, 2, prefix='a_'))", "unroll(contrib.LSTMPCell(3, 2, prefix='a_'))",
    *(f"unroll(rnn.LSTMCell(3, prefix='a_'), {more})" for more in (
        "layout='TNC'", "split=True", "states=True", "merge_outputs=True", "merge_outputs=False", LENGTHS,
        LENGTHS + ", merge_outputs=True", LENGTHS + ", merge_outputs=False, layout='TNC', split=True", "steps=1",
        "layout='TNC', merge_outputs=True, split=True, states=True")),
    *(f"step(stack({TWO}, kind='{kind}'))" for kind in ("SequentialRNNCell", "HybridSequentialRNNCell")),
    *(f"unroll(stack({TWO}, kind='{kind}'), {more})" for kind in ("SequentialRNNCell", "HybridSequentialRNNCell")
      for more in ("", "merge_outputs=True", LENGTHS, "layout='TNC', merge_outputs=False")),
    *(f"unroll({BOTH}, {more})" for more in (
        "", "merge_outputs=True", "merge_outputs=False, states=True", LENGTHS + ", merge_outputs=True", LENGTHS,
        "layout='TNC', merge_outputs=True", "layout='TNC', split=True", "steps=1, merge_outputs=True")),
    f"unroll(stack({BOTH}, rnn.DropoutCell(0.5), rnn.LSTMCell(2, prefix='b_')))",
    "step(rnn.ResidualCell(rnn.GRUCell(4, prefix='a_')))", "unroll(rnn.ResidualCell(rnn.GRUCell(4, prefix='a_')))",
    "unroll(rnn.ResidualCell(rnn.GRUCell(4, prefix='a_')), merge_outputs=True, " + LENGTHS + ")",
    "unroll(rnn.ResidualCell(rnn.GRUCell(4, prefix='a_')), merge_outputs=False, " + LENGTHS + ")",
    "unroll(rnn.ZoneoutCell(rnn.LSTMCell(3, prefix='a_')), states=True)",
    "unroll(contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix='a_')), states=True)",
    "unroll(contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix='a_')), states=True, merge_outputs=False, " + LENGTHS + ")",
    *(f"layer(rnn.{kind}(3, {more}prefix='a_'))" for kind in ("RNN", "LSTM", "GRU") for more in (
        "", "num_layers=2, ", "num_layers=2, bidirectional=True, ")),
    *(f"layer(rnn.{kind}(3, layout='NTC', input_size=4, prefix='a_'), batch=3)" for kind in ("RNN", "LSTM", "GRU")),
    "layer(rnn.RNN(3, activation='tanh', prefix='a_'))", "layer(rnn.LSTM(3, prefix='a_'), states=False)",
    "layer(rnn.GRU(3, 2, bidirectional=True, layout='NTC', prefix='a_'), states=False, batch=3)",
    "layer(rnn.LSTM(3, 2, 'NTC', prefix='a_'), batch=3)",
]
NETS = [net.replace(", )", ")") for net in NETS]
FORWARD_ONLY = [
    "layer(rnn.LSTM(3, 2, projection_size=2, prefix='a_'))",
    "layer(rnn.LSTM(3, 2, bidirectional=True, projection_size=2, prefix='a_'))",
]
WORDS = [
    *(f"repr(rnn.{one})" for one in (
        "RNN(3)", "LSTM(3, 2, dropout=0.5, bidirectional=True)", "GRU(3, layout='NTC', input_size=5)",
        "LSTM(5, projection_size=2)",
        "RNNCell(3)", "LSTMCell(3, input_size=2)", "GRUCell(3)", "DropoutCell(0.5, axes=(1,))",
        "ZoneoutCell(rnn.LSTMCell(2), 0.1, 0.2)",
        "ResidualCell(rnn.GRUCell(2))", "BidirectionalCell(rnn.RNNCell(1), rnn.RNNCell(2))")),
    "repr(contrib.LSTMPCell(4, 2))", "repr(contrib.VariationalDropoutCell(rnn.LSTMCell(2), 0.1, 0.2, 0.3))",
    f"repr(stack({TWO}))",
    *(f"sorted(rnn.{kind}(3, 2, bidirectional=True, prefix='a_').collect_params())" for kind in ("RNN", "LSTM", "GRU")),
    *(f"sorted(rnn.{kind}(3, 2, prefix='a_')._collect_params_with_prefix())" for kind in ("RNN", "LSTM", "GRU")),
    "sorted(rnn.LSTM(3, 2, projection_size=2, bidirectional=True, prefix='a_')._collect_params_with_prefix())",
    "[parameter.shape for parameter in rnn.LSTM(3, 2, projection_size=2, bidirectional=True).collect_params().values()]",
    f"sorted({BOTH}._collect_params_with_prefix())", f"sorted(stack({TWO})._collect_params_with_prefix())",
    "sorted(rnn.ZoneoutCell(rnn.LSTMCell(2, prefix='a_')).collect_params())",
    "rnn.ZoneoutCell(rnn.LSTMCell(2, prefix='a_')).prefix",
    "sorted(rnn.ZoneoutCell(rnn.LSTMCell(2, prefix='a_')).params)", f"{BOTH}.prefix",
    *(f"str(rnn.{one}.state_info(5))" for one in (
        "RNN(3)", "LSTM(3, 2)", "GRU(3, bidirectional=True)", "LSTM(3, projection_size=2)", "RNNCell(3)", "LSTMCell(3)",
        "GRUCell(3)", "DropoutCell(0.5)", "ResidualCell(rnn.LSTMCell(3))")),
    "str(contrib.LSTMPCell(4, 2).state_info(5))", f"str({BOTH}.state_info(5))", "rnn.LSTMCell(3).begin_state(2)",
    "rnn.GRUCell(3).begin_state(batch_size=2, func=mx.nd.ones)", "rnn.LSTM(3).begin_state(2, dtype='float64')",
    "len(stack(rnn.RNNCell(1), rnn.RNNCell(2)))", "repr(stack(rnn.RNNCell(1), rnn.RNNCell(2))[1])",
    "rnn.LSTM(3, layout='CTN')", "rnn.LSTM(3, state_clip_min=-1)(wave(2, 2, 2))", "rnn.RNN(3, activation='cubic')",
    "layer(rnn.LSTM(3), batch=7)[0](wave(3, 2, 4))", "rnn.LSTMCell(3).unroll(3, None)", "rnn.LSTMCell(3).unroll(3, [])",
    "unroll(rnn.LSTMCell(3))[0](wave(2, 4, 4))", "rnn.RecurrentCell().state_info()", "rnn.DropoutCell('a')",
    f"{BOTH}(wave(2, 4), [])", f"rnn.ZoneoutCell({BOTH})",
    "rnn.ResidualCell((lambda c: (rnn.ResidualCell(c), c)[1])(rnn.RNNCell(2)))",
    "(lambda c: (rnn.ResidualCell(c), c)[1])(rnn.RNNCell(2)).begin_state(2)",
    f"contrib.VariationalDropoutCell({BOTH}, drop_states=0.5)",
]
FILES = ["rnn.LSTM(2, bidirectional=True, prefix='a_')", "rnn.LSTM(3, projection_size=2, prefix='a_')",
         "stack(rnn.LSTMCell(2, prefix='a_'), rnn.GRUCell(2, prefix='b_'))"]


def run(expression, backward=True):
    scope = expressions.namespace([SETUP])
    call, data, net = eval(expression, scope)
    data.attach_grad()
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


def file_of(expression):
    scope = expressions.namespace([SETUP])
    net = eval(expression, scope)
    data = mx.nd.ones((1, 2, 3))
    scope["fill"](net, lambda: net.unroll(2, data) if hasattr(net, "unroll") else net(data))
    with tempfile.TemporaryDirectory() as folder:
        net.save_parameters(os.path.join(folder, "net.params"))
        with open(os.path.join(folder, "net.params"), "rb") as file:
            return {"expression": expression, "file": base64.b64encode(file.read()).decode()}


def tried(expression):
    try:
        return run(expression)
    except mx.MXNetError as error:
        return {"expression": expression, "error": type(error).__name__}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    expressions.save([SETUP], [(text,) for text in WORDS], files=[file_of(one) for one in FILES],
                     nets=[*(tried(one) for one in NETS), *(run(one, False) for one in FORWARD_ONLY)])
