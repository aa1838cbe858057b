"""The sampler that MXNet keeps here: ``mx.gluon.contrib.data``."""

from __future__ import annotations

from ..data import IntervalSampler

__all__ = ["IntervalSampler"]
