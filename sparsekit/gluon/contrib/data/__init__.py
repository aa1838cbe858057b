"""The sampler and the data sets of text that MXNet keeps here: ``mx.gluon.contrib.data``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base.lazy import lazy
from ...data import IntervalSampler
from . import text
from .text import WikiText2, WikiText103

__all__ = ["IntervalSampler", "WikiText2", "WikiText103", "text"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())
