"""``PythonModule`` and ``PythonLossModule``, modules without parameters whose computations are written in Python."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.entry import entry_classes
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
    """Base of modules without parameters.

    A subclass defines ``forward``, ``get_outputs``, ``backward``, ``get_input_grads`` and ``_compute_output_shapes``.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
        ``label_names`` may be None.
    logger : module logging or Logger
    """

    def __init__(self, data_names: Sequence[str], label_names: Names, output_names: Sequence[str],
                 logger: Logger = logging) -> None:
        super().__init__(logger)
        self._data_names, self._output_names = list(data_names), list(output_names)
        self._label_names = None if label_names is None else list(label_names)
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None
        self._output_shapes: list[tuple[str, Shape]] = []

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
        """Descriptions of the data to which the module is bound."""
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels to which the module is bound; None if there are none."""
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Pairs of the name and the shape of each output."""
        return self._output_shapes

    def bind(self, data_shapes: Descriptions, label_shapes: Descriptions = None, for_training: bool = True,
             inputs_need_grad: bool = False, force_rebind: bool = False, shared_module: object = None,
             grad_req: Requests = "write") -> None:
        """Set the shapes; the arguments are those of ``Module.bind``, and ``grad_req`` must be ``"write"``."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ParameterError(f"PythonModule supports only grad_req='write', got {grad_req!r}.", hint="leave grad_req out.")
        data = described(data_shapes, "data_shapes")
        labels = None if label_shapes is None else described(label_shapes, "label_shapes")
        for descriptions, names in ((data, self._data_names), (labels, self._label_names)):
            if descriptions is not None and [description.name for description in descriptions] != names:
                raise ParameterError(f"The shapes are named {[description.name for description in descriptions]}, but the module "
                                     f"has the names {names}.",
                                     hint="pass the same names in the same order.")
        self._data_shapes, self._label_shapes = data, labels
        self._output_shapes = self._compute_output_shapes()
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of the name and the shape of each output; a subclass must override this method."""
        raise self._undefined("_compute_output_shapes")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name: two empty dicts."""
        return {}, {}

    def init_params(self, initializer: Callable[..., Any] | None = Uniform(0.01), arg_params: Mapping[str, NDArray] | None = None,  # noqa: B008
                    aux_params: Mapping[str, NDArray] | None = None, allow_missing: bool = False, force_init: bool = False,
                    allow_extra: bool = False) -> None:
        """Set ``params_initialized``; the arguments have no effect."""
        self.params_initialized = True

    def init_optimizer(self, kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
                       optimizer_params: OptimizerParams = (("learning_rate", 0.01),), force_init: bool = False) -> None:
        """Set ``optimizer_initialized``; the arguments have no effect."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Do nothing: there are no parameters."""

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Update a metric with labels and the outputs; without labels, do nothing."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise UnsupportedError("PythonModule does not support presliced labels.", hint="pass one batch, not a list.")
        eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss whose gradient is computed by a Python function; its output is its input, the scores.

    Parameters
    ----------
    name : str
        Prefix of the name of the output, ``name_output``.
    data_names, label_names : list of str
        One name each.
    logger : module logging or Logger
    grad_func : callable, optional
        ``grad_func(scores, labels)`` returns the gradient with respect to the scores.  A subclass may override
        ``_backward_impl`` instead.
    """

    def __init__(self, name: str = "pyloss", data_names: Sequence[str] = ("data",),
                 label_names: Sequence[str] = ("softmax_label",), logger: Logger = logging,
                 grad_func: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or self._label_names is None or len(self._label_names) != 1:
            raise ParameterError(f"A loss must have one input and one label, got {data_names} and {label_names}.",
                                 hint="pass one name for each.")
        if grad_func is not None and not callable(grad_func):
            raise DTypeError(expected("grad_func", "a function", type(grad_func)), hint="define grad_func(scores, labels).")
        self._name, self._grad_func = name, grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(f"{self._name}_output", self._data_shapes[0].shape)]

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Store the scores of a batch and, for training, the labels."""
        require(self, "binded")
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            if not data_batch.label:
                raise ParameterError("A batch for training a loss must have labels, got none.",
                                     hint="pass DataBatch(data=[…], label=[…]).")
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """A list of the scores; ``merge_multi_context`` has no effect."""
        return [self._scores]

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradient with respect to the scores; ``out_grads`` must be None."""
        require(self, "binded", "for_training")
        if out_grads is not None:
            raise ParameterError("For a loss module, out_grads should be None.", hint="call backward() without arguments.")
        self._backward_impl()

    def _backward_impl(self) -> None:
        """Set ``_scores_grad``; a subclass without ``grad_func`` must override this method."""
        if self._grad_func is None:
            raise self._undefined("_backward_impl, and has no grad_func")
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, NDArray) else array(gradient)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """A list of the gradient with respect to the scores; ``merge_multi_context`` has no effect."""
        return [self._scores_grad]

    def install_monitor(self, mon: Monitor) -> None:
        """Not supported: a loss in Python has no operators to monitor."""
        raise self._undefined("install_monitor")


entry_classes(PythonModule, PythonLossModule)
