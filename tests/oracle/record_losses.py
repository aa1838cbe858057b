"""Record the losses of Gluon with their gradients, under MXNet 1.9.1."""

import sys

import mxnet as mx
import recording

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
LOSSES = [
    ("SigmoidBinaryCrossEntropyLoss()", PRED, TARGET, {}),
    ("SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)", PROBABILITY, TARGET, {}),
    ("SigmoidBinaryCrossEntropyLoss(weight=0.5)", PRED, TARGET, {}),
    ("SigmoidBinaryCrossEntropyLoss()", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
    ("SigmoidBinaryCrossEntropyLoss()", PRED, TARGET, {"pos_weight": [[1, 2, 3]]}),
    ("SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)", PROBABILITY, TARGET, {"pos_weight": [[1, 2, 3]]}),
    ("SigmoidBCELoss()", PRED, TARGET, {}),
    ("SigmoidBinaryCrossEntropyLoss()", [[-2], [0.5]], [0, 1], {}),
    ("L2Loss()", PRED, TARGET, {}),
    ("L2Loss(weight=3.0)", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
    ("L2Loss()", [[-2], [0.5]], [0, 1], {}),
    ("L1Loss()", PRED, TARGET, {}),
    ("SoftmaxCrossEntropyLoss()", PRED, [2, 0], {}),
    ("SoftmaxCrossEntropyLoss(sparse_label=False)", PRED, [[0, 0.5, 0.5], [1, 0, 0]], {}),
    ("SoftmaxCrossEntropyLoss(weight=2.0)", PRED, [2, 0], {"sample_weight": [[1], [0.25]]}),
    ("SoftmaxCrossEntropyLoss(axis=0)", PRED, [1, 0, 1], {}),
    ("SoftmaxCrossEntropyLoss(from_logits=True)", PRED, [2, 0], {}),
    ("L2Loss(batch_axis=1)", PRED, TARGET, {}),
    ("L1Loss(weight=0.5, batch_axis=1)", PRED, TARGET, {"sample_weight": [[1, 2, 3]]}),
    ("KLDivLoss()", LOGS, DISTRIBUTIONS, {}),
    ("KLDivLoss(from_logits=False)", PRED, DISTRIBUTIONS, {"sample_weight": [[1], [0.25]]}),
    ("KLDivLoss(from_logits=False, axis=0, weight=2.0)", PRED, DISTRIBUTIONS, {}),
    ("HuberLoss()", PRED, TARGET, {}),
    ("HuberLoss(rho=0.25, weight=2.0)", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
    ("HingeLoss()", PRED, SIGNS, {}),
    ("HingeLoss(margin=2.5, weight=2.0)", PRED, SIGNS, {"sample_weight": [[1], [0.25]]}),
    ("SquaredHingeLoss()", PRED, SIGNS, {}),
    ("SquaredHingeLoss(margin=2.5, batch_axis=1)", PRED, SIGNS, {}),
    ("LogisticLoss()", PRED, SIGNS, {}),
    ("LogisticLoss(label_format='binary', weight=0.5)", PRED, TARGET, {"sample_weight": [[1], [0.25]]}),
    ("PoissonNLLLoss()", PRED, COUNTS, {}),
    ("PoissonNLLLoss(from_logits=False)", PROBABILITY, COUNTS, {"sample_weight": [[1], [0.25]]}),
    ("PoissonNLLLoss(compute_full=True, weight=2.0)", PRED, [[2, 3, 1], [4, 1, 2]], {}),
    ("TripletLoss()", PRED, TARGET, {"third": PROBABILITY}),
    ("TripletLoss(margin=0.25, weight=2.0)", PRED, PROBABILITY, {"third": TARGET}),
    ("CosineEmbeddingLoss()", PRED, PROBABILITY, {"third": [1, -1]}),
    ("CosineEmbeddingLoss(margin=0.2, weight=2.0)", PRED, PROBABILITY, {"third": [-1, -1]}),
    ("SDMLLoss()", PRED, PROBABILITY, {}),
    ("SDMLLoss(smoothing_parameter=0.1)", VECTORS, VECTORS[::-1], {}),
    ("CTCLoss()", SCORES, [[1, 0, -1], [2, 2, 0]], {}),
    ("CTCLoss(layout='TNC', label_layout='TN', weight=0.5)", SCORES, [[1, 0, 2, 1], [0, -1, 1, -1]], {}),
    ("CTCLoss()", SCORES, [[1, 0, 0], [2, 2, 0]], {"third": [4, 3], "fourth": [2, 1]}),
    ("CTCLoss()", SCORES, [[1, 0, 0], [2, 2, 0]], {"fourth": [2, 3]}),
]


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


recording.save(sys.argv[1], {"cases": [record_loss(case) for case in LOSSES]})
