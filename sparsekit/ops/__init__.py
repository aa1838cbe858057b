"""Declarations of all operators; importing this fills the registry."""

from . import (
    binary,
    cast,
    creation,
    dot,
    gather,
    index,
    matrix,
    neural,
    order,
    output,
    reduce,
    scalar,
    shape,
    tile,
    unary,
    update,
)

__all__ = [
    "binary", "cast", "creation", "dot", "gather", "index", "matrix", "neural", "order", "output", "reduce",
    "scalar", "shape", "tile", "unary", "update",
]
