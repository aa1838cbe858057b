"""Operators of ``mx.sym.contrib``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .symbol import Symbol
from ..compat.symbol.control import cond as cond
from ..compat.symbol.control import foreach as foreach
from ..symbol.random import rand_zipfian as rand_zipfian
from ..compat.symbol.control import while_loop as while_loop

_Out: TypeAlias = object

def CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def SparseEmbedding(data: Symbol | None = None, weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: DTypeLike = 'float32', sparse_grad: bool = True, deterministic: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``Embedding`` with a row_sparse gradient; deprecated in MXNet. ``deterministic`` has no effect: gradients are the same on every run."""

def adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., eta: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Adam with weight decay apart: mean and var as Adam's; ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``."""

def allclose(a: Symbol | None = None, b: Symbol | None = None, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 if everywhere ``|a - b| <= atol + rtol |b|``, else 0: a uint8 array without axes."""

def arange_like(data: Symbol | None = None, start: float = 0.0, step: object = 1.0, repeat: int = 1, ctx: Context | str | None = None, axis: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Evenly spaced values, each ``repeat`` times, of the array's shape, or as many as ``axis`` is long."""

def boolean_mask(data: Symbol | None = None, index: Symbol | None = None, axis: int | Sequence[int] | None = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The entries along ``axis`` where ``index`` is not zero. MXNet takes axis 0 only."""

def ctc_loss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def div_sqrt_dim(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The array over the square root of the size of its last axis."""

def getnnz(data: Symbol | None = None, axis: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Number of stored values, of the whole matrix or along ``axis``, as int64."""

def gradientmultiplier(data: Symbol | None = None, scalar: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy; its gradient is multiplied by ``scalar``."""

def group_adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """AdaGrad with one rate per row: ``history += mean(g * g, axis=1); weight -= lr * g / sqrt(history + epsilon)``. There is no weight decay."""

def index_array(data: Symbol | None = None, axes: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """For each element its place along every axis, or those named: an int64 array with one axis more."""

def index_copy(old_tensor: Symbol | None = None, index_vector: Symbol | None = None, new_tensor: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``old_tensor`` with its rows ``index_vector`` replaced by those of ``new_tensor``; one outside raises RowIndexError, where MXNet drops it."""

def isfinite(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where an element is finite, else 0."""

def isinf(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where an element is infinite, else 0."""

def isnan(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where an element is nan, else 0."""

def mp_adamw_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, rescale_grad: Symbol | None = None, lr: float = ..., eta: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``adamw_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def quadratic(data: Symbol | None = None, a: float = 0.0, b: float = 0.0, c: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``a x² + b x + c``; a csr array keeps its storage type where ``c`` is 0."""

def round_ste(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Round, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""

def sign_ste(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sign, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432."""
