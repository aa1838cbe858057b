"""The trainer: gradients to new parameter values."""

from __future__ import annotations

from typing import Any

from ..base.errors import DTypeError, SparsekitError
from ..core import hooks
from ..ndarray.arithmetic import add
from ..optimizer import Optimizer, Updater, create
from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]


class Trainer:
    """Applies an optimizer to a set of parameters.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
    optimizer : str or Optimizer
    optimizer_params : dict, optional
        Arguments of the optimizer, such as ``{"learning_rate": 0.1}``.

    Raises
    ------
    UnknownNameError
        If there is no such optimizer; the hint names the nearest.
    """

    def __init__(self, params: Any, optimizer: str | Optimizer, optimizer_params: dict[str, Any] | None = None,
                 kvstore: Any = "device", **_kvstore_options: Any) -> None:
        found = list(params.values()) if isinstance(params, (dict, ParameterDict)) else list(params)
        for parameter in found:
            if not isinstance(parameter, Parameter):
                raise DTypeError(f"Trainer takes Parameters, not {type(parameter).__name__}.",
                                 hint="pass net.collect_params().")
        self._params = found
        self._optimizer = create(optimizer, **(optimizer_params or {}))
        self._optimizer.param_dict = dict(enumerate(found))
        self._scale = self._optimizer.rescale_grad
        self._updaters: list[Updater] = []

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Add the gradients of all contexts up, divide by ``batch_size``, and update."""
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Give every context the sum of all contexts' gradients."""
        for parameter in self._params:
            if parameter.grad_req == "null" or len(parameter._grads) < 2:
                continue
            gradients = parameter.list_grad()
            total = gradients[0].detach()
            for gradient in gradients[1:]:
                total = add(total, gradient.as_in_context(total.context))
            for gradient in gradients:
                gradient._receive(total)

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """One step of the optimizer on every parameter, gradients divided by ``batch_size``."""
        if not batch_size > 0:
            raise SparsekitError(f"batch_size={batch_size!r} is not positive.", hint="pass the number of samples of the batch.")
        self._optimizer.rescale_grad = self._scale / batch_size
        state = hooks.state
        lane, layer = state.lane, state.layer
        state.lane = "update"
        try:
            for index, parameter in enumerate(self._params):
                if parameter.grad_req == "null":
                    continue
                state.layer = parameter.name
                self._update_one(index, parameter)
        finally:
            state.lane, state.layer = lane, layer

    def _update_one(self, index: int, parameter: Parameter) -> None:
        if not parameter._arrays:
            parameter._explain_absence()
        if len(self._updaters) < len(parameter._arrays):
            self._updaters += [Updater(self._optimizer) for _ in range(len(parameter._arrays) - len(self._updaters))]
        for updater, (ctx, values) in zip(self._updaters, parameter._arrays.items(), strict=False):
            updater(index, parameter._grads[ctx], values)
