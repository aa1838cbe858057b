"""Declarations of all operators; importing this fills the registry."""

from . import (
    binary,
    cast,
    creation,
    dot,
    gather,
    index,
    join,
    linalg,
    matrix,
    neural,
    order,
    output,
    reduce,
    scalar,
    sequence,
    shape,
    slices,
    tile,
    triangle,
    unary,
    update,
)

__all__ = [
    "binary", "cast", "creation", "dot", "gather", "index", "join", "linalg", "matrix", "neural", "order", "output",
    "reduce", "scalar", "sequence", "shape", "slices", "tile", "triangle", "unary", "update",
]
