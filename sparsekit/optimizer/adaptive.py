"""Optimizers with a learning rate of each element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..core.op import Op, find
from .optimizer import Optimizer, register

if TYPE_CHECKING:
    from typing import Unpack

    from ..ndarray.ndarray import NDArray
    from .types import Index, Precise, Settings, State


__all__ = ["FTML", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSProp"]


class _Adaptive(Optimizer):
    """An optimizer of one operator: its states are arrays of the operator, its attributes of the operator's name."""

    _op: Op
    #: Attributes of the optimizer that the operator takes under the same name.
    _passes: tuple[str, ...] = ()
    #: How many states, and whether they are stored as the weight is, or dense.
    _states, _like_weight = 2, False
    #: What the operator calls the bound of the gradient, and whether it has a learning rate.
    _bound, _has_rate = "clip_gradient", True
    lazy_update = False

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The states, all zero."""
        return tuple([self._zeros(weight, None if self._like_weight else "default") for _ in range(self._states)])

    def _update(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | list[NDArray] | tuple[NDArray, ...]) -> None:
        """One step, writing to ``weight`` and ``state``."""
        self._update_count(index)
        attrs: dict[str, float] = {name: getattr(self, name) for name in self._passes}
        attrs["wd"], attrs["lazy_update"], attrs["rescale_grad"] = self._get_wd(index), self.lazy_update, self.rescale_grad
        attrs[self._bound] = self.clip_gradient or -1.0
        if self._has_rate:
            attrs["lr"] = self._get_lr(index)
        self._change(attrs, self._index_update_count[index])
        self._call(self._op, index, (weight, grad, *state) if isinstance(state, (tuple, list)) else (weight, grad, state), attrs)

    def _change(self, attrs: dict[str, float], count: int) -> None:
        """Set the attributes that follow from the number of the step, or are called otherwise here."""


@register
class Adam(_Adaptive):
    """Adam: moving means of the gradient and its square.

    ``g = clip(rescale_grad * grad + wd * weight); mean = beta1 * mean + (1 - beta1) * g;
    var = beta2 * var + (1 - beta2) * g * g; weight -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * mean / (sqrt(var) + epsilon)``
    at step t.

    Parameters
    ----------
    beta1, beta2 : float
        Decay of the moving means.
    epsilon : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores: absent rows get no weight decay, and their moving
        means rest instead of decaying, so that their next step is larger than the dense one.  False gives exactly the
        dense result.  Default True.
    """

    _op, _passes = find("adam_update"), ("beta1", "beta2", "epsilon")

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 lazy_update: bool = True, **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update
        self._like_weight = lazy_update

    def _change(self, attrs: dict[str, float], count: int) -> None:
        attrs["lr"] *= math.sqrt(1 - self.beta2**count) / (1 - self.beta1**count)


@register
class AdaGrad(_Adaptive):
    """AdaGrad: rates by the sum of squared gradients.

    ``g = clip(rescale_grad * grad); state += g * g; weight -= lr * (g / sqrt(state + eps) + wd * weight)``.

    Parameters
    ----------
    eps : float
        Stands inside the root, as in MXNet.  Gradients of about its root, 0.0003, and less make smaller first steps than in
        PyTorch, whose ``eps=1e-10`` stands outside: ``eps=1e-20`` makes the same steps here.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores; this matters with weight decay alone, which MXNet
        refuses there.  Default True.
    """

    _op, _states, _like_weight = find("_sparse_adagrad_update"), 1, True

    def __init__(self, eps: float = 1e-7, lazy_update: bool = True, **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.float_stable_eps, self.lazy_update = eps, lazy_update

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The sum of squares."""
        return self._zeros(weight)

    def _change(self, attrs: dict[str, float], count: int) -> None:
        attrs["epsilon"] = self.float_stable_eps


@register
class RMSProp(_Adaptive):
    """RMSProp: rates by a moving mean of squared gradients, or ``centered`` by a moving variance, with momentum.

    ``g = clip(rescale_grad * grad + wd * weight); n = gamma1 * n + (1 - gamma1) * g * g;
    weight -= lr * g / sqrt(n + epsilon)``.  Centered: ``mean = gamma1 * mean + (1 - gamma1) * g;
    delta = gamma2 * delta - lr * g / sqrt(n - mean * mean + epsilon); weight += delta``.

    Parameters
    ----------
    gamma1, gamma2 : float
        Decay of the moving means, and of ``delta``.
    epsilon : float
    centered : bool
    clip_weights : float, optional
        Bound of the weights' absolute value.
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    _like_weight = True

    def __init__(self, learning_rate: float = 0.001, gamma1: float = 0.9, gamma2: float = 0.9, epsilon: float = 1e-8,
                 centered: bool = False, clip_weights: float | None = None, lazy_update: bool = False,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.gamma1, self.gamma2, self.epsilon, self.centered = gamma1, gamma2, epsilon, centered
        self.clip_weights, self.lazy_update = clip_weights, lazy_update
        self._select()

    def _select(self) -> None:
        """The operator, which depends on a setting."""
        self._op = find("rmspropalex_update" if self.centered else "rmsprop_update")
        self._passes = ("gamma1", "gamma2", "epsilon") if self.centered else ("gamma1", "epsilon")
        self._states = 3 if self.centered else 1

    def _change(self, attrs: dict[str, float], count: int) -> None:
        attrs["clip_weights"] = self.clip_weights or -1.0


@register
class AdaDelta(_Adaptive):
    """AdaDelta: steps as large as the last ones, without a learning rate.

    ``g = clip(rescale_grad * grad); acc_g = rho * acc_g + (1 - rho) * g * g; delta = sqrt(acc_delta + epsilon) /
    sqrt(acc_g + epsilon) * g; acc_delta = rho * acc_delta + (1 - rho) * delta * delta; weight -= delta + wd * weight``.
    (MXNet also multiplies the gradient itself by ``rescale_grad``, in place; here it stays.)

    Parameters
    ----------
    rho : float
        Decay of the moving means.
    epsilon : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    _op, _passes, _has_rate = find("adadelta_update"), ("rho", "epsilon"), False

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, lazy_update: bool = False,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.rho, self.epsilon, self.lazy_update = rho, epsilon, lazy_update


