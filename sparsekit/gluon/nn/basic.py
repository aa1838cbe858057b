"""The layers of a multilayer perceptron."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...base.errors import StorageTypeError, UnknownNameError
from ...ops.neural import ACTIVATIONS
from ..block import Block, HybridBlock

__all__ = ["Activation", "Dense", "Embedding", "Flatten", "HybridSequential", "Sequential"]


class _Stack:
    """Blocks one after another; ``net[i]`` and ``net[a:b]`` give them back."""

    _children: dict[str, Any]

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)  # type: ignore[attr-defined]

    def __getitem__(self, key: Any) -> Any:
        return list(self._children.values())[key]

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())


class Sequential(_Stack, Block):
    """Blocks applied one after another."""

    def forward(self, x: Any, *args: Any) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x


class HybridSequential(_Stack, HybridBlock):
    """HybridBlocks applied one after another."""

    def forward(self, x: Any, *args: Any) -> Any:
        for block in self._children.values():
            x = block(x, *args)
            args = ()
        return x


class Dense(HybridBlock):
    """A fully connected layer: ``activation(data · weightᵀ + bias)``.

    Takes csr data without making it dense, which MXNet's does not.  For a row_sparse weight gradient
    the weight is kept as (in_units, units), so that the rows of the gradient are the columns that occur
    in the data; nobody has to write a layer of their own for it.

    Parameters
    ----------
    units : int
    activation : str, optional
    use_bias : bool
    flatten : bool
        Put all axes but the first in one.
    weight_initializer, bias_initializer : Initializer or str
    in_units : int
        0 lets the first input tell.
    weight_grad_stype : {"default", "row_sparse"}
        Storage type of the weight's gradient.
    """

    def __init__(self, units: int, activation: str | None = None, use_bias: bool = True, flatten: bool = True,
                 dtype: Any = "float32", weight_initializer: Any = None, bias_initializer: Any = "zeros", in_units: int = 0,
                 weight_grad_stype: str = "default", **more: Any) -> None:
        super().__init__(**more)
        if weight_grad_stype not in ("default", "row_sparse"):
            raise StorageTypeError(f"weight_grad_stype={weight_grad_stype!r} is not supported.",
                                   hint="it is 'default' or 'row_sparse'.")
        self._units, self._in_units, self._flatten = units, in_units, flatten
        self._turned = weight_grad_stype == "row_sparse"
        with self.name_scope():
            self.weight = self.params.get("weight", shape=self._weight_shape(in_units), init=weight_initializer, dtype=dtype,
                                          allow_deferred_init=True, grad_stype=weight_grad_stype)
            self.bias = self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype,
                                        allow_deferred_init=True) if use_bias else None
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def _weight_shape(self, inputs: int) -> tuple[int, int]:
        return (inputs, self._units) if self._turned else (self._units, inputs)

    def infer_shape(self, x: Any, *args: Any) -> None:
        """The input tells the weight's shape."""
        self.weight.shape = self._weight_shape(math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        if self._turned:
            if x.stype == "default" and len(x.shape) != 2:
                x = F.Flatten(x) if self._flatten else x
            out = F.dot(x, weight)
            out = out if bias is None else F.broadcast_add(out, bias)
        elif bias is None:
            out = F.FullyConnected(x, weight, num_hidden=self._units, no_bias=True, flatten=self._flatten)
        else:
            out = F.FullyConnected(x, weight, bias, num_hidden=self._units, flatten=self._flatten)
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        inputs = self.weight.shape[0 if self._turned else 1]
        return f"Dense({inputs or None} -> {self._units}, {self.act or 'linear'})"


class Activation(HybridBlock):
    """An activation function by name: relu, sigmoid, log_sigmoid, tanh, softrelu or softsign."""

    def __init__(self, activation: str, **more: Any) -> None:
        if activation not in ACTIVATIONS:
            raise UnknownNameError.of("activation", activation, ACTIVATIONS)
        self._kind = activation
        super().__init__(**more)

    def _alias(self) -> str:
        return self._kind

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(x, act_type=self._kind)

    def __repr__(self) -> str:
        return f"Activation({self._kind})"


class Flatten(HybridBlock):
    """All axes but the first in one."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Flatten(x)

    def __repr__(self) -> str:
        return "Flatten"


class Embedding(HybridBlock):
    """Rows of a weight, looked up by number.

    Parameters
    ----------
    input_dim, output_dim : int
        Number of rows, and their width.
    sparse_grad : bool
        Make the weight's gradient row_sparse: only the rows looked up are stored.
    """

    def __init__(self, input_dim: int, output_dim: int, dtype: Any = "float32", weight_initializer: Any = None,
                 sparse_grad: bool = False, **more: Any) -> None:
        super().__init__(**more)
        self._attrs = {"input_dim": input_dim, "output_dim": output_dim, "sparse_grad": sparse_grad}
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(input_dim, output_dim), init=weight_initializer, dtype=dtype,
                                          grad_stype="row_sparse" if sparse_grad else "default")

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.Embedding(x, weight, **self._attrs)

    def __repr__(self) -> str:
        return f"Embedding({self._attrs['input_dim']} -> {self._attrs['output_dim']}, float32)"
