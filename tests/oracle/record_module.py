"""Record modules: parameters after training steps, predictions, scores, log lines, monitors, and checkpoints' bytes.

A case is code that runs under MXNet and under this library, with ``mx`` alone changed, and leaves ``result``, a dict.
"""

import base64
import logging
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np
import recording

#: What every case begins with.
START = """
state = np.random.RandomState(3)
def values(*shape):
    return state.uniform(-1, 1, shape).astype('float32')
def sparse(rows, columns):
    return mx.nd.array(values(rows, columns) * (state.uniform(0, 1, (rows, columns)) < 0.3)).tostype('csr')
def mlp(hidden=5, classes=3):
    net = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=hidden, name='fc1')
    net = mx.sym.Activation(net, act_type='tanh', name='act1')
    net = mx.sym.FullyConnected(net, num_hidden=classes, name='fc2')
    return mx.sym.SoftmaxOutput(net, name='softmax')
def linear(features=12):
    data, label = mx.sym.Variable('data', stype='csr'), mx.sym.Variable('label')
    weight = mx.sym.Variable('weight', stype='row_sparse', shape=(features, 1))
    bias = mx.sym.Variable('bias', shape=(1,))
    net = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), bias)
    return mx.sym.LinearRegressionOutput(net, label, name='lro')
def start(mod, iterator, **how):
    mod.bind(iterator.provide_data, iterator.provide_label, **how)
    mod.init_params(arg_params=dict(first), aux_params={})
def numbers(arrays):
    return {name: array.asnumpy() for name, array in sorted(arrays.items())}
first = {'fc1_weight': values(5, 7), 'fc1_bias': values(5), 'fc2_weight': values(3, 5), 'fc2_bias': values(3)}
first = {name: mx.nd.array(array) for name, array in first.items()}
x, y = values(20, 7), state.randint(0, 3, 20).astype('float32')
dense_iter = mx.io.NDArrayIter(x, y, 4)
row_weight = mx.nd.array(values(12, 1)).tostype('row_sparse')
linear_first = {'weight': row_weight, 'bias': mx.nd.array(values(1))}
csr, targets = sparse(24, 12), values(24, 1)
sparse_iter = mx.io.NDArrayIter(csr, targets, 4, label_name='label', last_batch_handle='discard')
"""

FIT = """
mod = mx.mod.Module(mlp(), context={context}, work_load_list={loads}, fixed_param_names={fixed})
mod.fit(dense_iter, eval_metric='ce', optimizer={optimizer!r}, optimizer_params={settings}, kvstore={kvstore!r},
        arg_params=first, aux_params={{}}, num_epoch=2)
result = numbers(mod.get_params()[0])"""

LINEAR = """
mod = mx.mod.Module(linear(), label_names=['label'], context={context})
mod.fit(sparse_iter, eval_metric='mse', optimizer={optimizer!r}, optimizer_params={settings}, arg_params=linear_first,
        aux_params={{}}, num_epoch=3{more})
arguments, _ = mod.get_params()
result = {{'stype': arguments['weight'].stype, **numbers(arguments)}}"""


def fit(context="mx.cpu()", loads=None, fixed=None, optimizer="sgd", kvstore="local", **settings):
    return FIT.format(context=context, loads=loads, fixed=fixed, optimizer=optimizer, kvstore=kvstore,
                      settings=settings or {"learning_rate": 0.1})


def linear(optimizer="sgd", context="mx.cpu()", more="", **settings):
    return LINEAR.format(optimizer=optimizer, settings=settings, context=context, more=more)


TWO = "[mx.cpu(0), mx.cpu(1)]"
ROWS = ", sparse_row_id_fn=lambda batch: {'weight': batch.data[0].tostype('csr').indices}"

