"""Operators of ``mx.nd._internal``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .ndarray import NDArray
from .sparse import CSRNDArray, RowSparseNDArray
from ..ndarray import ones as _ones
from ..ndarray import zeros as _zeros

_Out: TypeAlias = NDArray | Sequence[NDArray] | None

@overload
def _abs_backward(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _abs_backward(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _abs_backward(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _abs_backward(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _abs_backward(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _abs_backward(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _abs_backward(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``g * sign(x)``: the gradient of the absolute value."""

def _adamw_rows_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """AdamW, whose weight decay is apart: mean and var as Adam's; ``weight -= lr * mean / (sqrt(var) + epsilon) + wd * weight``, without bias correction, which belongs in ``lr``."""

def _adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: NDArray, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``."""

@overload
def _add(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _add(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _add(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _add(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _add(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of two arrays of one shape."""

def _apart(L: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``1 / (L[i] - L[j])``, with zeros on the diagonal: a factor of the gradient of eigenvectors."""

def _arange(start: float = 0, stop: float | None = ..., step: object = 1.0, repeat: int = 1, dtype_: str = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Evenly spaced values, each repeated ``repeat`` times."""

def _backward_gather_nd(data: NDArray, indices: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """As ``scatter_nd``, but values for one place are added: the gradient of ``gather_nd``."""

def _boolean_mask_backward(data: NDArray, index: NDArray, axis: int | Sequence[int] | None = 0, shape: int | Sequence[int] | None = ..., *, out: _Out = None, name: str | None = None) -> NDArray:
    """The gradient of ``boolean_mask``: ``data`` at the entries where ``index`` is not zero, and zeros elsewhere."""

def _channel_window_sum(data: NDArray, size: int | Sequence[int], *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sums over a window of axis 1, centred on each place."""

def _contrib_CTCLoss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def _contrib_SparseEmbedding(data: NDArray, weight: NDArray, input_dim: int, output_dim: int, dtype: DTypeLike = 'float32', sparse_grad: bool = True, deterministic: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``Embedding`` with a row_sparse gradient; deprecated in MXNet. ``deterministic`` has no effect: gradients are the same on every run."""

def _contrib_adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: NDArray, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``."""

def _contrib_allclose(a: NDArray, b: NDArray, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 if everywhere ``|a - b| <= atol + rtol |b|``, else 0: a uint8 array without axes."""

def _contrib_arange_like(data: NDArray, start: float = 0.0, step: object = 1.0, repeat: int = 1, ctx: Context | str | None = None, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Evenly spaced values, each ``repeat`` times, of the array's shape, or as many as ``axis`` is long."""

def _contrib_boolean_mask(data: NDArray, index: NDArray, axis: int | Sequence[int] | None = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The entries along ``axis`` where ``index`` is not zero. MXNet takes axis 0 only."""

def _contrib_ctc_loss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def _contrib_div_sqrt_dim(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The array over the square root of the size of its last axis."""

def _contrib_getnnz(data: NDArray, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Number of stored values, of the whole matrix or along ``axis``, as int64."""

def _contrib_gradientmultiplier(data: NDArray, scalar: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy; its gradient is multiplied by ``scalar``."""

def _contrib_group_adagrad_update(weight: NDArray, grad: NDArray, history: NDArray, lr: float, rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """AdaGrad with one rate per row: ``history += mean(g * g, axis=1); weight -= lr * g / sqrt(history + epsilon)``. There is no weight decay."""

def _contrib_index_array(data: NDArray, axes: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """For each element its place along every axis, or those named: an int64 array with one axis more."""

def _contrib_index_copy(old_tensor: NDArray, index_vector: NDArray, new_tensor: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``old_tensor`` with its rows ``index_vector`` replaced by those of ``new_tensor``; one outside raises RowIndexError, where MXNet drops it."""

def _contrib_isfinite(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where an element is finite, else 0."""

def _contrib_isinf(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where an element is infinite, else 0."""

def _contrib_isnan(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where an element is nan, else 0."""

def _contrib_mp_adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: NDArray, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``adamw_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def _contrib_quadratic(data: NDArray, a: float = 0.0, b: float = 0.0, c: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``a x² + b x + c``; a csr array keeps its storage type where ``c`` is 0."""

@overload
def _contrib_round_ste(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _contrib_round_ste(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _contrib_round_ste(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Round, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""

@overload
def _contrib_sign_ste(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _contrib_sign_ste(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _contrib_sign_ste(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sign, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""

@overload
def _copy(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _copy(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _copy(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy."""

def _crop_assign(lhs: NDArray, rhs: NDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lhs`` with the part from ``begin`` to ``end`` replaced by ``rhs``; give ``out=lhs`` to change it in place."""

def _crop_assign_scalar(data: NDArray, scalar: float = 0.0, begin: object = ..., end: object = ..., step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data`` with the part from ``begin`` to ``end`` set to ``scalar``; give ``out=data`` to change it in place."""

@overload
def _div(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _div(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _div(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Quotient of two arrays of one shape; absent entries of the divisor are zeros."""

def _div_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data / scalar``."""

def _dot_left_gradient(g: NDArray, lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Gradient of a dot product for its left side, for any number of axes."""

def _dot_right_gradient(g: NDArray, lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Gradient of a dot product for its right side, for any number of axes."""

@overload
def _embedding_backward(g: NDArray, data: NDArray, *, shape: int | Sequence[int] | None = None, sparse: Literal[True], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _embedding_backward(g: NDArray, data: NDArray, shape: int | Sequence[int] | None = None, sparse: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Gradient rows summed by the index they were looked up with."""

def _equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where equal, with broadcasting."""

def _equal_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where ``data == scalar``."""

def _eye(N: int, M: int = 0, k: int = 0, dtype_: str = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
    """An N x M matrix (N x N for M=0) with ones on the diagonal ``k`` and zeros elsewhere."""

def _full(shape: int | Sequence[int] | None, value: float = 0.0, dtype_: str = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
    """An array with one value everywhere."""

def _gelu_backward(g: NDArray, data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The gradient of gelu: ``g`` times the distribution function and ``data`` times the density at ``data``."""

def _getitem(data: NDArray, key: object, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Basic indexing of a dense array, by numbers, slices, None and Ellipsis. What lies in one run of memory is a view that writes through, anything else a copy, as in MXNet."""

@overload
def _grad_add(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _grad_add(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _grad_add(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _grad_add(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _grad_add(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of two arrays of one shape."""

@overload
def _greater(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _greater(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _greater(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _greater(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _greater(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is greater, with broadcasting."""

def _greater_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is not less, with broadcasting."""

def _greater_equal_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where ``data >= scalar``."""

def _greater_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where ``data > scalar``."""

def _histogram(data: NDArray, bins: NDArray | None = None, bin_cnt: int | None = None, range: tuple[float, float] | None = None, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """How many elements lie in each bin, and the bins' edges: ``bin_cnt`` equal bins over ``range``, or the edges ``bins``. The last bin holds its upper edge; what lies outside is not counted."""

def _hypot(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Length of the hypotenuse, ``sqrt(lhs² + rhs²)``, with broadcasting."""

def _hypot_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``sqrt(data² + scalar²)``."""

def _identity_with_attr_like_rhs(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy of ``lhs``; in symbols, what is not known of its shape follows from that of ``rhs``."""

def _index(data: NDArray, places: NDArray, key: object, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Indexing by arrays, as numpy does it: ``places`` holds the index arrays, broadcast and stacked, and ``key`` says where among numbers and slices they stand. A copy."""

def _index_add(data: NDArray, places: NDArray, key: object, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values added into zeros where indexing by arrays took them from: its gradient."""

def _label_apart(data: NDArray, label: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data (batch, classes), less 1 at each row's label."""

@overload
def _lesser(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _lesser(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _lesser(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _lesser(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _lesser(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is less, with broadcasting."""

def _lesser_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is not greater, with broadcasting."""

def _lesser_equal_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where ``data <= scalar``."""

def _lesser_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where ``data < scalar``."""

def _linalg_det(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Determinants of square matrices. The gradient requires the inverse to exist."""

def _linalg_extractdiag(A: NDArray, offset: int | Sequence[int] = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The diagonal ``offset`` of square matrices."""

def _linalg_extracttrian(A: NDArray, offset: int | Sequence[int] = 0, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column for an upper one. A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last diagonal of a lower triangle."""

def _linalg_gelqf(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``A = L Q`` for matrices with at least as many columns as rows: the list of Q, whose rows are orthonormal, and the lower triangular L."""

def _linalg_gemm(A: NDArray, B: NDArray, C: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int | Sequence[int] | None = -2, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows."""

def _linalg_gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int | Sequence[int] | None = -2, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows."""

def _linalg_inverse(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverses of square matrices. Singular matrices raise an error."""

def _linalg_makediag(A: NDArray, offset: int | Sequence[int] = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere."""

def _linalg_maketrian(A: NDArray, offset: int | Sequence[int] = 0, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian."""

def _linalg_potrf(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cholesky factor: the lower triangular L with ``A = L Lᵀ``, for symmetric positive definite A; with ``lower=False`` the upper triangular U with ``A = Uᵀ U``. The operator uses the symmetric part of A, so the gradient is symmetric."""

def _linalg_potri(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The inverse of a matrix from its Cholesky factor: ``(A Aᵀ)⁻¹`` for a lower triangular A, ``(Aᵀ A)⁻¹`` for an upper one with ``lower=False``."""

def _linalg_slogdet(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices. The gradient requires the inverse to exist."""

def _linalg_sumlogdiag(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The sum of the logarithms of the diagonal of square matrices."""

def _linalg_syevd(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``A = Uᵀ diag(L) U`` for symmetric A: the list of U, whose rows are the eigenvectors, and the eigenvalues L, ascending. The largest entry of each eigenvector is positive. The gradient requires different eigenvalues. The operator uses the symmetric part of A."""

def _linalg_syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * A Aᵀ``, or ``alpha * Aᵀ A`` with ``transpose=True``."""

def _linalg_trmm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) B`` for the triangle of A, or ``alpha * B op(A)`` with ``rightside=True``."""

def _linalg_trsm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The X with ``op(A) X = alpha * B`` for the triangle of A, or ``X op(A) = alpha * B`` with ``rightside=True``."""

def _linspace(start: float, stop: float | None, num: int, endpoint: bool = True, dtype_: str = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
    """``num`` evenly spaced values from ``start`` to ``stop``, which is among them unless ``endpoint=False``."""

def _log_softmax_backward(g: NDArray, made: NDArray, axis: int | Sequence[int] | None = -1, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``g - exp(out) * sum(g)`` along an axis: the gradient of log_softmax, from its output."""

@overload
def _logical_and(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _logical_and(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_and(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_and(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_and(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _logical_and(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _logical_and(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_and(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_and(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where both are nonzero, with broadcasting."""

@overload
def _logical_and_scalar(data: RowSparseNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _logical_and_scalar(data: CSRNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_and_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where data and scalar are nonzero."""

@overload
def _logical_or(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _logical_or(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_or(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_or(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_or(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where either is nonzero, with broadcasting."""

def _logical_or_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where data or scalar is nonzero."""

@overload
def _logical_xor(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _logical_xor(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_xor(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_xor(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _logical_xor(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where just one is nonzero, with broadcasting."""

def _logical_xor_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where just one of data and scalar is nonzero."""

def _make_loss_backward(data: NDArray, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = 'null', *, out: _Out = None, name: str | None = None) -> NDArray:
    """The gradient of MakeLoss."""

def _masked(data: NDArray, mask: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data times a mask of its shape, through which no gradient flows."""

@overload
def _maximum(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _maximum(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _maximum(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _maximum(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _maximum(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Larger of two, with broadcasting."""

def _maximum_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Larger of data and scalar."""

@overload
def _minimum(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _minimum(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _minimum(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _minimum(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _minimum(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smaller of two, with broadcasting."""

def _minimum_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smaller of data and scalar."""

@overload
def _minus(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _minus(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _minus(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _minus(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _minus(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Difference of two arrays of one shape."""

def _minus_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data - scalar``."""

def _mirrored(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Symmetric matrices with the lower triangles of the given matrices."""

def _mod(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Remainder with the divisor's sign, with broadcasting; zero where the divisor is zero."""

def _mod_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data % scalar``, with the divisor's sign; zero for a scalar of zero."""

def _mp_adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: NDArray, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``adamw_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

@overload
def _mul(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _mul(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _mul(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _mul(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _mul(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _mul(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _mul(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _mul(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _mul(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Product of two arrays of one shape."""

@overload
def _mul_scalar(data: RowSparseNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _mul_scalar(data: CSRNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _mul_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data * scalar``."""

def _multi_adamw_update(*data: NDArray | Sequence[NDArray], lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> Any:
    """``adamw_update`` for ``num_weights`` weights in one call: weight, gradient, mean and var of the first, then of the second, …, and ``rescale_grad``, an array of one number."""

def _multi_lamb_update(*data: NDArray | Sequence[NDArray], learning_rates: Sequence[float], wds: Sequence[float], step_count: Sequence[int], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, num_tensors: int = 1, out: _Out = None, name: str | None = None) -> Any:
    """Both phases of LAMB for ``num_tensors`` weights in one call: weight, gradient, mean and var of the first, then of the second, … ``lower_bound`` and ``upper_bound`` limit the norm of a weight if they are not negative."""

def _multi_mp_adamw_update(*data: NDArray | Sequence[NDArray], lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> Any:
    """``adamw_update`` for ``num_weights`` weights in one call: weight, gradient, mean and var of the first, then of the second, …, and ``rescale_grad``, an array of one number. Steps are computed on the float32 copies that follow each float16 weight's arrays."""

def _multi_mp_lamb_update(*data: NDArray | Sequence[NDArray], learning_rates: Sequence[float], wds: Sequence[float], step_count: Sequence[int], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, num_tensors: int = 1, out: _Out = None, name: str | None = None) -> Any:
    """Both phases of LAMB for ``num_tensors`` weights in one call: weight, gradient, mean and var of the first, then of the second, … ``lower_bound`` and ``upper_bound`` limit the norm of a weight if they are not negative. Steps are computed on the float32 copies that follow each float16 weight's arrays."""

def _normalize_backward(g: NDArray, data: NDArray, gamma: NDArray, mean: NDArray, share: NDArray, constant: NDArray | None = None, view: object = ..., fix_gamma: bool = False, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Gradients of a normalization for data, gamma and beta."""

@overload
def _not_equal(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _not_equal(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _not_equal(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _not_equal(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _not_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where different, with broadcasting."""

def _not_equal_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where ``data != scalar``."""

def _on_diagonal(data: NDArray, k: int = 0, axis1: int = 0, axis2: int = 1, shape: int | Sequence[int] | None = ..., *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values on a diagonal of zeros: the gradient of taking a diagonal."""

def _others(data: NDArray, axes: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """For each element the product of all others along ``axes``: the gradient of a product, right at zeros too."""

def _others_along(data: NDArray, direction: NDArray, axes: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """How the products of all others change along a direction: the second derivative of a product, right at zeros too."""

def _pick_backward(data: NDArray, index: NDArray, axis: int | Sequence[int] | None = -1, mode: str = 'clip', shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values placed where ``pick`` took them from: its gradient."""

@overload
def _place_values(data: NDArray, rows: NDArray, columns: NDArray, *, shape: int | Sequence[int] | None, stype: Literal['csr'], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _place_values(data: NDArray, rows: NDArray, columns: NDArray, shape: int | Sequence[int] | None, stype: str = 'default', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values added into a matrix of zeros at places: the gradient of picking them."""

@overload
def _plus(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _plus(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _plus(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _plus(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _plus(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of two arrays of one shape."""

def _plus_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data + scalar``."""

def _polygamma(data: NDArray, order: int = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Derivatives of the logarithm of the gamma function: ``order`` 0 is the first, digamma."""

def _power(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Power, with broadcasting."""

def _power_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data ** scalar``."""

def _put_along(data: NDArray, places: NDArray, axis: int | Sequence[int] | None = 0, shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values put along an axis of zeros at given places: the gradient of sorting."""

def _random_exponential(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of an exponential distribution with rate lam."""

def _random_exponential_like(data: NDArray, lam: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of an exponential distribution with rate lam. As many as ``data`` holds, of its element type."""

def _random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a gamma distribution with shape alpha and scale beta."""

def _random_gamma_like(data: NDArray, alpha: float = 1.0, beta: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a gamma distribution with shape alpha and scale beta. As many as ``data`` holds, of its element type."""

def _random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def _random_generalized_negative_binomial_like(data: NDArray, mu: float = 1.0, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2. As many as ``data`` holds, of its element type."""

def _random_negative_binomial(k: int = 1, p: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of failures before k successes, each of probability p."""

def _random_negative_binomial_like(data: NDArray, k: int = 1, p: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of failures before k successes, each of probability p. As many as ``data`` holds, of its element type."""

def _random_normal(loc: float = 0.0, scale: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a normal distribution with this mean and standard deviation."""

def _random_normal_like(data: NDArray, loc: float = 0.0, scale: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a normal distribution with this mean and standard deviation. As many as ``data`` holds, of its element type."""

def _random_pdf_dirichlet(sample: NDArray, alpha: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the Dirichlet distribution with concentrations alpha along the last axis."""

def _random_pdf_dirichlet_backward(g: NDArray, sample: NDArray, alpha: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_dirichlet."""

def _random_pdf_exponential(sample: NDArray, lam: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the exponential distribution with rate lam."""

def _random_pdf_exponential_backward(g: NDArray, sample: NDArray, lam: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_exponential."""

def _random_pdf_gamma(sample: NDArray, alpha: NDArray, beta: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the gamma distribution with shape alpha and rate beta."""

def _random_pdf_gamma_backward(g: NDArray, sample: NDArray, alpha: NDArray, beta: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_gamma."""

def _random_pdf_generalized_negative_binomial(sample: NDArray, mu: NDArray, alpha: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def _random_pdf_generalized_negative_binomial_backward(g: NDArray, sample: NDArray, mu: NDArray, alpha: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_generalized_negative_binomial."""

def _random_pdf_negative_binomial(sample: NDArray, k: NDArray, p: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the number of failures before k successes of probability p."""

def _random_pdf_negative_binomial_backward(g: NDArray, sample: NDArray, k: NDArray, p: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_negative_binomial."""

def _random_pdf_normal(sample: NDArray, mu: NDArray, sigma: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the normal distribution with mean mu and standard deviation sigma."""

def _random_pdf_normal_backward(g: NDArray, sample: NDArray, mu: NDArray, sigma: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_normal."""

def _random_pdf_poisson(sample: NDArray, lam: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the Poisson distribution with rate lam."""

def _random_pdf_poisson_backward(g: NDArray, sample: NDArray, lam: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_poisson."""

def _random_pdf_uniform(sample: NDArray, low: NDArray, high: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the uniform distribution from low to high; as in MXNet, samples outside have the same density."""

def _random_pdf_uniform_backward(g: NDArray, sample: NDArray, low: NDArray, high: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """The gradients of random_pdf_uniform."""

def _random_poisson(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def _random_poisson_like(data: NDArray, lam: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a Poisson distribution with rate lam, as real numbers. As many as ``data`` holds, of its element type."""

def _random_randint(low: float, high: float, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Whole numbers drawn evenly from low up to, not including, high."""

def _random_uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high."""

def _random_uniform_like(data: NDArray, low: float = 0.0, high: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high. As many as ``data`` holds, of its element type."""

def _ravel_multi_index(data: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Places in the flattened array, for places along the axes of ``shape``, one row per axis."""

def _rdiv_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``scalar / data``."""

@overload
def _relu_backward(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _relu_backward(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _relu_backward(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _relu_backward(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _relu_backward(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _relu_backward(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _relu_backward(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``g`` where the output of relu is positive, else zero; NaN where it is NaN."""

def _rminus_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``scalar - data``."""

def _rmod_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``scalar % data``."""

def _rnn_backward(*arrays: NDArray | Sequence[NDArray], state_size: int, num_layers: int, bidirectional: bool = False, mode: str = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, data_grad: bool = True, out: _Out = None, name: str | None = None) -> Any:
    """Gradients of ``RNN``: of its data (empty unless ``data_grad``), parameters and first states."""

@overload
def _rnn_param_concat(*data: CSRNDArray | Sequence[CSRNDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _rnn_param_concat(*data: RowSparseNDArray | Sequence[RowSparseNDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _rnn_param_concat(*data: NDArray | Sequence[NDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> NDArray:
    """Arrays joined along the axis ``dim``; all other sizes are equal."""

def _rpower_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``scalar ** data``."""

def _sample_exponential(lam: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of an exponential distribution with rate lam."""

def _sample_gamma(alpha: NDArray, beta: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a gamma distribution with shape alpha and scale beta."""

def _sample_generalized_negative_binomial(mu: NDArray, alpha: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def _sample_multinomial(data: NDArray, shape: int | Sequence[int] | None = (), get_prob: bool = False, dtype: DTypeLike = 'int32', *, out: _Out = None, name: str | None = None) -> Any:
    """Places along the last axis, drawn with the probabilities there; ``shape`` of them for each row."""

def _sample_multinomial_backward(g: NDArray, data: NDArray, drawn: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The gradient of logarithms of probabilities: ``g / data`` added up where it was drawn."""

def _sample_negative_binomial(k: NDArray, p: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of failures before k successes, each of probability p."""

def _sample_normal(mu: NDArray, sigma: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a normal distribution with this mean and standard deviation."""

def _sample_poisson(lam: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def _sample_uniform(low: NDArray, high: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high."""

def _sample_unique_zipfian(range_max: int, shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Distinct classes drawn with a probability that falls like a logarithm, and how many trials that took."""

@overload
def _scatter_elemwise_div(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _scatter_elemwise_div(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _scatter_elemwise_div(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _scatter_elemwise_div(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _scatter_elemwise_div(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Quotient of two arrays of one shape, of the stored values of a sparse ``lhs`` only."""

@overload
def _scatter_minus_scalar(data: RowSparseNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _scatter_minus_scalar(data: CSRNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _scatter_minus_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data - scalar``, of the stored values of a sparse array only."""

@overload
def _scatter_plus_scalar(data: RowSparseNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _scatter_plus_scalar(data: CSRNDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _scatter_plus_scalar(data: NDArray, scalar: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data + scalar``, of the stored values of a sparse array only."""

def _scatter_set_nd(lhs: NDArray, rhs: NDArray, indices: NDArray, shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lhs`` with ``rhs`` at the places ``indices``; give ``out=lhs`` to change it in place."""

def _sequence_last_backward(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int | Sequence[int] | None = 0, shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values put where the last entries came from, zeros elsewhere: the gradient of SequenceLast."""

def _setitem_zeros(data: NDArray, key: object = None, shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values added into an array of zeros at an index: the gradient of indexing."""

def _shuffle(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data in a random order along the first axis; what is below it stays together."""

def _shuffle_backward(g: NDArray, order: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Puts rows back where ``shuffle`` took them from."""

def _sigmoid_backward(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``g * y * (1 - y)``: the gradient of the logistic function, from its output."""

def _sigmoid_cross_entropy(data: NDArray, label: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cross entropy of a yes-or-no label and a logit, elementwise: ``log(1 + exp(data)) - data * label``."""

def _sigmoid_cross_entropy_backward(g: NDArray, data: NDArray, label: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``g * (sigmoid(data) - label)``: the gradient of the cross entropy for its logit."""

def _slice_assign(lhs: NDArray, rhs: NDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lhs`` with the part from ``begin`` to ``end`` replaced by ``rhs``; give ``out=lhs`` to change it in place."""

def _slice_assign_scalar(data: NDArray, scalar: float = 0.0, begin: object = ..., end: object = ..., step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data`` with the part from ``begin`` to ``end`` set to ``scalar``; give ``out=data`` to change it in place."""

@overload
def _slice_backward(data: CSRNDArray, shape: int | Sequence[int] | None, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _slice_backward(data: RowSparseNDArray, shape: int | Sequence[int] | None, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _slice_backward(data: NDArray, shape: int | Sequence[int] | None, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values put into an array of zeros where ``slice`` took them from: its gradient."""

def _softmax_backward(g: NDArray, made: NDArray, axis: int | Sequence[int] | None = -1, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``out * (g - sum(g * out))`` along an axis: the gradient of softmax, from its output."""

def _softmax_output_backward(result: NDArray, label: NDArray, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: str = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The gradient of SoftmaxOutput, from its output."""

def _softrelu_backward(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``g * sigmoid(x)``: the gradient of softrelu."""

def _sparse_adagrad_update(weight: NDArray, grad: NDArray, history: NDArray, lr: float, epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """AdaGrad: ``history += g * g; weight -= lr * (g / sqrt(history + epsilon) + wd * weight)``."""

@overload
def _sparse_retain(data: RowSparseNDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _sparse_retain(data: CSRNDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _sparse_retain(data: NDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Only the given rows of a row_sparse array; all others become absent."""

def _split_v2(data: NDArray, indices: int | Sequence[Any] = (), axis: int | Sequence[int] | None = 0, squeeze_axis: bool = False, sections: int = 0, *, out: _Out = None, name: str | None = None) -> Any:
    """Parts along ``axis``: ``sections`` equal ones, or those that begin at ``indices``, the first of which is 0."""

def _spread(data: NDArray, kept: object = None, shape: int | Sequence[int] | None = None, factor: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Broadcast a reduced array back, times a factor: the gradient of a sum."""

def _square_sum(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of the squares of the elements along ``axis``, or of all."""

@overload
def _sub(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _sub(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _sub(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _sub(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _sub(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Difference of two arrays of one shape."""

def _sum_to(data: NDArray, shape: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum over whatever was broadcast, down to a shape: the gradient of broadcasting."""

def _svm_output_backward(data: NDArray, label: NDArray, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The gradient of SVMOutput, from its data."""

def _take_along(data: NDArray, places: NDArray, axis: int | Sequence[int] | None = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values taken along an axis at given places: the gradient of putting them there."""

@overload
def _take_backward(data: CSRNDArray, indices: NDArray, shape: int | Sequence[int] | None, axis: int | Sequence[int] | None = 0, mode: str = 'clip', sparse: bool = False, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def _take_backward(data: RowSparseNDArray, indices: NDArray, shape: int | Sequence[int] | None, axis: int | Sequence[int] | None = 0, mode: str = 'clip', sparse: bool = False, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _take_backward(data: NDArray, indices: NDArray, *, shape: int | Sequence[int] | None, axis: int | Sequence[int] | None = 0, mode: str = 'clip', sparse: Literal[True], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _take_backward(data: NDArray, indices: NDArray, shape: int | Sequence[int] | None, axis: int | Sequence[int] | None = 0, mode: str = 'clip', sparse: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values added into an array of zeros where ``take`` took them from: its gradient."""

def _triangle(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with zeros outside their lower (or upper) triangle."""

def _unpad(data: NDArray, mode: str, pad_width: Sequence[int], shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Borders folded back onto what they were copied from: the gradient of padding."""

def _unravel_index(data: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Places along the axes of ``shape``, one row per axis, for places in the flattened array. The first size may be -1."""

def _unsplit(*parts: NDArray | Sequence[NDArray], shape: int | Sequence[int] | None, axis: int | Sequence[int] | None = 0, bounds: Sequence[int] = ..., out: _Out = None, name: str | None = None) -> NDArray:
    """Parts put back where they were cut from, zeros elsewhere: the gradient of splitting."""

def _values_at(data: NDArray, rows: NDArray, columns: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The elements of a matrix at the places (rows[i], columns[i]); indices are int64 and inside the matrix."""

@overload
def _view(data: RowSparseNDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def _view(data: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The same elements in exactly this shape, sharing memory: ``NDArray.reshape``, and the gradient of reshaping."""

_Div = _div
_DivScalar = _div_scalar
_Equal = _equal
_EqualScalar = _equal_scalar
_Greater = _greater
_GreaterEqualScalar = _greater_equal_scalar
_GreaterScalar = _greater_scalar
_Greater_Equal = _greater_equal
_Hypot = _hypot
_HypotScalar = _hypot_scalar
_Lesser = _lesser
_LesserEqualScalar = _lesser_equal_scalar
_LesserScalar = _lesser_scalar
_Lesser_Equal = _lesser_equal
_LogicalAndScalar = _logical_and_scalar
_LogicalOrScalar = _logical_or_scalar
_LogicalXorScalar = _logical_xor_scalar
_Logical_And = _logical_and
_Logical_Or = _logical_or
_Logical_Xor = _logical_xor
_Maximum = _maximum
_MaximumScalar = _maximum_scalar
_Minimum = _minimum
_MinimumScalar = _minimum_scalar
_Minus = _minus
_MinusScalar = _minus_scalar
_Mod = _mod
_ModScalar = _mod_scalar
_Mul = _mul
_MulScalar = _mul_scalar
_NotEqualScalar = _not_equal_scalar
_Not_Equal = _not_equal
_Plus = _plus
_PlusScalar = _plus_scalar
_Power = _power
_PowerScalar = _power_scalar
_RDivScalar = _rdiv_scalar
_RMinusScalar = _rminus_scalar
_RModScalar = _rmod_scalar
_RPowerScalar = _rpower_scalar
_copyto = _copy
