"""What the profiler knows of PyTorch's operators: lanes, bytes moved, operations, and what makes a sparse tensor dense.

Nothing here imports PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core import hooks
from . import describe

if TYPE_CHECKING:
    from ..base.types import JSON, Attrs
    from .types import ArrayRecord, Record

#: Operators that change the layout of a tensor.
CONVERSIONS = frozenset(("to_dense", "_to_dense", "to_sparse", "_to_sparse", "to_sparse_csr", "_to_sparse_csr", "to_sparse_csc",
                         "_to_sparse_csc", "to_sparse_bsr", "_to_sparse_bsr", "to_sparse_bsc", "_to_sparse_bsc", "_coalesce"))

#: Products and solutions, whose dense result is intended.
PRODUCTS = frozenset(("mm", "addmm", "addmm_", "bmm", "baddbmm", "mv", "addmv", "dot", "vdot", "matmul", "hspmm", "_sparse_mm",
                      "_sparse_addmm", "_sparse_mm_reduce_impl", "sspaddmm", "linear", "triangular_solve", "_spsolve"))

#: Operators that give memory without reading or writing it.
_UNTOUCHED = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "lift_fresh",
                        "_values", "_indices", "values", "indices", "crow_indices", "col_indices", "ccol_indices",
                        "row_indices"))

#: Operators that only write.
_WRITING = frozenset(("fill_", "zero_", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones",
                      "new_full", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "randn", "rand", "randint",
                      "randn_like", "rand_like", "randperm", "arange", "eye", "linspace"))

#: Operators that read only some rows or values of their first input.
LOOK_UPS = frozenset(("embedding", "index_select", "gather", "index"))

#: Operators of a backward pass that write the gradient of a table whose rows were looked up.
LOOK_UP_GRADIENTS = frozenset(("embedding_dense_backward", "_embedding_bag_backward", "_embedding_bag_dense_backward",
                               "index_put"))

#: Operators whose result takes the shape of an input and nothing else of it, or copies what it stores.
ALIKE = frozenset((*(name for name in (*_UNTOUCHED, *_WRITING) if "like" in name or "new_" in name), "randint_like",
                   "values_copy", "indices_copy", "_values_copy", "_indices_copy", "crow_indices_copy", "col_indices_copy",
                   "ccol_indices_copy", "row_indices_copy"))

#: Operators that sparse tensors have as dense ones do: views, and copies.
MOVED = frozenset(("t", "transpose", "detach", "_to_copy", "clone", "alias"))

_BAGS = frozenset(("_embedding_bag", "_embedding_bag_forward_only"))

_REMEDIES = {
    "add": "add the sparse tensor in place, dense.add_(sparse), which makes no new dense tensor; or keep both sparse",
    "sub": "subtract in place, dense.sub_(sparse), which makes no new dense tensor; or keep both sparse",
    "_to_dense": "pass the sparse tensor on: torch.sparse.mm and nn.EmbeddingBag accept it",
    "to_dense": "pass the sparse tensor on: torch.sparse.mm and nn.EmbeddingBag accept it",
}
_REMEDY = "use a function that keeps zeros, or apply it to the stored values and build a new tensor"
_IN_BACKWARD = "give all uses of the parameter a sparse gradient, or none of them: the sum of sparse and dense gradients is dense"


def is_torch(record: Record) -> bool:
    """Whether an event is an operator of PyTorch."""
    return "::" in record["name"] and record["kind"] == "op"


def remedy_of(name: str, lane: str) -> str:
    """What to write instead of an operator that made a sparse tensor dense."""
    if lane == "backward" and name in ("add", "add_"):
        return _IN_BACKWARD
    return _REMEDIES.get(name, _REMEDY)


class TorchOperator:
    """An operator of PyTorch, as the profiler reads it.

    Parameters
    ----------
    name : str
        As PyTorch's own profiler writes it: ``"aten::mm"``.
    view : bool
        Whether its result lies in the memory of its input.

    Attributes
    ----------
    view : bool
    lane : str or None
        The lane of its events, if it always has the same.
    """

    def __init__(self, name: str, view: bool) -> None:
        self.name, self.view = name, view
        self.short = name.rpartition("::")[2]
        self.lane: str | None = "convert" if self.short in CONVERSIONS else None
        if self.short == "_local_scalar_dense":
            self.lane = "transfer"

    def moved(self, inputs: Sequence[ArrayRecord], outputs: Sequence[ArrayRecord]) -> int:
        """Bytes that a call reads and writes."""
        name, written = self.short, sum(array["bytes"] for array in outputs)
        if self.view or name in _UNTOUCHED:
            return 0
        if name in _WRITING:
            return written
        if name == "copy_":
            return written + sum(array["bytes"] for array in inputs[1:])
        if name in LOOK_UPS and inputs and inputs[0]["stype"] == "default":
            return 2 * written + sum(array["bytes"] for array in inputs[1:])
        if name in _BAGS and len(inputs) > 1 and inputs[0]["shape"]:
            rows = inputs[1]["nnz"] * inputs[0]["bytes"] // max(1, inputs[0]["shape"][0])
            return written + rows + sum(array["bytes"] for array in inputs[1:])
        return describe.moved(inputs, outputs, False, in_place=name.endswith("_"))

    def cost(self, attrs: Attrs, inputs: list[ArrayRecord], outputs: list[ArrayRecord]) -> tuple[int, int]:
        """Useful and dense-equivalent operations: two for each product, else one for each value of the results."""
        name, size = self.short, sum(math.prod(array["shape"]) for array in outputs)
        if self.view or name in _UNTOUCHED or self.lane is not None:
            return 0, 0
        if name in PRODUCTS and len(inputs) > 1 and outputs:
            left = inputs[1 if name.startswith(("add", "badd", "_sparse_addmm", "sspadd")) and len(inputs) > 2 else 0]
            dense = 2 * size * (left["shape"][-1] if left["shape"] else 1)
            return (2 * left["nnz"] * (outputs[0]["shape"][-1] if len(outputs[0]["shape"]) > 1 else 1)
                    if left["stype"] != "default" else dense), dense
        if name == "convolution" and len(inputs) > 1 and inputs[1]["shape"]:
            each = 2 * math.prod(inputs[1]["shape"][1:])
            return each * size, each * size
        return size, size


class TorchPlan:
    """One way in which an operator of PyTorch was called.

    Parameters
    ----------
    op : TorchOperator
    kind : str
        Empty, or as what its result became dense: one of ``hooks.KINDS``, or ``hooks.ASKED``.
    attrs : dict, optional
    """

    __slots__ = ("attrs", "copies", "dense", "fallback", "op", "tells_roles")

    def __init__(self, op: TorchOperator, kind: str, attrs: dict[str, JSON] | None = None) -> None:
        self.op, self.attrs = op, attrs or {}
        self.fallback = kind == hooks.FALLBACK
        self.dense = kind if kind == hooks.NATURAL else ""
        #: Whether it may copy to another device.
        self.copies = op.short in ("_to_copy", "copy_") and op.lane is None
        #: What its inputs serve as is told by the optimizer, and not to be inferred.
        self.tells_roles = True
