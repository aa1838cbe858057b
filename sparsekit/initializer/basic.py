"""Initializers that fill an array with constants or random numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import ShapeError, UnknownNameError
from ..random import generator
from .base import Initializer, alias, bilinear, draw_normal, draw_uniform, put, register

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..base.types import Scalar
    from ..ndarray.ndarray import NDArray


@register
@alias("zeros")
class Zero(Initializer):
    """Fill with zeros."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: NDArray) -> None:
        put(arr, 0)


@register
@alias("ones")
class One(Initializer):
    """Fill with ones."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: NDArray) -> None:
        put(arr, 1)


@register
class Constant(Initializer):
    """Fill with a number or an array.

    Parameters
    ----------
    value : number or array
        Broadcast to the shape of the parameter.
    """

    def __init__(self, value: Scalar | NDArray | npt.ArrayLike) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _: str, arr: NDArray) -> None:
        put(arr, self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.dumps() == other.dumps()

    __hash__ = None


@register
class Uniform(Initializer):
    """Fill with uniform random numbers from -scale to scale.

    Parameters
    ----------
    scale : float, default 0.07
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _: str, arr: NDArray) -> None:
        draw_uniform(arr, self.scale)


@register
class Normal(Initializer):
    """Fill with normal random numbers of mean zero and standard deviation sigma.

    Parameters
    ----------
    sigma : float, default 0.01
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _: str, arr: NDArray) -> None:
        draw_normal(arr, self.sigma)


@register
class Orthogonal(Initializer):
    """Fill with an orthogonal matrix times ``scale`` (A. Saxe et al., https://arxiv.org/abs/1312.6120).

    Parameters
    ----------
    scale : float, default 1.414
    rand_type : {"uniform", "normal"}
        Distribution of the random matrix whose singular vectors form the orthogonal matrix.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        UnknownNameError.check("rand_type", rand_type, ("uniform", "normal"))
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, _: str, arr: NDArray) -> None:
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        drawn = generator().uniform(-1, 1, shape) if self.rand_type == "uniform" else generator().standard_normal(shape)
        left, _values, right = np.linalg.svd(drawn, full_matrices=False)
        put(arr, self.scale * (left if left.shape == shape else right).reshape(arr.shape))


@register
class Xavier(Initializer):
    """Fill with random numbers scaled by the number of inputs and outputs (X. Glorot and Y. Bengio, AISTATS 2010).

    Parameters
    ----------
    rnd_type : {"uniform", "gaussian"}
        Uniform from -s to s, or normal with standard deviation s, where ``s = sqrt(magnitude / factor)``.
    factor_type : {"avg", "in", "out"}
        Whether ``factor`` is the mean of the numbers of inputs and outputs, or one of them.
    magnitude : float, default 3

    Raises
    ------
    ShapeError
        When called for an array of fewer than two dimensions.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        for kind, value, choices in (("rnd_type", rnd_type, ("uniform", "gaussian")),
                                     ("factor_type", factor_type, ("avg", "in", "out"))):
            UnknownNameError.check(kind, value, choices)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if len(arr.shape) < 2:
            raise ShapeError(f"Xavier needs at least two dimensions, but {str(name)!r} has shape {arr.shape}.",
                             hint="initialize vectors with Zero() or Uniform().")
        area = math.prod(arr.shape[2:])
        inputs, outputs = arr.shape[1] * area, arr.shape[0] * area
        factor = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[self.factor_type]
        (draw_uniform if self.rnd_type == "uniform" else draw_normal)(arr, math.sqrt(self.magnitude / factor))


@register
class MSRAPrelu(Xavier):
    """``Xavier`` with normal numbers and magnitude ``2 / (1 + slope**2)`` (K. He et al., https://arxiv.org/abs/1502.01852).

    Parameters
    ----------
    factor_type : {"avg", "in", "out"}, as in ``Xavier``
    slope : float
        Initial slope of the PReLU that follows the layer, for negative inputs.  Default 0.25.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Fill with the weights of a transposed convolution that upsamples bilinearly; the array must have four dimensions."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: NDArray) -> None:
        put(arr, bilinear(arr.shape))


@register
class LSTMBias(Initializer):
    """Fill the bias of an LSTM with zeros, and its forget gate with ``forget_bias`` (R. Jozefowicz et al., ICML 2015).

    Parameters
    ----------
    forget_bias : float
        Value of the second quarter of the array.  Default 1.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4
        values = np.zeros(arr.shape)
        values[hidden:2 * hidden] = self.forget_bias
        put(arr, values)