CASES = {
    "mlp sgd": fit(learning_rate=0.2, momentum=0.9, wd=0.1),
    "mlp adam": fit(optimizer="adam", learning_rate=0.02),
    "mlp rescaled": fit(learning_rate=0.2, rescale_grad=1.0),
    "mlp fixed": fit(fixed=["fc1_weight", "fc1_bias"], learning_rate=0.2),
    "mlp two contexts": fit(TWO, learning_rate=0.2, momentum=0.5),
    "mlp uneven loads": fit(TWO, loads=[1, 3], learning_rate=0.2),
    "mlp device": fit(TWO, kvstore="device", learning_rate=0.2, momentum=0.9),
    "mlp without a store": fit(TWO, kvstore=None, learning_rate=0.2),
    "linear sgd": linear(learning_rate=0.1),
    "linear momentum": linear(learning_rate=0.05, momentum=0.9, wd=0.01),
    "linear adam": linear("adam", learning_rate=0.05),
    "linear ftrl": linear("ftrl", learning_rate=0.1),
    "linear adagrad": linear("adagrad", learning_rate=0.1),
    "linear two contexts": linear("sgd", TWO, ROWS, learning_rate=0.1),
    "steps": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter, inputs_need_grad=True)
mod.init_optimizer(optimizer_params=(('learning_rate', 0.5),))
batch = dense_iter.next()
mod.forward(batch, is_train=True)
mod.backward()
mod.update()
result = {'outputs': mod.get_outputs()[0].asnumpy(), 'inputs': mod.get_input_grads()[0].asnumpy(),
          'shapes': [list(map(tuple, some)) for some in (mod.data_shapes, mod.label_shapes, mod.output_shapes)],
          **numbers(mod.get_params()[0])}""",
    "adds up": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter, grad_req='add')
mod.init_optimizer(optimizer_params={'learning_rate': 0.1})
for batch in dense_iter:
    mod.forward_backward(batch)
mod.update()
result = numbers(mod.get_params()[0])""",
    "requests by name": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter, grad_req={'fc1_bias': 'null', 'fc2_bias': 'add'})
mod.init_optimizer(optimizer_params={'learning_rate': 0.1})
for batch in dense_iter:
    mod.forward_backward(batch)
    mod.update()
result = numbers(mod.get_params()[0])""",
    "factors": """
data = mx.sym.Variable('data')
weight = mx.sym.Variable('fc1_weight', lr_mult=0.5, wd_mult=2)
net = mx.sym.FullyConnected(data, weight, mx.sym.Variable('fc1_bias', lr_mult=0), num_hidden=5, name='fc1')
net = mx.sym.SoftmaxOutput(net, name='softmax')
mod = mx.mod.Module(net)
mod.fit(dense_iter, optimizer_params={'learning_rate': 0.2, 'wd': 0.1}, num_epoch=2,
        arg_params={name: first[name] for name in ('fc1_weight', 'fc1_bias')}, aux_params={})
result = numbers(mod.get_params()[0])""",
    "predict": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter)
padded = mx.io.NDArrayIter(x[:10], y[:10], 4)
each = mod.predict(padded, merge_batches=False)
result = {'all': mod.predict(padded).asnumpy(), 'some': mod.predict(padded, num_batch=1).asnumpy(),
          'shapes': [[out.shape for out in outs] for outs in each], 'array': mod.predict(mx.nd.array(x[:4])).asnumpy(),
          'list': len(mod.predict(padded, always_output_list=True)), 'score': mod.score(padded, ['acc', 'ce']),
          'few': mod.score(padded, 'ce', num_batch=2),
          'iterated': [(number, outs[0].shape, batch.pad) for outs, number, batch in mod.iter_predict(padded)]}""",
    "other batch sizes": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter)
mod.init_optimizer(optimizer_params={'learning_rate': 0.2})
for rows in (4, 2, 7, 4):
    mod.forward_backward(mx.io.DataBatch([mx.nd.array(x[:rows])], [mx.nd.array(y[:rows])]))
    mod.update()
result = {'shapes': [out.shape for out in mod.get_outputs()], **numbers(mod.get_params()[0])}""",
    "shared": """
mod, other = mx.mod.Module(mlp()), mx.mod.Module(mlp())
start(mod, dense_iter)
mod.init_optimizer(optimizer_params={'learning_rate': 0.2, 'momentum': 0.9})
other.bind([('data', (2, 7))], [('softmax_label', (2,))], shared_module=mod)
for batch in dense_iter:
    mod.forward_backward(batch)
    mod.update()
    other.forward_backward(mx.io.DataBatch([mx.nd.array(x[:2])], [mx.nd.array(y[:2])]))
    other.update()
