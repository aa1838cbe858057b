"""Record blocks of code: the row_sparse tutorial's, those on sparse symbols, and all uses of autograd.

A block is lines of code, the last of them an expression.  Blocks of a tutorial share their names, those about
autograd start afresh.
"""

import sys

import mxnet as mx
import numpy as np
import recording

ROW_SPARSE = [
    """X = mx.nd.array([[1,0]])
W = mx.nd.array([[3,4,5], [6,7,8]])
Y = mx.nd.dot(X, W)
{'X': X, 'W': W, 'Y': Y}""",
    """grad_W = mx.nd.dot(X, mx.nd.ones_like(Y), transpose_a=True)
grad_W""",
    """shape = (6, 2)
data_list = [[1, 2], [3, 4]]
indices_list = [1, 4]
a = mx.nd.sparse.row_sparse_array((data_list, indices_list), shape=shape)
data_np = np.array([[1, 2], [3, 4]])
indices_np = np.array([1, 4])
b = mx.nd.sparse.row_sparse_array((data_np, indices_np), shape=shape)
{'a':a, 'b':b}""",
    """c = mx.nd.sparse.array(a)
d = mx.nd.array(a, dtype=np.float16)
(c.dtype, d.dtype)""",
    "a.asnumpy()",
    """data = a.data
indices = a.indices
{'a.stype': a.stype, 'data':data, 'indices':indices}""",
    """ones = mx.nd.ones((2,2))
rsp = ones.tostype('row_sparse')
dense = rsp.tostype('default')
{'rsp':rsp, 'dense':dense}""",
    """ones = mx.nd.ones((2,2))
rsp = mx.nd.sparse.cast_storage(ones, 'row_sparse')
dense = mx.nd.sparse.cast_storage(rsp, 'default')
{'rsp':rsp, 'dense':dense}""",
    """a = mx.nd.ones((2,2)).tostype('row_sparse')
b = a.copy()
c = mx.nd.sparse.zeros('row_sparse', (2,2))
c[:] = a
d = mx.nd.sparse.zeros('row_sparse', (2,2))
a.copyto(d)
{'b is a': b is a, 'b.asnumpy()':b.asnumpy(), 'c.asnumpy()':c.asnumpy(), 'd.asnumpy()':d.asnumpy()}""",
    """e = mx.nd.sparse.zeros('row_sparse', (2,2))
f = mx.nd.sparse.zeros('row_sparse', (2,2))
g = mx.nd.ones(e.shape)
e[:] = g
g.copyto(f)
{'e.stype':e.stype, 'f.stype':f.stype, 'g.stype':g.stype}""",
    """data = [[1, 2], [3, 4], [5, 6]]
indices = [0, 2, 3]
rsp = mx.nd.sparse.row_sparse_array((data, indices), shape=(5, 2))
rsp_retained = mx.nd.sparse.retain(rsp, mx.nd.array([0, 1]))
{'rsp.asnumpy()': rsp.asnumpy(), 'rsp_retained': rsp_retained, 'rsp_retained.asnumpy()': rsp_retained.asnumpy()}""",
    """shape = (3, 5)
data = [7, 8, 9]
indptr = [0, 2, 2, 3]
indices = [0, 2, 1]
lhs = mx.nd.sparse.csr_matrix((data, indices, indptr), shape=shape)
rhs = mx.nd.ones((3, 2))
transpose_dot = mx.nd.sparse.dot(lhs, rhs, transpose_a=True)
{'transpose_dot': transpose_dot, 'transpose_dot.asnumpy()': transpose_dot.asnumpy()}""",
    """a = transpose_dot.copy()
b = a * 2  # b will be a RowSparseNDArray since zero multiplied by 2 is still zero
c = a + mx.nd.ones((5, 2))  # c will be a dense NDArray
{'b.stype':b.stype, 'c.stype':c.stype}""",
    """e = mx.nd.sparse.zeros('row_sparse', a.shape)
d = mx.nd.log(a) # dense operator with a sparse input
e = mx.nd.log(a, out=e) # dense operator with a sparse output
{'a.stype':a.stype, 'd.stype':d.stype, 'e.stype':e.stype}""",
    """shape = (4, 2)
weight = mx.nd.ones(shape).tostype('row_sparse')
data = [[1, 2], [4, 5]]
indices = [1, 2]
grad = mx.nd.sparse.row_sparse_array((data, indices), shape=shape)
sgd = mx.optimizer.SGD(learning_rate=0.01, momentum=0.01)
momentum = sgd.create_state(0, weight)
{"grad.asnumpy()":grad.asnumpy(), "weight.asnumpy()":weight.asnumpy(), "momentum.asnumpy()":momentum.asnumpy()}""",
    """sgd.update(0, weight, grad, momentum)
{"weight.asnumpy()":weight.asnumpy(), "momentum.asnumpy()":momentum.asnumpy()}""",
]

