"""Contributed optimizers: ``mx.optimizer.contrib``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from ..base.errors import ShapeError, SparsekitError
from ..base.lazy import add_lazy_names
from ..core.op import find
from .adaptive import _Adaptive
from .missed import _AdamW
from .optimizer import Optimizer, register

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Index, Precise, Settings, State


__all__ = ["AdamW", "GroupAdaGrad"]

add_lazy_names(globals())


@register
class AdamW(_Adaptive):
    """AdamW (I. Loshchilov and F. Hutter, https://arxiv.org/abs/1711.05101): Adam with weight decay apart from the gradient.

    ``g = clip(rescale_grad * grad); mean = beta1 * mean + (1 - beta1) * g; var = beta2 * var + (1 - beta2) * g * g;
    weight -= lr * (sqrt(1 - beta2**t) / (1 - beta1**t) * mean / (sqrt(var) + epsilon) + wd * weight)`` at step t.  MXNet
    1.9.1 has only the operator ``contrib.adamw_update``.  Names and defaults here are those of MXNet 2.

    Parameters
    ----------
    learning_rate : float, default 0.001
    beta1, beta2 : float
        Decay rates of the moving averages.
    epsilon : float
    correct_bias : bool
        Divide the moving averages by the sum of their weights, as the formula does.  Default True.
    lazy_update : bool or "exact"
        As for ``SGD``.  Default True.
    **arguments : as in ``Optimizer``

    Notes
    -----
    With "exact", the missed steps of a row are computed as the sum of a series of at most 16 terms.  Its error is at most 1e-11
    of a step.  The series needs a ``beta1`` well below ``sqrt(beta2)``; 0.9 and 0.95 are too close.  Otherwise the missed
    steps are computed one after the other when the row is read.
    """

    _missed = _AdamW
    _op, _op_settings = find("_adamw_rows_update"), ("beta1", "beta2", "epsilon")

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6,
                 correct_bias: bool = True, lazy_update: bool | Literal["exact"] = True, **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.epsilon, self.correct_bias = beta1, beta2, epsilon, correct_bias
        self.lazy_update = lazy_update

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        attrs["wd"] *= attrs["lr"]
        if self.correct_bias:
            attrs["lr"] *= math.sqrt(1 - self.beta2**count) / (1 - self.beta1**count)


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one step size for each row, for embeddings.

    ``g = clip(rescale_grad * grad); state += mean(g * g, axis=1); weight -= lr * g / sqrt(state + eps)``.  Rows that a
    row_sparse gradient does not store do not change.  Weights must have two dimensions, and ``wd`` must be 0.

    Parameters
    ----------
    eps : float
    **arguments : as in ``Optimizer``
    """

    _one_call = _timeless = True
    sums_over, in_order = "row", False

    def __init__(self, eps: float = 1e-5, **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The sum of the mean squared gradients of each row, zero, shape (rows, 1)."""
        if weight.ndim != 2:
            raise ShapeError(f"GroupAdaGrad takes weights of two dimensions, not shape {weight.shape}.", hint="use AdaGrad.")
        return self._zeros(weight, shape=(weight.shape[0], 1))

    def _check(self, index: Index) -> None:
        super()._check(index)
        if self._get_wd(index) != 0:
            raise SparsekitError("GroupAdaGrad does not support weight decay.", hint="pass wd=0, or use AdaGrad.")

    def _changes_stored_rows_alone(self, weight: NDArray, state: State) -> bool:
        return self._of_library

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        self._check(index)
        self._update_count(index)
        self._run(find("_contrib_group_adagrad_update"), index, (weight, grad, state), lr=self._get_lr(index),
                  epsilon=self.float_stable_eps)
