"""Contributed optimizers: ``mx.optimizer.contrib``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ShapeError, SparsekitError
from ..core.op import find
from .optimizer import Optimizer, register

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Index, Settings, State


__all__ = ["GroupAdaGrad"]


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

    def _changes_stored_rows_alone(self, weight: NDArray, state: State) -> bool:
        return self._of_library

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        self._update_count(index)
        if self._get_wd(index) != 0:
            raise SparsekitError("GroupAdaGrad does not support weight decay.", hint="pass wd=0, or use AdaGrad.")
        self._run(find("_contrib_group_adagrad_update"), index, (weight, grad, state), lr=self._get_lr(index),
                  epsilon=self.float_stable_eps)
