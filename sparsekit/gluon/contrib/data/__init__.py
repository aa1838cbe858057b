"""The sampler and the data sets of text that MXNet keeps here: ``mx.gluon.contrib.data``."""

from __future__ import annotations

from ....base.lazy import add_lazy_names
from ...data import IntervalSampler
from . import text
from .text import WikiText2, WikiText103

__all__ = ["IntervalSampler", "WikiText2", "WikiText103", "text"]

add_lazy_names(globals())
