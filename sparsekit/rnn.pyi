"""For type checkers: the module that ``compat`` has of this name."""

from .compat.rnn.cells import BaseRNNCell as BaseRNNCell
from .compat.rnn.cells import GRUCell as GRUCell
from .compat.rnn.cells import LSTMCell as LSTMCell
from .compat.rnn.cells import RNNCell as RNNCell
from .compat.rnn.cells import RNNParams as RNNParams
from .compat.rnn.checkpoints import *
from .compat.rnn.composed import *
from .compat.rnn.fused import *
from .compat.rnn.sentences import *
