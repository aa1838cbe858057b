"""Recurrent cells beside the standard ones: ``mx.gluon.contrib.rnn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base.lazy import lazy
from . import rnn_cell
from .rnn_cell import LSTMPCell, VariationalDropoutCell

__all__ = ["LSTMPCell", "VariationalDropoutCell", "rnn_cell"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(globals())
