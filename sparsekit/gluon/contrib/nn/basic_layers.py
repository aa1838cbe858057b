"""Blocks side by side, and an embedding whose weight and gradient are row_sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .... import ndarray
from ....base.lazy import add_lazy_names
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential

if TYPE_CHECKING:
    from ....base.types import DTypeLike
    from ....core.types import Functions, Tensor
    from ....initializer.base import InitLike
    from ....ndarray.ndarray import NDArray
    from ...parameter import ParameterDict
    from ...types import BlockOptions

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "SparseEmbedding"]

add_lazy_names(globals())


class Concurrent(Sequential):
    """Blocks that all take the same input; their outputs are joined.

    Parameters
    ----------
    axis : int
        The axis along which they are joined.
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: object, *args: object) -> Tensor:
        """The outputs of all blocks, joined."""
        return ndarray.concat(*[block(x, *args) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """HybridBlocks that all take the same input; their outputs are joined.

    Parameters
    ----------
    axis : int
        The axis along which they are joined.
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Functions, x: object, *args: object) -> Tensor:
        return F.concat(*[block(x, *args) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Returns its input; next to other blocks in ``HybridConcurrent`` it makes a residual connection."""

    def hybrid_forward(self, F: Functions, x: Tensor) -> Tensor:
        return x


class SparseEmbedding(Block):
    """Rows of a row_sparse weight, looked up by number, with a row_sparse gradient.

    The layer is meant for tables that are too large for a gradient of all rows.  An optimizer with ``lazy_update``, the
    default of SGD, Adam and AdaGrad, changes only the rows that were looked up.

    Parameters
    ----------
    input_dim : int
        Number of rows: the largest index plus 1.
    output_dim : int
        Number of columns: the length of each row.
    dtype : str or numpy.dtype
    weight_initializer : Initializer or str, optional

    Examples
    --------
    >>> layer = mx.gluon.contrib.nn.SparseEmbedding(1000, 4)
    >>> layer.initialize()
    >>> with mx.autograd.record():
    ...     layer(mx.nd.array([3, 5, 3])).sum().backward()
    >>> layer.weight.grad().indices.asnumpy()
    array([3, 5])
    """

    def __init__(self, input_dim: int, output_dim: int, dtype: DTypeLike = "float32", weight_initializer: InitLike = None,
                 **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        self._kwargs: dict[str, Any] = {  # Any: attributes of the operator
            "input_dim": input_dim, "output_dim": output_dim, "dtype": np.dtype(dtype).name, "sparse_grad": True}
        self.weight = self.params.get("weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype,
                                      grad_stype="row_sparse", stype="row_sparse")

    def forward(self, x: NDArray, *args: object) -> Tensor:
        """The rows, in the shape of ``x`` with one more axis; the weight is there whole, so no row is copied first."""
        return ndarray.Embedding(x, self.weight.data(x.context), name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({{input_dim}} -> {{output_dim}}, {{dtype}})".format(**self._kwargs)
