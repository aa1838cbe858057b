"""Evaluation metrics: ``mx.metric``."""

from __future__ import annotations

from ..base.entry import entry, entry_classes
from .base import CompositeEvalMetric, EvalMetric, alias, check_label_shapes, create, register
from .classification import F1, MCC, PCC, Accuracy, CrossEntropy, NegativeLogLikelihood, Perplexity, TopKAccuracy
from .ranking import AUC
from .values import MAE, MSE, RMSE, Caffe, CustomMetric, Loss, PearsonCorrelation, Torch, np

__all__ = ["AUC", "F1", "MAE", "MCC", "MSE", "PCC", "RMSE", "Accuracy", "Caffe", "CompositeEvalMetric", "CrossEntropy",
           "CustomMetric", "EvalMetric", "Loss", "NegativeLogLikelihood", "PearsonCorrelation", "Perplexity", "TopKAccuracy",
           "Torch", "alias", "check_label_shapes", "create", "np", "register"]

entry_classes(Accuracy, AUC, Caffe, CompositeEvalMetric, CrossEntropy, CustomMetric, EvalMetric, F1, Loss, MAE, MCC, MSE,
              NegativeLogLikelihood, PCC, PearsonCorrelation, Perplexity, RMSE, TopKAccuracy, Torch)
alias, check_label_shapes, register = entry(alias), entry(check_label_shapes), entry(register)
create, np = entry(create, callbacks=True), entry(np)
