"""Record short trainings of the Gluon tutorial's network, and losses with their gradients, under MXNet 1.9.1."""

import itertools
import sys

import mxnet as mx
import numpy as np
import recording

FEATURES, UNITS, BATCH, STEPS = 50, (8, 4, 1), 5, 5
OPTIMIZERS = [{"learning_rate": 0.5}, {"learning_rate": 0.5, "momentum": 0.9}, {"learning_rate": 0.5, "wd": 0.01},
              {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01},
              {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01, "clip_gradient": 0.001}]
VARIANTS = [("dense", "default"), ("sparse", "default"), ("sparse", "row_sparse")]


class FullyConnected(mx.gluon.HybridBlock):
    def __init__(self, in_units, units):
        super().__init__()
        with self.name_scope():
            self._units = units
            self.weight = self.params.get("weight", shape=(units, in_units))
            self.bias = self.params.get("bias", shape=(units,))

    def hybrid_forward(self, F, x, weight, bias):
        return F.FullyConnected(x, weight, bias, num_hidden=self._units)


class FullyConnectedSparse(mx.gluon.HybridBlock):
    def __init__(self, in_units, units, weight_grad_stype):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(in_units, units), grad_stype=weight_grad_stype)
            self.bias = self.params.get("bias", shape=(units,))

    def hybrid_forward(self, F, x, weight, bias):
        return F.sparse.dot(x, weight) + bias


def inputs():
    """Batches of a few stored values a row, labels, and initial values, all of few digits."""
    random = np.random.RandomState(7)
    data = np.zeros((STEPS * BATCH, FEATURES), np.float32)
    for row in data:
        row[random.choice(FEATURES, 3, replace=False)] = random.randint(1, 16, 3) / 8
    label = (data.sum(axis=1) > data.sum(axis=1).mean()).astype(np.float32)
    initial, width = [], FEATURES
    for units in UNITS:
        initial.append((random.randint(-32, 33, (units, width)) / 64).astype(np.float32))
        initial.append((random.randint(-8, 9, units) / 64).astype(np.float32))
        width = units
    return data, label, initial


def build(kind, grad_stype, initial):
    net = mx.gluon.nn.Sequential()
    width = FEATURES
    for number, units in enumerate(UNITS):
        first = number == 0 and kind == "sparse"
        net.add(FullyConnectedSparse(width, units, grad_stype) if first else FullyConnected(width, units))
        net.add(mx.gluon.nn.Activation("sigmoid"))
        width = units
    net.initialize()
    for number in range(len(UNITS)):
        weight, bias = initial[2 * number : 2 * number + 2]
        transposed = number == 0 and kind == "sparse"
        net[2 * number].weight.set_data(mx.nd.array(weight.T if transposed else weight))
        net[2 * number].bias.set_data(mx.nd.array(bias))
    return net


def train(kind, grad_stype, options):
    data, label, initial = inputs()
    net = build(kind, grad_stype, initial)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", dict(options))
    loss_function = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    losses, rows = [], []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        batch = mx.nd.array(data[part]).tostype("csr")
        with mx.autograd.record():
            loss = loss_function(net(batch), mx.nd.array(label[part]))
        loss.backward()
        gradient = net[0].weight.grad()
        if gradient.stype == "row_sparse":
            rows.append(recording.plain(gradient.indices.asnumpy()))
        trainer.step(BATCH)
        losses.append(recording.plain(loss.asnumpy()))
    final = [recording.plain(value.data().asnumpy()) for i in (0, 2, 4) for value in (net[i].weight, net[i].bias)]
    return {"losses": losses, "gradient_rows": rows, "final": final}


def record_trainings():
    cases = []
    for (kind, grad_stype), options in itertools.product(VARIANTS, OPTIMIZERS):
        for lazy in (True, False) if grad_stype == "row_sparse" else (None,):
            chosen = dict(options) if lazy is None else {**options, "lazy_update": lazy}
            facts = {"kind": kind, "grad_stype": grad_stype, "optimizer": chosen}
            cases.append({**facts, **train(kind, grad_stype, chosen)})
    return cases


# No prediction is 0: there MXNet's gradient is that of relu and abs at 0, not the loss's own.
PRED = [[-2, 0.5, 1], [-0.75, 3, -0.25]]
PROBABILITY = [[0.1, 0.5, 0.9], [0.25, 0.75, 0.01]]
TARGET = [[0, 1, 1], [1, 0, 0.5]]
LOGS = [[-1, -0.75, -1.5], [-0.5, -2, -1.25]]
DISTRIBUTIONS = [[0.25, 0.5, 0.25], [0.75, 0.125, 0.125]]
SIGNS = [[1, -1, 1], [-1, 1, 1]]
COUNTS = [[0, 1, 3], [2, 5, 1]]
VECTORS = [[0, 0.5], [1, 0.25], [-0.5, 0.75]]
SCORES = [[[0.5, 1, -1, 0.25], [1, 0.5, 0.75, -0.5], [0.25, 0, 1, 0.5], [-1, 1, 0.5, 0.125]],
          [[0.25, -1, 2, 0.5], [0, 0.5, 0.25, 1], [1, 0.75, -0.5, 0.5], [0.5, 0.25, 0.125, -1]]]
