"""Record 50 steps of training of a linear model, a factorization machine and embeddings, under MXNet 1.9.1.

    python tests/oracle/record_trainings.py tests/golden/trainings.json

Initial values and data are of few digits and are recorded too; ``tests/examples/test_same_as_mxnet.py`` trains the models of
``sparsekit.examples`` from them.
"""

import itertools
import sys

import mxnet as mx
import numpy as np
import recording

STEPS, BATCH, BATCHES, FEATURES, STORED, FACTORS, USERS, ITEMS = 50, 8, 10, 40, 4, 3, 20, 30
OPTIMIZERS = {"sgd": ("sgd", {"learning_rate": 0.25}), "momentum": ("sgd", {"learning_rate": 0.125, "momentum": 0.75}),
              "adam": ("adam", {"learning_rate": 0.0625}), "adagrad": ("adagrad", {"learning_rate": 0.25})}


class Linear(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(FEATURES, 1), grad_stype="row_sparse")
            self.bias = self.params.get("bias", shape=(1,), init="zeros")

    def forward(self, x, rows):
        return mx.nd.sparse.dot(x, self.weight.data()) + self.bias.data()


class Machine(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.bias = self.params.get("bias", shape=(1,), init="zeros")
            for name, width in (("weight", 1), ("vectors_weight", FACTORS)):
                setattr(self, name, self.params.get(name, shape=(FEATURES, width), stype="row_sparse", grad_stype="row_sparse"))

    def forward(self, x, rows):
        weight, vectors = (one.row_sparse_data(rows) for one in (self.weight, self.vectors_weight))
        together = mx.nd.square(mx.nd.sparse.dot(x, vectors))
        alone = mx.nd.sparse.dot(mx.nd.sparse.square(x), mx.nd.sparse.square(vectors))
        return (mx.nd.sparse.dot(x, weight) + self.bias.data() + 0.5 * mx.nd.sum(together - alone, axis=1, keepdims=True))


class Embeddings(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            for name, rows, width in (("user", USERS, FACTORS), ("item", ITEMS, FACTORS), ("user_bias", USERS, 1),
                                      ("item_bias", ITEMS, 1)):
                setattr(self, name, mx.gluon.nn.Embedding(rows, width, sparse_grad=True))

    def forward(self, user, item):
        product = mx.nd.sum(self.user(user) * self.item(item), axis=1, keepdims=True)
        return product + self.user_bias(user) + self.item_bias(item)


MODELS = {"linear": (Linear, "SigmoidBinaryCrossEntropyLoss"), "machine": (Machine, "SigmoidBinaryCrossEntropyLoss"),
          "embeddings": (Embeddings, "L2Loss")}


def inputs():
    random = np.random.RandomState(5)
    columns = np.array([np.sort(random.choice(FEATURES, STORED, replace=False)) for _ in range(BATCHES * BATCH)])
    count = BATCHES * BATCH
    return {"columns": columns, "values": random.randint(1, 9, columns.shape) / 4, "label": random.randint(0, 2, count),
            "user": random.randint(0, USERS, count), "item": random.randint(0, ITEMS, count),
            "rating": random.randint(-8, 9, count) / 4}


def initial(model):
    """Values of few digits for each parameter, in their order; none is zero, since MXNet updates weights of all rows only."""
    random = np.random.RandomState(6)
    return [random.randint(1, 17, one.shape) * random.choice([-1, 1], one.shape) / 64 for one in model.collect_params().values()]


def batch_of(facts, name, step):
    part = slice(step % BATCHES * BATCH, (step % BATCHES + 1) * BATCH)
    if name == "embeddings":
        return [mx.nd.array(facts[key][part]) for key in ("user", "item", "rating")]
    columns, values = facts["columns"][part], facts["values"][part]
    x = mx.nd.sparse.csr_matrix((values.ravel().astype(np.float32), columns.ravel(), np.arange(0, columns.size + 1, STORED)),
                                shape=(BATCH, FEATURES))
    return [x, mx.nd.array(np.unique(columns)), mx.nd.array(facts["label"][part])]


def train(name, optimizer, facts):
    made, loss_name = MODELS[name]
    model, loss = made(), getattr(mx.gluon.loss, loss_name)()
    model.initialize()
    values = initial(model)
    parameters = list(model.collect_params().values())
    for parameter, value in zip(parameters, values, strict=True):
        value = mx.nd.array(value)
        parameter.set_data(value.tostype(parameter._stype) if parameter._stype != "default" else value)
    trainer = mx.gluon.Trainer(model.collect_params(), *OPTIMIZERS[optimizer])
    losses = []
    for step in range(STEPS):
        *given, label = batch_of(facts, name, step)
        with mx.autograd.record():
            value = loss(model(*given), label)
        value.backward()
        trainer.step(BATCH)
        losses.append(float(value.mean().asscalar()))
    final = [one.row_sparse_data(mx.nd.arange(one.shape[0])) if one._stype != "default" else one.data() for one in parameters]
    return {"model": name, "optimizer": optimizer, "initial": [recording.plain(value) for value in values],
            "losses": [losses[0], losses[-1]], "final": [recording.plain(value.asnumpy()) for value in final]}


facts = inputs()
cases = [train(name, optimizer, facts) for name, optimizer in itertools.product(MODELS, OPTIMIZERS)]
recorded = {"optimizers": OPTIMIZERS, "steps": STEPS, "batch": BATCH,
            "inputs": {name: recording.plain(value) for name, value in facts.items()}}
recording.save(sys.argv[1], {**recorded, "cases": cases})
