"""Optimizers that adapt the step size of each element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from ..core.op import Op, find
from .optimizer import Optimizer, register

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Index, Precise, Settings, State


__all__ = ["FTML", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp"]


class _Adaptive(Optimizer):
    """Base of optimizers whose step is one call of an operator on the weight, the gradient and the states."""

    _one_call = True
    sums_over, in_order = "element", False
    _idle = "moving averages"
    _op: Op
    #: Attributes of the optimizer that the operator takes under the same name.
    _op_settings: tuple[str, ...] = ()
    #: Number of states, and whether they have the storage type of the weight even without lazy updates.
    _states, _like_weight = 2, False
    #: The operator's name for ``clip_gradient``, and whether it takes a learning rate.
    _clip_name, _has_rate = "clip_gradient", True
    lazy_update: bool | Literal["exact"] = False

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The states, all zero: row_sparse for a row_sparse weight if updates are lazy or they are stored like it, else dense."""
        stype = None if self._like_weight or self.lazy_update else "default"
        return tuple([self._zeros(weight, stype) for _ in range(self._states)])

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | list[NDArray] | tuple[NDArray, ...]) -> None:
        """Make one step, which writes to ``weight`` and ``state``."""
        self._update_count(index)
        attrs: dict[str, float] = {name: getattr(self, name) for name in self._op_settings}
        attrs["wd"], attrs["lazy_update"], attrs["rescale_grad"] = self._get_wd(index), bool(self.lazy_update), self.rescale_grad
        attrs[self._clip_name] = self.clip_gradient or -1.0
        if self._has_rate:
            attrs["lr"] = self._get_lr(index)
        self._adjust(attrs, self._index_update_count[index])
        self._call(self._op, index, (weight, grad, *state) if isinstance(state, (tuple, list)) else (weight, grad, state), attrs)

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        """Set the attributes that depend on the step number ``count``, or that have another name in the operator."""


@register
class Adam(_Adaptive):
    """Adam (D. Kingma and J. Ba, https://arxiv.org/abs/1412.6980): moving averages of the gradient and its square.

    ``g = clip(rescale_grad * grad + wd * weight); mean = beta1 * mean + (1 - beta1) * g;
    var = beta2 * var + (1 - beta2) * g * g; weight -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * mean / (sqrt(var) + epsilon)``
    at step t.

    Parameters
    ----------
    learning_rate : float, default 0.001
    beta1, beta2 : float
        Decay rates of the moving averages.
    epsilon : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Absent rows get no weight decay and their moving
        averages do not decay, so their next step is larger than that of a dense update.  False computes exactly the
        dense update.  Default True.
    **arguments : as in ``Optimizer``
    """

    _op, _op_settings = find("adam_update"), ("beta1", "beta2", "epsilon")

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 lazy_update: bool = True, **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        attrs["lr"] *= math.sqrt(1 - self.beta2**count) / (1 - self.beta1**count)


