"""Metrics of predictions: ``mx.metric``."""

from __future__ import annotations

from .base import CompositeEvalMetric, EvalMetric, alias, check_label_shapes, create, register
from .classification import F1, MCC, PCC, Accuracy, CrossEntropy, NegativeLogLikelihood, Perplexity, TopKAccuracy
from .ranking import AUC
from .values import MAE, MSE, RMSE, Caffe, CustomMetric, Loss, PearsonCorrelation, Torch, np

__all__ = ["AUC", "F1", "MAE", "MCC", "MSE", "PCC", "RMSE", "Accuracy", "Caffe", "CompositeEvalMetric", "CrossEntropy",
           "CustomMetric", "EvalMetric", "Loss", "NegativeLogLikelihood", "PearsonCorrelation", "Perplexity", "TopKAccuracy",
           "Torch", "alias", "check_label_shapes", "create", "np", "register"]
