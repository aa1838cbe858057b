"""Training loops with event handlers: ``mx.gluon.contrib.estimator``."""

from __future__ import annotations

from . import batch_processor, estimator, event_handler
from .batch_processor import BatchProcessor
from .checkpoints import CheckpointHandler
from .estimator import Estimator
from .event_handler import (
    BatchBegin,
    BatchEnd,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)
from .logs import CSVHandler, ProgressHandler, TensorBoardHandler

__all__ = ["BatchBegin", "BatchEnd", "BatchProcessor", "CSVHandler", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin",
           "EpochEnd", "Estimator", "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "ProgressHandler",
           "StoppingHandler", "TensorBoardHandler", "TrainBegin", "TrainEnd", "ValidationHandler"]
