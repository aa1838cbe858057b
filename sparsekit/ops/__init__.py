"""Declarations of all operators; importing this fills the registry."""

from . import binary, cast, creation, dot, index, matrix, neural, output, reduce, scalar, unary, update

__all__ = ["binary", "cast", "creation", "dot", "index", "matrix", "neural", "output", "reduce", "scalar", "unary", "update"]
