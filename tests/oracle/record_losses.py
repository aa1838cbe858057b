"""Record the losses of Gluon with their gradients, under MXNet 1.9.1."""

import expressions

SETUP = [
    # No prediction is 0: there MXNet's gradient is that of relu and abs at 0, not the loss's own.
    "pred, array, loss = mx.nd.array([[-2, 0.5, 1], [-0.75, 3, -0.25]]), mx.nd.array, mx.gluon.loss",
    "probability = array([[0.1, 0.5, 0.9], [0.25, 0.75, 0.01]])",
    "target = array([[0, 1, 1], [1, 0, 0.5]])",
    "logs = array([[-1, -0.75, -1.5], [-0.5, -2, -1.25]])",
    "distributions = array([[0.25, 0.5, 0.25], [0.75, 0.125, 0.125]])",
    "signs, counts, classes = array([[1, -1, 1], [-1, 1, 1]]), array([[0, 1, 3], [2, 5, 1]]), array([2, 0])",
    "vectors, column = array([[0, 0.5], [1, 0.25], [-0.5, 0.75]]), array([[-2], [0.5]])",
    "samples, positive = array([[1], [0.25]]), array([[1, 2, 3]])",
    """scores = array([[[0.5, 1, -1, 0.25], [1, 0.5, 0.75, -0.5], [0.25, 0, 1, 0.5], [-1, 1, 0.5, 0.125]],
    [[0.25, -1, 2, 0.5], [0, 0.5, 0.25, 1], [1, 0.75, -0.5, 0.5], [0.5, 0.25, 0.125, -1]]])""",
]
LOSSES = [
    "SigmoidBinaryCrossEntropyLoss()(pred, target)", "SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)(probability, target)",
    "SigmoidBinaryCrossEntropyLoss(weight=0.5)(pred, target)", "SigmoidBinaryCrossEntropyLoss()(pred, target, samples)",
    "SigmoidBinaryCrossEntropyLoss()(pred, target, None, positive)",
    "SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)(probability, target, None, positive)", "SigmoidBCELoss()(pred, target)",
    "SigmoidBinaryCrossEntropyLoss()(column, array([0, 1]))",
    "L2Loss()(pred, target)", "L2Loss(weight=3.0)(pred, target, samples)", "L2Loss()(column, array([0, 1]))",
    "L1Loss()(pred, target)", "SoftmaxCrossEntropyLoss()(pred, classes)",
    "SoftmaxCrossEntropyLoss(sparse_label=False)(pred, array([[0, 0.5, 0.5], [1, 0, 0]]))",
    "SoftmaxCrossEntropyLoss(weight=2.0)(pred, classes, samples)", "SoftmaxCrossEntropyLoss(axis=0)(pred, array([1, 0, 1]))",
    "SoftmaxCrossEntropyLoss(from_logits=True)(pred, classes)", "L2Loss(batch_axis=1)(pred, target)",
    "L1Loss(weight=0.5, batch_axis=1)(pred, target, positive)", "KLDivLoss()(logs, distributions)",
    "KLDivLoss(from_logits=False)(pred, distributions, samples)",
    "KLDivLoss(from_logits=False, axis=0, weight=2.0)(pred, distributions)", "HuberLoss()(pred, target)",
    "HuberLoss(rho=0.25, weight=2.0)(pred, target, samples)", "HingeLoss()(pred, signs)",
    "HingeLoss(margin=2.5, weight=2.0)(pred, signs, samples)", "SquaredHingeLoss()(pred, signs)",
    "SquaredHingeLoss(margin=2.5, batch_axis=1)(pred, signs)", "LogisticLoss()(pred, signs)",
    "LogisticLoss(label_format='binary', weight=0.5)(pred, target, samples)", "PoissonNLLLoss()(pred, counts)",
    "PoissonNLLLoss(from_logits=False)(probability, counts, samples)", "TripletLoss()(pred, target, probability)",
    "TripletLoss(margin=0.25, weight=2.0)(pred, probability, target)",
    "CosineEmbeddingLoss()(pred, probability, array([1, -1]))",
    "CosineEmbeddingLoss(margin=0.2, weight=2.0)(pred, probability, array([-1, -1]))", "SDMLLoss()(pred, probability)",
    "SDMLLoss(smoothing_parameter=0.1)(vectors, vectors[::-1])", "CTCLoss()(scores, array([[1, 0, -1], [2, 2, 0]]))",
    "CTCLoss(layout='TNC', label_layout='TN', weight=0.5)(scores, array([[1, 0, 2, 1], [0, -1, 1, -1]]))",
    "CTCLoss()(scores, array([[1, 0, 0], [2, 2, 0]]), array([4, 3]), array([2, 1]))",
    "CTCLoss()(scores, array([[1, 0, 0], [2, 2, 0]]), None, array([2, 3]))",
]

if __name__ == "__main__":
    full = "loss.PoissonNLLLoss(compute_full=True, weight=2.0)(pred, array([[2, 3, 1], [4, 1, 2]]))"  # cannot be recorded
    firsts = [text.partition(")(")[2].partition(",")[0] for text in LOSSES]
    expressions.save(SETUP, [*((f"loss.{text}", first) for text, first in zip(LOSSES, firsts, strict=True)), (full,)])
