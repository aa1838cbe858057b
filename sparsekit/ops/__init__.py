"""Declarations of all operators; importing this fills the registry."""

from . import (
    binary,
    cast,
    creation,
    dot,
    embedding,
    facts,
    gather,
    index,
    join,
    linalg,
    matrix,
    neural,
    normalize,
    order,
    output,
    reduce,
    scalar,
    sequence,
    shape,
    slices,
    softmax,
    sparse_pairs,
    sparse_reduce,
    sparse_rows,
    special,
    tile,
    triangle,
    unary,
    update,
)

__all__ = [
    "binary", "cast", "creation", "dot", "embedding", "facts", "gather", "index", "join", "linalg", "matrix",
    "neural", "normalize", "order", "output", "reduce", "scalar", "sequence", "shape", "slices", "softmax",
    "sparse_pairs", "sparse_reduce", "sparse_rows", "special", "tile", "triangle", "unary", "update",
]
