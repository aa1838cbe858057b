"""Recurrent networks: cells, which step, and layers, which run a whole sequence in one operator; ``mx.gluon.rnn``."""

from __future__ import annotations

from . import rnn_cell, rnn_layer
from .composed import (
    BidirectionalCell,
    DropoutCell,
    HybridSequentialRNNCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    ZoneoutCell,
)
from .rnn_cell import GRUCell, HybridRecurrentCell, LSTMCell, RecurrentCell, RNNCell
from .rnn_layer import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN", "BidirectionalCell", "DropoutCell", "GRUCell", "HybridRecurrentCell", "HybridSequentialRNNCell",
           "LSTMCell", "ModifierCell", "RNNCell", "RecurrentCell", "ResidualCell", "SequentialRNNCell", "ZoneoutCell", "rnn_cell",
           "rnn_layer"]
