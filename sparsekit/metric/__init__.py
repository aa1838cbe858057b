"""Evaluation metrics: ``mx.metric``."""

from __future__ import annotations

from ..base.entry import entry, entry_classes
from . import classification, ranking, values
from .base import CompositeEvalMetric, EvalMetric, alias, check_label_shapes, create, register
from .classification import *  # noqa: F403
from .ranking import *  # noqa: F403
from .values import *  # noqa: F403

__all__ = ["CompositeEvalMetric", "EvalMetric", "alias", "check_label_shapes", "create", "register"]
__all__ += classification.__all__
__all__ += ranking.__all__
__all__ += values.__all__

entry_classes(*[globals()[name] for name in __all__ if isinstance(globals()[name], type)])
alias, check_label_shapes, register = entry(alias), entry(check_label_shapes), entry(register)
create, np = entry(create, callbacks=True), entry(np)
