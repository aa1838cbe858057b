"""Optimizers with one learning rate for all elements: gradient descent and its relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.dispatch import wrap
from ..core.op import Op, find
from .optimizer import Optimizer, register, registry

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Index, Indices, Precise, Settings, State


__all__ = ["DCASGD", "NAG", "SGD", "SGLD", "Signum", "Test", "ccSGD"]


class _Descent(Optimizer):
    """Gradient descent by one operator with momentum, one without, and the same two for float16 weights."""

    _precise = True
    #: Operators: plain, with momentum, plain and with momentum by a float32 copy.
    _ops: tuple[Op, Op, Op, Op]

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.momentum, self.lazy_update = momentum, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Momentum: row_sparse for a row_sparse weight under lazy updates, else dense."""
        if self.momentum == 0:
            return None
        return self._zeros(weight, None if self.lazy_update else "default")

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        """One step, writing to ``weight`` and ``state``."""
        if state is None:
            self._descend(index, (weight, grad), self._ops[0])
        else:
            self._descend(index, (weight, grad, state), self._ops[1])

    # Any: as in ``Optimizer.update_multi_precision``
    def update_multi_precision(self, index: Indices, weight: Any, grad: Any, state: Any) -> None:
        """One step, by the float32 copy of a float16 weight under ``multi_precision``."""
        if not self.multi_precision:
            self.update(index, weight, grad, state)
            return
        if isinstance(index, (list, tuple)) or weight.dtype != np.float16:
            super().update_multi_precision(index, weight, grad, state)
            return
        momentum, copy = state
        arrays = (weight, grad, copy) if momentum is None else (weight, grad, momentum, copy)
        self._descend(index, arrays, self._ops[2 + (momentum is not None)])

    def _descend(self, index: Index, arrays: tuple[NDArray, ...], op: Op) -> None:
        self._update_count(index)
        attrs: dict[str, float] = {"lr": self._get_lr(index), "wd": self._get_wd(index), "lazy_update": self.lazy_update,
                                   "rescale_grad": self.rescale_grad, "clip_gradient": self.clip_gradient or -1.0}
        if "momentum" in op.attrs:
            attrs["momentum"] = self.momentum
        self._call(op, index, arrays, attrs)


@register
class SGD(_Descent):
    """Stochastic gradient descent, optionally with momentum.

    ``weight -= lr * (clip(rescale_grad * grad) + wd * weight)``; with momentum,
    ``state = momentum * state - lr * (…); weight += state``.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores: absent rows get no weight decay and
        their momentum rests.  False gives exactly the dense result.  Default True.
    """

    _ops = (find("sgd_update"), find("sgd_mom_update"), find("mp_sgd_update"), find("mp_sgd_mom_update"))
    aggregate_num = 4


registry["ccsgd"] = ccSGD = SGD


@register
class NAG(_Descent):
    """Nesterov's accelerated gradient.

    ``g = clip(rescale_grad * grad) + wd * weight; state = momentum * state - lr * g;
    weight += momentum * state - lr * g``.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        As for ``SGD``, update only rows that a row_sparse gradient stores; False by default, which is what MXNet
        computes.
    """

    _ops = (find("sgd_update"), find("nag_mom_update"), find("mp_sgd_update"), find("mp_nag_mom_update"))

    def __init__(self, momentum: float = 0.0, lazy_update: bool = False, **arguments: Unpack[Settings]) -> None:
        super().__init__(momentum, lazy_update, **arguments)

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Momentum, dense."""
        return None if self.momentum == 0 else self._zeros(weight, "default")


@register
class Signum(Optimizer):
    """Steps by the sign of the momentum, or of the gradient without momentum.

    ``state = momentum * state - (1 - momentum) * (clip(rescale_grad * grad) + wd * weight);
    weight += lr * (sign(state) - wd_lh * weight)``; without momentum, ``weight -= lr * (sign(grad) + wd * weight)``.

    Parameters
    ----------
    momentum : float
    wd_lh : float
        Weight decay apart from the gradient.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, lazy_update: bool = False,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.momentum, self.wd_lh, self.lazy_update = momentum, wd_lh, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Momentum."""
        return None if self.momentum == 0 else self._zeros(weight)

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        """One step, writing to ``weight`` and ``state``."""
        self._update_count(index)
        attrs = {"lr": self._get_lr(index), "wd": self._get_wd(index), "lazy_update": self.lazy_update}
        if state is None:
            self._run(find("signsgd_update"), index, (weight, grad), **attrs)
        else:
            self._run(find("signum_update"), index, (weight, grad, state), momentum=self.momentum, wd_lh=self.wd_lh, **attrs)


@register
class DCASGD(Optimizer):
    """Gradient descent that compensates for late gradients.

    ``g = clip(rescale_grad * grad); step = lr * (g + wd * weight + lamda * g * g * (weight - previous_weight))``, which
    ``momentum`` times the last movement is added to.  (MXNet fails with momentum on arrays of several elements.)

    Parameters
    ----------
    momentum : float
    lamda : float
        Strength of the compensation.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, lazy_update: bool = False,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.momentum, self.lamda, self.lazy_update = momentum, lamda, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum, if any, and the weight before the last step."""
        return None if self.momentum == 0 else self._zeros(weight, "default"), weight.copy()

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray | None, NDArray]) -> None:
        """One step, writing to ``weight`` and ``state``."""
        self._update_count(index)
        momentum, previous = state
        attrs = {"lr": self._get_lr(index), "wd": self._get_wd(index), "lamda": self.lamda, "lazy_update": self.lazy_update}
        if momentum is None:
            self._run(find("dcasgd_update"), index, (weight, grad, previous), **attrs)
        else:
            arrays = (weight, grad, previous, momentum)
            self._run(find("dcasgd_mom_update"), index, arrays, momentum=self.momentum, **attrs)


@register
class SGLD(Optimizer):
    """Langevin dynamics: ``weight += normal(0, sqrt(lr)) - lr / 2 * (clip(rescale_grad * grad) + wd * weight)``.

    Parameters
    ----------
    lazy_update : bool
        With a row_sparse gradient, move only the rows it stores.  Default False: every row gets noise.
    """

    def __init__(self, lazy_update: bool = False, **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.lazy_update = lazy_update

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: None) -> None:
        """One step, writing to ``weight``."""
        self._update_count(index)
        self._run(find("sgld_update"), index, (weight, grad), lr=self._get_lr(index), wd=self._get_wd(index),
                  lazy_update=self.lazy_update)


@register
class Test(Optimizer):
    """For tests: ``weight += rescale_grad * grad``, and the state is the weight."""

    __test__ = False  # not a test class

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Zeros."""
        return self._zeros(weight, "default")

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        """One step, writing to ``weight`` and ``state``."""
        self._call(find("sgd_update"), index, (weight, grad), {"lr": -1.0, "rescale_grad": self.rescale_grad})
        state._receive(wrap(weight._store, weight.context))
