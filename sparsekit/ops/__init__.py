"""Declarations of all operators; importing this fills the registry."""

from . import (
    binary,
    cast,
    creation,
    dot,
    facts,
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
    sparse_reduce,
    special,
    tile,
    triangle,
    unary,
    update,
)

__all__ = [
    "binary", "cast", "creation", "dot", "facts", "gather", "index", "join", "linalg", "matrix", "neural", "order",
    "output", "reduce", "scalar", "sequence", "shape", "slices", "special", "tile", "triangle", "unary", "update",
]
