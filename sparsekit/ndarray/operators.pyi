"""Operators of ``mx.nd``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .ndarray import NDArray
from .sparse import CSRNDArray, RowSparseNDArray

_Out: TypeAlias = NDArray | Sequence[NDArray] | None

@overload
def Activation(data: RowSparseNDArray, *, act_type: Literal['relu', 'tanh', 'softsign'], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def Activation(data: CSRNDArray, *, act_type: Literal['relu', 'tanh', 'softsign'], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def Activation(data: NDArray, act_type: str, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The activation function named by ``act_type``: relu, sigmoid, log_sigmoid, tanh, softrelu, softsign."""

def BatchNorm(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int | Sequence[int] | None = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, *, out: _Out = None, name: str | None = None) -> Any:
    """Normalizes each channel by its mean and variance over the batch while training, by the moving ones otherwise."""

def BatchNorm_v1(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int | Sequence[int] | None = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, *, out: _Out = None, name: str | None = None) -> Any:
    """Normalizes each channel by its mean and variance over the batch while training, by the moving ones otherwise."""

@overload
def BlockGrad(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def BlockGrad(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def BlockGrad(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The value itself, through which no gradient flows."""

def CTCLoss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

@overload
def Cast(data: RowSparseNDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def Cast(data: CSRNDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def Cast(data: NDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The same values in another element type; the storage type stays."""

@overload
def Concat(*data: CSRNDArray | Sequence[CSRNDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def Concat(*data: RowSparseNDArray | Sequence[RowSparseNDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def Concat(*data: NDArray | Sequence[NDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> NDArray:
    """Arrays joined along the axis ``dim``; all other sizes are equal."""

def Crop(*data: NDArray | Sequence[NDArray], offset: int | Sequence[int] = (0, 0), h_w: int | Sequence[int] = (0, 0), center_crop: bool = False, num_args: int | None = None, out: _Out = None, name: str | None = None) -> NDArray:
    """Crop images (batch, channels, height, width) to size ``h_w``, starting at ``offset``, or centred with ``center_crop``."""

def Dropout(data: NDArray, p: float = 0.5, mode: str = 'training', axes: int | Sequence[int] | None = (), cudnn_off: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A share ``p`` of the values set to zero, the rest divided by ``1 - p``: while training, or always."""

@overload
def ElementWiseSum(*args: RowSparseNDArray | Sequence[RowSparseNDArray], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def ElementWiseSum(*args: CSRNDArray | Sequence[CSRNDArray], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def ElementWiseSum(*args: NDArray | Sequence[NDArray], out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of any number of arrays of one shape."""

def Embedding(data: NDArray, weight: NDArray, input_dim: int, output_dim: int, dtype: DTypeLike = 'float32', sparse_grad: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The rows of ``weight`` that ``data`` names; indices beyond the ends are clipped, as in MXNet."""

@overload
def Flatten(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def Flatten(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def Flatten(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A matrix with the first axis kept and all others in one."""

def FullyConnected(data: NDArray, weight: NDArray, bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``data · weightᵀ + bias``: data (batch, inputs), weight (num_hidden, inputs), bias (num_hidden,)."""

def GroupNorm(data: NDArray, gamma: NDArray, beta: NDArray, num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, *, out: _Out = None, name: str | None = None) -> Any:
    """Normalizes each group of channels of each sample; gamma and beta have a value for each group, as in MXNet 1.9.1."""

def IdentityAttachKLSparseReg(data: NDArray, moving_avg: NDArray, sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data itself, activations between 0 and 1, whose gradient keeps most of them small."""

def InstanceNorm(data: NDArray, gamma: NDArray, beta: NDArray, eps: float = 0.001, *, out: _Out = None, name: str | None = None) -> Any:
    """Normalizes each channel of each sample of data (batch, channels, space, …); gamma and beta (channels,)."""

def L2Normalization(data: NDArray, eps: float = 1e-10, mode: str = 'instance', *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data divided by its Euclidean length, ``sqrt(sum(data**2) + eps)``."""

def LRN(data: NDArray, alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., *, out: _Out = None, name: str | None = None) -> NDArray:
    """Local response normalization: over ``(knorm + alpha / nsize * squares)**beta``, summed nsize channels wide."""

def LayerNorm(data: NDArray, gamma: NDArray, beta: NDArray, axis: int | Sequence[int] | None = -1, eps: float = 1e-05, output_mean_var: bool = False, *, out: _Out = None, name: str | None = None) -> Any:
    """``(data - mean) / sqrt(variance + eps) * gamma + beta``, with mean and variance along ``axis``."""

def LeakyReLU(data: NDArray, gamma: NDArray | None = None, act_type: str = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Rectifiers with nonzero results for negative values, by ``act_type``."""

def LinearRegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data itself; the gradient is that of half the squared error, ``data - label``."""

def LogisticRegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The logistic function; the gradient is that of the cross entropy, ``out - label``."""

def MAERegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data itself; the gradient is that of the absolute error: 1 above the label, -1 elsewhere."""

@overload
def MakeLoss(data: RowSparseNDArray, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = 'null', *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def MakeLoss(data: CSRNDArray, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = 'null', *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def MakeLoss(data: NDArray, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = 'null', *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data itself, as a loss: its gradient is ``grad_scale``, whatever the gradient from above."""

def Pad(data: NDArray, mode: str, pad_width: Sequence[int], constant_value: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Borders of ``pad_width`` (before and after, axis by axis) around an array."""

def RNN(data: NDArray, parameters: NDArray, state: NDArray, state_cell: NDArray | None = None, sequence_length: NDArray | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: str = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, *, out: _Out = None, name: str | None = None) -> Any:
    """A recurrent network of several layers over sequences (time, batch, inputs)."""

@overload
def Reshape(data: RowSparseNDArray, shape: int | Sequence[int] | None = None, reverse: bool = False, target_shape: int | Sequence[Any] = (), keep_highest: bool = False, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def Reshape(data: NDArray, shape: int | Sequence[int] | None = None, reverse: bool = False, target_shape: int | Sequence[Any] = (), keep_highest: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy of the elements in another shape; ``NDArray.reshape`` shares memory instead."""

def SVMOutput(data: NDArray, label: NDArray, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data itself; the gradient is that of the hinge loss of a support vector machine."""

def SequenceLast(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int | Sequence[int] | None = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The last entry of each sequence; the first one of an empty sequence, where MXNet reads outside the array."""

def SequenceMask(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int | Sequence[int] | None = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``value`` in place of everything beyond the end of each sequence."""

def SequenceReverse(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, axis: int | Sequence[int] | None = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Each sequence in reverse; what lies beyond its end stays. MXNet takes axis 0 only."""

def SliceChannel(data: NDArray, num_outputs: int, axis: int | Sequence[int] | None = 1, squeeze_axis: bool = False, *, out: _Out = None, name: str | None = None) -> Any:
    """Equal parts along ``axis``, as a list of arrays; just the array if there is one part."""

def Softmax(data: NDArray, label: NDArray, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: str = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Softmax of the data; the gradient is that of the cross entropy with the label, ``out - label``."""

def SoftmaxActivation(data: NDArray, mode: str = 'instance', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Softmax over each sample's last axis (``mode='instance'``) or over axis 1 (``'channel'``)."""

def SoftmaxOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: str = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Softmax of the data; the gradient is that of the cross entropy with the label, ``out - label``."""

def SwapAxis(data: NDArray, dim1: int = 0, dim2: int = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Two axes interchanged; a copy."""

@overload
def abs(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def abs(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def abs(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Absolute value."""

def adadelta_update(weight: NDArray, grad: NDArray, acc_g: NDArray, acc_delta: NDArray, rho: float = 0.9, epsilon: float = 1e-05, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """AdaDelta: acc_g and acc_delta are moving means of ``g * g`` and ``delta * delta``; ``delta = sqrt(acc_delta + epsilon) / sqrt(acc_g + epsilon) * g; weight -= delta + wd * weight``."""

def adagrad_update(weight: NDArray, grad: NDArray, history: NDArray, lr: float, epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """AdaGrad: ``history += g * g; weight -= lr * (g / sqrt(history + epsilon) + wd * weight)``."""

def adam_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Adam: mean and var are moving means of ``g`` and ``g * g``; ``weight -= lr * mean / (sqrt(var) + epsilon)``, without bias correction, which belongs in ``lr``."""

def adamax_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float, beta1: float = 0.9, beta2: float = 0.999, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Adam by the largest gradient: ``var = max(beta2 * var, |g|); weight -= lr * mean / var``; elements whose gradient was always zero do not change."""

@overload
def add_n(*args: RowSparseNDArray | Sequence[RowSparseNDArray], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def add_n(*args: CSRNDArray | Sequence[CSRNDArray], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def add_n(*args: NDArray | Sequence[NDArray], out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of any number of arrays of one shape."""

def all_finite(data: NDArray, init_output: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """An array of one number: 1 if every value of an array is finite, else 0. With ``init_output=False``, an ``out`` of 0 stays 0."""

def amp_cast(data: NDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The values in another float type; integers stay as they are."""

def amp_multicast(*data: NDArray | Sequence[NDArray], num_outputs: int, cast_narrow: bool = False, out: _Out = None, name: str | None = None) -> Any:
    """The arrays in the widest of their float types, or the narrowest; integers stay as they are."""

def arccos(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse cosine, in radians."""

def arccosh(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse hyperbolic cosine."""

@overload
def arcsin(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def arcsin(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def arcsin(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse sine, in radians."""

@overload
def arcsinh(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def arcsinh(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def arcsinh(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse hyperbolic sine."""

@overload
def arctan(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def arctan(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def arctan(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse tangent, in radians."""

@overload
def arctanh(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def arctanh(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def arctanh(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse hyperbolic tangent."""

def argmax(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Place of the largest element along ``axis``, or in the flattened array; of equal elements the first. It comes in the array's own element type, and raises DTypeError if that type cannot hold the place."""

def argmax_channel(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Place of the largest element along axis 1."""

def argmin(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Place of the smallest element along ``axis``, or in the flattened array; of equal elements the first. It comes in the array's own element type, and raises DTypeError if that type cannot hold the place."""

def argsort(data: NDArray, axis: int | Sequence[int] | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
    """The places that put the elements in order along ``axis``, or of the flattened array for None. They come as float32 unless ``dtype`` says otherwise; equal elements keep their order."""

def batch_dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: str | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Matrix products of two batches of matrices, (batch, rows, inner) and (batch, inner, columns)."""

def batch_take(a: NDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """One element of each row of a matrix: ``a[i, indices[i]]``; places beyond the ends are clipped, with an ``IndexWarning``; fractions are cut off, and NaN is refused."""

@overload
def broadcast_add(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_add(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_add(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_add(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_add(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum with broadcasting."""

def broadcast_axes(data: NDArray, axis: int | Sequence[int] | None = (), size: int | Sequence[int] = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """Axes of size 1 repeated to the sizes given."""

def broadcast_axis(data: NDArray, axis: int | Sequence[int] | None = (), size: int | Sequence[int] = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """Axes of size 1 repeated to the sizes given."""

@overload
def broadcast_div(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_div(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_div(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Quotient with broadcasting."""

def broadcast_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where equal, with broadcasting."""

@overload
def broadcast_greater(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_greater(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_greater(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_greater(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_greater(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is greater, with broadcasting."""

def broadcast_greater_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is not less, with broadcasting."""

def broadcast_hypot(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Length of the hypotenuse, ``sqrt(lhs² + rhs²)``, with broadcasting."""

@overload
def broadcast_lesser(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_lesser(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_lesser(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_lesser(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_lesser(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is less, with broadcasting."""

def broadcast_lesser_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where the left is not greater, with broadcasting."""

def broadcast_like(lhs: NDArray, rhs: NDArray, lhs_axes: int | Sequence[int] | None = None, rhs_axes: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lhs`` broadcast to the shape of ``rhs``, or along ``lhs_axes`` to the sizes of ``rhs_axes``."""

@overload
def broadcast_logical_and(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_logical_and(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_and(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_and(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_and(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_logical_and(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_logical_and(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_and(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_and(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where both are nonzero, with broadcasting."""

@overload
def broadcast_logical_or(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_logical_or(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_or(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_or(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_or(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where either is nonzero, with broadcasting."""

@overload
def broadcast_logical_xor(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_logical_xor(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_xor(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_xor(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_logical_xor(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where just one is nonzero, with broadcasting."""

@overload
def broadcast_maximum(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_maximum(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_maximum(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_maximum(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_maximum(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Larger of two, with broadcasting."""

@overload
def broadcast_minimum(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_minimum(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_minimum(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_minimum(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_minimum(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smaller of two, with broadcasting."""

@overload
def broadcast_minus(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_minus(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_minus(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_minus(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_minus(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Difference with broadcasting."""

def broadcast_mod(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Remainder with the divisor's sign, with broadcasting; zero where the divisor is zero."""

@overload
def broadcast_mul(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_mul(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_mul(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_mul(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_mul(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_mul(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_mul(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_mul(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_mul(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Product with broadcasting."""

@overload
def broadcast_not_equal(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_not_equal(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_not_equal(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_not_equal(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_not_equal(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where different, with broadcasting."""

@overload
def broadcast_plus(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_plus(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_plus(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_plus(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_plus(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum with broadcasting."""

def broadcast_power(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Power, with broadcasting."""

@overload
def broadcast_sub(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def broadcast_sub(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_sub(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_sub(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def broadcast_sub(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Difference with broadcasting."""

def broadcast_to(data: NDArray, shape: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """Axes of size 1 repeated up to ``shape``, where 0 keeps a size. Missing leading axes are added, which MXNet's operator refuses and its method does."""

@overload
def cast(data: RowSparseNDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def cast(data: CSRNDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def cast(data: NDArray, dtype: DTypeLike, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The same values in another element type; the storage type stays."""

@overload
def cast_storage(data: RowSparseNDArray, *, stype: Literal['row_sparse'], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def cast_storage(data: RowSparseNDArray, *, stype: Literal['csr'], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def cast_storage(data: CSRNDArray, *, stype: Literal['row_sparse'], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def cast_storage(data: CSRNDArray, *, stype: Literal['csr'], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def cast_storage(data: NDArray, *, stype: Literal['row_sparse'], out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def cast_storage(data: NDArray, *, stype: Literal['csr'], out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def cast_storage(data: NDArray, stype: str, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The same values in another storage type."""

@overload
def cbrt(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def cbrt(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def cbrt(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cube root."""

@overload
def ceil(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def ceil(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def ceil(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smallest integer not below x."""

def choose_element_0index(data: NDArray, index: NDArray, axis: int | Sequence[int] | None = -1, keepdims: bool = False, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> NDArray:
    """One element of each slice along ``axis``, chosen by ``index``; indices beyond the ends are clipped or wrapped. Fractions are cut off, NaN is refused. Clipping because ``mode`` is left out gives an ``IndexWarning``."""

def clip(data: NDArray, a_min: float, a_max: float, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values bounded to a_min … a_max."""

@overload
def concat(*data: CSRNDArray | Sequence[CSRNDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def concat(*data: RowSparseNDArray | Sequence[RowSparseNDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def concat(*data: NDArray | Sequence[NDArray], dim: int = 1, num_args: int | None = None, out: _Out = None, name: str | None = None) -> NDArray:
    """Arrays joined along the axis ``dim``; all other sizes are equal."""

def cos(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cosine, x in radians."""

def cosh(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Hyperbolic cosine."""

@overload
def crop(data: CSRNDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def crop(data: RowSparseNDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def crop(data: NDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """The box from ``begin`` to ``end``, every ``step`` along each axis; None takes the whole of an axis."""

def ctc_loss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def cumsum(a: NDArray, axis: int | Sequence[int] | None = None, dtype: DTypeLike = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Running sums along ``axis``, or of the flattened array for None."""

def dcasgd_mom_update(weight: NDArray, grad: NDArray, previous_weight: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, lamda: float = 0.04, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``dcasgd_update`` whose step is added to ``momentum * mom``."""

def dcasgd_update(weight: NDArray, grad: NDArray, previous_weight: NDArray, lr: float, lamda: float = 0.04, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Gradient descent with delay compensation: ``weight -= lr * (g + wd * weight + lamda * g * g * (weight - previous_weight))``, and previous_weight becomes the weight before the step."""

@overload
def degrees(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def degrees(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def degrees(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Radians to degrees."""

def depth_to_space(data: NDArray, block_size: int, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Depth spread out into blocks of height and width, of an array (batch, depth, height, width)."""

def diag(data: NDArray, k: int = 0, axis1: int = 0, axis2: int = 1, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The diagonal ``k`` of two axes, which becomes the last axis; of a vector, the matrix with it on that diagonal."""

@overload
def dot(lhs: CSRNDArray, rhs: RowSparseNDArray, *, transpose_a: Literal[True], transpose_b: Literal[False] = False, forward_stype: Literal[None, 'row_sparse'] = None, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def dot(lhs: CSRNDArray, rhs: CSRNDArray, *, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal[None, 'csr'] = None, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def dot(lhs: CSRNDArray, rhs: NDArray, *, transpose_a: Literal[True], transpose_b: bool = False, forward_stype: Literal[None, 'row_sparse'] = None, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def dot(lhs: NDArray, rhs: CSRNDArray, *, transpose_a: Literal[False] = False, transpose_b: Literal[False] = False, forward_stype: Literal[None, 'csr'] = None, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def dot(lhs: NDArray, rhs: CSRNDArray, *, transpose_a: Literal[False] = False, transpose_b: Literal[True], forward_stype: Literal[None, 'csr'] = None, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: str | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Dot product of two arrays: the last axis of ``lhs`` meets the first axis of ``rhs``."""

@overload
def elemwise_add(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def elemwise_add(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_add(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_add(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_add(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of two arrays of one shape."""

@overload
def elemwise_div(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def elemwise_div(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_div(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Quotient of two arrays of one shape; absent entries of the divisor are zeros."""

@overload
def elemwise_mul(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def elemwise_mul(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_mul(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_mul(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_mul(lhs: RowSparseNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def elemwise_mul(lhs: NDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def elemwise_mul(lhs: CSRNDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_mul(lhs: NDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_mul(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Product of two arrays of one shape."""

@overload
def elemwise_sub(lhs: RowSparseNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def elemwise_sub(lhs: CSRNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_sub(lhs: RowSparseNDArray, rhs: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_sub(lhs: CSRNDArray, rhs: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def elemwise_sub(lhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Difference of two arrays of one shape."""

@overload
def erf(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def erf(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def erf(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Error function."""

def erfinv(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverse of the error function; infinite at -1 and 1, nan beyond."""

def exp(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Exponential."""

def expand_dims(data: NDArray, axis: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy with a new axis of size 1."""

@overload
def expm1(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def expm1(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def expm1(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``exp(x) - 1``."""

def fill_element_0index(lhs: NDArray, mhs: NDArray, rhs: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lhs`` with ``lhs[i, rhs[i]] = mhs[i]`` in each row i; a place outside raises RowIndexError."""

@overload
def fix(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def fix(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def fix(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """x without its fraction."""

@overload
def flatten(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def flatten(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def flatten(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A matrix with the first axis kept and all others in one."""

def flip(data: NDArray, axis: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The order of elements reversed along one or several axes."""

@overload
def floor(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def floor(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def floor(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Largest integer not above x."""

def ftml_update(weight: NDArray, grad: NDArray, d: NDArray, v: NDArray, z: NDArray, lr: float, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Follow the moving leader, at step ``t``: v is the moving mean of ``g * g``, ``d = (1 - beta1**t) / lr * (sqrt(v / (1 - beta2**t)) + epsilon); z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) * weight; weight = -z / d``. With ``lr=0`` nothing changes; MXNet gives nan."""

def ftrl_update(weight: NDArray, grad: NDArray, z: NDArray, n: NDArray, lr: float, lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Follow the regularized leader: ``z += g - (sqrt(n + g * g) - sqrt(n)) * weight / lr; n += g * g``; ``weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)``, zero where ``|z| <= lamda1``. With ``lr=0`` nothing changes; MXNet gives nan."""

def gamma(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Gamma function."""

def gammaln(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Logarithm of the absolute value of the gamma function."""

def gather_nd(data: NDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Elements, or sub-arrays, at the places ``indices``, whose first axis runs over the leading axes of ``data``. Negative places count from the end; one outside raises RowIndexError."""

def hard_sigmoid(data: NDArray, alpha: float = 0.2, beta: float = 0.5, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * x + beta``, bounded to 0 … 1."""

@overload
def identity(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def identity(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def identity(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy."""

def khatri_rao(*args: NDArray | Sequence[NDArray], out: _Out = None, name: str | None = None) -> NDArray:
    """The Khatri-Rao product: each column is the Kronecker product of the corresponding columns of the matrices."""

def lamb_update_phase1(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """First phase of LAMB, its step: ``mean / (1 - beta1**t) / (sqrt(var / (1 - beta2**t)) + epsilon) + wd * weight``, with mean and var as Adam's of the gradient times ``rescale_grad``, which ``clip_gradient`` bounds where it is not negative; without ``bias_correction`` not divided."""

def lamb_update_phase2(weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, lr: float, lower_bound: float = -1.0, upper_bound: float = -1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Second phase of LAMB: ``weight -= lr * r1 / r2 * g``."""

def linalg_det(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Determinants of square matrices. The gradient requires the inverse to exist."""

def linalg_extractdiag(A: NDArray, offset: int | Sequence[int] = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The diagonal ``offset`` of square matrices."""

def linalg_extracttrian(A: NDArray, offset: int | Sequence[int] = 0, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column for an upper one. A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last diagonal of a lower triangle."""

def linalg_gelqf(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``A = L Q`` for matrices with at least as many columns as rows: the list of Q, whose rows are orthonormal, and the lower triangular L."""

def linalg_gemm(A: NDArray, B: NDArray, C: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int | Sequence[int] | None = -2, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows."""

def linalg_gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int | Sequence[int] | None = -2, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows."""

def linalg_inverse(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Inverses of square matrices. Singular matrices raise an error."""

def linalg_makediag(A: NDArray, offset: int | Sequence[int] = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere."""

def linalg_maketrian(A: NDArray, offset: int | Sequence[int] = 0, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian."""

def linalg_potrf(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cholesky factor: the lower triangular L with ``A = L Lᵀ``, for symmetric positive definite A; with ``lower=False`` the upper triangular U with ``A = Uᵀ U``. The operator uses the symmetric part of A, so the gradient is symmetric."""

def linalg_potri(A: NDArray, lower: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The inverse of a matrix from its Cholesky factor: ``(A Aᵀ)⁻¹`` for a lower triangular A, ``(Aᵀ A)⁻¹`` for an upper one with ``lower=False``."""

def linalg_slogdet(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices. The gradient requires the inverse to exist."""

def linalg_sumlogdiag(A: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The sum of the logarithms of the diagonal of square matrices."""

def linalg_syevd(A: NDArray, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``A = Uᵀ diag(L) U`` for symmetric A: the list of U, whose rows are the eigenvectors, and the eigenvalues L, ascending. The largest entry of each eigenvector is positive. The gradient requires different eigenvalues. The operator uses the symmetric part of A."""

def linalg_syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * A Aᵀ``, or ``alpha * Aᵀ A`` with ``transpose=True``."""

def linalg_trmm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``alpha * op(A) B`` for the triangle of A, or ``alpha * B op(A)`` with ``rightside=True``."""

def linalg_trsm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The X with ``op(A) X = alpha * B`` for the triangle of A, or ``X op(A) = alpha * B`` with ``rightside=True``."""

def log(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Natural logarithm."""

def log10(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Logarithm to base 10."""

@overload
def log1p(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def log1p(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def log1p(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``log(1 + x)``."""

def log2(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Logarithm to base 2."""

def log_softmax(data: NDArray, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Logarithm of the softmax along ``axis``."""

def logical_not(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """1 where x is zero, else 0."""

@overload
def make_loss(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def make_loss(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def make_loss(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Mark a value as a loss: its gradient is 1, whatever the gradient from above."""

def max(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Largest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def max_axis(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Largest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def mean(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Mean of the elements along ``axis``, or of all."""

def min(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smallest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def min_axis(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smallest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def moments(data: NDArray, axes: int | Sequence[int] | None = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Mean and variance (of the whole population) along ``axes``, all of them for None, which MXNet refuses."""

def mp_lamb_update_phase1(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lamb_update_phase1`` by ``weight32``, a float32 copy of the float16 weight; the step is float32."""

def mp_lamb_update_phase2(weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, weight32: NDArray, lr: float, lower_bound: float = -1.0, upper_bound: float = -1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``lamb_update_phase2``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too. (MXNet leaves ``weight32`` as it was.)"""

def mp_nag_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, weight32: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``nag_mom_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def mp_sgd_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, weight32: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``sgd_mom_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def mp_sgd_update(weight: NDArray, grad: NDArray, weight32: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``sgd_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def multi_all_finite(*data: NDArray | Sequence[NDArray], num_arrays: int = 1, init_output: bool = True, out: _Out = None, name: str | None = None) -> NDArray:
    """An array of one number: 1 if every value of several arrays is finite, else 0. With ``init_output=False``, an ``out`` of 0 stays 0."""

def multi_lars(lrs: NDArray, weights_sum_sq: NDArray, grads_sum_sq: NDArray, wds: NDArray, eta: float, eps: float, rescale_grad: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Learning rates scaled by layer (LARS): ``lrs * eta * w / (g * rescale_grad + wds * w + eps)``, with w and g the roots of the sums of squares. The rates of layers with w = 0 or g = 0 are unchanged."""

def multi_mp_sgd_mom_update(*data: NDArray | Sequence[NDArray], lrs: Sequence[float], wds: Sequence[float], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``mp_sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom, weight32 of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_mp_sgd_update(*data: NDArray | Sequence[NDArray], lrs: Sequence[float], wds: Sequence[float], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``mp_sgd_update`` for ``num_weights`` weights in one call: weight, grad, weight32 of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_sgd_mom_update(*data: NDArray | Sequence[NDArray], lrs: Sequence[float], wds: Sequence[float], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_sgd_update(*data: NDArray | Sequence[NDArray], lrs: Sequence[float], wds: Sequence[float], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``sgd_update`` for ``num_weights`` weights in one call: weight, grad of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_sum_sq(*data: NDArray | Sequence[NDArray], num_arrays: int, out: _Out = None, name: str | None = None) -> NDArray:
    """The sum of squares of each of several arrays, as one float32 array."""

def nadam_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., momentum: float = ..., next_momentum: float = ..., schedule: object = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Adam with Nesterov's momentum at step ``t``: ``weight -= lr * ((1 - momentum) * g / (1 - schedule) + next_momentum * mean / (1 - schedule * next_momentum)) / (sqrt(var / (1 - beta2**t)) + epsilon)``; ``schedule`` is the product of all momenta so far."""

def nag_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Nesterov's accelerated gradient: ``g += wd * weight; mom = momentum * mom - lr * g; weight += momentum * mom - lr * g``. (Written in place, MXNet takes the decay in mom from the new weight.)"""

def nanprod(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Product of the elements along ``axis``, or of all; nan counts as 1."""

def nansum(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of the elements along ``axis``, or of all; nan counts as 0."""

@overload
def negative(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def negative(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def negative(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Negation, ``-x``."""

def norm(data: NDArray, ord: int = 2, axis: int | Sequence[int] | None = None, out_dtype: DTypeLike = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The 1-norm or 2-norm of the elements along ``axis``, or of all, in the element type ``out_dtype``."""

def normal(loc: float = 0.0, scale: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a normal distribution with this mean and standard deviation."""

def one_hot(indices: NDArray, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
    """A vector of ``depth`` values for each index: ``on_value`` at that place, ``off_value`` elsewhere; only ``off_value`` for an index outside."""

def ones_like(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Ones of the same shape and type; dense."""

def pad(data: NDArray, mode: str, pad_width: Sequence[int], constant_value: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Borders of ``pad_width`` (before and after, axis by axis) around an array."""

def pick(data: NDArray, index: NDArray, axis: int | Sequence[int] | None = -1, keepdims: bool = False, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> NDArray:
    """One element of each slice along ``axis``, chosen by ``index``; indices beyond the ends are clipped or wrapped. Fractions are cut off, NaN is refused. Clipping because ``mode`` is left out gives an ``IndexWarning``."""

def preloaded_multi_mp_sgd_mom_update(*data: NDArray | Sequence[NDArray], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``mp_sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom, weight32 of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def preloaded_multi_mp_sgd_update(*data: NDArray | Sequence[NDArray], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``mp_sgd_update`` for ``num_weights`` weights in one call: weight, grad, weight32 of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def preloaded_multi_sgd_mom_update(*data: NDArray | Sequence[NDArray], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def preloaded_multi_sgd_update(*data: NDArray | Sequence[NDArray], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """``sgd_update`` for ``num_weights`` weights in one call: weight, grad of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def prod(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Product of the elements along ``axis``, or of all."""

@overload
def radians(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def radians(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def radians(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Degrees to radians."""

def random_exponential(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of an exponential distribution with rate lam."""

def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a gamma distribution with shape alpha and scale beta."""

def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def random_negative_binomial(k: int = 1, p: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of failures before k successes, each of probability p."""

def random_normal(loc: float = 0.0, scale: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a normal distribution with this mean and standard deviation."""

def random_pdf_dirichlet(sample: NDArray, alpha: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the Dirichlet distribution with concentrations alpha along the last axis."""

def random_pdf_exponential(sample: NDArray, lam: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the exponential distribution with rate lam."""

def random_pdf_gamma(sample: NDArray, alpha: NDArray, beta: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the gamma distribution with shape alpha and rate beta."""

def random_pdf_generalized_negative_binomial(sample: NDArray, mu: NDArray, alpha: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def random_pdf_negative_binomial(sample: NDArray, k: NDArray, p: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the number of failures before k successes of probability p."""

def random_pdf_normal(sample: NDArray, mu: NDArray, sigma: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the normal distribution with mean mu and standard deviation sigma."""

def random_pdf_poisson(sample: NDArray, lam: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the Poisson distribution with rate lam."""

def random_pdf_uniform(sample: NDArray, low: NDArray, high: NDArray, is_log: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The density of the uniform distribution from low to high; as in MXNet, samples outside have the same density."""

def random_poisson(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def random_randint(low: float, high: float, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Whole numbers drawn evenly from low up to, not including, high."""

def random_uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high."""

def ravel_multi_index(data: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Places in the flattened array, for places along the axes of ``shape``, one row per axis."""

def rcbrt(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``1 / cbrt(x)``."""

def reciprocal(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``1 / x``."""

@overload
def relu(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def relu(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def relu(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Rectified linear unit, ``max(x, 0)``."""

def repeat(data: NDArray, repeats: int, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Each element repeated along ``axis``, or of the flattened array."""

def reset_arrays(*data: NDArray | Sequence[NDArray], num_arrays: int, out: _Out = None, name: str | None = None) -> list[NDArray]:
    """Set several arrays to zero in place; sparse arrays store no values afterwards."""

@overload
def reshape(data: RowSparseNDArray, shape: int | Sequence[int] | None = None, reverse: bool = False, target_shape: int | Sequence[Any] = (), keep_highest: bool = False, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def reshape(data: NDArray, shape: int | Sequence[int] | None = None, reverse: bool = False, target_shape: int | Sequence[Any] = (), keep_highest: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy of the elements in another shape; ``NDArray.reshape`` shares memory instead."""

def reshape_like(lhs: NDArray, rhs: NDArray, lhs_begin: Sequence[int | None] | None = None, lhs_end: Sequence[int | None] | None = None, rhs_begin: Sequence[int | None] | None = None, rhs_end: Sequence[int | None] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """A copy of the elements of ``lhs`` in the shape of ``rhs``, or with the axes from ``lhs_begin`` up to, not including, ``lhs_end`` replaced by those from ``rhs_begin`` to ``rhs_end`` of ``rhs``."""

@overload
def retain(data: RowSparseNDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def retain(data: CSRNDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def retain(data: NDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Only the given rows of a row_sparse array; all others become absent."""

def reverse(data: NDArray, axis: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The order of elements reversed along one or several axes."""

@overload
def rint(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def rint(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def rint(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Nearest integer; halves go down, as in MXNet."""

def rmsprop_update(weight: NDArray, grad: NDArray, n: NDArray, lr: float, gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """RMSProp (Tieleman and Hinton): n is the moving mean of ``g * g``; ``weight -= lr * g / sqrt(n + epsilon)``; ``clip_weights`` then bounds the weight."""

def rmspropalex_update(weight: NDArray, grad: NDArray, n: NDArray, g: NDArray, delta: NDArray, lr: float, gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """RMSProp (Graves): n and the state g are moving means of ``g * g`` and ``g``; ``delta = gamma2 * delta - lr * g / sqrt(n - g * g + epsilon); weight += delta``; ``clip_weights`` then bounds the weight."""

@overload
def round(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def round(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def round(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Nearest integer; halves go away from zero, as in MXNet."""

def rsqrt(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``1 / sqrt(x)``."""

def sample_exponential(lam: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of an exponential distribution with rate lam."""

def sample_gamma(alpha: NDArray, beta: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a gamma distribution with shape alpha and scale beta."""

def sample_generalized_negative_binomial(mu: NDArray, alpha: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def sample_multinomial(data: NDArray, shape: int | Sequence[int] | None = (), get_prob: bool = False, dtype: DTypeLike = 'int32', *, out: _Out = None, name: str | None = None) -> Any:
    """Places along the last axis, drawn with the probabilities there; ``shape`` of them for each row."""

def sample_negative_binomial(k: NDArray, p: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of failures before k successes, each of probability p."""

def sample_normal(mu: NDArray, sigma: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values of a normal distribution with this mean and standard deviation."""

def sample_poisson(lam: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def sample_uniform(low: NDArray, high: NDArray, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high."""

def scatter_nd(data: NDArray, indices: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Zeros of ``shape`` with ``data`` at the places ``indices``; of values for one place the last stays. A place outside raises RowIndexError, where MXNet writes beyond its memory or drops the value."""

def sgd_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (g + wd * weight); weight += mom``."""

def sgd_update(weight: NDArray, grad: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Stochastic gradient descent: ``weight -= lr * (g + wd * weight)``."""

def sgld_update(weight: NDArray, grad: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Langevin dynamics: ``weight += normal(0, sqrt(lr)) - lr / 2 * (g + wd * weight)``."""

def shape_array(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The sizes of the axes, as an int64 array."""

def shuffle(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The data in a random order along the first axis; what is below it stays together."""

def sigmoid(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Logistic function, ``1 / (1 + exp(-x))``."""

@overload
def sign(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def sign(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def sign(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sign: -1, 0 or 1."""

def signsgd_update(weight: NDArray, grad: NDArray, lr: float, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Steps of one size: ``weight -= lr * (sign(grad) + wd * weight)``; the sign needs no factor and no bound."""

def signum_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float, momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, lazy_update: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sign of the momentum: ``mom = momentum * mom - (1 - momentum) * (g + wd * weight); weight += lr * (sign(mom) - wd_lh * weight)``."""

@overload
def sin(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def sin(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def sin(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sine, x in radians."""

@overload
def sinh(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def sinh(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def sinh(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Hyperbolic sine."""

def size_array(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The number of elements, as an int64 array of one; absent zeros are counted."""

@overload
def slice(data: CSRNDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def slice(data: RowSparseNDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def slice(data: NDArray, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """The box from ``begin`` to ``end``, every ``step`` along each axis; None takes the whole of an axis."""

@overload
def slice_axis(data: CSRNDArray, axis: int | Sequence[int] | None, begin: object, end: object, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def slice_axis(data: RowSparseNDArray, axis: int | Sequence[int] | None, begin: object, end: object, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def slice_axis(data: NDArray, axis: int | Sequence[int] | None, begin: object, end: object, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The part of one axis from ``begin`` to ``end``; negative positions count from the end."""

def slice_like(data: NDArray, shape_like: NDArray, axes: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> NDArray:
    """The first entries along every axis, or those named, as many as ``shape_like`` has there."""

def smooth_l1(data: NDArray, scalar: float = 1.0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Smooth L1 loss: ``(scalar x)² / 2`` where ``|x| < 1 / scalar²``, else ``|x| - 1 / (2 scalar²)``."""

def softmax(data: NDArray, length: NDArray | None = None, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``exp(x) / sum(exp(x))`` along ``axis``."""

def softmax_cross_entropy(data: NDArray, label: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Cross entropy of the softmax of data (batch, classes) and labels (batch,), summed over the batch."""

def softmin(data: NDArray, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Softmax of the negative data along ``axis``."""

def softrelu(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Softplus, ``log(1 + exp(x))``."""

@overload
def softsign(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def softsign(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def softsign(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``x / (1 + |x|)``."""

def sort(data: NDArray, axis: int | Sequence[int] | None = -1, is_ascend: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The elements in order along ``axis``, or of the flattened array for None."""

def space_to_depth(data: NDArray, block_size: int, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Blocks of height and width moved into the depth, of an array (batch, depth, height, width)."""

@overload
def sparse_retain(data: RowSparseNDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def sparse_retain(data: CSRNDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def sparse_retain(data: NDArray, indices: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Only the given rows of a row_sparse array; all others become absent."""

def split(data: NDArray, num_outputs: int, axis: int | Sequence[int] | None = 1, squeeze_axis: bool = False, *, out: _Out = None, name: str | None = None) -> Any:
    """Equal parts along ``axis``, as a list of arrays; just the array if there is one part."""

@overload
def sqrt(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def sqrt(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def sqrt(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square root."""

@overload
def square(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def square(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def square(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Square."""

def squeeze(data: NDArray, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Axes of size 1 dropped: all of them, or those named, which must have size 1. At least one axis stays."""

def stack(*data: NDArray | Sequence[NDArray], axis: int | Sequence[int] | None = 0, num_args: int | None = None, out: _Out = None, name: str | None = None) -> NDArray:
    """Arrays of one shape joined along a new axis."""

@overload
def stop_gradient(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def stop_gradient(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def stop_gradient(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """The value itself, through which no gradient flows."""

def sum(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of the elements along ``axis``, or of all."""

def sum_axis(data: NDArray, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Sum of the elements along ``axis``, or of all."""

def swapaxes(data: NDArray, dim1: int = 0, dim2: int = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Two axes interchanged; a copy."""

@overload
def take(a: CSRNDArray, indices: NDArray, axis: int | Sequence[int] | None = 0, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def take(a: RowSparseNDArray, indices: NDArray, axis: int | Sequence[int] | None = 0, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def take(a: NDArray, indices: NDArray, axis: int | Sequence[int] | None = 0, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> NDArray:
    """The entries of one axis that ``indices`` names, in that order."""

@overload
def tan(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def tan(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def tan(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Tangent, x in radians."""

@overload
def tanh(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def tanh(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def tanh(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Hyperbolic tangent."""

def tile(data: NDArray, reps: int | Sequence[int], *, out: _Out = None, name: str | None = None) -> NDArray:
    """The whole array repeated ``reps`` times along each axis; a number is for the last axis."""

def topk(data: NDArray, axis: int | Sequence[int] | None = -1, k: int = 1, ret_typ: str = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', *, out: _Out = None, name: str | None = None) -> Any:
    """The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend=True``; all of them for k=0."""

@overload
def trunc(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def trunc(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def trunc(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """x without its fraction."""

def uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, out: _Out = None, name: str | None = None) -> NDArray:
    """Values drawn evenly from low up to, not including, high."""

def unravel_index(data: NDArray, shape: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Places along the axes of ``shape``, one row per axis, for places in the flattened array. The first size may be -1."""

@overload
def where(condition: CSRNDArray, x: CSRNDArray, y: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def where(condition: RowSparseNDArray, x: CSRNDArray, y: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def where(condition: CSRNDArray, x: RowSparseNDArray, y: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def where(condition: RowSparseNDArray, x: RowSparseNDArray, y: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def where(condition: NDArray, x: CSRNDArray, y: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def where(condition: NDArray, x: RowSparseNDArray, y: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def where(condition: NDArray, x: NDArray, y: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """``x`` where the condition is nonzero, else ``y``, all of one shape; a condition of one axis chooses rows."""

@overload
def zeros_like(data: RowSparseNDArray, *, out: _Out = None, name: str | None = None) -> RowSparseNDArray: ...
@overload
def zeros_like(data: CSRNDArray, *, out: _Out = None, name: str | None = None) -> CSRNDArray: ...
@overload
def zeros_like(data: NDArray, *, out: _Out = None, name: str | None = None) -> NDArray:
    """Zeros of the same shape and type."""