#: "Train a Linear Regression Model with Sparse Symbols"; calls that stand on a line of their own, and `mx.nd.dot` and the
#: like, which the copies of that text have lost, are put back.
SYMBOL = [
    """import random
random.seed(42)
np.random.seed(42)
mx.random.seed(42)
a = mx.sym.Variable('a')
b = mx.sym.Variable('b', stype='csr')
c = mx.sym.Variable('c', stype='row_sparse')
(a, b, c)""",
    """shape = (2,2)
b_exec = b.simple_bind(ctx=mx.cpu(), b=shape)
c_exec = c.simple_bind(ctx=mx.cpu(), c=shape)
b_exec.forward()
c_exec.forward()
(b_exec.outputs, c_exec.outputs)""",
    """b_exec.arg_dict['b'][:] = mx.nd.ones(shape).tostype('csr')
b_exec.forward()
eval_b = b_exec.outputs[0]
{'eval_b': eval_b, 'eval_b.asnumpy()': eval_b.asnumpy()}""",
    """d = mx.sym.elemwise_add(a, a)
e = mx.sym.sparse.negative(b)
f = mx.sym.sparse.elemwise_add(c, c)
{'d':d, 'e':e, 'f':f}""",
    """add_exec = mx.sym.Group([d, e, f]).simple_bind(ctx=mx.cpu(), a=shape, b=shape, c=shape)
add_exec.forward()
dense_add = add_exec.outputs[0]
csr_add = add_exec.outputs[1]
rsp_add = add_exec.outputs[2]
{'dense_add.stype': dense_add.stype, 'csr_add.stype':csr_add.stype, 'rsp_add.stype': rsp_add.stype}""",
    """csr_log = mx.sym.log(a)
csr_rsp_add = mx.sym.elemwise_add(b, c)
fallback_exec = mx.sym.Group([csr_rsp_add, csr_log]).simple_bind(ctx=mx.cpu(), a=shape, b=shape, c=shape)
fallback_exec.forward()
fallback_add = fallback_exec.outputs[0]
fallback_log = fallback_exec.outputs[1]
{'fallback_add': fallback_add, 'fallback_log': fallback_log}""",
    """data = mx.sym.var('data', stype='csr', shape=(32, 10000))
weight = mx.sym.var('weight', stype='row_sparse', shape=(10000, 2))
bias = mx.symbol.Variable("bias", shape=(2,))
dot = mx.symbol.sparse.dot(data, weight)
pred = mx.symbol.broadcast_add(dot, bias)
y = mx.symbol.Variable("label")
output = mx.symbol.SoftmaxOutput(data=pred, label=y, name="output")
executor = output.simple_bind(ctx=mx.cpu())
{name: [array.stype, list(array.shape)] for name, array in executor.arg_dict.items()}""",
    """feature_dimension = 100
train_data = mx.test_utils.rand_ndarray((1000, feature_dimension), 'csr', 0.01)
target_weight = mx.nd.arange(1, feature_dimension + 1).reshape((feature_dimension, 1))
train_label = mx.nd.dot(train_data, target_weight)
batch_size = 1
train_iter = mx.io.NDArrayIter(train_data, train_label, batch_size, last_batch_handle='discard', label_name='label')
(train_data.stype, train_label.shape)""",
    """initializer = mx.initializer.Normal(sigma=0.01)
X = mx.sym.Variable('data', stype='csr')
Y = mx.symbol.Variable('label')
weight = mx.symbol.Variable('weight', stype='row_sparse', shape=(feature_dimension, 1), init=initializer)
bias = mx.symbol.Variable('bias', shape=(1, ))
pred = mx.sym.broadcast_add(mx.sym.sparse.dot(X, weight), bias)
lro = mx.sym.LinearRegressionOutput(data=pred, label=Y, name="lro")
(lro, lro.list_arguments())""",
    """mod = mx.mod.Module(symbol=lro, data_names=['data'], label_names=['label'])
mod.bind(data_shapes=train_iter.provide_data, label_shapes=train_iter.provide_label)
mod.init_params(initializer=initializer)
sgd = mx.optimizer.SGD(learning_rate=0.05, rescale_grad=1.0/batch_size, momentum=0.9)
mod.init_optimizer(optimizer=sgd)
(mod.data_names, mod.label_names, mod.output_names, mod.optimizer_initialized)""",
    """metric = mx.metric.create('MSE')
for epoch in range(10):
    train_iter.reset()
    metric.reset()
    for batch in train_iter:
        mod.forward(batch, is_train=True)
        mod.update_metric(metric, batch.label)
        mod.backward()
        mod.update()
assert metric.get()[1] < 1, "Achieved MSE (%f) is larger than expected (1.0)" % metric.get()[1]
(epoch, metric.get()[0], mod.get_params()[0]['weight'].stype)""",
]

