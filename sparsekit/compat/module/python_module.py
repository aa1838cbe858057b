"""Modules that are written in Python: modules without parameters, and losses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.entry import doors
from ...base.errors import DTypeError, ParameterError, UnsupportedError, expected
from ...initializer import Uniform
from ...module.base_module import BaseModule
from ...module.checks import described, require
from ...ndarray import NDArray, array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...base.types import Shape
    from ...core.types import Gradients
    from ...io.data import DataBatch, DataDesc
    from ...kvstore import KVStoreBase
    from ...metric.base import EvalMetric
    from ...module.types import Descriptions, Logger, Monitor, Names, OptimizerLike, OptimizerParams, Requests

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """Base of modules without parameters; a subclass defines ``forward``, ``get_outputs``, ``backward``,
    ``get_input_grads`` and ``_compute_output_shapes``.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
    logger : module logging or Logger
    """

    def __init__(self, data_names: Sequence[str], label_names: Names, output_names: Sequence[str],
                 logger: Logger = logging) -> None:
        super().__init__(logger)
        self._data_names, self._output_names = list(data_names), list(output_names)
        self._label_names = None if label_names is None else list(label_names)
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data it is bound to."""
        found: list[DataDesc] = self._data_shapes
        return found

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels it is bound to; None without any."""
        found: list[DataDesc] | None = self._label_shapes
        return found

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Names and shapes of the outputs."""
        found: list[tuple[str, Shape]] = self._output_shapes
        return found

    def bind(self, data_shapes: Descriptions, label_shapes: Descriptions = None, for_training: bool = True,
             inputs_need_grad: bool = False, force_rebind: bool = False, shared_module: object = None,
             grad_req: Requests = "write") -> None:
        """Take over the shapes; the arguments are those of ``Module.bind``."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ParameterError(f"Python module only support write gradient, not {grad_req!r}.", hint="grad_req='write'")
        data = described(data_shapes, "data_shapes")
        labels = None if label_shapes is None else described(label_shapes, "label_shapes")
        for given, names in ((data, self._data_names), (labels, self._label_names)):
            if given is not None and [one.name for one in given] != names:
                raise ParameterError(f"Shapes of {[one.name for one in given]} were given to a module for {names}.",
                                     hint="the names and their order must agree.")
        self._data_shapes, self._label_shapes = data, labels
        self._output_shapes = self._compute_output_shapes()
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs, from those of data and labels; to be overridden."""
        raise self._undefined("_compute_output_shapes")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two empty dicts."""
        return {}, {}

    def init_params(self, initializer: Callable[..., Any] | None = Uniform(0.01), arg_params: Mapping[str, NDArray] | None = None,  # noqa: B008
                    aux_params: Mapping[str, NDArray] | None = None, allow_missing: bool = False, force_init: bool = False,
                    allow_extra: bool = False) -> None:
        """Nothing is to be done without parameters."""
        self.params_initialized = True

    def init_optimizer(self, kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
                       optimizer_params: OptimizerParams = (("learning_rate", 0.01),), force_init: bool = False) -> None:
        """Nothing is to be done without parameters."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Nothing is to be done without parameters."""

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Let a metric take in the outputs, if there are labels to compare with."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise UnsupportedError("PythonModule does not support presliced labels.", hint="give one batch, not a list.")
        eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss whose gradient a Python function computes; its output is its input, the scores.

    Parameters
    ----------
    name : str
        The output is called ``name_output``.
    data_names, label_names : list of one str
    logger : module logging or Logger
    grad_func : callable, optional
        ``grad_func(scores, labels)`` gives the gradient of the scores; a subclass may override ``_backward_impl`` instead.
    """

    def __init__(self, name: str = "pyloss", data_names: Sequence[str] = ("data",),
                 label_names: Sequence[str] = ("softmax_label",), logger: Logger = logging,
                 grad_func: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or self._label_names is None or len(self._label_names) != 1:
            raise ParameterError(f"A loss must have one input and one label, got {data_names} and {label_names}.",
                                 hint="name one each.")
        if grad_func is not None and not callable(grad_func):
            raise DTypeError(expected("grad_func", "a function", type(grad_func)), hint="it takes scores and labels.")
        self._name, self._grad_func = name, grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(f"{self._name}_output", self._data_shapes[0].shape)]

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Keep the scores, and for training the labels."""
        require(self, "binded")
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            if not data_batch.label:
                raise ParameterError("The batch has no labels, and a loss needs them.", hint="DataBatch(data=[…], label=[…])")
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The scores."""
        return [self._scores]

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradient of the scores."""
        require(self, "binded", "for_training")
        if out_grads is not None:
            raise ParameterError("For a loss module, out_grads should be None.", hint="it is the end of the chain.")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Set ``_scores_grad``; to be overridden where there is no ``grad_func``."""
        if self._grad_func is None:
            raise self._undefined("_backward_impl, and has no grad_func")
        found = self._grad_func(self._scores, self._labels)
        self._scores_grad = found if isinstance(found, NDArray) else array(found)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradient of the scores."""
        return [self._scores_grad]

    def install_monitor(self, mon: Monitor) -> None:
        """Nothing is computed that a monitor could see."""
        raise self._undefined("install_monitor")


doors(PythonModule, PythonLossModule)
