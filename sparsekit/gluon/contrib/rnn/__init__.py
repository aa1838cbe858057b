"""Recurrent cells beside the standard ones: ``mx.gluon.contrib.rnn``."""

from __future__ import annotations

from ....base.lazy import add_lazy_names
from . import rnn_cell
from .rnn_cell import LSTMPCell, VariationalDropoutCell

__all__ = ["LSTMPCell", "VariationalDropoutCell", "rnn_cell"]

add_lazy_names(globals())
