"""Initial values of parameters: ``mx.init`` and ``mx.initializer``.

An initializer takes a description, which contains the name of the parameter, and fills an array.  For symbols and modules,
the suffix of the name selects the method: the initializer fills weights, and biases are zero.  A Gluon parameter is filled
like a weight, whatever its name.
"""

from __future__ import annotations

from ..base.entry import entry, entry_classes
from ..base.lazy import add_lazy_names
from .base import InitDesc, Initializer, alias, create, register
from .basic import Bilinear, Constant, LSTMBias, MSRAPrelu, Normal, One, Orthogonal, Uniform, Xavier, Zero
from .composed import FusedRNN, Load, Mixed

__all__ = ["Bilinear", "Constant", "FusedRNN", "InitDesc", "Initializer", "LSTMBias", "Load", "MSRAPrelu", "Mixed", "Normal",
           "One", "Orthogonal", "Uniform", "Xavier", "Zero", "alias", "create", "register"]

add_lazy_names(globals())

entry_classes(Bilinear, Constant, FusedRNN, Initializer, LSTMBias, Load, MSRAPrelu, Mixed, Normal, One, Orthogonal, Uniform,
              Xavier, Zero)
alias, create, register = entry(alias), entry(create, callbacks=True), entry(register)
