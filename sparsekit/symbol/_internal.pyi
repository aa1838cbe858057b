"""Operators of ``mx.sym._internal``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .symbol import Symbol

_Out: TypeAlias = object

def _abs_backward(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``g * sign(x)``: the gradient of the absolute value."""

def _adamw_rows_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """AdamW, whose weight decay is apart: mean and var as Adam's; ``weight -= lr * mean / (sqrt(var) + epsilon) + wd * weight``, without bias correction, which belongs in ``lr``."""

def _adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., eta: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``."""

def _add(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of two arrays of one shape."""

def _apart(L: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``1 / (L[i] - L[j])``, with zeros on the diagonal: a factor of the gradient of eigenvectors."""

def _arange(stop: float | None, start: float = 0, step: object = 1.0, repeat: int = 1, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Evenly spaced values, each repeated ``repeat`` times."""

def _backward_gather_nd(data: Symbol | None = None, indices: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """As ``scatter_nd``, but values for one place are added: the gradient of ``gather_nd``."""

def _boolean_mask_backward(data: Symbol | None = None, index: Symbol | None = None, axis: int | Sequence[int] | None = 0, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradient of ``boolean_mask``: ``data`` at the entries where ``index`` is not zero, and zeros elsewhere."""

def _channel_window_sum(data: Symbol | None = None, size: int | Sequence[int] = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sums over a window of axis 1, centred on each place."""

def _contrib_CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def _contrib_SparseEmbedding(data: Symbol | None = None, weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: DTypeLike = 'float32', sparse_grad: bool = True, deterministic: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``Embedding`` with a row_sparse gradient; deprecated in MXNet. ``deterministic`` has no effect: gradients are the same on every run."""

def _contrib_adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., eta: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``."""

def _contrib_allclose(a: Symbol | None = None, b: Symbol | None = None, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 if everywhere ``|a - b| <= atol + rtol |b|``, else 0: a uint8 array without axes."""

def _contrib_arange_like(data: Symbol | None = None, start: float = 0.0, step: object = 1.0, repeat: int = 1, ctx: Context | str | None = None, axis: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Evenly spaced values, each ``repeat`` times, of the array's shape, or as many as ``axis`` is long."""

def _contrib_boolean_mask(data: Symbol | None = None, index: Symbol | None = None, axis: int | Sequence[int] | None = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The entries along ``axis`` where ``index`` is not zero. MXNet takes axis 0 only."""

def _contrib_ctc_loss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def _contrib_div_sqrt_dim(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The array over the square root of the size of its last axis."""

def _contrib_getnnz(data: Symbol | None = None, axis: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Number of stored values, of the whole matrix or along ``axis``, as int64."""

def _contrib_gradientmultiplier(data: Symbol | None = None, scalar: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy; its gradient is multiplied by ``scalar``."""

def _contrib_group_adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """AdaGrad with one rate per row: ``history += mean(g * g, axis=1); weight -= lr * g / sqrt(history + epsilon)``. There is no weight decay."""

def _contrib_index_array(data: Symbol | None = None, axes: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """For each element its place along every axis, or those named: an int64 array with one axis more."""

def _contrib_index_copy(old_tensor: Symbol | None = None, index_vector: Symbol | None = None, new_tensor: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``old_tensor`` with its rows ``index_vector`` replaced by those of ``new_tensor``; one outside raises RowIndexError, where MXNet drops it."""

def _contrib_isfinite(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where an element is finite, else 0."""

def _contrib_isinf(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where an element is infinite, else 0."""

def _contrib_isnan(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where an element is nan, else 0."""

def _contrib_mp_adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., eta: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``adamw_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def _contrib_quadratic(data: Symbol | None = None, a: float = 0.0, b: float = 0.0, c: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``a x² + b x + c``; a csr array keeps its storage type where ``c`` is 0."""

def _contrib_round_ste(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Round, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""

def _contrib_sign_ste(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sign, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""

def _copy(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy."""

def _crop_assign(lhs: Symbol | None = None, rhs: Symbol | None = None, begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lhs`` with the part from ``begin`` to ``end`` replaced by ``rhs``; give ``out=lhs`` to change it in place."""

def _crop_assign_scalar(data: Symbol | None = None, scalar: float = 0.0, begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data`` with the part from ``begin`` to ``end`` set to ``scalar``; give ``out=data`` to change it in place."""

def _div(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Quotient of two arrays of one shape; absent entries of the divisor are zeros."""

def _div_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data / scalar``."""

def _dot_left_gradient(g: Symbol | None = None, lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradient of a dot product for its left side, for any number of axes."""

def _dot_right_gradient(g: Symbol | None = None, lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradient of a dot product for its right side, for any number of axes."""

def _embedding_backward(g: Symbol | None = None, data: Symbol | None = None, shape: int | Sequence[int] | None = None, sparse: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradient rows summed by the index they were looked up with."""

def _equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where equal, with broadcasting."""

def _equal_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where ``data == scalar``."""

def _eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """An N x M matrix (N x N for M=0) with ones on the diagonal ``k`` and zeros elsewhere."""

def _full(shape: int | Sequence[int] | None, value: float = 0.0, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """An array with one value everywhere."""

def _gelu_backward(g: Symbol | None = None, data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradient of gelu: ``g`` times the distribution function and ``data`` times the density at ``data``."""

def _getitem(data: Symbol | None = None, key: object = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Basic indexing of a dense array, by numbers, slices, None and Ellipsis. What lies in one run of memory is a view that writes through, anything else a copy, as in MXNet."""

def _grad_add(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of two arrays of one shape."""

def _greater(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is greater, with broadcasting."""

def _greater_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is not less, with broadcasting."""

def _greater_equal_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where ``data >= scalar``."""

def _greater_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where ``data > scalar``."""

def _histogram(data: Symbol | None = None, bins: Symbol | None = None, bin_cnt: int | None = None, range: tuple[float, float] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """How many elements lie in each bin, and the bins' edges: ``bin_cnt`` equal bins over ``range``, or the edges ``bins``. The last bin holds its upper edge; what lies outside is not counted."""

def _hypot(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Length of the hypotenuse, ``sqrt(lhs² + rhs²)``, with broadcasting."""

def _hypot_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sqrt(data² + scalar²)``."""

def _identity_with_attr_like_rhs(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy of ``lhs``; in symbols, what is not known of its shape follows from that of ``rhs``."""

def _index(data: Symbol | None = None, places: Symbol | None = None, key: object = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Indexing by arrays, as numpy does it: ``places`` holds the index arrays, broadcast and stacked, and ``key`` says where among numbers and slices they stand. A copy."""

def _index_add(data: Symbol | None = None, places: Symbol | None = None, key: object = ..., shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values added into zeros where indexing by arrays took them from: its gradient."""

def _label_apart(data: Symbol | None = None, label: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data (batch, classes), less 1 at each row's label."""

def _lesser(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is less, with broadcasting."""

def _lesser_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is not greater, with broadcasting."""

def _lesser_equal_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where ``data <= scalar``."""

def _lesser_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where ``data < scalar``."""

def _linalg_det(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Determinants of square matrices. The gradient requires the inverse to exist."""

def _linalg_extractdiag(A: Symbol | None = None, offset: int | Sequence[int] = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The diagonal ``offset`` of square matrices."""

def _linalg_extracttrian(A: Symbol | None = None, offset: int | Sequence[int] = 0, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column for an upper one. A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last diagonal of a lower triangle."""

def _linalg_gelqf(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``A = L Q`` for matrices with at least as many columns as rows: the list of Q, whose rows are orthonormal, and the lower triangular L."""

def _linalg_gemm(A: Symbol | None = None, B: Symbol | None = None, C: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int | Sequence[int] | None = -2, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows."""

def _linalg_gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int | Sequence[int] | None = -2, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows."""

def _linalg_inverse(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverses of square matrices. Singular matrices raise an error."""

def _linalg_makediag(A: Symbol | None = None, offset: int | Sequence[int] = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere."""

def _linalg_maketrian(A: Symbol | None = None, offset: int | Sequence[int] = 0, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian."""

def _linalg_potrf(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cholesky factor: the lower triangular L with ``A = L Lᵀ``, for symmetric positive definite A; with ``lower=False`` the upper triangular U with ``A = Uᵀ U``. The operator uses the symmetric part of A, so the gradient is symmetric."""

def _linalg_potri(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The inverse of a matrix from its Cholesky factor: ``(A Aᵀ)⁻¹`` for a lower triangular A, ``(Aᵀ A)⁻¹`` for an upper one with ``lower=False``."""

def _linalg_slogdet(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices. The gradient requires the inverse to exist."""

def _linalg_sumlogdiag(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The sum of the logarithms of the diagonal of square matrices."""

def _linalg_syevd(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``A = Uᵀ diag(L) U`` for symmetric A: the list of U, whose rows are the eigenvectors, and the eigenvalues L, ascending. The largest entry of each eigenvector is positive. The gradient requires different eigenvalues. The operator uses the symmetric part of A."""

def _linalg_syrk(A: Symbol | None = None, transpose: bool = False, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * A Aᵀ``, or ``alpha * Aᵀ A`` with ``transpose=True``."""

def _linalg_trmm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) B`` for the triangle of A, or ``alpha * B op(A)`` with ``rightside=True``."""

def _linalg_trsm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The X with ``op(A) X = alpha * B`` for the triangle of A, or ``X op(A) = alpha * B`` with ``rightside=True``."""

def _linspace(start: float, stop: float | None, num: int, endpoint: bool = True, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``num`` evenly spaced values from ``start`` to ``stop``, which is among them unless ``endpoint=False``."""

def _log_softmax_backward(g: Symbol | None = None, made: Symbol | None = None, axis: int | Sequence[int] | None = -1, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``g - exp(out) * sum(g)`` along an axis: the gradient of log_softmax, from its output."""

def _logical_and(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where both are nonzero, with broadcasting."""

def _logical_and_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where data and scalar are nonzero."""

def _logical_or(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where either is nonzero, with broadcasting."""

def _logical_or_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where data or scalar is nonzero."""

def _logical_xor(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where just one is nonzero, with broadcasting."""

def _logical_xor_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where just one of data and scalar is nonzero."""

def _make_loss_backward(data: Symbol | None = None, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = 'null', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradient of MakeLoss."""

def _masked(data: Symbol | None = None, mask: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data times a mask of its shape, through which no gradient flows."""

def _maximum(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Larger of two, with broadcasting."""

def _maximum_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Larger of data and scalar."""

def _minimum(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smaller of two, with broadcasting."""

def _minimum_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smaller of data and scalar."""

def _minus(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Difference of two arrays of one shape."""

def _minus_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data - scalar``."""

def _mirrored(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Symmetric matrices with the lower triangles of the given matrices."""

def _mod(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Remainder with the divisor's sign, with broadcasting; zero where the divisor is zero."""

def _mod_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data % scalar``, with the divisor's sign; zero for a scalar of zero."""

def _mp_adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., eta: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``adamw_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def _mul(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Product of two arrays of one shape."""

def _mul_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data * scalar``."""

def _multi_adamw_update(*data: Symbol | Sequence[Symbol], lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``adamw_update`` for ``num_weights`` weights in one call: weight, gradient, mean and var of the first, then of the second, …, and ``rescale_grad``, an array of one number."""

def _multi_lamb_update(*data: Symbol | Sequence[Symbol], learning_rates: Sequence[float], wds: Sequence[float], step_count: Sequence[int], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, num_tensors: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Both phases of LAMB for ``num_tensors`` weights in one call: weight, gradient, mean and var of the first, then of the second, … ``lower_bound`` and ``upper_bound`` limit the norm of a weight if they are not negative."""

def _multi_mp_adamw_update(*data: Symbol | Sequence[Symbol], lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``adamw_update`` for ``num_weights`` weights in one call: weight, gradient, mean and var of the first, then of the second, …, and ``rescale_grad``, an array of one number. Steps are computed on the float32 copies that follow each float16 weight's arrays."""

def _multi_mp_lamb_update(*data: Symbol | Sequence[Symbol], learning_rates: Sequence[float], wds: Sequence[float], step_count: Sequence[int], beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, num_tensors: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Both phases of LAMB for ``num_tensors`` weights in one call: weight, gradient, mean and var of the first, then of the second, … ``lower_bound`` and ``upper_bound`` limit the norm of a weight if they are not negative. Steps are computed on the float32 copies that follow each float16 weight's arrays."""

def _normalize_backward(g: Symbol | None = None, data: Symbol | None = None, gamma: Symbol | None = None, mean: Symbol | None = None, share: Symbol | None = None, constant: Symbol | None = None, view: object = ..., fix_gamma: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradients of a normalization for data, gamma and beta."""

def _not_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where different, with broadcasting."""

def _not_equal_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where ``data != scalar``."""

def _on_diagonal(data: Symbol | None = None, k: int = 0, axis1: int = 0, axis2: int = 1, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values on a diagonal of zeros: the gradient of taking a diagonal."""

def _others(data: Symbol | None = None, axes: int | Sequence[int] | None = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """For each element the product of all others along ``axes``: the gradient of a product, right at zeros too."""

def _others_along(data: Symbol | None = None, direction: Symbol | None = None, axes: int | Sequence[int] | None = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """How the products of all others change along a direction: the second derivative of a product, right at zeros too."""

def _pick_backward(data: Symbol | None = None, index: Symbol | None = None, axis: int | Sequence[int] | None = -1, mode: str = 'clip', shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values placed where ``pick`` took them from: its gradient."""

def _place_values(data: Symbol | None = None, rows: Symbol | None = None, columns: Symbol | None = None, shape: int | Sequence[int] | None = ..., stype: str = 'default', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values added into a matrix of zeros at places: the gradient of picking them."""

def _plus(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of two arrays of one shape."""

def _plus_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data + scalar``."""

def _polygamma(data: Symbol | None = None, order: int = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Derivatives of the logarithm of the gamma function: ``order`` 0 is the first, digamma."""

def _power(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Power, with broadcasting."""

def _power_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data ** scalar``."""

def _put_along(data: Symbol | None = None, places: Symbol | None = None, axis: int | Sequence[int] | None = 0, shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values put along an axis of zeros at given places: the gradient of sorting."""

def _random_exponential(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of an exponential distribution with rate lam."""

def _random_exponential_like(data: Symbol | None = None, lam: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of an exponential distribution with rate lam. As many as ``data`` holds, of its element type."""

def _random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a gamma distribution with shape alpha and scale beta."""

def _random_gamma_like(data: Symbol | None = None, alpha: float = 1.0, beta: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a gamma distribution with shape alpha and scale beta. As many as ``data`` holds, of its element type."""

def _random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def _random_generalized_negative_binomial_like(data: Symbol | None = None, mu: float = 1.0, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2. As many as ``data`` holds, of its element type."""

def _random_negative_binomial(k: int = 1, p: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of failures before k successes, each of probability p."""

def _random_negative_binomial_like(data: Symbol | None = None, k: int = 1, p: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of failures before k successes, each of probability p. As many as ``data`` holds, of its element type."""

def _random_normal(loc: float = 0.0, scale: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a normal distribution with this mean and standard deviation."""

def _random_normal_like(data: Symbol | None = None, loc: float = 0.0, scale: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a normal distribution with this mean and standard deviation. As many as ``data`` holds, of its element type."""

def _random_pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the Dirichlet distribution with concentrations alpha along the last axis."""

def _random_pdf_dirichlet_backward(g: Symbol | None = None, sample: Symbol | None = None, alpha: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_dirichlet."""

def _random_pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the exponential distribution with rate lam."""

def _random_pdf_exponential_backward(g: Symbol | None = None, sample: Symbol | None = None, lam: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_exponential."""

def _random_pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the gamma distribution with shape alpha and rate beta."""

def _random_pdf_gamma_backward(g: Symbol | None = None, sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_gamma."""

def _random_pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def _random_pdf_generalized_negative_binomial_backward(g: Symbol | None = None, sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_generalized_negative_binomial."""

def _random_pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the number of failures before k successes of probability p."""

def _random_pdf_negative_binomial_backward(g: Symbol | None = None, sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_negative_binomial."""

def _random_pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the normal distribution with mean mu and standard deviation sigma."""

def _random_pdf_normal_backward(g: Symbol | None = None, sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_normal."""

def _random_pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the Poisson distribution with rate lam."""

def _random_pdf_poisson_backward(g: Symbol | None = None, sample: Symbol | None = None, lam: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_poisson."""

def _random_pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the uniform distribution from low to high; as in MXNet, samples outside have the same density."""

def _random_pdf_uniform_backward(g: Symbol | None = None, sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradients of random_pdf_uniform."""

def _random_poisson(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def _random_poisson_like(data: Symbol | None = None, lam: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a Poisson distribution with rate lam, as real numbers. As many as ``data`` holds, of its element type."""

def _random_randint(low: float, high: float, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Whole numbers drawn evenly from low up to, not including, high."""

def _random_uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values drawn evenly from low up to, not including, high."""

def _random_uniform_like(data: Symbol | None = None, low: float = 0.0, high: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values drawn evenly from low up to, not including, high. As many as ``data`` holds, of its element type."""

def _ravel_multi_index(data: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Places in the flattened array, for places along the axes of ``shape``, one row per axis."""

def _rdiv_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``scalar / data``."""

def _relu_backward(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``g`` where the output of relu is positive, else zero; NaN where it is NaN."""

def _rminus_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``scalar - data``."""

def _rmod_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``scalar % data``."""

def _rnn_backward(*arrays: Symbol | Sequence[Symbol], state_size: int, num_layers: int, bidirectional: bool = False, mode: str, p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, data_grad: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradients of ``RNN``: of its data (empty unless ``data_grad``), parameters and first states."""

def _rnn_param_concat(*data: Symbol | Sequence[Symbol], dim: int = 1, num_args: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Arrays joined along the axis ``dim``; all other sizes are equal."""

def _rpower_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``scalar ** data``."""

def _sample_exponential(lam: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of an exponential distribution with rate lam."""

def _sample_gamma(alpha: Symbol | None = None, beta: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a gamma distribution with shape alpha and scale beta."""

def _sample_generalized_negative_binomial(mu: Symbol | None = None, alpha: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def _sample_multinomial(data: Symbol | None = None, shape: int | Sequence[int] | None = (), get_prob: bool = False, dtype: DTypeLike = 'int32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Places along the last axis, drawn with the probabilities there; ``shape`` of them for each row."""

def _sample_multinomial_backward(g: Symbol | None = None, data: Symbol | None = None, drawn: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradient of logarithms of probabilities: ``g / data`` added up where it was drawn."""

def _sample_negative_binomial(k: Symbol | None = None, p: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of failures before k successes, each of probability p."""

def _sample_normal(mu: Symbol | None = None, sigma: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a normal distribution with this mean and standard deviation."""

def _sample_poisson(lam: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def _sample_uniform(low: Symbol | None = None, high: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values drawn evenly from low up to, not including, high."""

def _sample_unique_zipfian(range_max: int, shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Distinct classes drawn with a probability that falls like a logarithm, and how many trials that took."""

def _scatter_elemwise_div(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Quotient of two arrays of one shape, of the stored values of a sparse ``lhs`` only."""

def _scatter_minus_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data - scalar``, of the stored values of a sparse array only."""

def _scatter_plus_scalar(data: Symbol | None = None, scalar: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data + scalar``, of the stored values of a sparse array only."""

def _scatter_set_nd(lhs: Symbol | None = None, rhs: Symbol | None = None, indices: Symbol | None = None, shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lhs`` with ``rhs`` at the places ``indices``; give ``out=lhs`` to change it in place."""

def _sequence_last_backward(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int | Sequence[int] | None = 0, shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values put where the last entries came from, zeros elsewhere: the gradient of SequenceLast."""

def _setitem_zeros(data: Symbol | None = None, key: object = None, shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values added into an array of zeros at an index: the gradient of indexing."""

def _shuffle(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data in a random order along the first axis; what is below it stays together."""

def _shuffle_backward(g: Symbol | None = None, order: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Puts rows back where ``shuffle`` took them from."""

def _sigmoid_backward(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``g * y * (1 - y)``: the gradient of the logistic function, from its output."""

def _sigmoid_cross_entropy(data: Symbol | None = None, label: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cross entropy of a yes-or-no label and a logit, elementwise: ``log(1 + exp(data)) - data * label``."""

def _sigmoid_cross_entropy_backward(g: Symbol | None = None, data: Symbol | None = None, label: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``g * (sigmoid(data) - label)``: the gradient of the cross entropy for its logit."""

def _slice_assign(lhs: Symbol | None = None, rhs: Symbol | None = None, begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lhs`` with the part from ``begin`` to ``end`` replaced by ``rhs``; give ``out=lhs`` to change it in place."""

def _slice_assign_scalar(data: Symbol | None = None, scalar: float = 0.0, begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data`` with the part from ``begin`` to ``end`` set to ``scalar``; give ``out=data`` to change it in place."""

def _slice_backward(data: Symbol | None = None, shape: int | Sequence[int] | None = ..., begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values put into an array of zeros where ``slice`` took them from: its gradient."""

def _softmax_backward(g: Symbol | None = None, made: Symbol | None = None, axis: int | Sequence[int] | None = -1, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``out * (g - sum(g * out))`` along an axis: the gradient of softmax, from its output."""

def _softmax_output_backward(result: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: str = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradient of SoftmaxOutput, from its output."""

def _softrelu_backward(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``g * sigmoid(x)``: the gradient of softrelu."""

def _sparse_adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """AdaGrad: ``history += g * g; weight -= lr * (g / sqrt(history + epsilon) + wd * weight)``."""

def _sparse_retain(data: Symbol | None = None, indices: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Only the given rows of a row_sparse array; all others become absent."""

def _split_v2(data: Symbol | None = None, indices: int | Sequence[Any] = (), axis: int | Sequence[int] | None = 0, squeeze_axis: bool = False, sections: int = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Parts along ``axis``: ``sections`` equal ones, or those that begin at ``indices``, the first of which is 0."""

def _spread(data: Symbol | None = None, kept: object = None, shape: int | Sequence[int] | None = None, factor: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Broadcast a reduced array back, times a factor: the gradient of a sum."""

def _square_sum(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of the squares of the elements along ``axis``, or of all."""

def _sub(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Difference of two arrays of one shape."""

def _sum_to(data: Symbol | None = None, shape: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum over whatever was broadcast, down to a shape: the gradient of broadcasting."""

def _svm_output_backward(data: Symbol | None = None, label: Symbol | None = None, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The gradient of SVMOutput, from its data."""

def _take_along(data: Symbol | None = None, places: Symbol | None = None, axis: int | Sequence[int] | None = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values taken along an axis at given places: the gradient of putting them there."""

def _take_backward(data: Symbol | None = None, indices: Symbol | None = None, shape: int | Sequence[int] | None = ..., axis: int | Sequence[int] | None = 0, mode: str = 'clip', sparse: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values added into an array of zeros where ``take`` took them from: its gradient."""

def _triangle(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with zeros outside their lower (or upper) triangle."""

def _unpad(data: Symbol | None = None, mode: str = ..., pad_width: Sequence[int] = ..., shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Borders folded back onto what they were copied from: the gradient of padding."""

def _unravel_index(data: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Places along the axes of ``shape``, one row per axis, for places in the flattened array. The first size may be -1."""

def _unsplit(*parts: Symbol | Sequence[Symbol], shape: int | Sequence[int] | None, axis: int | Sequence[int] | None = 0, bounds: Sequence[int], name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Parts put back where they were cut from, zeros elsewhere: the gradient of splitting."""

def _values_at(data: Symbol | None = None, rows: Symbol | None = None, columns: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The elements of a matrix at the places (rows[i], columns[i]); indices are int64 and inside the matrix."""

def _view(data: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The same elements in exactly this shape, sharing memory: ``NDArray.reshape``, and the gradient of reshaping."""
