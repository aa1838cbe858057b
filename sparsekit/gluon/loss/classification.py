"""Losses of classes, of yes or no, and of sequences of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ...base.errors import UnknownNameError
from .base import Loss, like

if TYPE_CHECKING:
    from ...base.types import Scalar
    from ...core.types import Functions, Tensor
    from ..types import BlockOptions


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of a yes-or-no label; also under the name ``SigmoidBCELoss``.

    With ``from_sigmoid=False``, ``pred`` is a logit, and the loss is ``max(pred, 0) - pred * label +
    log(1 + exp(-|pred|))``, which never overflows.  With ``from_sigmoid=True``, ``pred`` is a probability.  The fourth
    argument of the call, ``pos_weight``, multiplies the term of positive labels; it has one value per class, and is broadcast
    to ``pred``.

    Parameters
    ----------
    from_sigmoid : bool
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, from_sigmoid: bool = False, weight: Scalar | None = None, batch_axis: int = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None,
                       pos_weight: Tensor | None = None) -> Tensor:
        label = like(F, label, pred)
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
    def _of_probability(F: Functions, pred: Tensor, label: Tensor, pos_weight: Tensor | None) -> Tensor:
        tiny = 1e-12
        yes = F.elemwise_mul(F.log(pred + tiny), label)
        if pos_weight is not None:
            yes = F.broadcast_mul(yes, pos_weight)
        return F.negative(yes + F.elemwise_mul(F.log(1.0 - pred + tiny), 1.0 - label))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of classes; also under the name ``SoftmaxCELoss``.

    Parameters
    ----------
    axis : int
        The axis of the classes.
    sparse_label : bool
        True: the label is the index of the class, and has no class axis.  False: the label is a distribution over the
        classes, with the shape of ``pred``.  An index outside the classes is clipped to the nearest class, as in MXNet, with
        an ``IndexWarning``; ``config.indices = "error"`` makes this an error.
    from_logits : bool
        Whether ``pred`` already contains log-probabilities.
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, axis: int = -1, sparse_label: bool = True, from_logits: bool = False, weight: Scalar | None = None,
                 batch_axis: int = 0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis, self._sparse_label, self._from_logits = axis, sparse_label, from_logits

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = F.negative(F.pick(pred, label, axis=self._axis, keepdims=True))
        else:
            loss = F.negative(F.sum(F.elemwise_mul(pred, like(F, label, pred)), axis=self._axis, keepdims=True))
        return self._finish(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """``label * (log(label) - log(prediction))``, summed per sample: how far a distribution is from the label's.

    Parameters
    ----------
    from_logits : bool
        Whether ``pred`` already contains log-probabilities.  With False, the loss applies ``log_softmax`` to it.
    axis : int
        The axis of the softmax.
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, from_logits: bool = True, axis: int = -1, weight: Scalar | None = None, batch_axis: int = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits, self._axis = from_logits, axis

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = F.elemwise_mul(label, F.elemwise_sub(F.log(label + 1e-12), pred))
        return F.sum(self._weighed(F, loss, sample_weight), axis=self._batch_axis, exclude=True)


class HingeLoss(Loss):
    """``max(0, margin - pred * label)`` for labels -1 and 1, averaged per sample.

    Parameters
    ----------
    margin : float
    weight : float or None
    batch_axis : int
        As for every loss.
    """

    def __init__(self, margin: float = 1, weight: Scalar | None = None, batch_axis: int = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _missing(self, F: Functions, pred: Tensor, label: Tensor) -> Tensor:
        """How far the prediction falls short of the margin."""
        return F.relu(self._margin - F.elemwise_mul(pred, like(F, label, pred)))

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        return self._finish(F, self._missing(F, pred, label), sample_weight)


class SquaredHingeLoss(HingeLoss):
    """``max(0, margin - pred * label)²`` for labels -1 and 1, averaged per sample; parameters as for ``HingeLoss``."""

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        return self._finish(F, F.square(self._missing(F, pred, label)), sample_weight)


class LogisticLoss(Loss):
    """``log(1 + exp(-pred * label))`` for labels -1 and 1, averaged per sample.

    Parameters
    ----------
    weight : float or None
    batch_axis : int
        As for every loss.
    label_format : {"signed", "binary"}
        Whether labels are -1 and 1, or 0 and 1.

    Raises
    ------
    UnknownNameError
        If ``label_format`` is neither.
    """

    def __init__(self, weight: Scalar | None = None, batch_axis: int = 0, label_format: str = "signed",
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        UnknownNameError.check("label_format", label_format, ("signed", "binary"))
        self._label_format = label_format

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        label = like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) * 0.5
        return self._finish(F, F._sigmoid_cross_entropy(pred, label), sample_weight)


class CTCLoss(Loss):
    """Connectionist temporal classification: the probability of a sequence of classes under all alignments.

    A. Graves et al.: Connectionist Temporal Classification, ICML 2006.

    ``pred`` contains scores before the softmax; its last class is the blank.  ``label`` contains class indices, padded with -1
    at the end.  The call has the optional arguments ``pred_lengths`` and ``label_lengths``, of shape (batch,), and
    ``sample_weight``.

    Parameters
    ----------
    layout : {"NTC", "TNC"}
        Axes of ``pred``: N the samples, T the time, C the classes.
    label_layout : {"NT", "TN"}
        Axes of ``label``.
    weight : float or None

    Raises
    ------
    UnknownNameError
        If a layout is unknown.
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: Scalar | None = None,
                 **kwargs: Unpack[BlockOptions]) -> None:
        for name, value, layouts in (("layout", layout, ("NTC", "TNC")), ("label_layout", label_layout, ("NT", "TN"))):
            UnknownNameError.check(name, value, layouts)
        self._layout, self._label_layout = layout, label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(self, F: Functions, pred: Tensor, label: Tensor, pred_lengths: Tensor | None = None,
                       label_lengths: Tensor | None = None, sample_weight: Tensor | None = None) -> Tensor:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, dim1=0, dim2=1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        loss = F.CTCLoss(pred, label, **{name: value for name, value in lengths.items() if value is not None},
                         use_data_lengths=pred_lengths is not None, use_label_lengths=label_lengths is not None,
                         blank_label="last")
        return self._weighed(F, loss, sample_weight)
