"""The remedies: each finds what could be tried in a program, and changes a clone of it."""

# In the order in which they are tried: those that later ones build on come first.
# isort: off
from . import csr_input
from . import layout
from . import row_sparse
from . import optimizer
from . import indices
from . import zero_keeping
from . import hoist
from . import train_step
from . import torch_input
from . import torch_layers
# isort: on
from .base import Look, Remedy, remedies

__all__ = ["Look", "Remedy", "csr_input", "hoist", "indices", "layout", "optimizer", "remedies", "row_sparse", "torch_input",
           "torch_layers", "train_step", "zero_keeping"]
