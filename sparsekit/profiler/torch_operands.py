"""Dense matrices that a PyTorch program multiplies, and that are mostly zero: an adjacency matrix, batches of counted words."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .source_location import line_of
from .torch_gradients import is_due
from .torch_operators import ALIKE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from types import CodeType

    from ..base.types import JSON
    from .torch_types import Torch, TorchReference, TorchTensor
    from .types import Record

    #: Code of the program, and an instruction of it.
    Place: TypeAlias = tuple[CodeType, int]

#: Functions whose factors are looked at, and that take no sparse tensor.
EINSUM = "einsum"

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
    factor : tuple of int
        The shape in which the product took it: that of a view with three axes, if ``einsum`` made one.
    kept : bool
        Whether every step of a training multiplies it, as it was.
    made : int
        Matrices that the same line multiplied, each with its own memory.
    dtype : str
    stored : int
        Values other than zero.
    bytes, needed : int
        What it takes, and what it would take as a CSR tensor.
    line : str
        The line of the program that multiplied it.
    times : int
        Products with it that were seen, those of backward passes not counted.
    way, why : str
        The method that makes it sparse, ``to_sparse_csr()``, or why PyTorch would refuse a sparse one.
    event : dict
    """

    shape: tuple[int, ...]
    factor: tuple[int, ...]
    kept: bool
    made: int
    dtype: str
    stored: int
    bytes: int
    needed: int
    line: str
    times: int
    way: str
    why: str
    event: Record


class _Found:
    """A matrix whose values were counted, of which at most ``MOST_STORED`` are other than zero."""

    def __init__(self, factor: TorchTensor, matrix: TorchTensor, left: bool, line: str, stored: int) -> None:
        self.factor, self.shape = tuple(factor.shape), tuple(matrix.shape)
        self.dtype, self.device = matrix.dtype, matrix.device
        self.left, self.line, self.stored, self.times = left, line, stored, 1
        self.others: set[str] = set()
        self.told = False


class _Known:
    """A piece of memory that was multiplied: after which backward pass and in which state, and what was found of it."""

    def __init__(self, held: TorchReference, passes: int, version: int) -> None:
        self.held, self.passes, self.version = held, passes, version
        self.found: _Found | None = None


class _Factor:
    """A factor of a product on a line: how many matrices it was, the latest of them, and the fullest that was counted."""

    def __init__(self) -> None:
        self.held: TorchReference | None = None
        self.made = self.times = 0
        self.found: _Found | None = None
        self.full = False


