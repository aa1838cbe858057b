"""The optimizer base class, its registry, and stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..base.errors import SparsekitError, UnknownNameError
from ..core import hooks
from ..core.dispatch import invoke, wrap
from ..core.op import find
from ..kernels import for_device
from ..ops.creation import empty_store

__all__ = ["SGD", "Optimizer", "Updater", "create", "get_updater", "register", "registry"]

registry: dict[str, type[Optimizer]] = {}

_SGD, _MOMENTUM = find("sgd_update"), find("sgd_mom_update")


def register(cls: type[Optimizer]) -> type[Optimizer]:
    """Make an optimizer known under its lower-case name."""
    registry[cls.__name__.lower()] = cls
    return cls


def create(name: Any, **arguments: Any) -> Optimizer:
    """The optimizer that a name or an instance stands for.

    Raises
    ------
    UnknownNameError
        If no optimizer has that name.
    """
    if isinstance(name, Optimizer):
        return name
    found = registry.get(str(name).lower())
    if found is None:
        raise UnknownNameError.of("optimizer", name, registry)
    return found(**arguments)


class Optimizer:
    """Base of all optimizers.

    Parameters
    ----------
    learning_rate : float
    wd : float
        Weight decay: each step also moves the weight by ``-lr * wd * weight``.
    rescale_grad : float
        Factor of every gradient; the Trainer sets it to one over the batch size.
    clip_gradient : float, optional
        Bound of the rescaled gradient's absolute value.
    param_dict : dict, optional
        Index to Parameter, whose ``lr_mult`` and ``wd_mult`` then count.
    """

    def __init__(self, rescale_grad: float = 1.0, learning_rate: float = 0.01, wd: float = 0.0,
                 clip_gradient: float | None = None, param_dict: dict[int, Any] | None = None, **unknown: Any) -> None:
        if unknown:
            raise UnknownNameError.of(f"argument of {type(self).__name__}", next(iter(unknown)),
                                      ("learning_rate", "wd", "rescale_grad", "clip_gradient", "momentum", "lazy_update"))
        self.lr, self.wd, self.rescale_grad, self.clip_gradient = learning_rate, wd, rescale_grad, clip_gradient
        self.param_dict = param_dict or {}
        self.num_update = 0
        self._counts: dict[Any, int] = {}

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self.lr

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate."""
        self.lr = lr

    def create_state(self, index: Any, weight: Any) -> Any:
        """The state that a weight needs; None if there is none."""
        return None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """One step; to be overridden."""
        raise SparsekitError(f"{type(self).__name__} does not say how to update.", hint="override update().")

    def _step(self, index: Any) -> tuple[float, float]:
        """Count a step of one parameter; its learning rate and weight decay."""
        self._counts[index] = count = self._counts.get(index, 0) + 1
        self.num_update = max(self.num_update, count)
        parameter = self.param_dict.get(index)
        if parameter is None:
            return self.lr, self.wd
        return self.lr * parameter.lr_mult, self.wd * parameter.wd_mult


@register
class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if asked for.

    ``weight -= lr * (clip(rescale_grad * grad) + wd * weight)``; with momentum,
    ``state = momentum * state - lr * (…); weight += state``.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        With a row_sparse gradient, update only the rows it stores: absent rows get no weight decay and
        their momentum rests.  False gives exactly the dense result.  Default True.
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.momentum, self.lazy_update = momentum, lazy_update

    def create_state(self, index: Any, weight: Any) -> Any:
        """Momentum: row_sparse for a row_sparse weight under lazy updates, else dense."""
        if self.momentum == 0:
            return None
        stype = weight.stype if self.lazy_update else "default"
        xp = for_device(weight.context.device_type).xp
        return wrap(empty_store(xp, stype, weight.shape, weight.dtype), weight.context)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """One step, writing to ``weight`` and ``state``."""
        lr, wd = self._step(index)
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        attrs = {"lr": lr, "wd": wd, "rescale_grad": self.rescale_grad, "clip_gradient": clip,
                 "lazy_update": self.lazy_update}
        if state is None:
            invoke(_SGD.bind(attrs), (weight, grad))
        else:
            attrs["momentum"] = self.momentum
            invoke(_MOMENTUM.bind(attrs), (weight, grad, state))


class Updater:
    """Applies an optimizer to weights by index, keeping each one's state."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update one weight by its gradient."""
        if index not in self.states:
            state = self.states[index] = self.optimizer.create_state(index, weight)
            parameter = self.optimizer.param_dict.get(index)
            if state is not None:
                hooks.assign(state, "optimizer state", str(index) if parameter is None else parameter.name)
        self.optimizer.update(index, weight, grad, self.states[index])


def get_updater(optimizer: Optimizer) -> Updater:
    """A function ``updater(index, grad, weight)`` that applies the optimizer."""
    return Updater(optimizer)