result = {'borrowed': other.optimizer_initialized, **numbers(mod.get_params()[0])}""",
    "states": """
data, hidden = mx.sym.Variable('data'), mx.sym.Variable('hidden', shape=(4, 5))
net = mx.sym.FullyConnected(data, num_hidden=5, name='fc1') + hidden
mod = mx.mod.Module(mx.sym.Group([mx.sym.BlockGrad(net, name='out'), net * 2]), label_names=None, state_names=['hidden'])
mod.bind([('data', (4, 7))])
mod.init_params(arg_params={name: first[name] for name in ('fc1_weight', 'fc1_bias')}, aux_params={})
mod.set_states(value=1.5)
mod.forward(dense_iter.next(), is_train=False)
one = mod.get_outputs()[0].asnumpy()
mod.set_states(states=[[mx.nd.array(one)]])
result = {'one': one, 'states': mod.get_states(merge_multi_context=False)[0][0].asnumpy(), 'names': mod.output_names}""",
    "bucketing": """
def sym_gen(length):
    data = mx.sym.Variable('data')
    net = mx.sym.FullyConnected(mx.sym.sum(data, axis=1), num_hidden=5, name='fc1')
    return mx.sym.SoftmaxOutput(net, name='softmax'), ['data'], ['softmax_label']
def batch(length):
    return mx.io.DataBatch([mx.nd.array(values(4, length, 7))], [mx.nd.array(y[:4])], bucket_key=length,
                           provide_data=[('data', (4, length, 7))], provide_label=[('softmax_label', (4,))])
mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=6)
mod.bind([('data', (4, 6, 7))], [('softmax_label', (4,))])
mod.init_params(arg_params={name: first[name] for name in ('fc1_weight', 'fc1_bias')}, aux_params={})
mod.init_optimizer(optimizer_params={'learning_rate': 0.3, 'momentum': 0.9})
metric = mx.metric.create('ce')
for length in (6, 3, 6, 2, 3):
    one = batch(length)
    mod.forward(one, is_train=True)
    mod.update_metric(metric, one.label)
    mod.backward()
    mod.update()
result = {'metric': metric.get(), 'names': [mod.data_names, mod.output_names], 'shapes': list(map(tuple, mod.data_shapes)),
          **numbers(mod.get_params()[0])}""",
    "sequential": """
data = mx.sym.Variable('data')
features = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=5, name='fc1'), act_type='tanh', name='act1')
loss = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable('hidden'), num_hidden=3, name='fc2'), name='softmax')
mod = mx.mod.SequentialModule()
mod.add(mx.mod.Module(features, label_names=None)).add(mx.mod.Module(loss, data_names=['hidden']), take_labels=True,
                                                        auto_wiring=True)
mod.fit(dense_iter, eval_metric='ce', optimizer_params={'learning_rate': 0.2}, arg_params=first, aux_params={}, num_epoch=2)
result = {'names': [mod.data_names, mod.output_names], 'score': mod.score(dense_iter, 'ce'), **numbers(mod.get_params()[0])}""",
    "a loss in Python": """
net = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=5, name='fc1')
loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels.reshape((-1, 1)))
mod = mx.mod.SequentialModule()
mod.add(mx.mod.Module(net, label_names=None)).add(loss, take_labels=True, auto_wiring=True)
mod.bind(dense_iter.provide_data, dense_iter.provide_label)
mod.init_params(arg_params={name: first[name] for name in ('fc1_weight', 'fc1_bias')}, aux_params={})
mod.init_optimizer(optimizer_params={'learning_rate': 0.1})
for batch in dense_iter:
    mod.forward_backward(batch)
    mod.update()
result = {'outputs': mod.get_outputs()[0].asnumpy(), **numbers(mod._modules[0].get_params()[0])}""",
    "log": """
