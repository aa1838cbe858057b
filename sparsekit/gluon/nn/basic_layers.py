"""Layers with weights, and the simplest ones without: ``mx.gluon.nn``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...base.checks import number
from ...base.entry import entries
from ...base.errors import ShapeError, StorageTypeError, expected
from ...base.lazy import add_lazy_names
from ..block import HybridBlock
from ..symbolic import as_held
from ..utils import whole
from .activations import Activation

if TYPE_CHECKING:
    from ...base.types import DTypeLike, ShapeLike
    from ...core.types import Functions, Tensor
    from ...initializer.base import InitLike
    from ..types import BlockOptions


__all__ = ["Dense", "Dropout", "Embedding", "Flatten"]

add_lazy_names(globals())


class Dense(HybridBlock):
    """A fully connected layer: ``activation(data · weightᵀ + bias)``.

    The layer accepts csr data without converting it to dense, unlike MXNet's.

    With ``weight_grad_stype="row_sparse"`` the weight has the shape (in_units, units), so that the rows of the gradient are the
    columns that occur in the data.  Only ``weight.data()``, ``grad()`` and ``set_data()`` have this layout.  In files and
    symbols the weight has the shape (units, in_units), as in every other ``Dense``, so the files are interchangeable with
    those of other ``Dense`` layers and of MXNet.

    Parameters
    ----------
    units : int
        Size of the output.  A layer with 0 units can be created, as in MXNet, but not called.
    activation : str, optional
        Name of an activation, as for ``Activation``; none by default.
    use_bias : bool
    flatten : bool
        True: all axes but the first are flattened to one.  False: only the last axis is transformed.
    dtype : str or numpy.dtype
    weight_initializer, bias_initializer : Initializer or str
    in_units : int
        Size of the input.  With 0 it is inferred from the first input.
    weight_grad_stype : {"default", "row_sparse"}
        Storage type of the weight's gradient.
    prefix, params
        As for every block.
    """

    def __init__(self, units: int, activation: str | None = None, use_bias: bool = True, flatten: bool = True,
                 dtype: DTypeLike = "float32", weight_initializer: InitLike = None, bias_initializer: InitLike = "zeros",
                 in_units: int = 0, weight_grad_stype: str = "default", **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        if weight_grad_stype not in ("default", "row_sparse"):
            raise StorageTypeError(expected("weight_grad_stype", "'default' or 'row_sparse'", weight_grad_stype),
                                   hint="'row_sparse' suits csr inputs.")
        self._units, self._in_units, self._flatten = whole("units", units), whole("in_units", in_units), flatten
        units, in_units = self._units, self._in_units
        self._is_transposed = weight_grad_stype == "row_sparse"
        with self.name_scope():
            self.weight = self.params.get("weight", shape=self._weight_shape(in_units), init=weight_initializer, dtype=dtype,
                                          allow_deferred_init=True, grad_stype=weight_grad_stype,
                                          transposed=self._is_transposed)
            self.bias = self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype,
                                        allow_deferred_init=True) if use_bias else None
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def _weight_shape(self, inputs: int) -> tuple[int, int]:
        return (inputs, self._units) if self._is_transposed else (self._units, inputs)

    def infer_shape(self, x: Tensor, *args: object) -> None:
        """Infer the weight's shape from the input."""
        if self._units == 0:
            raise ShapeError(expected(f"units of {self.name}", "at least 1", 0), hint="Dense(units=1), for example.")
        self.weight.shape = self._weight_shape(math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def hybrid_forward(self, F: Functions, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if self._is_transposed and as_held(x):
            if self._flatten and getattr(x, "ndim", 0) != 2:  # the shape of a symbol is unknown
                x = F.Flatten(x)
            out = F.dot(x, weight)
            out = out if bias is None else F.broadcast_add(out, bias)
        elif bias is None:
            out = F.FullyConnected(x, weight, num_hidden=self._units, no_bias=True, flatten=self._flatten, name="fwd")
        else:
            out = F.FullyConnected(x, weight, bias, num_hidden=self._units, flatten=self._flatten, name="fwd")
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        inputs = self.weight.shape[0 if self._is_transposed else 1]
        return f"{type(self).__name__}({inputs or None} -> {self._units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Each element becomes zero with probability ``rate`` while training, and the others are scaled up accordingly.

    N. Srivastava et al.: Dropout, JMLR 15 (2014).

    Parameters
    ----------
    rate : float
        From 0 to 1, where every element becomes zero.
    axes : tuple of int
        Axes along which all elements are dropped or kept together.
    """

    def __init__(self, rate: float, axes: ShapeLike = (), **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        number("rate", rate, "a number from 0 to 1", lambda share: 0 <= share <= 1, "the share of elements that are dropped.")
        self._rate, self._axes = rate, axes

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Flatten(HybridBlock):
    """All axes but the first in one."""

    def __init__(self, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


class Embedding(HybridBlock):
    """Rows of a weight, looked up by index.

    Parameters
    ----------
    input_dim : int
        Number of rows: the largest index plus 1.
    output_dim : int
        Number of columns: the length of each row.
    dtype : str or numpy.dtype
    weight_initializer : Initializer or str, optional
    sparse_grad : bool
        Make the weight's gradient row_sparse.  It then stores only the rows that were looked up, and an optimizer with
        ``lazy_update`` changes only these rows.
    """

    def __init__(self, input_dim: int, output_dim: int, dtype: DTypeLike = "float32", weight_initializer: InitLike = None,
                 sparse_grad: bool = False, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        input_dim, output_dim = whole("input_dim", input_dim), whole("output_dim", output_dim)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": np.dtype(dtype).name,
                        "sparse_grad": sparse_grad}
        self.weight = self.params.get("weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype,
                                      allow_deferred_init=True, grad_stype="row_sparse" if sparse_grad else "default",
                                      transposed=False)

    def hybrid_forward(self, F: Functions, x: Tensor, weight: Tensor) -> Tensor:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({{input_dim}} -> {{output_dim}}, {{dtype}})".format(**self._kwargs)


entries(globals(), __all__)
