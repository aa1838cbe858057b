"""What a user writes: every line is right, and a type checker must say so and know what each name is."""

from __future__ import annotations

import numpy as np

import sparsekit as mx
from sparsekit import autograd, gluon, nd

# arrays
x = mx.nd.ones((2, 3))
y = 2 * (x + 1) - x / 3
y[0, 1] = 5.0
print(f"{y.sum().asscalar():.3f}", y.shape[0], y.dtype, y.T.reshape((3, 2)).asnumpy().mean())
scores = mx.nd.softmax(mx.nd.dot(x, y, transpose_b=True), axis=-1)
joined = mx.nd.concat(x, y, dim=0)
largest = nd.topk(scores, k=1, ret_typ="value")
inverse = mx.nd.linalg.potri(mx.nd.linalg.potrf(nd.array(np.eye(3))))
noise = mx.nd.random.uniform(0, 1, shape=(2, 3))

turned = mx.nd.op.transpose(x).reshape(2, 3).expand_dims(0).squeeze()
sums, last = mx.nd.contrib.foreach(lambda row, state: (row + state, row + state), x, mx.nd.zeros((3,)))
copied = mx.nd._internal._copy(turned).as_nd_ndarray()

# sparse arrays
m = mx.nd.sparse.csr_matrix(([1.0, 2.0], [0, 2], [0, 1, 2]), shape=(2, 3))
print(m.indptr.asnumpy(), m.indices.shape, m.data.sum().asscalar(), m.nnz, m.stype, m.density)
gradient = mx.nd.sparse.dot(m, mx.nd.ones((2, 4)), transpose_a=True)
print(gradient.indices.asnumpy().tolist(), gradient.data.shape)
kept = mx.nd.sparse.retain(gradient, mx.nd.array([0]))
halved = mx.nd.square(kept * 0.5)
print(mx.nd.square(m).indptr.shape, m.square().indices.shape, mx.nd.cast_storage(x, stype="csr").indptr.shape, halved.shape)
weight = mx.nd.sparse.row_sparse_array((np.ones((3, 4), "float32"), [0, 1, 2]), shape=(3, 4))
mx.nd.sgd_update(weight, gradient, lr=0.1, out=weight)
dense = weight.tostype("default")

# layers
net = gluon.nn.HybridSequential()
with net.name_scope():
    net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dropout(0.5), gluon.nn.Dense(1))
net.initialize(mx.init.Xavier(), ctx=mx.cpu())
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
loss = gluon.loss.L2Loss()
with autograd.record():
    error = loss(net(x), mx.nd.ones((2, 1)))
error.backward()
trainer.step(2)
step = gluon.TrainStep(net, loss, trainer)
step(x, mx.nd.ones((2, 1)))

# profiler
with mx.Profiler() as prof:
    net(x)
print(prof.totals, prof.table())
mx.expect(prof).no_densify().peak_below("2 MB")

# symbols
a = mx.sym.Variable("a", stype="csr")
b = mx.sym.FullyConnected(mx.sym.sparse.dot(a, mx.sym.var("w")) * 2, num_hidden=3, name="last")
print(mx.sym.SoftmaxOutput(b, name="softmax").list_arguments(), mx.sym._internal._copy(b).list_outputs())

# stores, iterators, metrics
kv = mx.kv.create("local")
kv.init("weight", weight)
kv.row_sparse_pull("weight", out=weight, row_ids=mx.nd.array([0, 1]))
accuracy = mx.metric.Accuracy()
accuracy.update([mx.nd.zeros((2,))], [scores])
for batch in mx.io.NDArrayIter(np.zeros((4, 2)), np.zeros(4), batch_size=2):
    print(batch.data[0].shape)
