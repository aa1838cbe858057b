"""Losses: ``mx.gluon.loss``; each gives one value per sample."""

from __future__ import annotations

from typing import Any

from ...base.errors import UnknownNameError
from ...base.lazy import add_lazy_names
from .base import Loss
from .classification import (
    CTCLoss,
    HingeLoss,
    KLDivLoss,
    LogisticLoss,
    SigmoidBCELoss,
    SigmoidBinaryCrossEntropyLoss,
    SoftmaxCELoss,
    SoftmaxCrossEntropyLoss,
    SquaredHingeLoss,
)
from .regression import HuberLoss, L1Loss, L2Loss, PoissonNLLLoss
from .similarity import CosineEmbeddingLoss, SDMLLoss, TripletLoss

__all__ = ["CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss", "LogisticLoss",
           "Loss", "PoissonNLLLoss", "SDMLLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss",
           "SoftmaxCrossEntropyLoss", "SquaredHingeLoss", "TripletLoss", "create"]


def create(name: str, **arguments: Any) -> Loss:
    """Create the loss with the given name.

    Raises
    ------
    UnknownNameError
        If there is no such loss.
    """
    losses = {key: value for key, value in globals().items() if isinstance(value, type) and issubclass(value, Loss)}
    UnknownNameError.check("loss", name, losses)
    return losses[name](**arguments)


add_lazy_names(globals())
