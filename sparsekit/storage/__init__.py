"""Stores: the values that arrays hold.

A dense store is a numpy (or cupy) array.  ``CSR`` and ``RowSparse`` hold their component arrays and a shape.
All have ``shape``, ``dtype`` and ``nbytes``.
"""

from .convert import convert, densify, stype_of, within_memory
from .csr import CSR
from .row_sparse import RowSparse

__all__ = ["CSR", "RowSparse", "convert", "densify", "stype_of", "within_memory"]