@register
class AdaGrad(_Adaptive):
    """AdaGrad (J. Duchi et al., JMLR 2011): steps divided by the root of the sum of squared gradients.

    ``g = clip(rescale_grad * grad); state += g * g; weight -= lr * (g / sqrt(state + eps) + wd * weight)``.

    Parameters
    ----------
    eps : float
        Added inside the root, as in MXNet.  PyTorch adds its ``eps=1e-10`` outside the root; ``eps=1e-20`` makes the same
        steps here.  With the default, gradients below about sqrt(eps) = 0.0003 make smaller first steps than in PyTorch.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  The two updates differ only with weight decay, which
        MXNet does not support for row_sparse gradients.  Default True.
    **arguments : as in ``Optimizer``
    """

    _timeless = True
    _op, _states, _like_weight = find("_sparse_adagrad_update"), 1, True
    _idle = ""

    def __init__(self, eps: float = 1e-7, lazy_update: bool = True, **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.float_stable_eps, self.lazy_update = eps, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The sum of squared gradients, zero, in the storage type of the weight."""
        return self._zeros(weight)

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        attrs["epsilon"] = self.float_stable_eps


@register
class RMSProp(_Adaptive):
    """RMSProp (T. Tieleman and G. Hinton 2012): steps divided by the root of a moving average of squared gradients.

    ``g = clip(rescale_grad * grad + wd * weight); n = gamma1 * n + (1 - gamma1) * g * g;
    weight -= lr * g / sqrt(n + epsilon)``.  With ``centered`` (A. Graves, https://arxiv.org/abs/1308.0850), the steps are
    divided by the root of a moving variance, with momentum: ``mean = gamma1 * mean + (1 - gamma1) * g;
    delta = gamma2 * delta - lr * g / sqrt(n - mean * mean + epsilon); weight += delta``.

    Parameters
    ----------
    learning_rate : float, default 0.001
    gamma1, gamma2 : float
        Decay rates of the moving averages, and of ``delta``.
    epsilon : float
    centered : bool
    clip_weights : float, optional
        Bound of the weights' absolute values; None or 0 for no bound.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _like_weight = _timeless = True

    def __init__(self, learning_rate: float = 0.001, gamma1: float = 0.9, gamma2: float = 0.9, epsilon: float = 1e-8,
                 centered: bool = False, clip_weights: float | None = None, lazy_update: bool = False,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.gamma1, self.gamma2, self.epsilon, self.centered = gamma1, gamma2, epsilon, centered
        self.clip_weights, self.lazy_update = clip_weights, lazy_update
        self._select()

    def _select(self) -> None:
        """Choose the operator, its attributes and the number of states by ``centered``."""
        self._op = find("rmspropalex_update" if self.centered else "rmsprop_update")
        self._op_settings = ("gamma1", "gamma2", "epsilon") if self.centered else ("gamma1", "epsilon")
        self._states = 3 if self.centered else 1

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        attrs["clip_weights"] = self.clip_weights or -1.0


@register
class AdaDelta(_Adaptive):
    """AdaDelta (M. Zeiler, https://arxiv.org/abs/1212.5701): step sizes from the previous steps, without a learning rate.

    ``g = clip(rescale_grad * grad); acc_g = rho * acc_g + (1 - rho) * g * g; delta = sqrt(acc_delta + epsilon) /
    sqrt(acc_g + epsilon) * g; acc_delta = rho * acc_delta + (1 - rho) * delta * delta; weight -= delta + wd * weight``.
    (MXNet also multiplies the gradient array by ``rescale_grad`` in place; here it does not change.)  A rate of 0, such as
    ``lr_mult=0`` of a parameter, keeps weight and state as they are, where MXNet moves the weight.

    Parameters
    ----------
    rho : float
        Decay rate of the moving averages.
    epsilon : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _timeless = True
    _op, _op_settings, _has_rate = find("adadelta_update"), ("rho", "epsilon"), False

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, lazy_update: bool = False,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.rho, self.epsilon, self.lazy_update = rho, epsilon, lazy_update


@register
class Ftrl(_Adaptive):
    """FTRL-Proximal (H. McMahan et al., KDD 2013): weights with small accumulated gradients are exactly zero.

    ``g = clip(rescale_grad * grad); z += g - (sqrt(n + g * g) - sqrt(n)) * weight / lr; n += g * g;
    weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)``, zero where ``|z| <= lamda1``.

    Parameters
    ----------
    lamda1 : float
        L1 regularization; weights with ``|z| <= lamda1`` are zero.
    learning_rate : float, default 0.1
        The default does not replace the ``base_lr`` of a schedule.  At a rate of 0, z and n stay as they are too, since the
        formula divides by it.
    beta : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  False also computes the other rows from z and n, which
        sets rows that never had a gradient to zero.  MXNet updates lazily if the weight is row_sparse, and all rows if it
        is dense.  Default True.
    **arguments : as in ``Optimizer``
    """

    _timeless = True
    _op, _op_settings, _like_weight = find("ftrl_update"), ("lamda1", "beta"), True
    _idle = ""

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, lazy_update: bool = True,
                 **arguments: Unpack[Precise]) -> None:
        scheduled = arguments.get("lr_scheduler") is not None and learning_rate == 0.1  # the default; as in MXNet
        super().__init__(learning_rate=None if scheduled else learning_rate, **arguments)
        self.lamda1, self.beta, self.lazy_update = lamda1, beta, lazy_update


@register
class FTML(_Adaptive):
    """Follow the moving leader (S. Zheng and J. Kwok, ICML 2017).

    At step t: ``g = clip(rescale_grad * grad + wd * weight); v = beta2 * v + (1 - beta2) * g * g;
    d = (1 - beta1**t) / lr * (sqrt(v / (1 - beta2**t)) + epsilon); z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) *
    weight; weight = -z / d``.

    At a rate of 0, d, v and z stay as they are too, since the formula divides by it.

    Parameters
    ----------
    beta1, beta2 : float
    epsilon : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _op, _op_settings, _states, _clip_name = find("ftml_update"), ("beta1", "beta2", "epsilon"), 3, "clip_grad"

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, lazy_update: bool = False,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        attrs["t"] = count


@register
class Adamax(_Adaptive):
    """Adamax (D. Kingma and J. Ba, https://arxiv.org/abs/1412.6980): Adam with the infinity norm of the gradients.

    ``g = clip(rescale_grad * grad + wd * weight); mean = beta1 * mean + (1 - beta1) * g; u = max(beta2 * u, |g|);
    weight -= lr / (1 - beta1**t) * mean / u`` at step t.  Elements whose gradient was always zero do not change; MXNet
    sets them to nan.

    Parameters
    ----------
    learning_rate : float, default 0.002
    beta1, beta2 : float
        Decay rates of ``mean`` and ``u``.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _op, _op_settings = find("adamax_update"), ("beta1", "beta2")

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, lazy_update: bool = False,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.lazy_update = beta1, beta2, lazy_update

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        attrs["lr"] /= 1 - self.beta1**count


@register
class Nadam(_Adaptive):
    """Nadam (T. Dozat, ICLR 2016): Adam with Nesterov momentum.

    The momentum at step t is ``beta1 * (1 - 0.5 * 0.96 ** (t * schedule_decay))``.  The product of the momenta of all steps
    is kept for each weight; MXNet keeps one product for all weights, so its result depends on the number of weights.

    Parameters
    ----------
    learning_rate : float, default 0.001
    beta1, beta2 : float
        Decay rates of the moving averages.
    epsilon : float
    schedule_decay : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense update.
    **arguments : as in ``Optimizer``
    """

    _op, _op_settings = find("nadam_update"), ("beta1", "beta2", "epsilon")

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 schedule_decay: float = 0.004, lazy_update: bool = False, **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.epsilon, self.schedule_decay = beta1, beta2, epsilon, schedule_decay
        self.lazy_update = lazy_update
        self._products = [1.0]

    def _momentum(self, count: int) -> float:
        return float(self.beta1 * (1 - 0.5 * 0.96 ** (count * self.schedule_decay)))

    def _adjust(self, attrs: dict[str, float], count: int) -> None:
        while len(self._products) <= count:
            self._products.append(self._products[-1] * self._momentum(len(self._products)))
        attrs.update(t=count, momentum=self._momentum(count), next_momentum=self._momentum(count + 1),
                     schedule=self._products[count])
