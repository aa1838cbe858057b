"""Initial values of parameters: ``mx.init`` and ``mx.initializer``.

An initializer is called with a description, which is the parameter's name, and the array that it fills.  The name's
ending decides in symbols and modules: weights are filled as the initializer says, biases with zeros.  A Gluon parameter is
filled as the initializer says of a weight, whatever the parameter is called.
"""

from __future__ import annotations

from ..base.entry import doors, entry
from .base import InitDesc, Initializer, alias, create, register
from .basic import Bilinear, Constant, LSTMBias, MSRAPrelu, Normal, One, Orthogonal, Uniform, Xavier, Zero
from .composed import FusedRNN, Load, Mixed

__all__ = ["Bilinear", "Constant", "FusedRNN", "InitDesc", "Initializer", "LSTMBias", "Load", "MSRAPrelu", "Mixed", "Normal",
           "One", "Orthogonal", "Uniform", "Xavier", "Zero", "alias", "create", "register"]

doors(Bilinear, Constant, FusedRNN, Initializer, LSTMBias, Load, MSRAPrelu, Mixed, Normal, One, Orthogonal, Uniform, Xavier, Zero)
alias, create, register = entry(alias), entry(create, callbacks=True), entry(register)
