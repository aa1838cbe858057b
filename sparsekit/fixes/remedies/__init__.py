"""The remedies: each finds what could be tried in a program, as edits of its text."""

# In the order in which they are tried: those that later ones build on come first.
# isort: off
from . import csr_input
from . import row_sparse
from . import optimizer
from . import zero_keeping
from . import torch_layers
from . import torch_parameters
from . import torch_matrices
# isort: on
from .base import Look, Remedy, remedies

__all__ = ["Look", "Remedy", "csr_input", "optimizer", "remedies", "row_sparse", "torch_layers", "torch_matrices",
           "torch_parameters", "zero_keeping"]
