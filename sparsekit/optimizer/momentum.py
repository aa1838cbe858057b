"""Gradient descent and optimizers derived from it, with one learning rate for all elements of a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base.errors import LearningRateError
from ..core.dispatch import wrap
from ..core.op import Op, find
from .missed import descent
from .optimizer import Optimizer, register, registry

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Index, Indices, Precise, Settings, State


__all__ = ["DCASGD", "NAG", "SGD", "SGLD", "Signum", "Test", "ccSGD"]


class _Descent(Optimizer):
    """Base of optimizers with an operator with momentum, one without, and both for float16 weights."""

    _copy_last = _one_call = _timeless = True
    sums_over, in_order = "element", False
    #: Operators: plain, with momentum; plain and with momentum on a float32 copy.
    _ops: tuple[Op, Op, Op, Op]

    def __init__(self, momentum: float = 0.0, lazy_update: bool | Literal["exact"] = True,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.momentum, self.lazy_update = momentum, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum, zero: row_sparse for a row_sparse weight with lazy updates, else dense; None if there is none."""
        if self.momentum == 0:
            return None
        return self._zeros(weight, None if self.lazy_update else "default")

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        if state is None:
            self._descend(index, (weight, grad), self._ops[0])
        else:
            self._descend(index, (weight, grad, state), self._ops[1])

    # Any: as in ``Optimizer.update_multi_precision``
    def update_multi_precision(self, index: Indices, weight: Any, grad: Any, state: Any) -> None:
        """Make one step; under ``multi_precision``, the step of a float16 weight is computed on its float32 copy."""
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
        attrs: dict[str, float] = {"lr": self._get_lr(index), "wd": self._get_wd(index), "lazy_update": bool(self.lazy_update),
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
        At a learning rate of 0, the state decays and still moves the weight, as the formula says.  This also applies to
        ``NAG``, ``DCASGD``, ``LARS`` and ``LBSGD``.
    lazy_update : bool or "exact"
        With a row_sparse gradient, update only the rows it stores.  Absent rows get no weight decay, and their
        momentum neither decays nor moves them.  False computes exactly the dense update.  "exact" computes the same
        result up to rounding, but updates only the rows that the gradient stores; the steps that another row missed are
        applied when the row is read.  Default True.
    **arguments : as in ``Optimizer``

    Notes
    -----
    With "exact", ``dot`` with a csr array, ``Embedding``, ``take`` along the first axis and ``sparse_retain`` update only the
    rows that they read.  All other readers of the weight or its momentum, such as ``asnumpy``, ``save_parameters`` and
    ``save_states``, update all rows.  Arrays that share memory with the weight, such as the results of ``detach()`` and
    ``reshape``, do not include the missed steps.  Training steps run operator by operator.  ``dist_`` stores and GPUs do not
    support "exact".
    """

    _missed: Any = staticmethod(descent)  # Any: as in ``Optimizer``
    _ops = (find("sgd_update"), find("sgd_mom_update"), find("mp_sgd_update"), find("mp_sgd_mom_update"))
    aggregate_num = 4


registry["ccsgd"] = ccSGD = SGD


@register
class NAG(_Descent):
    """Nesterov's accelerated gradient (I. Sutskever et al., ICML 2013).

    ``g = clip(rescale_grad * grad) + wd * weight; state = momentum * state - lr * g;
    weight += momentum * state - lr * g``.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores, as ``SGD`` does.  Default False.  MXNet always updates all
        rows with momentum, and only the stored ones without.
    **arguments : as in ``Optimizer``
    """

    _ops = (find("sgd_update"), find("nag_mom_update"), find("mp_sgd_update"), find("mp_nag_mom_update"))

    def __init__(self, momentum: float = 0.0, lazy_update: bool = False, **arguments: Unpack[Settings]) -> None:
        super().__init__(momentum, lazy_update, **arguments)


@register
class Signum(Optimizer):
    """Signum (J. Bernstein et al., https://arxiv.org/abs/1802.04434): steps by the sign of the momentum or the gradient.

    ``state = momentum * state - (1 - momentum) * (clip(rescale_grad * grad) + wd * weight);
    weight += lr * (sign(state) - wd_lh * weight)``; without momentum, ``weight -= lr * (sign(grad) + wd * weight)``.

    Parameters
    ----------
    learning_rate : float, default 0.01
    momentum : float, default 0.9
    wd_lh : float
        Weight decay that is not part of the gradient (I. Loshchilov and F. Hutter); it has no effect without momentum.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _one_call = _timeless = True
    sums_over, in_order = "element", False

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, lazy_update: bool = False,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.momentum, self.wd_lh, self.lazy_update = momentum, wd_lh, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum, zero, in the storage type of the weight; None if there is none."""
        return None if self.momentum == 0 else self._zeros(weight)

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | None) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        self._update_count(index)
        attrs = {"lr": self._get_lr(index), "wd": self._get_wd(index), "lazy_update": self.lazy_update}
        if state is None:
            self._run(find("signsgd_update"), index, (weight, grad), **attrs)
        else:
            self._run(find("signum_update"), index, (weight, grad, state), momentum=self.momentum, wd_lh=self.wd_lh, **attrs)


@register
class DCASGD(Optimizer):
    """Delay-compensated asynchronous SGD (S. Zheng et al., https://arxiv.org/abs/1609.08326).

    ``g = clip(rescale_grad * grad); state = momentum * state - lr * (g + wd * weight + lamda * g * g * (weight - previous));
    weight += state``, where ``previous`` is the weight before the last step.  (MXNet raises with momentum if a weight has
    several elements.)

    Parameters
    ----------
    momentum : float
    lamda : float
        Factor of the delay compensation.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _one_call = _timeless = True
    sums_over, in_order = "element", False

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, lazy_update: bool = False,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.momentum, self.lamda, self.lazy_update = momentum, lamda, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The momentum, as of ``SGD``, or None if there is none; and a copy of the weight."""
        return None if self.momentum == 0 else self._zeros(weight, None if self.lazy_update else "default"), weight.copy()

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray | None, NDArray]) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
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
    """Stochastic gradient Langevin dynamics (M. Welling et al., ICML 2011).

    ``weight += normal(0, sqrt(lr)) - lr / 2 * (clip(rescale_grad * grad) + wd * weight)``.  The random numbers are those of
    ``mx.random``; saved states do not include its generator.

    Parameters
    ----------
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False: noise is added to every row.
    **arguments : as in ``Optimizer``
    """

    _one_call = True
    sums_over, in_order = "element", True  # it draws random numbers
    _idle = "noise"

    def __init__(self, lazy_update: bool = False, **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.lazy_update = lazy_update

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: None) -> None:
        """Make one step, which writes to ``weight``."""
        self._update_count(index)
        rate = self._get_lr(index)
        if rate < 0:
            raise LearningRateError(f"SGLD takes the root of the learning rate, and it is {rate}.",
                                    hint="use a rate of at least 0.")
        self._run(find("sgld_update"), index, (weight, grad), lr=rate, wd=self._get_wd(index), lazy_update=self.lazy_update)


@register
class Test(Optimizer):
    """An optimizer for tests: ``weight += rescale_grad * grad``, and the state is a copy of the weight."""

    __test__ = False  # not a test class
    sums_over, in_order = "element", False
    _why_not = "copies each weight after its update"

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Zeros, dense."""
        return self._zeros(weight, "default")

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        self._call(find("sgd_update"), index, (weight, grad), {"lr": -1.0, "rescale_grad": self.rescale_grad})
        state._receive(wrap(weight._store, weight.context))