@register
class Ftrl(_Adaptive):
    """Follow the regularized leader: weights that are exactly zero where the gradients say little.

    ``g = clip(rescale_grad * grad); z += g - (sqrt(n + g * g) - sqrt(n)) * weight / lr; n += g * g;
    weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)``, zero where ``|z| <= lamda1``.

    Parameters
    ----------
    lamda1 : float
        What ``|z|`` must exceed.
    beta : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  False also computes the others from their z and n,
        which makes rows without any gradient so far zero.  Default True.  (MXNet does the first for row_sparse
        weights, the second for dense ones.)
    """

    _op, _passes, _like_weight = find("ftrl_update"), ("lamda1", "beta"), True

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, lazy_update: bool = True,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.lamda1, self.beta, self.lazy_update = lamda1, beta, lazy_update


@register
class FTML(_Adaptive):
    """Follow the moving leader.

    At step t: ``g = clip(rescale_grad * grad + wd * weight); v = beta2 * v + (1 - beta2) * g * g;
    d = (1 - beta1**t) / lr * (sqrt(v / (1 - beta2**t)) + epsilon); z = beta1 * z + (1 - beta1) * g - (d - beta1 * d_before) *
    weight; weight = -z / d``.

    Parameters
    ----------
    beta1, beta2 : float
    epsilon : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    _op, _passes, _states, _bound = find("ftml_update"), ("beta1", "beta2", "epsilon"), 3, "clip_grad"

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, lazy_update: bool = False,
                 **arguments: Unpack[Settings]) -> None:
        super().__init__(**arguments)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update

    def _change(self, attrs: dict[str, float], count: int) -> None:
        attrs["t"] = count


@register
class Adamax(_Adaptive):
    """Adam by the largest gradient.

    ``g = clip(rescale_grad * grad + wd * weight); mean = beta1 * mean + (1 - beta1) * g; u = max(beta2 * u, |g|);
    weight -= lr / (1 - beta1**t) * mean / u`` at step t.  Elements whose gradient was always zero rest; MXNet makes
    them nan.

    Parameters
    ----------
    beta1, beta2 : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    _op, _passes = find("adamax_update"), ("beta1", "beta2")

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, lazy_update: bool = False,
                 **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.lazy_update = beta1, beta2, lazy_update

    def _change(self, attrs: dict[str, float], count: int) -> None:
        attrs["lr"] /= 1 - self.beta1**count


@register
class Nadam(_Adaptive):
    """Adam with Nesterov's momentum, which grows as ``beta1 * (1 - 0.5 * 0.96 ** (t * schedule_decay))``.

    The product of all momenta so far is that of the weight's own steps; MXNet multiplies it on for every weight, so that
    there a network's result depends on how many weights it has.

    Parameters
    ----------
    beta1, beta2 : float
    epsilon : float
    schedule_decay : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores.  Default False, the dense result.
    """

    _op, _passes = find("nadam_update"), ("beta1", "beta2", "epsilon")

    def __init__(self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 schedule_decay: float = 0.004, lazy_update: bool = False, **arguments: Unpack[Precise]) -> None:
        super().__init__(learning_rate=learning_rate, **arguments)
        self.beta1, self.beta2, self.epsilon, self.schedule_decay = beta1, beta2, epsilon, schedule_decay
        self.lazy_update = lazy_update
        self._products = [1.0]

    def _momentum(self, count: int) -> float:
        return float(self.beta1 * (1 - 0.5 * 0.96 ** (count * self.schedule_decay)))

    def _change(self, attrs: dict[str, float], count: int) -> None:
        while len(self._products) <= count:
            self._products.append(self._products[-1] * self._momentum(len(self._products)))
        attrs.update(t=count, momentum=self._momentum(count), next_momentum=self._momentum(count + 1),
                     schedule=self._products[count])