FRESH = [
    # attach_grad, grad_req and buffers
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * x\ny.backward()\nx.grad",
    "x = mx.nd.array([1, 2])\nx.grad",
    "x = mx.nd.array([1, 2]); x.attach_grad()\nx.grad",
    ("x = mx.nd.array([1, 2]); x.attach_grad(grad_req='add')\nfor _ in range(3):\n"
    "    with mx.autograd.record():\n        y = x * 2\n    y.backward()\nx.grad"),
    "x = mx.nd.array([1, 2]); x.attach_grad(grad_req='null')\nwith mx.autograd.record():\n    y = x * 2\ny.backward()\nx.grad",
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n"
    "y.backward(mx.nd.array([10, 100]))\nx.grad"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n"
    "    z = y.detach() * x\nz.backward()\nx.grad"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n    y.attach_grad()\n    z = y * y\n"
    "z.backward()\n[x.grad, y.grad]"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n    z = mx.nd.BlockGrad(y) + x\n"
    "z.backward()\nx.grad"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n    with mx.autograd.pause():\n"
    "        w = y * 10\n    z = w + y\nz.backward()\nx.grad"),
    "x = mx.nd.ones((2, 2)); x.attach_grad(stype='row_sparse')\nwith mx.autograd.record():\n    y = x * 2\ny.backward()\nx.grad",
    "x = mx.nd.sparse.csr_matrix([[0, 1], [2, 0]]); x.attach_grad()\nx.grad",
    ("x = mx.nd.ones((2, 2)).tostype('row_sparse'); x.attach_grad()\nwith mx.autograd.record():\n    y = mx.nd.sparse.square(x)\n"
    "y.backward()\nx.grad"),
    # several heads, several outputs, retained graphs
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n    z = x * 3\n"
    "mx.autograd.backward([y, z])\nx.grad"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * 2\n    z = x * 3\n"
    "mx.autograd.backward([y, z], [mx.nd.array([1, 0]), None])\nx.grad"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * x\n"
    "y.backward(retain_graph=True)\ny.backward()\nx.grad"),
    ("x = mx.nd.array([1, 2, 3, 4]); x.attach_grad()\nwith mx.autograd.record():\n    a, b = mx.nd.split(x, 2, axis=0)\n"
    "    y = a * b\ny.backward()\nx.grad"),
    ("x = mx.nd.array([[1, 5, 2]]); x.attach_grad()\nwith mx.autograd.record():\n    a, b, c = mx.nd.split(x, 3, axis=1)\n"
    "b.backward()\nx.grad"),
    # grad
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = mx.nd.exp(x)\nmx.autograd.grad(y, x)",
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = mx.nd.exp(x)\nmx.autograd.grad(y, [x])",
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = mx.nd.exp(x)\n"
    "g = mx.autograd.grad(y, x, head_grads=mx.nd.array([2, 3]))\n[g, x.grad]"),
    ("x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * x * x\n"
    "    g = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]\n    z = (g * g).sum()\nz.backward()\nx.grad"),
    ("x = mx.nd.array([1, 2]); w = mx.nd.array([3, 4]); x.attach_grad(); w.attach_grad()\nwith mx.autograd.record():\n"
    "    y = mx.nd.sin(x) * w\n    g = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]\n"
    "g.backward()\n[x.grad, w.grad]"),
    ("x = mx.nd.array([1, 2]); g = mx.nd.zeros((2,)); mx.autograd.mark_variables([x], [g])\nwith mx.autograd.record():\n"
    "    y = x * 3\ny.backward()\n[g, x.grad]"),
    ("x = mx.nd.array([1, 2]); g = mx.nd.ones((2,)); mx.autograd.mark_variables(x, g, grad_reqs='add')\n"
    "with mx.autograd.record():\n"
    "    y = x * 3\ny.backward()\ng"),
    # modes
    ("seen = [mx.autograd.is_recording(), mx.autograd.is_training()]\nwith mx.autograd.record():\n"
    "    seen += [mx.autograd.is_recording(), mx.autograd.is_training()]\n    with mx.autograd.predict_mode():\n"
    "        seen += [mx.autograd.is_recording(), mx.autograd.is_training()]\n    with mx.autograd.pause(train_mode=True):\n"
    "        seen += [mx.autograd.is_recording(), mx.autograd.is_training()]\nwith mx.autograd.train_mode():\n"
    "    seen += [mx.autograd.is_recording(), mx.autograd.is_training()]\nwith mx.autograd.record(train_mode=False):\n"
    "    seen += [mx.autograd.is_recording(), mx.autograd.is_training()]\nseen"),
    ("before = mx.autograd.set_recording(True); then = mx.autograd.set_recording(before)\n"
    "first = mx.autograd.set_training(True); last = mx.autograd.set_training(first)\n[before, then, first, last]"),
    ("x = mx.nd.ones((2, 3)); x.attach_grad()\nwith mx.autograd.record():\n    y = mx.nd.Dropout(x, p=0.0)\n"
    "y.backward()\n[y, x.grad]"),
    "x = mx.nd.ones((2, 3))\nmx.nd.Dropout(x, p=0.5)",
    # functions of one's own
    ("class Scaled(mx.autograd.Function):\n    def forward(self, x):\n        self.save_for_backward(x)\n        return x * 2\n"
    "    def backward(self, dy):\n        x, = self.saved_tensors\n        return dy * x * 10\n"
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = Scaled()(x)\ny.backward()\n[y, x.grad]"),
    ("class Two(mx.autograd.Function):\n    def forward(self, x, w):\n        self.w = w\n        return x + w, x * w\n"
    "    def backward(self, da, db):\n        return da + db * self.w, da\n"
    "x = mx.nd.array([1, 2]); w = mx.nd.array([3, 4]); x.attach_grad(); w.attach_grad()\nwith mx.autograd.record():\n"
    "    a, b = Two()(x, w)\n    z = a + 2 * b\nz.backward()\n[x.grad, w.grad]"),
    # refusals
    "x = mx.nd.array([1, 2])\ny = x * 2\ny.backward()",
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * x\ny.backward()\ny.backward()",
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    x += 1",
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    x[:] = 1",
    ("x = mx.nd.array([1, 2]); x.attach_grad(); z = mx.nd.array([1, 2]); z.attach_grad()\nwith mx.autograd.record():\n"
    "    y = x * x\nmx.autograd.grad(y, [z])"),
    "x = mx.nd.array([1, 2])\nwith mx.autograd.record():\n    y = x * x\nmx.autograd.grad(y, [x])",
    "x = mx.nd.array([1, 2]); mx.autograd.mark_variables([x], [])",
    "x = mx.nd.array([1, 2]); x.attach_grad(grad_req='sum')",
    "x = mx.nd.array([1, 2]); x.attach_grad()\nwith mx.autograd.record():\n    y = x * x\ny.backward(mx.nd.ones((3,)))",
]


