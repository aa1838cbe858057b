"""Operators of ``mx.nd.contrib``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .ndarray import NDArray
from .sparse import CSRNDArray, RowSparseNDArray
from ..compat.ndarray.control import cond as cond
from ..compat.ndarray.control import foreach as foreach
from ..compat.ndarray.multi_update import multi_adamw_update as multi_adamw_update
from ..compat.ndarray.multi_update import multi_lamb_update as multi_lamb_update
from ..compat.ndarray.multi_update import multi_mp_adamw_update as multi_mp_adamw_update
from ..compat.ndarray.multi_update import multi_mp_lamb_update as multi_mp_lamb_update
from ..ndarray.random import rand_zipfian as rand_zipfian
from ..compat.ndarray.control import while_loop as while_loop

_Out: TypeAlias = NDArray | Sequence[NDArray] | None

def CTCLoss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def SparseEmbedding(data: NDArray, weight: NDArray, input_dim: int, output_dim: int, dtype: DTypeLike = 'float32', sparse_grad: bool = True, deterministic: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``Embedding`` with a row_sparse gradient; deprecated in MXNet. ``deterministic`` has no effect: gradients are the same on every run."""

def adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: NDArray, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``."""

def allclose(a: NDArray, b: NDArray, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 if everywhere ``|a - b| <= atol + rtol |b|``, else 0: a uint8 array without axes."""

def arange_like(data: NDArray, start: float = 0.0, step: object = 1.0, repeat: int = 1, ctx: Context | str | None = None, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Evenly spaced values, each ``repeat`` times, of the array's shape, or as many as ``axis`` is long."""

def boolean_mask(data: NDArray, index: NDArray, axis: int | Sequence[int] | None = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The entries along ``axis`` where ``index`` is not zero. MXNet takes axis 0 only."""

def ctc_loss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def div_sqrt_dim(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The array over the square root of the size of its last axis."""

def getnnz(data: NDArray, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Number of stored values, of the whole matrix or along ``axis``, as int64."""

def gradientmultiplier(data: NDArray, scalar: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy; its gradient is multiplied by ``scalar``."""

def group_adagrad_update(weight: NDArray, grad: NDArray, history: NDArray, lr: float, rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """AdaGrad with one rate per row: ``history += mean(g * g, axis=1); weight -= lr * g / sqrt(history + epsilon)``. There is no weight decay."""

def index_array(data: NDArray, axes: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """For each element its place along every axis, or those named: an int64 array with one axis more."""

def index_copy(old_tensor: NDArray, index_vector: NDArray, new_tensor: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``old_tensor`` with its rows ``index_vector`` replaced by those of ``new_tensor``; one outside raises RowIndexError, where MXNet drops it."""

def isfinite(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where an element is finite, else 0."""

def isinf(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where an element is infinite, else 0."""

def isnan(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where an element is nan, else 0."""

def mp_adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: NDArray, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``adamw_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def quadratic(data: NDArray, a: float = 0.0, b: float = 0.0, c: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``a x² + b x + c``; a csr array keeps its storage type where ``c`` is 0."""

@overload
def round_ste(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def round_ste(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def round_ste(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Round, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""

@overload
def sign_ste(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def sign_ste(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def sign_ste(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sign, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""
