"""Operators as methods of arrays.

Written by ``python tests/stubs.py`` from the registry of operators; a test compares it with that.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from ..base.context import Context
from ..base.types import DTypeLike
from typing import NoReturn

from ..base.types import ShapeLike
from ..core.types import ArrayObject
from .ndarray import NDArray

_Out: TypeAlias = NDArray | Sequence[NDArray] | None

class ArrayMethods(ArrayObject):
    writable: bool

    def abs(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Absolute value."""

    def arccos(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Inverse cosine, in radians."""

    def arccosh(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Inverse hyperbolic cosine."""

    def arcsin(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Inverse sine, in radians."""

    def arcsinh(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Inverse hyperbolic sine."""

    def arctan(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Inverse tangent, in radians."""

    def arctanh(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Inverse hyperbolic tangent."""

    def argmax(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Place of the largest element along ``axis``, or in the flattened array; of equal elements the first. It comes in the array's own element type, and raises DTypeError if that type cannot hold the place."""

    def argmax_channel(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Place of the largest element along axis 1."""

    def argmin(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Place of the smallest element along ``axis``, or in the flattened array; of equal elements the first. It comes in the array's own element type, and raises DTypeError if that type cannot hold the place."""

    def argsort(self, axis: int | Sequence[int] | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
        """The places that put the elements in order along ``axis``, or of the flattened array for None. They come as float32 unless ``dtype`` says otherwise; equal elements keep their order."""

    def broadcast_axes(self, axis: int | Sequence[int] | None = (), size: int | Sequence[int] = (), *, out: _Out = None, name: str | None = None) -> NDArray:
        """Axes of size 1 repeated to the sizes given."""

    def cbrt(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Cube root."""

    def ceil(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Smallest integer not below x."""

    def clip(self, a_min: float, a_max: float, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Values bounded to a_min … a_max."""

    def cos(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Cosine, x in radians."""

    def cosh(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Hyperbolic cosine."""

    def cumsum(self, axis: int | Sequence[int] | None = None, dtype: DTypeLike = None, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Running sums along ``axis``, or of the flattened array for None."""

    def degrees(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Radians to degrees."""

    def depth_to_space(self, block_size: int, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Depth spread out into blocks of height and width, of an array (batch, depth, height, width)."""

    def diag(self, k: int = 0, axis1: int = 0, axis2: int = 1, *, out: _Out = None, name: str | None = None) -> NDArray:
        """The diagonal ``k`` of two axes, which becomes the last axis; of a vector, the matrix with it on that diagonal."""

    def dot(self, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: str | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Dot product of two arrays: the last axis of ``lhs`` meets the first axis of ``rhs``."""

    def erf(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Error function."""

    def exp(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Exponential."""

    def expm1(self, *, out: _Out = None, name: str | None = None) -> Self:
        """``exp(x) - 1``."""

    def fix(self, *, out: _Out = None, name: str | None = None) -> Self:
        """x without its fraction."""

    def flip(self, axis: int | Sequence[int] | None, *, out: _Out = None, name: str | None = None) -> NDArray:
        """The order of elements reversed along one or several axes."""

    def floor(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Largest integer not above x."""

    def gamma(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Gamma function."""

    def gammaln(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Logarithm of the absolute value of the gamma function."""

    def log(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Natural logarithm."""

    def log10(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Logarithm to base 10."""

    def log1p(self, *, out: _Out = None, name: str | None = None) -> Self:
        """``log(1 + x)``."""

    def log2(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Logarithm to base 2."""

    def log_softmax(self, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Logarithm of the softmax along ``axis``."""

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Largest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Mean of the elements along ``axis``, or of all."""

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Smallest element along ``axis``, or of all; nan if there is one. Equal ones all get the gradient."""

    def moments(self, axes: int | Sequence[int] | None = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> list[NDArray]:
        """Mean and variance (of the whole population) along ``axes``, all of them for None, which MXNet refuses."""

    def nanprod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Product of the elements along ``axis``, or of all; nan counts as 1."""

    def nansum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Sum of the elements along ``axis``, or of all; nan counts as 0."""

    def norm(self, ord: int = 2, axis: int | Sequence[int] | None = None, out_dtype: DTypeLike = None, keepdims: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """The 1-norm or 2-norm of the elements along ``axis``, or of all, in the element type ``out_dtype``."""

    def one_hot(self, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', *, out: _Out = None, name: str | None = None) -> NDArray:
        """A vector of ``depth`` values for each index: ``on_value`` at that place, ``off_value`` elsewhere; only ``off_value`` for an index outside."""

    def ones_like(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Ones of the same shape and type; dense."""

    def pad(self, mode: str, pad_width: Sequence[int], constant_value: float = 0.0, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Borders of ``pad_width`` (before and after, axis by axis) around an array."""

    def pick(self, index: NDArray, axis: int | Sequence[int] | None = -1, keepdims: bool = False, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> NDArray:
        """One element of each slice along ``axis``, chosen by ``index``; indices beyond the ends are clipped or wrapped. Fractions are cut off, NaN is refused. Clipping because ``mode`` is left out gives an ``IndexWarning``."""

    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Product of the elements along ``axis``, or of all."""

    def radians(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Degrees to radians."""

    def rcbrt(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """``1 / cbrt(x)``."""

    def reciprocal(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """``1 / x``."""

    def relu(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Rectified linear unit, ``max(x, 0)``."""

    def repeat(self, repeats: int, axis: int | Sequence[int] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Each element repeated along ``axis``, or of the flattened array."""

    def reshape_like(self, rhs: NDArray, lhs_begin: Sequence[int | None] | None = None, lhs_end: Sequence[int | None] | None = None, rhs_begin: Sequence[int | None] | None = None, rhs_end: Sequence[int | None] | None = None, *, out: _Out = None, name: str | None = None) -> NDArray:
        """A copy of the elements of ``lhs`` in the shape of ``rhs``, or with the axes from ``lhs_begin`` up to, not including, ``lhs_end`` replaced by those from ``rhs_begin`` to ``rhs_end`` of ``rhs``."""

    def rint(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Nearest integer; halves go down, as in MXNet."""

    def round(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Nearest integer; halves go away from zero, as in MXNet."""

    def rsqrt(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """``1 / sqrt(x)``."""

    def shape_array(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """The sizes of the axes, as an int64 array."""

    def sigmoid(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Logistic function, ``1 / (1 + exp(-x))``."""

    def sign(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Sign: -1, 0 or 1."""

    def sin(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Sine, x in radians."""

    def sinh(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Hyperbolic sine."""

    def size_array(self, *, out: _Out = None, name: str | None = None) -> NDArray:
        """The number of elements, as an int64 array of one; absent zeros are counted."""

    def slice(self, begin: object, end: object, step: object = (), *, out: _Out = None, name: str | None = None) -> Self:
        """The box from ``begin`` to ``end``, every ``step`` along each axis; None takes the whole of an axis."""

    def slice_axis(self, axis: int | Sequence[int] | None, begin: object, end: object, *, out: _Out = None, name: str | None = None) -> Self:
        """The part of one axis from ``begin`` to ``end``; negative positions count from the end."""

    def slice_like(self, shape_like: NDArray, axes: int | Sequence[int] | None = (), *, out: _Out = None, name: str | None = None) -> NDArray:
        """The first entries along every axis, or those named, as many as ``shape_like`` has there."""

    def softmax(self, length: NDArray | None = None, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """``exp(x) / sum(exp(x))`` along ``axis``."""

    def softmin(self, axis: int | Sequence[int] | None = -1, temperature: float | None = None, dtype: DTypeLike = None, use_length: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Softmax of the negative data along ``axis``."""

    def sort(self, axis: int | Sequence[int] | None = -1, is_ascend: bool = True, *, out: _Out = None, name: str | None = None) -> NDArray:
        """The elements in order along ``axis``, or of the flattened array for None."""

    def space_to_depth(self, block_size: int, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Blocks of height and width moved into the depth, of an array (batch, depth, height, width)."""

    def split(self, num_outputs: int, axis: int | Sequence[int] | None = 1, squeeze_axis: bool = False, *, out: _Out = None, name: str | None = None) -> Any:
        """Equal parts along ``axis``, as a list of arrays; just the array if there is one part."""

    def sqrt(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Square root."""

    def square(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Square."""

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Sum of the elements along ``axis``, or of all."""

    def swapaxes(self, dim1: int = 0, dim2: int = 0, *, out: _Out = None, name: str | None = None) -> NDArray:
        """Two axes interchanged; a copy."""

    def take(self, indices: NDArray, axis: int | Sequence[int] | None = 0, mode: str = 'clip', *, out: _Out = None, name: str | None = None) -> NDArray:
        """The entries of one axis that ``indices`` names, in that order."""

    def tan(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Tangent, x in radians."""

    def tanh(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Hyperbolic tangent."""

    def tile(self, reps: int | Sequence[int], *, out: _Out = None, name: str | None = None) -> NDArray:
        """The whole array repeated ``reps`` times along each axis; a number is for the last axis."""

    def topk(self, axis: int | Sequence[int] | None = -1, k: int = 1, ret_typ: str = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', *, out: _Out = None, name: str | None = None) -> Any:
        """The ``k`` largest elements along ``axis``, or the smallest with ``is_ascend=True``; all of them for k=0."""

    def trunc(self, *, out: _Out = None, name: str | None = None) -> Self:
        """x without its fraction."""

    def zeros_like(self, *, out: _Out = None, name: str | None = None) -> Self:
        """Zeros of the same shape and type."""

    def reshape(self, *shape: ShapeLike, **kwargs: object) -> Self:
        """The same elements in another shape, as a view: writing to either writes to both."""

    def transpose(self, *axes: ShapeLike, **kwargs: object) -> Self:
        """A copy with the axes reversed, or in the order given as a tuple or as numbers."""

    def broadcast_to(self, shape: ShapeLike) -> Self:
        """A copy with axes of size 1 repeated up to ``shape``; missing leading axes are added."""

    def broadcast_like(self, other: NDArray | None = None, *, rhs: NDArray | None = None) -> Self:
        """A copy broadcast to the shape of ``other``, which the operator calls ``rhs``."""

    def expand_dims(self, axis: int, inplace: bool = False) -> Self:
        """A copy with a new axis of size 1; a view of the same memory with ``inplace=True``."""

    def flatten(self, inplace: bool = False) -> Self:
        """A copy with all axes but the first in one; a view of the same memory with ``inplace=True``."""

    def squeeze(self, axis: int | None = None, inplace: bool = False) -> Self:
        """A copy without axes of size 1, all or those named; a view of the same memory with ``inplace=True``."""

    def split_v2(self, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False) -> Any:
        """Parts along ``axis``: as many equal ones, or cut before each of the indices."""

    def slice_assign(self, rhs: NDArray, begin: object, end: object, step: object = ()) -> NDArray:
        """Replace the part from ``begin`` to ``end`` by ``rhs``, in place."""

    def slice_assign_scalar(self, value: float, begin: object, end: object, step: object = ()) -> NDArray:
        """Set the part from ``begin`` to ``end`` to ``value``, in place."""

    def as_nd_ndarray(self) -> NDArray:
        """The array itself."""

    def as_np_ndarray(self) -> NoReturn:
        """Not available: this library has no ``mx.np`` arrays."""
