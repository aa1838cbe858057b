"""Dense matrices that a PyTorch program multiplies in every step, and that are mostly zero: an adjacency matrix, as a rule."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from ..base.types import JSON
    from .torch_types import Torch, TorchReference, TorchTensor, TorchType
    from .types import Record

#: Name of the span in which a sparse operand is tried on a small twin; its arguments are those of a ``ZeroOperand``.
OPERAND = "zeros of an operand"

#: Smaller matrices are not counted.
SMALLEST = 1 << 16

#: The largest share of values other than zero with which sparse products take less time than dense ones.
MOST_STORED = 0.02

#: Rows and columns of a twin.
ROWS, WIDTH = 8, 2

#: Bytes of a stored value beside itself: its column, as int64.
INDEX = 8


class ZeroOperand(NamedTuple):
    """A dense matrix that is multiplied, and that is mostly zero.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
    stored : int
        Values other than zero.
    bytes, needed : int
        What it takes, and what it would take as a CSR tensor.
    line : str
        The first line of the program that multiplied it again.
    times : int
        Products with it that were seen, those of backward passes not counted.
    way, why : str
        The method that makes it sparse, ``to_sparse_csr()``, or why PyTorch would refuse a sparse one.
    event : dict
    """

    shape: tuple[int, ...]
    dtype: str
    stored: int
    bytes: int
    needed: int
    line: str
    times: int
    way: str
    why: str
    event: Record


class _Known:
    """A piece of memory that was multiplied."""

    def __init__(self, held: TorchReference, passes: int, version: int) -> None:
        self.held, self.passes, self.version = held, passes, version
        self.stored: int | None = None  # if it was counted, and is mostly zero
        self.shape: tuple[int, ...] = ()
        self.dtype: TorchType = None
        self.device: Torch = None
        self.left = self.told = False
        self.line, self.times = "", 0
        self.others: set[str] = set()


class Operands:
    """Learns which operands of products stay from step to step, counts their zeros once, and tries sparse ones.

    Parameters
    ----------
    torch : module
    unseen : callable
        Makes a block in which what is computed is not recorded.

    Attributes
    ----------
    sparse : dict
        By the address of the weak reference to its memory: what is mostly zero.
    """

    def __init__(self, torch: Torch, unseen: Callable[[], AbstractContextManager[None]]) -> None:
        self._torch, self._unseen = torch, unseen
        self._known: dict[int, _Known] = {}
        self.sparse: dict[int, _Known] = {}

    def multiplied(self, tensor: TorchTensor, held: TorchReference, passes: int, left: bool,
                   line: Callable[[], str]) -> None:
        """A product has read a dense matrix, after ``passes`` backward passes; what was there in an earlier one is counted."""
        size = tensor.numel() * tensor.element_size()
        if (tensor.dim() != 2 or size < SMALLEST or tensor.requires_grad or tensor.is_inference()
                or not tensor.is_floating_point()):
            return
        known = self._known.get(id(held))
        if known is None or known.held is not held:
            self._known = {key: other for key, other in self._known.items() if other.held() is not None}
            self._known[id(held)] = _Known(held, passes, tensor._version)
        elif known.version != tensor._version:  # it was written to since
            known.passes, known.stored = -1, None
        elif known.stored is not None:
            known.times += 1
            known.left = known.left and left
        elif 0 <= known.passes < passes and tensor.untyped_storage().nbytes() == size:
            known.passes = -1  # it is counted once
            with self._unseen():
                stored = int(self._torch.count_nonzero(tensor))
            if 0 < stored <= MOST_STORED * tensor.numel():
                known.stored, known.shape, known.left = stored, tuple(tensor.shape), left
                known.dtype, known.device, known.line, known.times = tensor.dtype, tensor.device, line(), 1
                self.sparse[id(held)] = known

    def tried(self) -> list[dict[str, JSON]]:
        """What is mostly zero and was not told of, with what to write."""
        told: list[dict[str, JSON]] = []
        for known in self.sparse.values():
            if not known.told and known.stored is not None:
                known.told = True
                way, why = self._way(known)
                size, (rows, columns) = known.dtype.itemsize, known.shape
                told.append({"shape": list(known.shape), "dtype": str(known.dtype).rpartition(".")[2], "stored": known.stored,
                              "size": size * rows * columns, "needed": known.stored * (size + INDEX) + INDEX * (rows + 1),
                              "line": known.line, "times": known.times, "way": way, "why": why})
        return told

    def _way(self, known: _Known) -> tuple[str, str]:
        """The method that makes the operand sparse, tried on a small twin; or why there is none."""
        if known.others:
            return "", f"the program also applies {', '.join(sorted(known.others))} to it"
        reasons = []
        for way in ("to_sparse_csr", "to_sparse"):
            try:
                with self._torch.inference_mode(False), self._torch.enable_grad(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if self._is_same(known, way):
                        return f"{way}()", ""
                reasons.append("a product with a sparse tensor differs")
            except Exception as error:  # PyTorch refuses
                reasons.append((str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0].rstrip("."))
        return "", reasons[0]

    def _is_same(self, known: _Known, way: str) -> bool:
        torch = self._torch
        matrix = torch.zeros(ROWS, ROWS, dtype=known.dtype, device=known.device)
        matrix[range(ROWS), [(3 * row + 1) % ROWS for row in range(ROWS)]] = 2.0
        results = []
        for factor in (matrix, getattr(matrix, way)()):
            other = torch.ones(ROWS, WIDTH, dtype=known.dtype, device=known.device)
            other = (other if known.left else other.t().contiguous()).requires_grad_()
            product = factor @ other if known.left else other @ factor
            product.square().sum().backward()
            results.append((product.detach().to_dense(), other.grad.to_dense()))
        return all(torch.allclose(factor, other) for factor, other in zip(*results, strict=True))


def zero_operands(records: Iterable[Record]) -> list[ZeroOperand]:
    """The matrices that are mostly zero, in the order in which they were told of."""
    operands = []
    for record in records:
        attrs = record["attrs"]
        shape = attrs.get("shape")
        numbers = [attrs.get(name) for name in ("stored", "size", "needed", "times")]
        if record["name"] == OPERAND and isinstance(shape, list) and all(
                isinstance(number, int) for number in (*shape, *numbers)):
            stored, size, needed, times = (int(str(number)) for number in numbers)
            words = [str(attrs.get(name, "")) for name in ("dtype", "line", "way", "why")]
            dtype, line, way, why = words
            sizes = tuple(int(str(number)) for number in shape)
            operands.append(ZeroOperand(sizes, dtype, stored, size, needed, line, times, way, why, record))
    return operands