calls = []
mod = mx.mod.Module(mlp())
mod.fit(dense_iter, eval_data=mx.io.NDArrayIter(x[:8], y[:8], 4), eval_metric=['ce', 'acc'], validation_metric='acc',
        arg_params=first, aux_params={}, num_epoch=3, begin_epoch=1, optimizer_params={'learning_rate': 0.2},
        epoch_end_callback=lambda epoch, symbol, arg, aux: calls.append(['epoch', epoch, symbol.name, sorted(arg), sorted(aux)]),
        batch_end_callback=[lambda param: calls.append(['batch', param.epoch, param.nbatch, param.eval_metric.get()[0]]),
                            mx.callback.log_train_metric(2)],
        eval_end_callback=lambda param: calls.append(['eval', param.epoch, param.nbatch, param.eval_metric.get()]),
        eval_batch_end_callback=lambda param: calls.append(['eval batch', param.epoch, param.nbatch]))
result = {'calls': calls}""",
    "said": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter)
mod.bind(dense_iter.provide_data, dense_iter.provide_label)
mod.init_params()
mod.init_optimizer(optimizer=mx.optimizer.SGD())
mod.init_optimizer()
mod.set_params({}, {}, force_init=False)
mx.mod.Module(mlp(), label_names=['other'])
other = mx.mod.Module(mlp())
other.bind([('data', (4, 7))])
other.prepare(None, lambda batch: {})
result = {}""",
    "monitor": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter)
mon = mx.mon.Monitor(2, pattern='fc.*|softmax_output|act.*', sort=True)
mod.install_monitor(mon)
found = []
for batch in list(dense_iter)[:3]:
    mon.tic()
    mod.forward_backward(batch)
    found.append([(step, name, float(text)) for step, name, text in mon.toc() if 'backward_output0' not in name
                  and not name.startswith('act1_backward')])
result = {'found': found}""",
    "monitor of all": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter)
mon = mx.mon.Monitor(1, stat_func=lambda x: (x * 0 + 1).sum().reshape((1, 1)), pattern='fc1.*', monitor_all=True)
mod.install_monitor(mon)
mon.tic()
mod.forward(dense_iter.next(), is_train=False)
result = {'found': [(step, name, text) for step, name, text in mon.toc() if '_backward' not in name]}""",
    "feed forward": """
model = mx.model.FeedForward(mlp(), num_epoch=2, learning_rate=0.2, arg_params=dict(first), aux_params={})
model.fit(dense_iter, eval_metric='ce')
result = {'predictions': model.predict(mx.io.NDArrayIter(x[:6], batch_size=4)), **numbers(model.arg_params),
          'score': float(model.score(dense_iter, 'ce'))}""",
    "checkpoint": """
mod = mx.mod.Module(mlp())
start(mod, dense_iter)
mod.save_checkpoint('dense', 3)
result = {}""",
    "sparse checkpoint": """
mx.model.save_checkpoint('sparse', 12, linear(), linear_first, {'average': csr})
symbol, arguments, states = mx.model.load_checkpoint('sparse', 12)
result = {'stypes': [arguments['weight'].stype, arguments['bias'].stype, states['average'].stype],
          'names': symbol.list_arguments(), **numbers(arguments), **numbers(states)}""",
}


class Lines(logging.Handler):
    """What is logged, with times taken out."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.levelname}: " + re.sub(r"cost=[\d.]+", "cost=T", record.getMessage()))


def plain(value):
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return recording.plain(value)


def run(code):
    handler, names = Lines(), {"mx": mx, "np": np}
    logger = logging.getLogger()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said, mx.name.NameManager():
            os.chdir(folder)
            warnings.simplefilter("always")
            exec(START + code, names)
            files = {path.name: base64.b64encode(path.read_bytes()).decode() for path in sorted(Path(folder).iterdir())}
    finally:
        logger.removeHandler(handler)
    told = [re.sub(r"\x1b\[\d+m", "", str(one.message)) for one in said if issubclass(one.category, UserWarning)]
    return {"result": plain(names["result"]), "log": handler.lines, "warnings": told, "files": files}


target = os.path.abspath(sys.argv[1])
cases = []
for name, code in CASES.items():
    try:
        cases.append({"name": name, "code": code, **run(code)})
    except Exception as error:
        print(name, type(error).__name__, str(error)[:300])
        raise
recording.save(target, {"start": START, "cases": cases})
