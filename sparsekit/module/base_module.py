"""The base class of modules: training, scoring and prediction with the methods that a subclass defines."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import metric
from ..base.errors import DTypeError, ParameterError, ShapeError, UnsupportedError
from ..base.lazy import add_lazy_names
from ..base.warn import warn_user
from ..callback import BatchEndParam
from ..initializer import Uniform
from ..io import DataBatch, DataIter
from ..ndarray import NDArray, array
from ..ndarray.checkpoints import read_parameters, write_parameters
from ..ndarray.functions import F
from .checks import listed, require
from .fit_loop import FitLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ..base.types import Shape
    from ..core.types import Gradients
    from ..io.data import DataDesc
    from ..kvstore import KVStoreBase
    from ..metric.base import EvalMetric, MetricLike
    from .types import Batch, Callbacks, Descriptions, Logger, Monitor, OptimizerLike, OptimizerParams, Requests, RowIds


__all__ = ["BaseModule"]

add_lazy_names(globals())


class BaseModule:
    """Base of modules: networks with parameters and an optimizer, which are trained batch by batch.

    ``bind`` sets the shapes, ``init_params`` the parameters and ``init_optimizer`` the optimizer.  Then ``forward``,
    ``backward`` and ``update`` make a training step.  ``fit`` calls all of these methods.  A subclass defines them; ``fit``,
    ``score`` and ``predict`` use them.

    Parameters
    ----------
    logger : module logging or Logger

    Attributes
    ----------
    binded, params_initialized, optimizer_initialized : bool
        Whether ``bind``, ``init_params`` and ``init_optimizer`` have been called.
    for_training, inputs_need_grad : bool
        The arguments of ``bind``.
    """

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self.binded = self.params_initialized = self.optimizer_initialized = False
        self.for_training = self.inputs_need_grad = False
        self._symbol: Any = None

    def __repr__(self) -> str:
        states = [word for word, yes in (("bound", self.binded), ("initialized", self.params_initialized),
                                         ("with an optimizer", self.optimizer_initialized)) if yes]
        outputs = "" if self._symbol is None else f" of {', '.join(self._symbol.list_outputs())}"
        return f"<{type(self).__name__}{outputs}: {', '.join(states) or 'not bound'}>"

    # training

    def forward_backward(self, data_batch: DataBatch) -> None:
        """``forward`` with ``is_train=True``, then ``backward``."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def fit(self, train_data: DataIter, eval_data: DataIter | None = None, eval_metric: MetricLike = "acc",
            epoch_end_callback: Callbacks = None, batch_end_callback: Callbacks = None,
            kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
            optimizer_params: OptimizerParams = (("learning_rate", 0.01),), eval_end_callback: Callbacks = None,
            eval_batch_end_callback: Callbacks = None, initializer: Callable[..., Any] | None = Uniform(0.01),  # noqa: B008
            arg_params: Mapping[str, NDArray] | None = None, aux_params: Mapping[str, NDArray] | None = None,
            allow_missing: bool = False, force_rebind: bool = False, force_init: bool = False, begin_epoch: int = 0,
            num_epoch: int | None = None, validation_metric: MetricLike | None = None, monitor: Monitor | None = None,
            sparse_row_id_fn: RowIds = None) -> None:
        """Bind the module, initialize its parameters and optimizer if necessary, and train it.

        Parameters
        ----------
        train_data, eval_data : DataIter
            Batches for training, and for scoring after each epoch.
        eval_metric, validation_metric : str, EvalMetric or list
            Metrics on ``train_data`` and on ``eval_data``; ``validation_metric`` is ``eval_metric`` by default.
        epoch_end_callback : callable or list
            ``callback(epoch, symbol, arg_params, aux_params)``.
        batch_end_callback, eval_end_callback, eval_batch_end_callback : callable or list
            ``callback(param)`` with a ``BatchEndParam``.
        kvstore : str, KVStore or None
            Store that sums the gradients of several contexts.
        optimizer : str or Optimizer
        optimizer_params : dict or list of pairs
            Arguments of the optimizer if it is a name; ``rescale_grad`` is 1 / batch size by default.
        initializer : Initializer
            Fills parameters that are not in ``arg_params``; the ``init`` of a variable has precedence.
        arg_params, aux_params : dict of NDArray, optional
            Initial values.
        allow_missing : bool
            Whether ``arg_params`` and ``aux_params`` may lack names; the initializer fills these.
        force_rebind, force_init : bool
            Bind or initialize again if the module is bound or initialized.
        begin_epoch, num_epoch : int
            Number of the first epoch, and of the epoch after the last.
        monitor : Monitor, optional
        sparse_row_id_fn : callable, optional
            As for ``prepare``.

        Raises
        ------
        ParameterError
            Without ``num_epoch``.
        DataFileError
            If ``train_data`` has no batches.
        """
        if num_epoch is None:
            raise ParameterError("please specify number of epochs", hint="fit(train_data, num_epoch=10)")
        self.bind(data_shapes=train_data.provide_data, label_shapes=train_data.provide_label, for_training=True,
                  force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer=initializer, arg_params=arg_params, aux_params=aux_params,
                         allow_missing=allow_missing, force_init=force_init)
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        loop = FitLoop(self, train_data, eval_data, metric.create(eval_metric),
                       eval_metric if validation_metric is None else validation_metric, epoch_end_callback, batch_end_callback,
                       eval_end_callback, eval_batch_end_callback, monitor, sparse_row_id_fn)
        loop.epochs_done = begin_epoch
        loop.run(num_epoch)

    @property
    def _skips(self) -> bool:
        """Whether steps are passed over that a snapshot of a run on several machines has."""
        return False

    def _prepare_first(self, data_batch: DataBatch, sparse_row_id_fn: RowIds) -> None:
        """Prepare for the first batch of an epoch, if that spares fetching all rows."""

    def _train_on(self, data_batch: DataBatch) -> None:
        """Make one step."""
        self.forward_backward(data_batch)
        self.update()

    def _end_epoch(self, epoch: int, callbacks: list[Any]) -> None:
        """Set the parameters of every context to the mean over all contexts, and call the callbacks with the parameters."""
        if callbacks or self._has_copies():
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            for callback in callbacks:
                callback(epoch, self.symbol, arg_params, aux_params)

    def _has_copies(self) -> bool:
        """Whether there may be several copies of the parameters with different values."""
        return True

    def _measure(self, eval_metric: EvalMetric, data_batch: Batch) -> None:
        if isinstance(data_batch, list):
            self.update_metric(eval_metric, [batch.label for batch in data_batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, data_batch.label)

    # scoring and predicting

    def score(self, eval_data: DataIter, eval_metric: MetricLike, num_batch: int | None = None,
              batch_end_callback: Callbacks = None, score_end_callback: Callbacks = None, reset: bool = True, epoch: int = 0,
              sparse_row_id_fn: RowIds = None) -> list[tuple[str, float]]:
        """Evaluate a metric on the predictions for some data.

        Parameters
        ----------
        eval_data : DataIter
        eval_metric : str, EvalMetric or list
        num_batch : int, optional
            Number of batches; all by default.
        batch_end_callback, score_end_callback : callable or list
            ``callback(param)`` with a ``BatchEndParam``.
        reset : bool
            Reset ``eval_data`` first.  Default True.
        epoch : int
            Number of the epoch for the callbacks.
        sparse_row_id_fn : callable, optional
            As for ``prepare``.

        Returns
        -------
        list of (str, float)
            Names and values of the metric.
        """
        require(self, "binded", "params_initialized")
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        count = 0
        for nbatch, eval_batch in self._predict_batches(eval_data, num_batch, reset, sparse_row_id_fn):
            self._measure(eval_metric, eval_batch)
            for callback in [] if self._skips else listed(batch_end_callback):
                callback(BatchEndParam(epoch, nbatch, eval_metric, locals()))
            count = nbatch + 1
        for callback in listed(score_end_callback):
            callback(BatchEndParam(epoch, count, eval_metric, locals()))
        results: list[tuple[str, float]] = eval_metric.get_name_value()
        return results

    def _predict_batches(self, eval_data: DataIter, num_batch: int | None, reset: bool, sparse_row_id_fn: RowIds
                   ) -> Iterator[tuple[int, Any]]:
        """Yield the number of each batch and the batch, after computing its predictions."""
        if reset:
            eval_data.reset()
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            yield nbatch, eval_batch

    def iter_predict(self, eval_data: DataIter, num_batch: int | None = None, reset: bool = True,
                     sparse_row_id_fn: RowIds = None) -> Iterator[tuple[list[Any], int, Any]]:
        """Yield the outputs for each batch, without padding rows, the number of the batch, and the batch.

        Parameters
        ----------
        eval_data : DataIter
        num_batch : int, optional
            Number of batches; all by default.
        reset : bool
            Reset ``eval_data`` first.  Default True.
        sparse_row_id_fn : callable, optional
            As for ``prepare``.
        """
        require(self, "binded", "params_initialized")
        for nbatch, eval_batch in self._predict_batches(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded(eval_batch), nbatch, eval_batch

    def _unpadded(self, batch: DataBatch) -> list[Any]:
        """The outputs without padding rows."""
        pad = getattr(batch, "pad", None) or 0
        return [output[:output.shape[0] - pad] if pad else output for output in self.get_outputs()]

    def predict(self, eval_data: object, num_batch: int | None = None, merge_batches: bool = True, reset: bool = True,
                always_output_list: bool = False, sparse_row_id_fn: RowIds = None) -> Any:
        """Compute predictions for some data.

        Parameters
        ----------
        eval_data : DataIter, NDArray or numpy array
            An array is one batch, of which the first output is returned.
        num_batch : int, optional
            Number of batches; all by default.
        merge_batches : bool
            Concatenate the predictions of all batches.  Default True.
        reset : bool
            Reset ``eval_data`` first.  Default True.
        always_output_list : bool
            Return a list even if there is only one output.  Default False.
        sparse_row_id_fn : callable, optional
            As for ``prepare``.

        Returns
        -------
        NDArray, list of NDArray, or list of list of NDArray
            The output, a list of several outputs, or a list of outputs for each batch if they are not merged.
        """
        require(self, "binded", "params_initialized")
        if isinstance(eval_data, (NDArray, np.ndarray)):
            self.forward(DataBatch([array(eval_data) if isinstance(eval_data, np.ndarray) else eval_data]), is_train=False)
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            raise DTypeError(f"eval_data must be of type NDArray or DataIter, not {type(eval_data).__name__}.",
                             hint="mx.io.NDArrayIter(data, batch_size=…) makes an iterator.")
        outputs_of_batches = [outputs for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)]
        if not outputs_of_batches or not merge_batches:
            return outputs_of_batches
        if len({len(outputs) for outputs in outputs_of_batches}) > 1:
            raise ShapeError("Cannot merge batches, as num of outputs is not the same in mini-batches.",
                             hint="pass merge_batches=False, for instance with bucketing.")
        merged = [pieces[0] if len(pieces) == 1 else F.concat(*pieces, dim=0) for pieces in zip(*outputs_of_batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    # parameters in files

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray],
                   allow_missing: bool = False, force_init: bool = True, allow_extra: bool = False) -> None:
        """Set the values of the parameters; the arguments are those of ``init_params``."""
        self.init_params(initializer=None, arg_params=arg_params, aux_params=aux_params, allow_missing=allow_missing,
                         force_init=force_init, allow_extra=allow_extra)

    def save_params(self, fname: str | Path) -> None:
        """Write the parameters to a file, which ``mx.nd.load`` and MXNet 1.9.1 can read."""
        write_parameters(str(fname), *self.get_params())

    def load_params(self, fname: str | Path) -> None:
        """Read the parameters from a file; a damaged file, or a file of another network, changes nothing."""
        self.set_params(*read_parameters(fname))

    # methods that a subclass may override

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: RowIds = None) -> None:
        """Prepare for a batch, before ``forward``.

        Parameters
        ----------
        data_batch : DataBatch
        sparse_row_id_fn : callable, optional
            ``sparse_row_id_fn(data_batch)`` returns the row numbers that the batch needs, by name of row_sparse parameter.
        """
        if sparse_row_id_fn is not None:
            warn_user("sparse_row_id_fn is not invoked for BaseModule.", UserWarning)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Values of the states; an empty list if there are none."""
        require(self, "binded", "params_initialized")
        return []

    def set_states(self, states: object = None, value: object = None) -> None:
        """Set the values of the states."""
        require(self, "binded", "params_initialized")
        if states or value:
            raise UnsupportedError(f"{type(self).__name__} has no states.", hint="use Module(…, state_names=[…]).")

    @property
    def symbol(self) -> Any:  # Any: a Symbol, or None where there is none
        """The symbol of the network, or None."""
        return self._symbol

    # methods that a subclass must override

    def _undefined(self, name: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} does not define {name}.", hint="override it in the subclass.")

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        raise self._undefined("data_names")

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        raise self._undefined("output_names")

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data to which the module is bound."""
        raise self._undefined("data_shapes")

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels to which the module is bound; None if there are none."""
        raise self._undefined("label_shapes")

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Pairs of the name and the shape of each output."""
        raise self._undefined("output_shapes")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name."""
        raise self._undefined("get_params")

    def init_params(self, initializer: Callable[..., Any] | None = Uniform(0.01),  # noqa: B008
                    arg_params: Mapping[str, NDArray] | None = None, aux_params: Mapping[str, NDArray] | None = None,
                    allow_missing: bool = False, force_init: bool = False, allow_extra: bool = False) -> None:
        """Initialize parameters and auxiliary states."""
        raise self._undefined("init_params")

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor of the arrays that are computed."""
        raise self._undefined("install_monitor")

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs for a batch."""
        raise self._undefined("forward")

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradients."""
        raise self._undefined("backward")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward pass."""
        raise self._undefined("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients with respect to the data, of the last backward pass."""
        raise self._undefined("get_input_grads")

    def update(self) -> None:
        """Make a step of the optimizer."""
        raise self._undefined("update")

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Update a metric by the outputs of the last forward pass."""
        raise self._undefined("update_metric")

    def bind(self, data_shapes: Descriptions, label_shapes: Descriptions = None, for_training: bool = True,
             inputs_need_grad: bool = False, force_rebind: bool = False, shared_module: Any = None,
             grad_req: Requests = "write") -> None:
        """Allocate the arrays for data of these shapes."""
        raise self._undefined("bind")

    def init_optimizer(self, kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
                       optimizer_params: OptimizerParams = (("learning_rate", 0.01),), force_init: bool = False) -> None:
        """Set the optimizer of the parameters."""
        raise self._undefined("init_optimizer")
