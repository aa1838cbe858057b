"""Importing this makes all operators known.

Most are declared at once.  Those in ``LATER`` are declared when one of their names is first used.
"""

from ..core.op import registry as _registry
from . import creation
from .elementwise import binary, scalar, special, unary
from .indexing import gather, index, sequence, slices
from .later import LATER
from .linear_algebra import products
from .neural import neural, normalize, output, softmax
from .reduce import reduce, sorting
from .shape import array_info, concat, matrix, repeat_pad_split, shape
from .sparse import cast, dot, embedding, sparse_dot, sparse_pairs, sparse_reduce, sparse_rows

__all__ = [
    "LATER", "array_info", "binary", "cast", "concat", "creation", "dot", "embedding", "gather", "index", "matrix",
    "neural", "normalize", "output", "products", "reduce", "repeat_pad_split", "scalar", "sequence", "shape", "slices",
    "softmax", "sorting", "sparse_dot", "sparse_pairs", "sparse_reduce", "sparse_rows", "special", "unary",
]

for _module, _names in LATER.items():
    _registry.declared_in(f"sparsekit.{_module}", _names.split())
