"""The remedies: each finds what could be tried in a program, and changes a clone of it."""

from . import csr_input, row_sparse, torch_input, torch_layers
from .base import Look, Remedy, remedies

__all__ = ["Look", "Remedy", "csr_input", "remedies", "row_sparse", "torch_input", "torch_layers"]
