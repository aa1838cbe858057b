"""``SequentialModule``, a chain of modules in which the outputs of each module are the data of the next one."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

from ...base.entry import entry_classes
from ...base.errors import ParameterError, ParameterNameError
from ...initializer import Uniform
from ...module.base_module import BaseModule
from ...module.checks import described, require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...base.types import Shape
    from ...core.types import Gradients
    from ...io.data import DataBatch, DataDesc
    from ...kvstore import KVStoreBase
    from ...metric.base import EvalMetric
    from ...module.types import Descriptions, Logger, Monitor, OptimizerLike, OptimizerParams, Requests
    from ...ndarray.ndarray import NDArray

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """A chain of modules: the outputs of each module are the data of the next one.

    Parameters
    ----------
    logger : module logging or Logger

    Examples
    --------
    >>> chain = mx.mod.SequentialModule()
    >>> chain.add(mx.mod.Module(features, label_names=None)).add(
    ...     mx.mod.Module(loss), take_labels=True, auto_wiring=True)
    """

    #: Keywords of ``add``.
    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: BaseModule, **kwargs: object) -> SequentialModule:
        """Append a module; the chain must be bound again before use.

        Parameters
        ----------
        module : BaseModule
        take_labels : bool
            Whether to pass the labels to the module, and its outputs to the metric.  Default False.
        auto_wiring : bool
            Whether to match the outputs of the previous module with the data of this one by order, instead of by name.
            Default False.

        Returns
        -------
        SequentialModule
            This chain.
        """
        for key in kwargs:
            if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING):
                raise ParameterNameError(f'Unknown meta "{key}", a typo?', hint="pass take_labels or auto_wiring.")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _takes_labels(self, place: int) -> bool:
        return bool(self._metas[place].get(self.META_TAKE_LABELS))

    # names and shapes

    @property
    def data_names(self) -> list[str]:
        """Names of the data of the first module; an empty list if there is none."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs of the last module; an empty list if there is none."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data to which the first module is bound."""
        require(self, "binded")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels; None if no module takes labels."""
        require(self, "binded")
        descriptions: list[DataDesc] | None = self._label_shapes
        return descriptions

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Pairs of the name and the shape of each output of the last module."""
        require(self, "binded")
        return self._modules[-1].output_shapes

    # preparation

    def bind(self, data_shapes: Descriptions, label_shapes: Descriptions = None, for_training: bool = True,
             inputs_need_grad: bool = False, force_rebind: bool = False, shared_module: object = None,
             grad_req: Requests = "write") -> None:
        """Bind the first module to ``data_shapes``, and each other module to the output shapes of the previous one.

        The arguments are those of ``Module.bind``; ``shared_module`` is not supported.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("inputs_need_grad=True requires for_training=True.", hint="leave out one of them.")
        if shared_module is not None:
            raise ParameterError("Shared module is not supported.", hint="leave shared_module out.")
        if not self._modules:
            raise ParameterError("Attempting to bind an empty SequentialModule.", hint="call add() first.")
        shapes: Any = described(data_shapes, "data_shapes")
        for place, module in enumerate(self._modules):
            if self._metas[place].get(self.META_AUTO_WIRING):
                shapes = _rewired(module, shapes)
            module.bind(data_shapes=shapes, label_shapes=label_shapes if self._takes_labels(place) else None,
                        for_training=for_training, inputs_need_grad=bool(inputs_need_grad or (for_training and place > 0)),
                        force_rebind=force_rebind, shared_module=None, grad_req=grad_req)
            shapes = module.output_shapes
        taken = any(self._takes_labels(place) for place in range(len(self._modules)))
        self._label_shapes = label_shapes if taken else None
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states of all modules by name."""
        require(self, "binded", "params_initialized")
        pairs = [module.get_params() for module in self._modules]
        arguments, states = ({name: array for some in kind for name, array in some.items()} for kind in zip(*pairs, strict=True))
        return arguments, states

    def init_params(self, initializer: Callable[..., Any] | None = Uniform(0.01), arg_params: Mapping[str, NDArray] | None = None,  # noqa: B008
                    aux_params: Mapping[str, NDArray] | None = None, allow_missing: bool = False, force_init: bool = False,
                    allow_extra: bool = False) -> None:
        """Initialize the parameters of every module; the arguments are those of ``Module.init_params``.

        Raises
        ------
        ParameterError
            If two modules have parameters of the same name.
        """
        if self.params_initialized and not force_init:
            return
        require(self, "binded")
        for module in self._modules:
            module.init_params(initializer=initializer, arg_params=arg_params, aux_params=aux_params,
                               allow_missing=allow_missing, force_init=force_init, allow_extra=allow_extra)
        self._check_names()
        self.params_initialized = True

    def _check_names(self) -> None:
        seen: dict[str, int] = {}
        for place, module in enumerate(self._modules):
            for name in (name for some in module.get_params() for name in some):
                if name in seen:
                    raise ParameterError(
                        f'Duplicated parameter names: name "{name}" in layer {place} ({type(module).__name__}) is already used '
                        f"in layer {seen[name]} ({type(self._modules[seen[name]]).__name__}).",
                        hint="rename the variables and layers of one module.")
                seen[name] = place

    def init_optimizer(self, kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
                       optimizer_params: OptimizerParams = (("learning_rate", 0.01),), force_init: bool = False) -> None:
        """Set an optimizer for every module; the arguments are those of ``Module.init_optimizer``."""
        require(self, "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params, force_init=force_init)
        self.optimizer_initialized = True

    # training

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of the modules in order; the arguments are those of ``Module.forward``."""
        require(self, "binded", "params_initialized")
        batch = copy.copy(data_batch)  # the loop replaces its data for each module
        for place, module in enumerate(self._modules):
            if place:
                shapes = self._modules[place - 1].output_shapes
                batch.data = self._modules[place - 1].get_outputs()
                names = module.data_names if self._metas[place].get(self.META_AUTO_WIRING) else [name for name, _ in shapes]
                batch.provide_data = [(name, output.shape) for name, output in zip(names, batch.data, strict=True)]
            module.forward(batch, is_train=is_train)

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradients of the modules in reverse order; ``out_grads`` are those of the last module's outputs."""
        require(self, "binded", "params_initialized", "for_training")
        for place in reversed(range(len(self._modules))):
            self._modules[place].backward(out_grads=out_grads)
            if place:
                out_grads = self._modules[place].get_input_grads()

    def update(self) -> None:
        """Make a step of the optimizer of every module."""
        require(self, "binded", "params_initialized", "optimizer_initialized")
        for module in self._modules:
            module.update()

    # results

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last module; ``merge_multi_context`` is that of ``Module.get_outputs``."""
        require(self, "binded", "params_initialized")
        return self._modules[-1].get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients with respect to the data of the first module."""
        require(self, "binded", "params_initialized", "inputs_need_grad")
        return self._modules[0].get_input_grads(merge_multi_context=merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Update a metric with the labels and the outputs of the modules that take labels."""
        require(self, "binded", "params_initialized")
        for place, module in enumerate(self._modules):
            if self._takes_labels(place):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor in every module."""
        require(self, "binded")
        for module in self._modules:
            module.install_monitor(mon)


def _rewired(module: BaseModule, shapes: Sequence[tuple[str, Shape]]) -> list[tuple[str, Any]]:
    """The output shapes of one module with the data names of the next one."""
    names = module.data_names
    if len(names) != len(shapes):
        raise ParameterError(f"auto_wiring=True requires as many outputs as data names, got {len(shapes)} outputs for {names}.",
                             hint=f"the outputs are {', '.join(output[0] for output in shapes)}.")
    return [(name, output[1]) for name, output in zip(names, shapes, strict=True)]


entry_classes(SequentialModule)
