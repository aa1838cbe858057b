"""Operators of ``mx.sym.linalg``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .symbol import Symbol

_Out: TypeAlias = object

def det(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Determinants of square matrices. The gradient requires the inverse to exist."""

def extractdiag(A: Symbol | None = None, offset: int | Sequence[int] = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The diagonal ``offset`` of square matrices."""

def extracttrian(A: Symbol | None = None, offset: int | Sequence[int] = 0, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column for an upper one. A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last diagonal of a lower triangle."""

def gelqf(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``A = L Q`` for matrices with at least as many columns as rows: the list of Q, whose rows are orthonormal, and the lower triangular L."""

def gemm(A: Symbol | None = None, B: Symbol | None = None, C: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int | Sequence[int] | None = -2, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows."""

def gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int | Sequence[int] | None = -2, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows."""

def inverse(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverses of square matrices. Singular matrices raise an error."""

def makediag(A: Symbol | None = None, offset: int | Sequence[int] = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere."""

def maketrian(A: Symbol | None = None, offset: int | Sequence[int] = 0, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian."""

def potrf(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cholesky factor: the lower triangular L with ``A = L Lᵀ``, for symmetric positive definite A; with ``lower=False`` the upper triangular U with ``A = Uᵀ U``. The operator uses the symmetric part of A, so the gradient is symmetric."""

def potri(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The inverse of a matrix from its Cholesky factor: ``(A Aᵀ)⁻¹`` for a lower triangular A, ``(Aᵀ A)⁻¹`` for an upper one with ``lower=False``."""

def slogdet(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices. The gradient requires the inverse to exist."""

def sumlogdiag(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The sum of the logarithms of the diagonal of square matrices."""

def syevd(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``A = Uᵀ diag(L) U`` for symmetric A: the list of U, whose rows are the eigenvectors, and the eigenvalues L, ascending. The largest entry of each eigenvector is positive. The gradient requires different eigenvalues. The operator uses the symmetric part of A."""

def syrk(A: Symbol | None = None, transpose: bool = False, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * A Aᵀ``, or ``alpha * Aᵀ A`` with ``transpose=True``."""

def trmm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) B`` for the triangle of A, or ``alpha * B op(A)`` with ``rightside=True``."""

def trsm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The X with ``op(A) X = alpha * B`` for the triangle of A, or ``X op(A) = alpha * B`` with ``rightside=True``."""
