"""Optimizers for large batches, which scale the step of each weight by the norms of the weight and its gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..base.errors import UnknownNameError
from ..core.dispatch import invoke
from ..core.op import Op, find
from ..ndarray.arithmetic import add
from ..ops.update.update import is_zero
from ..ops.update.update_adaptive import lamb_update
from .momentum import SGD
from .optimizer import Optimizer, register

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Factors, Index, Precise, Rated, Settings, State


__all__ = ["LAMB", "LARS", "LBSGD"]


def _squares(*arrays: NDArray) -> list[float]:
    """The sum of squares of each array."""
    sums = invoke(find("multi_sum_sq").bind({"num_arrays": len(arrays)}), arrays)
    return [float(value) for value in sums.asnumpy()]


@register
class LAMB(Optimizer):
    """LAMB (Y. You et al., https://arxiv.org/abs/1904.00962): Adam whose steps are proportional to the norm of the weight.

    ``mean`` and ``var`` are the moving averages of Adam for ``clip(rescale_grad * grad)``.  The step is
    ``s = mean / (sqrt(var) + epsilon) + wd * weight``, and ``weight -= lr * |weight| / |s| * s``.  Where a norm is zero,
    ``weight -= lr * s``.

    Parameters
    ----------
    learning_rate : float, default 0.001
    beta1, beta2 : float
        Decay rates of the moving averages.
    epsilon : float
    lower_bound, upper_bound : float, optional
        Bounds of ``|weight|``; None or 0 for no bound.
    bias_correction : bool
        Correct ``mean`` and ``var`` for their initial value of zero.  Default True.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores; ``|s|`` is the norm over these rows, ``|weight|``
        the norm over all rows.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    aggregate_num = 45
    _one_call = True
    sums_over, in_order = "weight", False
    _idle = "moving averages"

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-6,
                 lower_bound: float | None = None, upper_bound: float | None = None, bias_correction: bool = True,
                 lazy_update: bool = False, **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.epsilon, self.bias_correction = beta1, beta2, epsilon, bias_correction
        self.lower_bound, self.upper_bound, self.lazy_update = lower_bound, upper_bound, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The moving averages of the gradient and its square, zero, in the storage type of the weight."""
        return self._zeros(weight), self._zeros(weight)

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, ...]) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        self._update_count(index)
        self._run(lamb_update, index, (weight, grad, *state), beta1=self.beta1, beta2=self.beta2, epsilon=self.epsilon,
                  t=self._index_update_count[index], bias_correction=self.bias_correction, wd=self._get_wd(index),
                  lazy_update=self.lazy_update, lr=self._get_lr(index), lower_bound=self.lower_bound or -1.0,
                  upper_bound=self.upper_bound or -1.0)


@register
class LARS(SGD):
    """LARS (Y. You et al., https://arxiv.org/abs/1708.03888): SGD with a learning rate for each weight from its norms.

    The learning rate is ``lr * eta * |weight| / (|rescale_grad * grad| + wd * |weight| + eps)``, or ``lr`` if a norm is
    zero.  Weights whose names end in ``gamma``, ``beta`` or ``bias`` use ``lr``.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores, as ``SGD`` does; ``|weight|`` is the norm over all rows.
        Default True.
    eta, eps : float
    momentum_correction : bool
        Multiply momentum by the ratio of the new learning rate to the last one.  Default True.
    **arguments : as in ``Optimizer``
    """

    _needs_gradients, _timeless, _missed = True, False, None
    sums_over, in_order = "weight", True  # the rates of the last two steps, of whichever weights, correct the momentum
    _counted = ("num_update", "last_lr", "cur_lr")

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, eta: float = 0.001, eps: float = 0,
                 momentum_correction: bool = True, **arguments: Unpack[Settings]) -> None:
        super().__init__(momentum, lazy_update, **arguments)
        self.eta, self.eps, self.momentum_correction = eta, eps, momentum_correction
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    def set_wd_mult(self, args_wd_mult: Factors) -> None:
        """Set the factor of the weight decay of some weights, by name or index."""
        free: dict[Index, float] = {name: 0.0 for name in self.idx2name.values() if not name.endswith("_weight")}
        self.wd_mult = {**free, **self._symbol_factors("__wd_mult__"), **args_wd_mult}

    def _name(self, index: Index) -> str:
        parameter = self.param_dict.get(index)
        return str(parameter.name if parameter is not None else self.idx2name.get(index, index))

    def _descend(self, index: Index, arrays: tuple[NDArray, ...], op: Op) -> None:
        self._update_count(index)
        base = float(self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update))
        self.last_lr, self.cur_lr = base if self.cur_lr is None else self.cur_lr, base
        rate, decay = self._get_lr(index), self._get_wd(index)
        if not self._name(index).endswith(("gamma", "beta", "bias")):
            weight, grad = (math.sqrt(square) for square in _squares(arrays[0], arrays[1]))
            if weight > 0 and grad > 0:
                rate *= self.eta * weight / (grad * self.rescale_grad + decay * weight + self.eps)
        attrs: dict[str, float] = {"lr": rate, "wd": decay, "lazy_update": bool(self.lazy_update)}
        if "momentum" in op.attrs:
            corrected = self.momentum_correction and not is_zero(self.last_lr)
            attrs["momentum"] = self.momentum * self.cur_lr / self.last_lr if corrected else self.momentum
        self._run(op, index, arrays, **attrs)


@register
class LBSGD(SGD):
    """SGD on the mean of ``batch_scale`` gradients, with a warm-up of the learning rate.

    Parameters
    ----------
    momentum : float
    multi_precision : bool, as in ``Optimizer``
    warmup_strategy : {"linear", "power2", "sqrt", "lars"}
        How the learning rate grows to ``batch_scale`` times its value during the warm-up; ``"lars"`` scales it by the norms
        of the weight and the gradient instead.
    warmup_epochs : int
        Length of the warm-up.
    batch_scale : int
        Number of gradients that are averaged for one step.
    updates_per_epoch, begin_epoch : int
        Gradients in an epoch, and the epoch in which training starts.
    num_epochs : int
        Has no effect, as in MXNet.
    **arguments
        Other arguments of ``SGD`` and ``Optimizer``.  ``lazy_update`` applies to the sum of row_sparse gradients: a step updates
        the rows that any of them stores.
    """

    _one_call = _timeless = False
    _missed = None
    sums_over, in_order = "weight", True  # a schedule gives the rate for the updates of all weights before this one
    _why_not = "keeps the sum of several gradients between its steps"

    def __init__(self, momentum: float = 0.0, multi_precision: bool = False, warmup_strategy: str = "linear",
                 warmup_epochs: int = 5, batch_scale: int = 1, updates_per_epoch: int = 32, begin_epoch: int = 0,
                 num_epochs: int = 60, **arguments: Unpack[Rated]) -> None:
        super().__init__(momentum, multi_precision=multi_precision, **arguments)
        if warmup_strategy not in ("linear", "power2", "sqrt", "lars"):
            raise UnknownNameError.of("warm-up strategy", warmup_strategy, ("linear", "power2", "sqrt", "lars"))
        self.warmup_strategy, self.warmup_epochs, self.batch_scale = warmup_strategy, warmup_epochs, batch_scale
        self.updates_per_epoch, self.num_epochs = updates_per_epoch, num_epochs
        self.begin_epoch, self.init_updates = begin_epoch, begin_epoch * updates_per_epoch
        self._sums: dict[int, dict[Index, NDArray]] = {}

    def _changes_stored_rows_alone(self, weight: NDArray, state: State) -> bool:
        return self.batch_scale == 1 and super()._changes_stored_rows_alone(weight, state)

    def _factor(self, count: int, weight: NDArray, grad: NDArray, decay: float) -> float:
        """The factor of the learning rate."""
        if self.warmup_strategy == "lars":
            first, second = _squares(weight, grad)
            return min(max(math.sqrt(first / (second + decay * first + 1e-18)), 0.01), 100.0)
        length = self.warmup_epochs * self.updates_per_epoch
        if count >= length:
            return float(self.batch_scale)
        if length <= 1:
            return 1.0
        power = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}[self.warmup_strategy]
        progress: float = (count / length) ** power
        return 1.0 + (self.batch_scale - 1.0) * progress

    def _descend(self, index: Index, arrays: tuple[NDArray, ...], op: Op) -> None:
        weight, grad, *states = arrays
        rate, decay = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        count = self._index_update_count[index] - self.begin_num_update + self.init_updates
        sums = self._sums.setdefault(self._device, {})
        before = sums.pop(index, None)
        total = grad if before is None else add(before.as_in_context(grad.context), grad)
        if count % self.batch_scale:
            sums[index] = total.copy() if before is None else total
            return
        mean = total if self.batch_scale == 1 else total / self.batch_scale
        attrs: dict[str, float] = {
            "lr": rate * self._factor(count, weight, mean, decay), "wd": decay, "lazy_update": bool(self.lazy_update)}
        if "momentum" in op.attrs:
            attrs["momentum"] = self.momentum
        self._run(op, index, (weight, mean, *states), **attrs)