LOSSES = [("SigmoidBinaryCrossEntropyLoss()", PRED, TARGET, {}),
          ("SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)", PROBABILITY, TARGET, {}),
          ("SigmoidBinaryCrossEntropyLoss(weight=0.5)", PRED, TARGET, {}),
          ("SigmoidBinaryCrossEntropyLoss()", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
          ("SigmoidBinaryCrossEntropyLoss()", PRED, TARGET, {"pos_weight": [[1, 2, 3]]}),
          ("SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)", PROBABILITY, TARGET, {"pos_weight": [[1, 2, 3]]}),
          ("SigmoidBCELoss()", PRED, TARGET, {}), ("SigmoidBinaryCrossEntropyLoss()", [[-2], [0.5]], [0, 1], {}),
          ("L2Loss()", PRED, TARGET, {}), ("L2Loss(weight=3.0)", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
          ("L2Loss()", [[-2], [0.5]], [0, 1], {}), ("L1Loss()", PRED, TARGET, {}),
          ("SoftmaxCrossEntropyLoss()", PRED, [2, 0], {}),
          ("SoftmaxCrossEntropyLoss(sparse_label=False)", PRED, [[0, 0.5, 0.5], [1, 0, 0]], {}),
          ("SoftmaxCrossEntropyLoss(weight=2.0)", PRED, [2, 0], {"sample_weight": [[1], [0.25]]}),
          ("SoftmaxCrossEntropyLoss(axis=0)", PRED, [1, 0, 1], {}),
          ("SoftmaxCrossEntropyLoss(from_logits=True)", PRED, [2, 0], {}), ("L2Loss(batch_axis=1)", PRED, TARGET, {}),
          ("L1Loss(weight=0.5, batch_axis=1)", PRED, TARGET, {"sample_weight": [[1, 2, 3]]}),
          ("KLDivLoss()", LOGS, DISTRIBUTIONS, {}),
          ("KLDivLoss(from_logits=False)", PRED, DISTRIBUTIONS, {"sample_weight": [[1], [0.25]]}),
          ("KLDivLoss(from_logits=False, axis=0, weight=2.0)", PRED, DISTRIBUTIONS, {}), ("HuberLoss()", PRED, TARGET, {}),
          ("HuberLoss(rho=0.25, weight=2.0)", PRED, TARGET, {"sample_weight": [[1], [0.25]]}), ("HingeLoss()", PRED, SIGNS, {}),
          ("HingeLoss(margin=2.5, weight=2.0)", PRED, SIGNS, {"sample_weight": [[1], [0.25]]}),
          ("SquaredHingeLoss()", PRED, SIGNS, {}), ("SquaredHingeLoss(margin=2.5, batch_axis=1)", PRED, SIGNS, {}),
          ("LogisticLoss()", PRED, SIGNS, {}),
          ("LogisticLoss(label_format='binary', weight=0.5)", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
          ("PoissonNLLLoss()", PRED, COUNTS, {}),
          ("PoissonNLLLoss(from_logits=False)", PROBABILITY, COUNTS, {"sample_weight": [[1], [0.25]]}),
          ("PoissonNLLLoss(compute_full=True, weight=2.0)", PRED, [[2, 3, 1], [4, 1, 2]], {}),
          ("TripletLoss()", PRED, TARGET, {"third": PROBABILITY}),
          ("TripletLoss(margin=0.25, weight=2.0)", PRED, PROBABILITY, {"third": TARGET}),
          ("CosineEmbeddingLoss()", PRED, PROBABILITY, {"third": [1, -1]}),
          ("CosineEmbeddingLoss(margin=0.2, weight=2.0)", PRED, PROBABILITY, {"third": [-1, -1]}),
          ("SDMLLoss()", PRED, PROBABILITY, {}), ("SDMLLoss(smoothing_parameter=0.1)", VECTORS, VECTORS[::-1], {}),
          ("CTCLoss()", SCORES, [[1, 0, -1], [2, 2, 0]], {}),
          ("CTCLoss(layout='TNC', label_layout='TN', weight=0.5)", SCORES, [[1, 0, 2, 1], [0, -1, 1, -1]], {}),
          ("CTCLoss()", SCORES, [[1, 0, 0], [2, 2, 0]], {"third": [4, 3], "fourth": [2, 1]}),
          ("CTCLoss()", SCORES, [[1, 0, 0], [2, 2, 0]], {"fourth": [2, 3]})]


def positional(weights):
    """Sample weight, then weight of the positive class, or what else a loss takes: blocks take no keywords."""
    values = [weights.get(name, weights.get(other)) for name, other in (("sample_weight", "third"), ("pos_weight", "fourth"))]
    while values and values[-1] is None:
        values.pop()
    return [value if value is None else mx.nd.array(value) for value in values]


def record_loss(case):
    text, pred, label, weights = case
    loss_function = eval(f"mx.gluon.loss.{text}")
    array = mx.nd.array(pred)
    array.attach_grad()
    facts = {"loss": text, "pred": pred, "label": label, "weights": weights}
    if "compute_full" in text:  # which cannot be recorded
        return {**facts, "value": recording.plain(loss_function(array, mx.nd.array(label)).asnumpy())}
    with mx.autograd.record():
        loss = loss_function(array, mx.nd.array(label), *positional(weights))
    loss.backward()
    return {**facts, "value": recording.plain(loss.asnumpy()), "gradient": recording.plain(array.grad.asnumpy())}


data, label, initial = inputs()
values = {"data": data, "label": label, "initial": [*initial]}
facts = {name: recording.plain(value) for name, value in values.items()}
facts["losses"] = [record_loss(case) for case in LOSSES]
recording.save(sys.argv[1], {"inputs": facts, "cases": record_trainings()})
