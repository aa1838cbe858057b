"""Losses: ``mx.gluon.loss``; each gives one value a sample."""

from __future__ import annotations

from typing import Any

from ..base.errors import UnknownNameError
from .block import HybridBlock

__all__ = ["L1Loss", "L2Loss", "Loss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss",
           "SoftmaxCrossEntropyLoss", "create"]


class Loss(HybridBlock):
    """Base of the losses.

    Parameters
    ----------
    weight : float or None
        Factor of the whole loss.
    batch_axis : int
        The axis of the samples, which is not averaged over.
    """

    def __init__(self, weight: float | None, batch_axis: int, **more: Any) -> None:
        super().__init__(**more)
        self._weight, self._batch_axis = weight, batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _finish(self, F: Any, loss: Any, sample_weight: Any) -> Any:
        """Weigh, and average over everything but the samples."""
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        if self._weight is not None and self._weight != 1:
            loss = loss * self._weight
        return F.mean(loss, axis=self._batch_axis, exclude=True)


def _like(F: Any, label: Any, pred: Any) -> Any:
    return label if label.shape == pred.shape else F.reshape_like(label, pred)


class L2Loss(Loss):
    """``weight / 2 * (pred - label)²``, averaged a sample."""

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **more: Any) -> None:
        super().__init__(weight, batch_axis, **more)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.square(F.elemwise_sub(_like(F, label, pred), pred)) * 0.5
        return self._finish(F, loss, sample_weight)


class L1Loss(Loss):
    """``weight * |pred - label|``, averaged a sample."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **more: Any) -> None:
        super().__init__(weight, batch_axis, **more)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        return self._finish(F, F.abs(F.elemwise_sub(_like(F, label, pred), pred)), sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of a yes-or-no label.

    With ``from_sigmoid=False``, ``pred`` is a logit and the loss ``max(pred, 0) - pred * label +
    log(1 + exp(-|pred|))``, which never overflows; else ``pred`` is a probability.

    Parameters
    ----------
    from_sigmoid : bool
    weight, batch_axis
        As for every loss.
    """

    def __init__(self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **more: Any) -> None:
        super().__init__(weight, batch_axis, **more)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None) -> Any:
        label = _like(F, label, pred)
        if self._from_sigmoid:
            return self._finish(F, self._of_probability(F, pred, label, pos_weight), sample_weight)
        if pos_weight is None:
            loss = F._sigmoid_cross_entropy(pred, label)
        else:
            soft = F.Activation(F.negative(F.abs(pred)), act_type="softrelu")
            factor = F.broadcast_mul(pos_weight - 1, label) + 1
            loss = pred - F.elemwise_mul(pred, label) + factor * (soft + F.relu(F.negative(pred)))
        return self._finish(F, loss, sample_weight)

    @staticmethod
    def _of_probability(F: Any, pred: Any, label: Any, pos_weight: Any) -> Any:
        tiny = 1e-12
        yes = F.elemwise_mul(F.log(pred + tiny), label)
        if pos_weight is not None:
            yes = F.broadcast_mul(yes, pos_weight)
        return F.negative(yes + F.elemwise_mul(F.log(1.0 - pred + tiny), 1.0 - label))


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of classes.

    Parameters
    ----------
    axis : int
        The axis of the classes.
    sparse_label : bool
        Whether the label is the class's number, or a distribution over the classes.
    from_logits : bool
        Whether ``pred`` is a log-probability already.
    """

    def __init__(self, axis: int = -1, sparse_label: bool = True, from_logits: bool = False, weight: float | None = None,
                 batch_axis: int = 0, **more: Any) -> None:
        super().__init__(weight, batch_axis, **more)
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = F.negative(F.pick(pred, label, axis=self._axis, keepdims=True))
        else:
            loss = F.negative(F.sum(F.elemwise_mul(pred, _like(F, label, pred)), axis=self._axis, keepdims=True))
        return self._finish(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss


def create(name: str, **arguments: Any) -> Loss:
    """The loss of that name.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    known = {key: value for key, value in globals().items() if isinstance(value, type) and issubclass(value, Loss)}
    if name not in known:
        raise UnknownNameError.of("loss", name, known)
    return known[name](**arguments)


def __getattr__(name: str) -> Any:
    """An unknown loss gets the nearest names as a hint."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise UnknownNameError.of("loss", name, __all__)
