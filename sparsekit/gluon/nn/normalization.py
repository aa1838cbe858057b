"""Layers that normalize: by the batch, the layer, the instance or groups of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...base.entry import entries
from ...base.errors import RowIndexError
from ..block import HybridBlock
from ..utils import whole

if TYPE_CHECKING:
    from ...base.types import DTypeLike
    from ...core.types import Functions, Tensor
    from ...initializer.base import InitLike
    from ...ndarray.ndarray import NDArray
    from ..parameter import ParameterDict
    from ..types import BlockOptions


__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm"]


class _Norm(HybridBlock):
    """A normalization with a scale ``gamma`` and an offset ``beta``, one of each for a channel."""

    _kwargs: dict[str, Any]
    gamma: Any
    beta: Any

    def _scale_and_offset(self, size: int, scale: bool, center: bool, gamma: InitLike, beta: InitLike,
                          for_good: bool = False) -> None:
        """Make scale and offset; without scale or center they are constant, and with ``for_good`` cannot be made trainable."""
        size = whole("in_channels", size)
        for name, learned, init in (("gamma", scale, gamma), ("beta", center, beta)):
            setattr(self, name, self.params.get(name, grad_req="write" if learned else "null", shape=(size,), init=init,
                                                allow_deferred_init=True, differentiable=learned or not for_good))

    def infer_shape(self, x: NDArray, *args: object) -> None:
        """Infer the number of channels from the input."""
        axis = self._kwargs.get("axis", 1)
        if not -x.ndim <= axis < x.ndim:
            raise RowIndexError(f"{self.name} normalizes along axis {axis}, and its input has shape {x.shape}.",
                                hint="give an axis of the input.")
        for parameter in self._reg_params.values():
            parameter.shape = (x.shape[axis],)

    def _described(self, *others: str) -> str:
        words = [f"{name}={value!r}" for name, value in self._kwargs.items()]
        return f"{type(self).__name__}({', '.join([*words, *others])})"

    def __repr__(self) -> str:
        return self._described(f"in_channels={self.gamma.shape[0]}")


class _BatchNorm(_Norm):
    """Base of BatchNorm and BatchNormReLU."""

    _fuse_relu = False

    def __init__(self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
                 use_global_stats: bool = False, beta_initializer: InitLike = "zeros", gamma_initializer: InitLike = "ones",
                 running_mean_initializer: InitLike = "zeros", running_variance_initializer: InitLike = "ones",
                 in_channels: int = 0, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"axis": axis, "eps": epsilon, "momentum": momentum, "fix_gamma": not scale,
                        "use_global_stats": use_global_stats}
        if in_channels != 0:
            self.in_channels = in_channels
        self._scale_and_offset(in_channels, scale, center, gamma_initializer, beta_initializer, for_good=True)
        for name, init in (("running_mean", running_mean_initializer), ("running_var", running_variance_initializer)):
            setattr(self, name, self.params.get(name, grad_req="null", shape=(in_channels,), init=init,
                                                allow_deferred_init=True, differentiable=False))

    def cast(self, dtype: DTypeLike) -> None:
        """Change the element type; float16 keeps the statistics in float32, for they would be too coarse."""
        super().cast("float32" if np.dtype(dtype) == np.float16 else dtype)

    def hybrid_forward(self, F: Functions, x: Tensor, gamma: Tensor, beta: Tensor, running_mean: Tensor,
                       running_var: Tensor) -> Tensor:
        out = F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)
        return F.relu(out) if self._fuse_relu else out

    def __repr__(self) -> str:
        return self._described(f"in_channels={self.gamma.shape[0] or None}")


class BatchNorm(_BatchNorm):
    """Each channel minus its mean over the batch, divided by its deviation, times ``gamma``, plus ``beta``.

    In training, the layer uses the statistics of the batch, and updates the running statistics. Otherwise it uses the running
    statistics.  S. Ioffe and C. Szegedy: Batch Normalization, ICML 2015.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    momentum : float
        Weight of the old running statistics in each update.
    epsilon : float
        Number that is added to the variance.
    center, scale : bool
        Whether ``beta`` and ``gamma`` are learned.  Otherwise they stay 0 and 1.
    use_global_stats : bool
        Use the running statistics while training too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer : Initializer or str
    in_channels : int
        0 infers it from the first input.
    """


class BatchNormReLU(_BatchNorm):
    """``BatchNorm``, and zero where that is negative; the same parameters."""

    _fuse_relu = True


class InstanceNorm(_Norm):
    """Each channel of each sample minus its mean, divided by its deviation, times ``gamma``, plus ``beta``.

    D. Ulyanov et al.: Instance Normalization, 2016.

    Parameters
    ----------
    axis : int
        The axis of the channels.  The data must have at least three axes.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether ``beta`` and ``gamma`` are learned.
    beta_initializer, gamma_initializer : Initializer or str
    in_channels : int
        0 infers it from the first input.
    """

    def __init__(self, axis: int = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = False,
                 beta_initializer: InitLike = "zeros", gamma_initializer: InitLike = "ones", in_channels: int = 0,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._scale_and_offset(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Functions, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        turned = F.swapaxes(x, dim1=1, dim2=self._axis)
        return F.swapaxes(F.InstanceNorm(turned, gamma, beta, name="fwd", eps=self._epsilon), dim1=1, dim2=self._axis)


class LayerNorm(_Norm):
    """Each sample minus its mean along one axis, divided by its deviation, times ``gamma``, plus ``beta``.

    J. Ba et al.: Layer Normalization, 2016.

    Parameters
    ----------
    axis : int
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether ``beta`` and ``gamma`` are learned.
    beta_initializer, gamma_initializer : Initializer or str
    in_channels : int
        Size of the axis; 0 infers it from the first input.
    """

    def __init__(self, axis: int = -1, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
                 beta_initializer: InitLike = "zeros", gamma_initializer: InitLike = "ones", in_channels: int = 0,
                 prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon, self._center, self._scale = axis, epsilon, center, scale
        self._scale_and_offset(in_channels, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Functions, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return F.LayerNorm(data, gamma, beta, axis=self._axis, eps=self._epsilon)


class GroupNorm(_Norm):
    """Groups of channels of each sample minus their mean, divided by their deviation, times ``gamma``, plus ``beta``.

    Y. Wu and K. He: Group Normalization, ECCV 2018.

    Parameters
    ----------
    num_groups : int
        Number of groups; it must divide the number of channels.  The channels are axis 1 of data with at least three axes.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether ``beta`` and ``gamma``, one for each group, are learned.
    beta_initializer, gamma_initializer : Initializer or str
    """

    def __init__(self, num_groups: int = 1, epsilon: float = 1e-5, center: bool = True, scale: bool = True,
                 beta_initializer: InitLike = "zeros", gamma_initializer: InitLike = "ones", prefix: str | None = None,
                 params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        num_groups = whole("num_groups", num_groups, 1)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon, self._center, self._scale = num_groups, epsilon, center, scale
        self._scale_and_offset(num_groups, scale, center, gamma_initializer, beta_initializer)

    def hybrid_forward(self, F: Functions, data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return F.GroupNorm(data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return self._described()


entries(globals(), __all__)
