"""Operators of ``mx.sym``.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from .symbol import Symbol

_Out: TypeAlias = object

def Activation(data: Symbol | None = None, act_type: str = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The activation function named by ``act_type``: relu, sigmoid, log_sigmoid, tanh, softrelu, softsign."""

def BatchNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int | Sequence[int] | None = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Normalizes each channel by its mean and variance over the batch while training, by the moving ones otherwise."""

def BatchNorm_v1(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, moving_mean: Symbol | None = None, moving_var: Symbol | None = None, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int | Sequence[int] | None = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Normalizes each channel by its mean and variance over the batch while training, by the moving ones otherwise."""

def BlockGrad(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The value itself, through which no gradient flows."""

def CTCLoss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def Cast(data: Symbol | None = None, dtype: DTypeLike = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The same values in another element type; the storage type stays."""

def Concat(*data: Symbol | Sequence[Symbol], dim: int = 1, num_args: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Arrays joined along the axis ``dim``; all other sizes are equal."""

def Crop(*data: Symbol | Sequence[Symbol], offset: int | Sequence[int] = (0, 0), h_w: int | Sequence[int] = (0, 0), center_crop: bool = False, num_args: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Crop images (batch, channels, height, width) to size ``h_w``, starting at ``offset``, or centred with ``center_crop``."""

def Dropout(data: Symbol | None = None, p: float = 0.5, mode: str = 'training', axes: int | Sequence[int] | None = (), cudnn_off: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A share ``p`` of the values set to zero, the rest divided by ``1 - p``: while training, or always."""

def ElementWiseSum(*args: Symbol | Sequence[Symbol], name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of any number of arrays of one shape."""

def Embedding(data: Symbol | None = None, weight: Symbol | None = None, input_dim: int = ..., output_dim: int = ..., dtype: DTypeLike = 'float32', sparse_grad: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The rows of ``weight`` that ``data`` names; indices beyond the ends are clipped, as in MXNet."""

def Flatten(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A matrix with the first axis kept and all others in one."""

def FullyConnected(data: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``data · weightᵀ + bias``: data (batch, inputs), weight (num_hidden, inputs), bias (num_hidden,)."""

def GroupNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Normalizes each group of channels of each sample; gamma and beta have a value for each group, as in MXNet 1.9.1."""

def IdentityAttachKLSparseReg(data: Symbol | None = None, moving_avg: Symbol | None = None, sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data itself, activations between 0 and 1, whose gradient keeps most of them small."""

def InstanceNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, eps: float = 0.001, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Normalizes each channel of each sample of data (batch, channels, space, …); gamma and beta (channels,)."""

def L2Normalization(data: Symbol | None = None, eps: float = 1e-10, mode: str = 'instance', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data divided by its Euclidean length, ``sqrt(sum(data**2) + eps)``."""

def LRN(data: Symbol | None = None, alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Local response normalization: over ``(knorm + alpha / nsize * squares)**beta``, summed nsize channels wide."""

def LayerNorm(data: Symbol | None = None, gamma: Symbol | None = None, beta: Symbol | None = None, axis: int | Sequence[int] | None = -1, eps: float = 1e-05, output_mean_var: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``(data - mean) / sqrt(variance + eps) * gamma + beta``, with mean and variance along ``axis``."""

def LeakyReLU(data: Symbol | None = None, gamma: Symbol | None = None, act_type: str = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Rectifiers with nonzero results for negative values, by ``act_type``."""

def LinearRegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data itself; the gradient is that of half the squared error, ``data - label``."""

def LogisticRegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The logistic function; the gradient is that of the cross entropy, ``out - label``."""

def MAERegressionOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data itself; the gradient is that of the absolute error: 1 above the label, -1 elsewhere."""

def MakeLoss(data: Symbol | None = None, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = 'null', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data itself, as a loss: its gradient is ``grad_scale``, whatever the gradient from above."""

def Pad(data: Symbol | None = None, mode: str = ..., pad_width: Sequence[int] = ..., constant_value: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Borders of ``pad_width`` (before and after, axis by axis) around an array."""

def RNN(data: Symbol | None = None, parameters: Symbol | None = None, state: Symbol | None = None, state_cell: Symbol | None = None, sequence_length: Symbol | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: str = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A recurrent network of several layers over sequences (time, batch, inputs)."""

def Reshape(data: Symbol | None = None, shape: int | Sequence[int] | None = None, reverse: bool = False, target_shape: int | Sequence[Any] = (), keep_highest: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy of the elements in another shape; ``NDArray.reshape`` shares memory instead."""

def SVMOutput(data: Symbol | None = None, label: Symbol | None = None, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data itself; the gradient is that of the hinge loss of a support vector machine."""

def SequenceLast(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int | Sequence[int] | None = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The last entry of each sequence; the first one of an empty sequence, where MXNet reads outside the array."""

def SequenceMask(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int | Sequence[int] | None = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``value`` in place of everything beyond the end of each sequence."""

def SequenceReverse(data: Symbol | None = None, sequence_length: Symbol | None = None, use_sequence_length: bool = False, axis: int | Sequence[int] | None = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Each sequence in reverse; what lies beyond its end stays. MXNet takes axis 0 only."""

def SliceChannel(data: Symbol | None = None, num_outputs: int = ..., axis: int | Sequence[int] | None = 1, squeeze_axis: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Equal parts along ``axis``, as a list of arrays; just the array if there is one part."""

def Softmax(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: str = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Softmax of the data; the gradient is that of the cross entropy with the label, ``out - label``."""

def SoftmaxActivation(data: Symbol | None = None, mode: str = 'instance', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Softmax over each sample's last axis (``mode='instance'``) or over axis 1 (``'channel'``)."""

def SoftmaxOutput(data: Symbol | None = None, label: Symbol | None = None, grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: str = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Softmax of the data; the gradient is that of the cross entropy with the label, ``out - label``."""

def SwapAxis(data: Symbol | None = None, dim1: int = 0, dim2: int = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Two axes interchanged; a copy."""

def abs(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Absolute value."""

def adadelta_update(weight: Symbol | None = None, grad: Symbol | None = None, acc_g: Symbol | None = None, acc_delta: Symbol | None = None, rho: float = 0.9, epsilon: float = 1e-05, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """AdaDelta: acc_g and acc_delta are moving means of ``g * g`` and ``delta * delta``; ``delta = sqrt(acc_delta + epsilon) / sqrt(acc_g + epsilon) * g; weight -= delta + wd * weight``."""

def adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None, history: Symbol | None = None, lr: float = ..., epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """AdaGrad: ``history += g * g; weight -= lr * (g / sqrt(history + epsilon) + wd * weight)``."""

def adam_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Adam: mean and var are moving means of ``g`` and ``g * g``; ``weight -= lr * mean / (sqrt(var) + epsilon)``, without bias correction, which belongs in ``lr``."""

def adamax_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Adam by the largest gradient: ``var = max(beta2 * var, |g|); weight -= lr * mean / var``; elements whose gradient was always zero do not change."""

def add_n(*args: Symbol | Sequence[Symbol], name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of any number of arrays of one shape."""

def all_finite(data: Symbol | None = None, init_output: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """An array of one number: 1 if every value of an array is finite, else 0. With ``init_output=False``, an ``out`` of 0 stays 0."""

def amp_cast(data: Symbol | None = None, dtype: DTypeLike = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The values in another float type; integers stay as they are."""

def amp_multicast(*data: Symbol | Sequence[Symbol], num_outputs: int, cast_narrow: bool = False, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The arrays in the widest of their float types, or the narrowest; integers stay as they are."""

def arccos(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse cosine, in radians."""

def arccosh(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse hyperbolic cosine."""

def arcsin(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse sine, in radians."""

def arcsinh(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse hyperbolic sine."""

def arctan(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse tangent, in radians."""

def arctanh(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse hyperbolic tangent."""

def argmax(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Place of the largest element along ``axis``, or in the flattened array; of equal elements the first. It comes in the array's own element type, and raises DTypeError if that type cannot hold the place."""

def argmax_channel(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Place of the largest element along axis 1."""

def argmin(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Place of the smallest element along ``axis``, or in the flattened array; of equal elements the first. It comes in the array's own element type, and raises DTypeError if that type cannot hold the place."""

def argsort(data: Symbol | None = None, axis: int | Sequence[int] | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The places that put the elements in order along ``axis``, or of the flattened array for None. They come as float32 unless ``dtype`` says otherwise; equal elements keep their order."""

def batch_dot(lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: str | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Matrix products of two batches of matrices, (batch, rows, inner) and (batch, inner, columns)."""

def batch_take(a: Symbol | None = None, indices: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """One element of each row of a matrix: ``a[i, indices[i]]``; places beyond the ends are clipped, with an ``IndexWarning``; fractions are cut off, and NaN is refused."""

def broadcast_add(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum with broadcasting."""

def broadcast_axes(data: Symbol | None = None, axis: int | Sequence[int] | None = (), size: int | Sequence[int] = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Axes of size 1 repeated to the sizes given."""

def broadcast_axis(data: Symbol | None = None, axis: int | Sequence[int] | None = (), size: int | Sequence[int] = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Axes of size 1 repeated to the sizes given."""

def broadcast_div(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Quotient with broadcasting."""

def broadcast_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where equal, with broadcasting."""

def broadcast_greater(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is greater, with broadcasting."""

def broadcast_greater_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is not less, with broadcasting."""

def broadcast_hypot(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Length of the hypotenuse, ``sqrt(lhs² + rhs²)``, with broadcasting."""

def broadcast_lesser(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is less, with broadcasting."""

def broadcast_lesser_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where the left is not greater, with broadcasting."""

def broadcast_like(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_axes: int | Sequence[int] | None = None, rhs_axes: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lhs`` broadcast to the shape of ``rhs``, or along ``lhs_axes`` to the sizes of ``rhs_axes``."""

def broadcast_logical_and(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where both are nonzero, with broadcasting."""

def broadcast_logical_or(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where either is nonzero, with broadcasting."""

def broadcast_logical_xor(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where just one is nonzero, with broadcasting."""

def broadcast_maximum(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Larger of two, with broadcasting."""

def broadcast_minimum(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smaller of two, with broadcasting."""

def broadcast_minus(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Difference with broadcasting."""

def broadcast_mod(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Remainder with the divisor's sign, with broadcasting; zero where the divisor is zero."""

def broadcast_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Product with broadcasting."""

def broadcast_not_equal(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where different, with broadcasting."""

def broadcast_plus(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum with broadcasting."""

def broadcast_power(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Power, with broadcasting."""

def broadcast_sub(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Difference with broadcasting."""

def broadcast_to(data: Symbol | None = None, shape: int | Sequence[int] | None = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Axes of size 1 repeated up to ``shape``, where 0 keeps a size. Missing leading axes are added, which MXNet's operator refuses and its method does."""

def cast(data: Symbol | None = None, dtype: DTypeLike = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The same values in another element type; the storage type stays."""

def cast_storage(data: Symbol | None = None, stype: str = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The same values in another storage type."""

def cbrt(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cube root."""

def ceil(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smallest integer not below x."""

def choose_element_0index(data: Symbol | None = None, index: Symbol | None = None, axis: int | Sequence[int] | None = -1, keepdims: bool = False, mode: str = 'clip', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """One element of each slice along ``axis``, chosen by ``index``; indices beyond the ends are clipped or wrapped. Fractions are cut off, NaN is refused. Clipping because ``mode`` is left out gives an ``IndexWarning``."""

def clip(data: Symbol | None = None, a_min: float = ..., a_max: float = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values bounded to a_min … a_max."""

def concat(*data: Symbol | Sequence[Symbol], dim: int = 1, num_args: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Arrays joined along the axis ``dim``; all other sizes are equal."""

def cos(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cosine, x in radians."""

def cosh(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Hyperbolic cosine."""

def crop(data: Symbol | None = None, begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The box from ``begin`` to ``end``, every ``step`` along each axis; None takes the whole of an axis."""

def ctc_loss(data: Symbol | None = None, label: Symbol | None = None, data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Connectionist temporal classification: the negative log-likelihood of labels under all alignments."""

def cumsum(a: Symbol | None = None, axis: int | Sequence[int] | None = None, dtype: DTypeLike = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Running sums along ``axis``, or of the flattened array for None."""

def dcasgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, previous_weight: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, lamda: float = 0.04, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``dcasgd_update`` whose step is added to ``momentum * mom``."""

def dcasgd_update(weight: Symbol | None = None, grad: Symbol | None = None, previous_weight: Symbol | None = None, lr: float = ..., lamda: float = 0.04, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradient descent with delay compensation: ``weight -= lr * (g + wd * weight + lamda * g * g * (weight - previous_weight))``, and previous_weight becomes the weight before the step."""

def degrees(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Radians to degrees."""

def depth_to_space(data: Symbol | None = None, block_size: int = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Depth spread out into blocks of height and width, of an array (batch, depth, height, width)."""

def diag(data: Symbol | None = None, k: int = 0, axis1: int = 0, axis2: int = 1, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The diagonal ``k`` of two axes, which becomes the last axis; of a vector, the matrix with it on that diagonal."""

def dot(lhs: Symbol | None = None, rhs: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, forward_stype: str | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Dot product of two arrays: the last axis of ``lhs`` meets the first axis of ``rhs``."""

def elemwise_add(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of two arrays of one shape."""

def elemwise_div(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Quotient of two arrays of one shape; absent entries of the divisor are zeros."""

def elemwise_mul(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Product of two arrays of one shape."""

def elemwise_sub(lhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Difference of two arrays of one shape."""

def erf(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Error function."""

def erfinv(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverse of the error function; infinite at -1 and 1, nan beyond."""

def exp(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Exponential."""

def expand_dims(data: Symbol | None = None, axis: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy with a new axis of size 1."""

def expm1(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``exp(x) - 1``."""

def fill_element_0index(lhs: Symbol | None = None, mhs: Symbol | None = None, rhs: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lhs`` with ``lhs[i, rhs[i]] = mhs[i]`` in each row i; a place outside raises RowIndexError."""

def fix(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """x without its fraction."""

def flatten(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A matrix with the first axis kept and all others in one."""

def flip(data: Symbol | None = None, axis: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The order of elements reversed along one or several axes."""

def floor(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Largest integer not above x."""

def ftml_update(weight: Symbol | None = None, grad: Symbol | None = None, d: Symbol | None = None, v: Symbol | None = None, z: Symbol | None = None, lr: float = ..., beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Follow the moving leader, at step ``t``: v is the moving mean of ``g * g``, ``d = (1 - beta1**t) / lr * (sqrt(v / (1 - beta2**t)) + epsilon); z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) * weight; weight = -z / d``. With ``lr=0`` nothing changes; MXNet gives nan."""

def ftrl_update(weight: Symbol | None = None, grad: Symbol | None = None, z: Symbol | None = None, n: Symbol | None = None, lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Follow the regularized leader: ``z += g - (sqrt(n + g * g) - sqrt(n)) * weight / lr; n += g * g``; ``weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)``, zero where ``|z| <= lamda1``. With ``lr=0`` nothing changes; MXNet gives nan."""

def gamma(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gamma function."""

def gammaln(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Logarithm of the absolute value of the gamma function."""

def gather_nd(data: Symbol | None = None, indices: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Elements, or sub-arrays, at the places ``indices``, whose first axis runs over the leading axes of ``data``. Negative places count from the end; one outside raises RowIndexError."""

def hard_sigmoid(data: Symbol | None = None, alpha: float = 0.2, beta: float = 0.5, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * x + beta``, bounded to 0 … 1."""

def identity(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy."""

def khatri_rao(*args: Symbol | Sequence[Symbol], name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The Khatri-Rao product: each column is the Kronecker product of the corresponding columns of the matrices."""

def lamb_update_phase1(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """First phase of LAMB, its step: ``mean / (1 - beta1**t) / (sqrt(var / (1 - beta2**t)) + epsilon) + wd * weight``, with mean and var as Adam's of the gradient times ``rescale_grad``, which ``clip_gradient`` bounds where it is not negative; without ``bias_correction`` not divided."""

def lamb_update_phase2(weight: Symbol | None = None, g: Symbol | None = None, r1: Symbol | None = None, r2: Symbol | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Second phase of LAMB: ``weight -= lr * r1 / r2 * g``."""

def linalg_det(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Determinants of square matrices. The gradient requires the inverse to exist."""

def linalg_extractdiag(A: Symbol | None = None, offset: int | Sequence[int] = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The diagonal ``offset`` of square matrices."""

def linalg_extracttrian(A: Symbol | None = None, offset: int | Sequence[int] = 0, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The lower or upper triangle of square matrices as vectors: row by row for a lower triangle, column by column for an upper one. A positive ``offset`` is the first diagonal of an upper triangle, a negative one the last diagonal of a lower triangle."""

def linalg_gelqf(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``A = L Q`` for matrices with at least as many columns as rows: the list of Q, whose rows are orthonormal, and the lower triangular L."""

def linalg_gemm(A: Symbol | None = None, B: Symbol | None = None, C: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int | Sequence[int] | None = -2, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows."""

def linalg_gemm2(A: Symbol | None = None, B: Symbol | None = None, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int | Sequence[int] | None = -2, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows."""

def linalg_inverse(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Inverses of square matrices. Singular matrices raise an error."""

def linalg_makediag(A: Symbol | None = None, offset: int | Sequence[int] = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with the last axis on their diagonal ``offset`` and zeros elsewhere."""

def linalg_maketrian(A: Symbol | None = None, offset: int | Sequence[int] = 0, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square matrices with the given triangles, and zeros elsewhere: the inverse of linalg_extracttrian."""

def linalg_potrf(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cholesky factor: the lower triangular L with ``A = L Lᵀ``, for symmetric positive definite A; with ``lower=False`` the upper triangular U with ``A = Uᵀ U``. The operator uses the symmetric part of A, so the gradient is symmetric."""

def linalg_potri(A: Symbol | None = None, lower: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The inverse of a matrix from its Cholesky factor: ``(A Aᵀ)⁻¹`` for a lower triangular A, ``(Aᵀ A)⁻¹`` for an upper one with ``lower=False``."""

def linalg_slogdet(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices. The gradient requires the inverse to exist."""

def linalg_sumlogdiag(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The sum of the logarithms of the diagonal of square matrices."""

def linalg_syevd(A: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``A = Uᵀ diag(L) U`` for symmetric A: the list of U, whose rows are the eigenvectors, and the eigenvalues L, ascending. The largest entry of each eigenvector is positive. The gradient requires different eigenvalues. The operator uses the symmetric part of A."""

def linalg_syrk(A: Symbol | None = None, transpose: bool = False, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * A Aᵀ``, or ``alpha * Aᵀ A`` with ``transpose=True``."""

def linalg_trmm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``alpha * op(A) B`` for the triangle of A, or ``alpha * B op(A)`` with ``rightside=True``."""

def linalg_trsm(A: Symbol | None = None, B: Symbol | None = None, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The X with ``op(A) X = alpha * B`` for the triangle of A, or ``X op(A) = alpha * B`` with ``rightside=True``."""

def log(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Natural logarithm."""

def log10(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Logarithm to base 10."""

def log1p(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``log(1 + x)``."""

def log2(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Logarithm to base 2."""

def log_softmax(data: Symbol | None = None, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Logarithm of the softmax along ``axis``."""

def logical_not(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """1 where x is zero, else 0."""

def make_loss(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Mark a value as a loss: its gradient is 1, whatever the gradient from above."""

def max(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Largest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def max_axis(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Largest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def mean(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Mean of the elements along ``axis``, or of all."""

def min(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smallest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def min_axis(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smallest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

def moments(data: Symbol | None = None, axes: int | Sequence[int] | None = None, keepdims: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Mean and variance (of the whole population) along ``axes``, all of them for None, which MXNet refuses."""

def mp_lamb_update_phase1(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, weight32: Symbol | None = None, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lamb_update_phase1`` by ``weight32``, a float32 copy of the float16 weight; the step is float32."""

def mp_lamb_update_phase2(weight: Symbol | None = None, g: Symbol | None = None, r1: Symbol | None = None, r2: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``lamb_update_phase2``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too. (MXNet leaves ``weight32`` as it was.)"""

def mp_nag_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``nag_mom_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def mp_sgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sgd_mom_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def mp_sgd_update(weight: Symbol | None = None, grad: Symbol | None = None, weight32: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sgd_update``, computed on ``weight32``, a float32 copy of the float16 weight, which gets the result too."""

def multi_all_finite(*data: Symbol | Sequence[Symbol], num_arrays: int = 1, init_output: bool = True, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """An array of one number: 1 if every value of several arrays is finite, else 0. With ``init_output=False``, an ``out`` of 0 stays 0."""

def multi_lars(lrs: Symbol | None = None, weights_sum_sq: Symbol | None = None, grads_sum_sq: Symbol | None = None, wds: Symbol | None = None, eta: float = ..., eps: float = ..., rescale_grad: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Learning rates scaled by layer (LARS): ``lrs * eta * w / (g * rescale_grad + wds * w + eps)``, with w and g the roots of the sums of squares. The rates of layers with w = 0 or g = 0 are unchanged."""

def multi_mp_sgd_mom_update(*data: Symbol | Sequence[Symbol], lrs: Sequence[float], wds: Sequence[float], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``mp_sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom, weight32 of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_mp_sgd_update(*data: Symbol | Sequence[Symbol], lrs: Sequence[float], wds: Sequence[float], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``mp_sgd_update`` for ``num_weights`` weights in one call: weight, grad, weight32 of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_sgd_mom_update(*data: Symbol | Sequence[Symbol], lrs: Sequence[float], wds: Sequence[float], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_sgd_update(*data: Symbol | Sequence[Symbol], lrs: Sequence[float], wds: Sequence[float], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sgd_update`` for ``num_weights`` weights in one call: weight, grad of the first, then of the second, …. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def multi_sum_sq(*data: Symbol | Sequence[Symbol], num_arrays: int, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The sum of squares of each of several arrays, as one float32 array."""

def nadam_update(weight: Symbol | None = None, grad: Symbol | None = None, mean: Symbol | None = None, var: Symbol | None = None, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., momentum: float = ..., next_momentum: float = ..., schedule: object = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Adam with Nesterov's momentum at step ``t``: ``weight -= lr * ((1 - momentum) * g / (1 - schedule) + next_momentum * mean / (1 - schedule * next_momentum)) / (sqrt(var / (1 - beta2**t)) + epsilon)``; ``schedule`` is the product of all momenta so far."""

def nag_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Nesterov's accelerated gradient: ``g += wd * weight; mom = momentum * mom - lr * g; weight += momentum * mom - lr * g``. (Written in place, MXNet takes the decay in mom from the new weight.)"""

def nanprod(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Product of the elements along ``axis``, or of all; nan counts as 1."""

def nansum(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of the elements along ``axis``, or of all; nan counts as 0."""

def negative(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Negation, ``-x``."""

def norm(data: Symbol | None = None, ord: int = 2, axis: int | Sequence[int] | None = None, out_dtype: DTypeLike = None, keepdims: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The 1-norm or 2-norm of the elements along ``axis``, or of all, in the element type ``out_dtype``."""

def normal(loc: float = 0.0, scale: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a normal distribution with this mean and standard deviation."""

def one_hot(indices: Symbol | None = None, depth: int = ..., on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A vector of ``depth`` values for each index: ``on_value`` at that place, ``off_value`` elsewhere; only ``off_value`` for an index outside."""

def ones_like(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Ones of the same shape and type; dense."""

def pad(data: Symbol | None = None, mode: str = ..., pad_width: Sequence[int] = ..., constant_value: float = 0.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Borders of ``pad_width`` (before and after, axis by axis) around an array."""

def pick(data: Symbol | None = None, index: Symbol | None = None, axis: int | Sequence[int] | None = -1, keepdims: bool = False, mode: str = 'clip', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """One element of each slice along ``axis``, chosen by ``index``; indices beyond the ends are clipped or wrapped. Fractions are cut off, NaN is refused. Clipping because ``mode`` is left out gives an ``IndexWarning``."""

def preloaded_multi_mp_sgd_mom_update(*data: Symbol | Sequence[Symbol], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``mp_sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom, weight32 of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def preloaded_multi_mp_sgd_update(*data: Symbol | Sequence[Symbol], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``mp_sgd_update`` for ``num_weights`` weights in one call: weight, grad, weight32 of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def preloaded_multi_sgd_mom_update(*data: Symbol | Sequence[Symbol], momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sgd_mom_update`` for ``num_weights`` weights in one call: weight, grad, mom of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def preloaded_multi_sgd_update(*data: Symbol | Sequence[Symbol], rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``sgd_update`` for ``num_weights`` weights in one call: weight, grad of the first, then of the second, …, then an array of learning rates and one of weight decays. If all arrays are row_sparse, only the rows that the gradients store are updated."""

def prod(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Product of the elements along ``axis``, or of all."""

def radians(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Degrees to radians."""

def random_exponential(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of an exponential distribution with rate lam."""

def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a gamma distribution with shape alpha and scale beta."""

def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def random_negative_binomial(k: int = 1, p: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of failures before k successes, each of probability p."""

def random_normal(loc: float = 0.0, scale: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a normal distribution with this mean and standard deviation."""

def random_pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the Dirichlet distribution with concentrations alpha along the last axis."""

def random_pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the exponential distribution with rate lam."""

def random_pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the gamma distribution with shape alpha and rate beta."""

def random_pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def random_pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the number of failures before k successes of probability p."""

def random_pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the normal distribution with mean mu and standard deviation sigma."""

def random_pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the Poisson distribution with rate lam."""

def random_pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The density of the uniform distribution from low to high; as in MXNet, samples outside have the same density."""

def random_poisson(lam: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def random_randint(low: float, high: float, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Whole numbers drawn evenly from low up to, not including, high."""

def random_uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values drawn evenly from low up to, not including, high."""

def ravel_multi_index(data: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Places in the flattened array, for places along the axes of ``shape``, one row per axis."""

def rcbrt(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``1 / cbrt(x)``."""

def reciprocal(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``1 / x``."""

def relu(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Rectified linear unit, ``max(x, 0)``."""

def repeat(data: Symbol | None = None, repeats: int = ..., axis: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Each element repeated along ``axis``, or of the flattened array."""

def reset_arrays(*data: Symbol | Sequence[Symbol], num_arrays: int, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Set several arrays to zero in place; sparse arrays store no values afterwards."""

def reshape(data: Symbol | None = None, shape: int | Sequence[int] | None = None, reverse: bool = False, target_shape: int | Sequence[Any] = (), keep_highest: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy of the elements in another shape; ``NDArray.reshape`` shares memory instead."""

def reshape_like(lhs: Symbol | None = None, rhs: Symbol | None = None, lhs_begin: Sequence[int | None] | None = None, lhs_end: Sequence[int | None] | None = None, rhs_begin: Sequence[int | None] | None = None, rhs_end: Sequence[int | None] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy of the elements of ``lhs`` in the shape of ``rhs``, or with the axes from ``lhs_begin`` up to, not including, ``lhs_end`` replaced by those from ``rhs_begin`` to ``rhs_end`` of ``rhs``."""

def retain(data: Symbol | None = None, indices: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Only the given rows of a row_sparse array; all others become absent."""

def reverse(data: Symbol | None = None, axis: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The order of elements reversed along one or several axes."""

def rint(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Nearest integer; halves go down, as in MXNet."""

def rmsprop_update(weight: Symbol | None = None, grad: Symbol | None = None, n: Symbol | None = None, lr: float = ..., gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """RMSProp (Tieleman and Hinton): n is the moving mean of ``g * g``; ``weight -= lr * g / sqrt(n + epsilon)``; ``clip_weights`` then bounds the weight."""

def rmspropalex_update(weight: Symbol | None = None, grad: Symbol | None = None, n: Symbol | None = None, g: Symbol | None = None, delta: Symbol | None = None, lr: float = ..., gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """RMSProp (Graves): n and the state g are moving means of ``g * g`` and ``g``; ``delta = gamma2 * delta - lr * g / sqrt(n - g * g + epsilon); weight += delta``; ``clip_weights`` then bounds the weight."""

def round(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Nearest integer; halves go away from zero, as in MXNet."""

def rsqrt(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``1 / sqrt(x)``."""

def sample_exponential(lam: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of an exponential distribution with rate lam."""

def sample_gamma(alpha: Symbol | None = None, beta: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a gamma distribution with shape alpha and scale beta."""

def sample_generalized_negative_binomial(mu: Symbol | None = None, alpha: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a negative binomial distribution with mean mu and variance mu + alpha * mu**2."""

def sample_multinomial(data: Symbol | None = None, shape: int | Sequence[int] | None = (), get_prob: bool = False, dtype: DTypeLike = 'int32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Places along the last axis, drawn with the probabilities there; ``shape`` of them for each row."""

def sample_negative_binomial(k: Symbol | None = None, p: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of failures before k successes, each of probability p."""

def sample_normal(mu: Symbol | None = None, sigma: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values of a normal distribution with this mean and standard deviation."""

def sample_poisson(lam: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Numbers of a Poisson distribution with rate lam, as real numbers."""

def sample_uniform(low: Symbol | None = None, high: Symbol | None = None, shape: int | Sequence[int] | None = (), dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values drawn evenly from low up to, not including, high."""

def scatter_nd(data: Symbol | None = None, indices: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Zeros of ``shape`` with ``data`` at the places ``indices``; of values for one place the last stays. A place outside raises RowIndexError, where MXNet writes beyond its memory or drops the value."""

def sgd_mom_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Gradient descent with momentum: ``mom = momentum * mom - lr * (g + wd * weight); weight += mom``."""

def sgd_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Stochastic gradient descent: ``weight -= lr * (g + wd * weight)``."""

def sgld_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Langevin dynamics: ``weight += normal(0, sqrt(lr)) - lr / 2 * (g + wd * weight)``."""

def shape_array(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The sizes of the axes, as an int64 array."""

def shuffle(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The data in a random order along the first axis; what is below it stays together."""

def sigmoid(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Logistic function, ``1 / (1 + exp(-x))``."""

def sign(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sign: -1, 0 or 1."""

def signsgd_update(weight: Symbol | None = None, grad: Symbol | None = None, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Steps of one size: ``weight -= lr * (sign(grad) + wd * weight)``; the sign needs no factor and no bound."""

def signum_update(weight: Symbol | None = None, grad: Symbol | None = None, mom: Symbol | None = None, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, lazy_update: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sign of the momentum: ``mom = momentum * mom - (1 - momentum) * (g + wd * weight); weight += lr * (sign(mom) - wd_lh * weight)``."""

def sin(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sine, x in radians."""

def sinh(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Hyperbolic sine."""

def size_array(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The number of elements, as an int64 array of one; absent zeros are counted."""

def slice(data: Symbol | None = None, begin: object = ..., end: object = ..., step: object = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The box from ``begin`` to ``end``, every ``step`` along each axis; None takes the whole of an axis."""

def slice_axis(data: Symbol | None = None, axis: int | Sequence[int] | None = ..., begin: object = ..., end: object = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The part of one axis from ``begin`` to ``end``; negative positions count from the end."""

def slice_like(data: Symbol | None = None, shape_like: Symbol | None = None, axes: int | Sequence[int] | None = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The first entries along every axis, or those named, as many as ``shape_like`` has there."""

def smooth_l1(data: Symbol | None = None, scalar: float = 1.0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Smooth L1 loss: ``(scalar x)² / 2`` where ``|x| < 1 / scalar²``, else ``|x| - 1 / (2 scalar²)``."""

def softmax(data: Symbol | None = None, length: Symbol | None = None, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``exp(x) / sum(exp(x))`` along ``axis``."""

def softmax_cross_entropy(data: Symbol | None = None, label: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Cross entropy of the softmax of data (batch, classes) and labels (batch,), summed over the batch."""

def softmin(data: Symbol | None = None, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Softmax of the negative data along ``axis``."""

def softrelu(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Softplus, ``log(1 + exp(x))``."""

def softsign(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``x / (1 + |x|)``."""

def sort(data: Symbol | None = None, axis: int | Sequence[int] | None = -1, is_ascend: bool = True, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The elements in order along ``axis``, or of the flattened array for None."""

def space_to_depth(data: Symbol | None = None, block_size: int = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Blocks of height and width moved into the depth, of an array (batch, depth, height, width)."""

def sparse_retain(data: Symbol | None = None, indices: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Only the given rows of a row_sparse array; all others become absent."""

def split(data: Symbol | None = None, num_outputs: int = ..., axis: int | Sequence[int] | None = 1, squeeze_axis: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Equal parts along ``axis``, as a list of arrays; just the array if there is one part."""

def sqrt(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square root."""

def square(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Square."""

def squeeze(data: Symbol | None = None, axis: int | Sequence[int] | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Axes of size 1 dropped: all of them, or those named, which must have size 1. At least one axis stays."""

def stack(*data: Symbol | Sequence[Symbol], axis: int | Sequence[int] | None = 0, num_args: int | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Arrays of one shape joined along a new axis."""

def stop_gradient(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The value itself, through which no gradient flows."""

def sum(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of the elements along ``axis``, or of all."""

def sum_axis(data: Symbol | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Sum of the elements along ``axis``, or of all."""

def swapaxes(data: Symbol | None = None, dim1: int = 0, dim2: int = 0, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Two axes interchanged; a copy."""

def take(a: Symbol | None = None, indices: Symbol | None = None, axis: int | Sequence[int] | None = 0, mode: str = 'clip', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The entries of one axis that ``indices`` names, in that order."""

def tan(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Tangent, x in radians."""

def tanh(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Hyperbolic tangent."""

def tile(data: Symbol | None = None, reps: int | Sequence[int] = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The whole array repeated ``reps`` times along each axis; a number is for the last axis."""

def topk(data: Symbol | None = None, axis: int | Sequence[int] | None = -1, k: int = 1, ret_typ: str = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend=True``; all of them for k=0."""

def transpose(data: Symbol | None = None, axes: int | Sequence[int] | None = (), *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """A copy with the axes reversed, or in the order ``axes``."""

def trunc(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """x without its fraction."""

def uniform(low: float = 0.0, high: float = 1.0, shape: int | Sequence[int] | None = None, ctx: Context | str | None = '', dtype: DTypeLike = 'None', *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Values drawn evenly from low up to, not including, high."""

def unravel_index(data: Symbol | None = None, shape: int | Sequence[int] | None = ..., *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Places along the axes of ``shape``, one row per axis, for places in the flattened array. The first size may be -1."""

def where(condition: Symbol | None = None, x: Symbol | None = None, y: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """``x`` where the condition is nonzero, else ``y``, all of one shape; a condition of one axis chooses rows."""

def zeros_like(data: Symbol | None = None, *, name: str | None = None, attr: dict[str, str] | None = None, out: _Out = None) -> Symbol:
    """Zeros of the same shape and type."""

def add(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def subtract(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def multiply(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def divide(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def modulo(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def power(base: Symbol | float, exp: Symbol | float) -> Symbol: ...

def maximum(left: Symbol | float, right: Symbol | float) -> Symbol: ...

def minimum(left: Symbol | float, right: Symbol | float) -> Symbol: ...

def hypot(left: Symbol | float, right: Symbol | float) -> Symbol: ...

def equal(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def not_equal(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def greater(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def greater_equal(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def lesser(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def lesser_equal(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def logical_and(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def logical_or(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def logical_xor(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def true_divide(lhs: Symbol | float, rhs: Symbol | float) -> Symbol: ...

def pow(base: Symbol | float, exp: Symbol | float) -> Symbol: ...