def encode(value):
    if isinstance(value, dict):
        return {"kind": "dict", "items": {name: encode(item) for name, item in value.items()}}
    if isinstance(value, np.ndarray):
        return {"kind": "ndarray", "value": recording.plain(value)}
    found = recording.encode(value)
    if "items" in found:
        found["items"] = [encode(item) for item in value]
    if isinstance(value, mx.nd.NDArray):
        found["repr"] = repr(value)
    return found


def run(block, names):
    *lines, last = block.split("\n")
    try:
        if last.startswith(" "):
            exec(block, names)
            return {"block": block, "result": {"kind": "NoneType", "value": None}}
        exec("\n".join(lines), names)
        *statements, last = last.split("; ")
        exec("\n".join(statements), names)
        code = compile(last, "block", "eval")
        return {"block": block, "result": encode(eval(code, names))}
    except Exception as error:
        return {"block": block, "error": type(error).__name__}


BLOCKS = [(group, blocks, number) for group, blocks in (("row_sparse", ROW_SPARSE), ("symbol", SYMBOL), ("autograd", FRESH))
          for number in range(len(blocks))]


def record_one(number):
    """One block, in a process that may not have run those before it."""
    group, blocks, place = BLOCKS[number]
    names = {"mx": mx, "np": np}
    for block in blocks[:place] if group != "autograd" else ():
        run(block, names)
    return {"group": group, **run(blocks[place], names)}


cases = recording.record_each(len(BLOCKS), record_one)
for (group, blocks, place), case in zip(BLOCKS, cases, strict=False):
    case.update(group=group, block=blocks[place])  # of one that killed the process too
recording.save(sys.argv[1], {"cases": cases})
