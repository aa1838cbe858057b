"""Operators of ``mx.nd.linalg``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .ndarray import NDArray
from .sparse import CSRNDArray, RowSparseNDArray

_Out: TypeAlias = NDArray | Sequence[NDArray] | None

def det(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Determinants of square matrices. The gradient requires the inverse to exist."""

def extractdiag(A: NDArray, offset: int | Sequence[int] = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The diagonal ``offset`` of square matrices."""

def extracttrian(A: NDArray, offset: int | Sequence[int] = 0, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column for an upper one. A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last diagonal of a lower triangle."""

def gelqf(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``A = L Q`` for matrices with at least as many columns as rows: the list of Q, whose rows are orthonormal, and the lower triangular L."""

def gemm(A: NDArray, B: NDArray, C: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int | Sequence[int] | None = -2, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows."""

def gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int | Sequence[int] | None = -2, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows."""

def inverse(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverses of square matrices. Singular matrices raise an error."""

def makediag(A: NDArray, offset: int | Sequence[int] = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere."""

def maketrian(A: NDArray, offset: int | Sequence[int] = 0, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian."""

def potrf(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cholesky factor: the lower triangular L with ``A = L Lᵀ``, for symmetric positive definite A; with ``lower=False`` the upper triangular U with ``A = Uᵀ U``. The operator uses the symmetric part of A, so the gradient is symmetric."""

def potri(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The inverse of a matrix from its Cholesky factor: ``(A Aᵀ)⁻¹`` for a lower triangular A, ``(Aᵀ A)⁻¹`` for an upper one with ``lower=False``."""

def slogdet(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices. The gradient requires the inverse to exist."""

def sumlogdiag(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The sum of the logarithms of the diagonal of square matrices."""

def syevd(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``A = Uᵀ diag(L) U`` for symmetric A: the list of U, whose rows are the eigenvectors, and the eigenvalues L, ascending. The largest entry of each eigenvector is positive. The gradient requires different eigenvalues. The operator uses the symmetric part of A."""

def syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * A Aᵀ``, or ``alpha * Aᵀ A`` with ``transpose=True``."""

def trmm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) B`` for the triangle of A, or ``alpha * B op(A)`` with ``rightside=True``."""

def trsm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The X with ``op(A) X = alpha * B`` for the triangle of A, or ``X op(A) = alpha * B`` with ``rightside=True``."""