class Operands:
    """Learns which operands of products are mostly zero, and tries sparse ones.

    What stays from step to step of a training is counted once.  What a line multiplies is counted at the first, second, fourth,
    eighth … matrix that it takes.

    Parameters
    ----------
    torch : module
    unseen : callable
        Makes a block in which what is computed is not recorded.

    Attributes
    ----------
    sparse : dict
        By the address of the weak reference to its memory: what is kept, and mostly zero.
    """

    def __init__(self, torch: Torch, unseen: Callable[[], AbstractContextManager[None]]) -> None:
        self._torch, self._unseen = torch, unseen
        self._known: dict[int, _Known] = {}
        self._factors: dict[tuple[Place | None, bool, int], _Factor] = {}
        self.sparse: dict[int, _Known] = {}

    def multiplied(self, tensor: TorchTensor, held: TorchReference, passes: int, left: bool,
                   place: Place | None) -> None:
        """A product has read a dense matrix, after ``passes`` backward passes."""
        matrix = tensor
        if tensor.dim() == 3 and tensor.untyped_storage().nbytes() == math.prod(tensor.shape[1:]) * tensor.element_size():
            with self._unseen():
                matrix = tensor[0]  # as einsum takes a matrix, and as a product with a batch of matrices repeats it
        size = matrix.numel() * matrix.element_size()
        if matrix.dim() != 2 or size < SMALLEST or tensor.requires_grad or not tensor.is_floating_point():
            return
        self._on_line(tensor, matrix, held, left, place)
        if tensor.is_inference():
            return  # nothing tells whether it was written to
        known = self._known.get(id(held))
        if known is None or known.held is not held:
            self._known = {key: other for key, other in self._known.items() if other.held() is not None}
            self._known[id(held)] = _Known(held, passes, tensor._version)
        elif known.version != tensor._version:  # it was written to since
            known.passes, known.found = -1, None
        elif known.found is not None:
            known.found.times += 1
            known.found.left = known.found.left and left
        elif 0 <= known.passes < passes and tensor.untyped_storage().nbytes() == size:
            known.passes = -1  # it is counted once
            known.found = self._counted(tensor, matrix, left, place)
            if known.found is not None:
                self.sparse[id(held)] = known

    def _on_line(self, tensor: TorchTensor, matrix: TorchTensor, held: TorchReference, left: bool, place: Place | None) -> None:
        """Count some of the matrices that a line multiplies."""
        # A line may multiply data and what was computed, told apart by their widths; that of sampled neighbours varies a little.
        width = matrix.shape[1 if left else 0].bit_length()
        factor = self._factors.setdefault((place, left, width), _Factor())
        factor.times += 1
        if factor.held is held or factor.full:
            return
        factor.held, factor.made = held, factor.made + 1
        if is_due(factor.made):
            found = self._counted(tensor, matrix, left, place)
            factor.full = found is None
            if found is not None and (factor.found is None or found.stored > factor.found.stored):
                factor.found = found

    def _counted(self, tensor: TorchTensor, matrix: TorchTensor, left: bool, place: Place | None) -> _Found | None:
        """What is found of a matrix if few of its values are other than zero, and some are."""
        with self._unseen():
            stored = int(self._torch.count_nonzero(matrix))
        line = line_of(*place) if place else ""
        return _Found(tensor, matrix, left, line, stored) if 0 < stored <= MOST_STORED * matrix.numel() else None

    def tried(self, passes: int) -> list[dict[str, JSON]]:
        """What is mostly zero and was not told of, with what to write, after ``passes`` backward passes."""
        told = [self._told(known.found, True, 1) for known in self.sparse.values()
                if known.found is not None and not known.found.told]
        lines = {known.found.line for known in self.sparse.values() if known.found is not None}
        for factor in self._factors.values():
            # Of a training, what a line has always multiplied is kept, and told of above if it may be sparse.
            if factor.found is not None and not (factor.full or factor.found.told or factor.found.line in lines) and (
                    factor.made > 1 or not passes):
                factor.found.times = factor.times
                told.append(self._told(factor.found, False, factor.made))
        return told

    def _told(self, found: _Found, kept: bool, made: int) -> dict[str, JSON]:
        found.told = True
        way, why = self._way(found)
        size, (rows, columns) = found.dtype.itemsize, found.shape
        return {"shape": list(found.shape), "factor": list(found.factor), "kept": kept, "made": made,
                "dtype": str(found.dtype).rpartition(".")[2], "stored": found.stored, "size": size * rows * columns,
                "needed": found.stored * (size + INDEX) + INDEX * (rows + 1), "line": found.line, "times": found.times,
                "way": way, "why": why}

    def _way(self, found: _Found) -> tuple[str, str]:
        """The method that makes the operand sparse, tried on a small twin; or why there is none."""
        if found.others:
            telling = found.others - ALIKE or found.others  # dropout makes a tensor of the same shape before it multiplies
            return "", f"the program also applies {', '.join(sorted(telling))} to it"
        reasons = []
        for way in ("to_sparse_csr", "to_sparse"):
            try:
                with self._torch.inference_mode(False), self._torch.enable_grad(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if self._is_same(found, way):
                        return f"{way}()", ""
                reasons.append("a product with a sparse tensor differs")
            except Exception as error:  # PyTorch refuses
                reasons.append((str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0].rstrip("."))
        return "", reasons[0]

    def _is_same(self, found: _Found, way: str) -> bool:
        torch = self._torch
        matrix = torch.zeros(ROWS, ROWS, dtype=found.dtype, device=found.device)
        matrix[range(ROWS), [(3 * row + 1) % ROWS for row in range(ROWS)]] = 2.0
        results = []
        for factor in (matrix, getattr(matrix, way)()):
            other = torch.ones(ROWS, WIDTH, dtype=found.dtype, device=found.device)
            other = (other if found.left else other.t().contiguous()).requires_grad_()
            product = factor @ other if found.left else other @ factor
            product.square().sum().backward()
            results.append((product.detach().to_dense(), other.grad.to_dense()))
        return all(torch.allclose(factor, other) for factor, other in zip(*results, strict=True))


def zero_operands(records: Iterable[Record]) -> list[ZeroOperand]:
    """The matrices that are mostly zero, in the order in which they were told of."""
    operands = []
    for record in records:
        attrs = record["attrs"]
        shape, factor = attrs.get("shape"), attrs.get("factor", attrs.get("shape"))
        numbers = [attrs.get(name, 1) for name in ("made", "stored", "size", "needed", "times")]
        if record["name"] == OPERAND and isinstance(shape, list) and isinstance(factor, list) and all(
                isinstance(number, int) for number in (*shape, *factor, *numbers)):
            made, stored, size, needed, times = (int(str(number)) for number in numbers)
            words = [str(attrs.get(name, "")) for name in ("dtype", "line", "way", "why")]
            dtype, line, way, why = words
            sizes, taken = (tuple(int(str(number)) for number in numbers) for numbers in (shape, factor))
            operands.append(ZeroOperand(sizes, taken, attrs.get("kept", True) is not False, made, dtype, stored, size, needed,
                                        line, times, way, why, record))
    return operands


def of_three_axes(operand: ZeroOperand) -> str:
    """What to say in addition of a matrix that ``einsum`` or a product with a batch has given a third axis."""
    return (" torch.einsum and products with a batch of matrices refuse it: write them as matrix @ other, with two axes."
            if len(operand.factor) > 2 else "")
