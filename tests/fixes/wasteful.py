"""Programs with one waste each, as text; each has a function ``step`` that makes one step and returns its loss."""

import types

HEAD = '''\
import numpy as np

import sparsekit as mx
from sparsekit import autograd, gluon

FEATURES, UNITS, ROWS = 3000, 8, 16
rng = np.random.default_rng(0)
mx.random.seed(1)


def batch(stored=4, index_dtype="int32", features=FEATURES):
    columns = np.sort(np.argsort(rng.random((ROWS, features)), axis=1)[:, :stored], axis=1).ravel()
    values = rng.random(stored * ROWS).astype("float32") + 0.5
    return mx.nd.sparse.csr_matrix((values, columns, np.arange(ROWS + 1) * stored), shape=(ROWS, features),
                                   index_dtype=index_dtype)


label = mx.nd.array(rng.random((ROWS, UNITS)))
loss_function = gluon.loss.L2Loss()
'''

TRAIN = '''

def step():
    with autograd.record():
        loss = loss_function(net({data}), label)
    loss.backward()
    trainer.step(ROWS)
    return loss
'''

DENSE = '''
net = gluon.nn.Dense(UNITS, in_units=FEATURES{options})
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1{settings}}})
'''


def dense(options="", settings=""):
    return DENSE.format(options=options, settings=settings)


SPARSE = ', weight_grad_stype="row_sparse"'

#: Name -> remedy that must hold, and the program.
PLANTED = {
    "dense input": ("csr input kept", HEAD + dense() + "data = batch()\n" + TRAIN.format(data='data.tostype("default")')),
    "scipy made dense": ("csr input kept", HEAD + dense() + "matrix = batch().asscipy()\n"
                         + TRAIN.format(data="mx.nd.array(matrix.toarray())")),
    "scipy made dense, of a type": ("csr input kept", HEAD + dense() + "matrix = batch().asscipy()\n"
                                    + TRAIN.format(data='mx.nd.array(matrix.toarray(), mx.cpu(), dtype="float32")')),
    "dense gradient of Dense": ("row-sparse gradient", HEAD + dense() + "data = batch()\n" + TRAIN.format(data="data")),
    "dense gradient of Dense, with momentum": (
        "row-sparse gradient", HEAD + dense("", ', "momentum": 0.9, "wd": 0.01') + "turn = iter([batch() for _ in range(3)])\n"
        + TRAIN.format(data="next(turn)")),
    "dense gradient of Embedding": ("row-sparse gradient", HEAD + '''
net = gluon.nn.Embedding(FEATURES, UNITS)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
ids = mx.nd.array(rng.integers(0, FEATURES, ROWS))
''' + TRAIN.format(data="ids")),
    "dense gradient of a layer of one's own": ("row-sparse gradient", HEAD + '''

class Layer(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(FEATURES, UNITS))

    def hybrid_forward(self, F, x, weight):
        return F.sparse.dot(x, weight)


net = Layer()
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
data = batch()
''' + TRAIN.format(data="data")),
    "dense gradient of a variable": ("row-sparse gradient", HEAD + '''
weight = mx.nd.random.normal(shape=(FEATURES, UNITS)) * 0.01
weight.attach_grad()
data = batch()


def step():
    with autograd.record():
        loss = loss_function(mx.nd.sparse.dot(data, weight), label)
    loss.backward()
    mx.nd.sgd_update(weight, weight.grad, lr=0.1, wd=0.0, out=weight)
    return loss
'''),
    "eager update with momentum": ("exact lazy optimizer", HEAD + dense(SPARSE, ', "momentum": 0.9, "lazy_update": False')
                                   + "data = batch()\n" + TRAIN.format(data="data")),
    "eager update with weight decay": ("exact lazy optimizer", HEAD + dense(SPARSE, ', "wd": 0.01, "lazy_update": False')
                                       + "data = batch()\n" + TRAIN.format(data="data")),
    "log of one more": ("zero-keeping operator", HEAD + dense(SPARSE) + "data = batch()\n"
                        + TRAIN.format(data="mx.nd.log(1 + data)")),
    "exp minus one": ("zero-keeping operator", HEAD + dense(SPARSE) + "data = batch()\n"
                      + TRAIN.format(data="mx.nd.exp(data) - 1")),
}

#: Name -> a program that wastes nothing.
CLEAN = {
    "sparse all the way": HEAD + dense(SPARSE) + "data = batch()\n" + TRAIN.format(data="data"),
    "dense, as it should be": HEAD + '''
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(32, in_units=20, activation="relu"), gluon.nn.Dense(UNITS, in_units=32))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "adam")
data = mx.nd.array(rng.random((ROWS, 20)))
''' + TRAIN.format(data="data"),
    "a step as one object": HEAD + dense(SPARSE) + '''
data = batch()
train_step = gluon.TrainStep(net, loss_function, trainer)


def step():
    return train_step(data, label, ROWS)
''',
    "exact momentum": HEAD + dense(SPARSE, ', "momentum": 0.9, "lazy_update": "exact"') + "data = batch()\n"
                      + TRAIN.format(data="data"),
}


def load(text, path):
    """The module of a program, written to a file and run."""
    path.write_text(text)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec"), vars(module))
    return module
