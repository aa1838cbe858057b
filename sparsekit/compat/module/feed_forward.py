"""``FeedForward``, the API of MXNet before ``Module``, implemented with a ``Module``."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.context import Context, cpu
from ...base.entry import entry_classes
from ...base.errors import DTypeError, ModuleStateError, ParameterError, ShapeError, UnsupportedError
from ...base.warn import warn_user
from ...callback import LogValidationMetricsCallback
from ...initializer import Uniform
from ...io import DataIter, NDArrayIter, ResizeIter
from ...model import load_checkpoint
from ...module.module import Module
from ...ndarray import NDArray
from ...ndarray.checkpoints import save_checkpoint
from ...ndarray.functions import F
from ...symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array
    from ...kvstore import KVStoreBase
    from ...metric.base import MetricLike
    from ...module.types import Callbacks, Logger, Monitor, Names, OptimizerLike


class FeedForward:
    """A network whose ``fit`` and ``predict`` take arrays or iterators.  Deprecated, as in MXNet: use ``mx.mod.Module``.

    Parameters
    ----------
    symbol : Symbol
        Arguments with the names of the iterator's arrays are data and labels; the others are parameters.
    ctx : Context or list of Context, optional
        ``cpu()`` by default.
    num_epoch : int, optional
        Number of the epoch after the last.
    epoch_size : int, optional
        Number of batches per epoch; by default, an epoch is one pass through the data.
    optimizer : str or Optimizer
    initializer : Initializer
    numpy_batch_size : int
        Batch size for data in arrays.  Default 128.
    arg_params, aux_params : dict of NDArray, optional
        Initial values.
    allow_extra_params : bool
        Ignore values that the network has no parameters for.  Default False.
    begin_epoch : int
        Number of the first epoch.  Default 0.
    **kwargs
        Arguments of the optimizer.
    """

    def __init__(self, symbol: Symbol | Callable[..., Any], ctx: Context | Sequence[Context] | None = None,
                 num_epoch: int | None = None, epoch_size: int | None = None, optimizer: OptimizerLike = "sgd",
                 initializer: Callable[..., Any] | None = Uniform(0.01), numpy_batch_size: int = 128,  # noqa: B008
                 arg_params: dict[str, NDArray] | None = None, aux_params: dict[str, Any] | None = None,
                 allow_extra_params: bool = False, begin_epoch: int = 0, **kwargs: Any) -> None:
        warn_user("mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead.", DeprecationWarning)
        if not isinstance(symbol, Symbol):
            raise UnsupportedError("FeedForward does not support a function of bucket keys as symbol.",
                                   hint="use mx.mod.BucketingModule.")
        self.symbol = symbol
        self.ctx = [cpu()] if ctx is None else [ctx] if isinstance(ctx, Context) else list(ctx)
        self.num_epoch, self.epoch_size, self.begin_epoch = num_epoch, epoch_size, begin_epoch
        self.optimizer, self.kwargs, self.initializer = optimizer, dict(kwargs), initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params, self.aux_params, self.allow_extra_params = arg_params, aux_params, allow_extra_params
        if allow_extra_params:
            self.arg_params, self.aux_params = (
                None if params is None else {name: params[name] for name in names if name in params} for params, names in
                ((arg_params, symbol.list_arguments()), (aux_params, symbol.list_auxiliary_states())))

    def __repr__(self) -> str:
        return f"<FeedForward of {', '.join(self.symbol.list_outputs())}>"

    # data

    def _iterator(self, X: object, y: object, is_train: bool) -> DataIter:
        """``X`` if it is an iterator, else an iterator over the arrays."""
        if isinstance(X, DataIter):
            return X
        if not isinstance(X, (NDArray, np.ndarray)):
            raise DTypeError(f"X must be DataIter, NDArray or numpy.ndarray, not {type(X).__name__}.",
                             hint="pass mx.nd.array(X).")
        if y is None:
            if is_train:
                raise ParameterError("y must be specified when X is numpy.ndarray.", hint="call fit(X, y).")
            y = np.zeros(X.shape[0], np.float32)
        if not isinstance(y, (NDArray, np.ndarray)):
            raise DTypeError("y must be ndarray when X is numpy.ndarray.", hint="pass np.array(y).")
        labels: Any = y
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.reshape(-1)
        if labels.ndim != 1 or labels.shape[0] != X.shape[0]:
            raise ShapeError(f"y must have shape ({X.shape[0]},) for X of shape {X.shape}, got {y.shape}.",
                             hint="pass one label for each row of X.")
        size = min(X.shape[0], self.numpy_batch_size)
        return NDArrayIter(X, labels, size, shuffle=is_train, last_batch_handle="roll_over" if is_train else "pad")

    def _eval_iterator(self, eval_data: object) -> DataIter | None:
        if not isinstance(eval_data, (tuple, list)):
            if eval_data is not None and not isinstance(eval_data, DataIter):
                raise DTypeError(f"eval_data must be a DataIter or a pair of arrays, not {type(eval_data).__name__}.",
                                 hint="pass eval_data=(X, y).")
            return eval_data
        if len(eval_data) != 2 or eval_data[0] is None:
            raise ParameterError("eval_data must be a pair of data and labels.", hint="pass eval_data=(X, y).")
        X, y = (np.array(part) if isinstance(part, list) else part for part in eval_data)
        return self._iterator(X, y, y is not None)

    def _module(self, data: DataIter, labels: Names, contexts: list[Context], logger: Logger | None = None,
                work_load_list: Sequence[float] | None = None) -> Module:
        return Module(self.symbol, [description[0] for description in data.provide_data], labels, logger or logging, contexts,
                      work_load_list)

    # training

    def fit(self, X: object, y: object = None, eval_data: object = None, eval_metric: MetricLike = "acc",
            epoch_end_callback: Callbacks = None, batch_end_callback: Callbacks = None,
            kvstore: KVStoreBase | str | None = "local", logger: Logger | None = None,
            work_load_list: Sequence[float] | None = None, monitor: Monitor | None = None,
            eval_end_callback: Callbacks = LogValidationMetricsCallback(),  # noqa: B008
            eval_batch_end_callback: Callbacks = None) -> None:
        """Train the network, and set ``arg_params`` and ``aux_params``.

        Parameters
        ----------
        X : DataIter or array
        y : array, optional
            Labels, which an array ``X`` requires.
        eval_data : DataIter or pair of arrays, optional
        eval_metric, epoch_end_callback, batch_end_callback, kvstore, monitor, eval_end_callback, eval_batch_end_callback
            As for ``Module.fit``.
        logger : module logging or Logger
        work_load_list : list of float, optional
            As for ``Module``.
        """
        data = self._iterator(X, y, True)
        labels = [description[0] for description in data.provide_label or [] if description[0] in self.symbol.list_arguments()]
        module = self._module(data, labels, self.ctx, logger, work_load_list)
        if self.epoch_size is not None:
            data = ResizeIter(data, self.epoch_size, reset_internal=False)
        module.fit(data, self._eval_iterator(eval_data), eval_metric, epoch_end_callback, batch_end_callback, kvstore,
                   self.optimizer, self.kwargs, eval_end_callback, eval_batch_end_callback, self.initializer, self.arg_params,
                   self.aux_params, allow_missing=True, begin_epoch=self.begin_epoch, num_epoch=self.num_epoch, monitor=monitor)
        self.arg_params, self.aux_params = module.get_params()

    # predicting

    def _trained(self, data: DataIter) -> Module:
        """A module for prediction on the first context, with the current parameters."""
        if self.arg_params is None:
            raise ModuleStateError("The FeedForward has no parameters yet.", hint="call fit(), or FeedForward.load().")
        inputs = {description[0] for description in data.provide_data}
        labels = [name for name in self.symbol.list_arguments() if name not in self.arg_params and name not in inputs]
        module = self._module(data, labels, self.ctx[:1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about missing labels, which predictions do not need
            module.bind(data.provide_data, [description for description in data.provide_label or []
                                            if description[0] in labels] or None, for_training=False)
        module.set_params(self.arg_params, self.aux_params or {})
        return module

    def predict(self, X: object, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """Compute predictions on the first context.

        Parameters
        ----------
        X : DataIter or array
        return_data : bool
            Also return the data and the labels.  Default False.
        num_batch, reset
            As for ``Module.predict``.

        Returns
        -------
        numpy.ndarray, or list of them for several outputs; with ``return_data``, a tuple of outputs, data and labels.  Sparse
        ones are not made dense: they are NDArrays.
        """
        data = self._iterator(X, None, False)
        rows: list[list[list[Any]]] = [[], [], []]
        for outputs, _, batch in self._trained(data).iter_predict(data, num_batch, reset):
            rows[0].append([_given_out(output) for output in outputs])
            if return_data:
                for into, arrays in zip(rows[1:], (batch.data, batch.label or []), strict=True):
                    into.append([_given_out(array[:array.shape[0] - (batch.pad or 0)]) for array in arrays])
        joined = [[_joined(pieces) for pieces in zip(*some, strict=True)] for some in rows]
        merged = [some[0] if len(some) == 1 else some for some in joined]
        return tuple(merged) if return_data else merged[0]

    def score(self, X: object, eval_metric: MetricLike = "acc", num_batch: int | None = None,
              batch_end_callback: Callbacks = None, reset: bool = True) -> float:
        """Evaluate a metric on the predictions for some data, and return its value.

        Parameters
        ----------
        X : DataIter
        eval_metric, num_batch, batch_end_callback, reset
            As for ``Module.score``.
        """
        data = self._iterator(X, None, False)
        values = self._trained(data).score(data, eval_metric, num_batch, batch_end_callback, reset=reset)
        return values[0][1]

    # files

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write the symbol to ``prefix-symbol.json`` and the parameters to ``prefix-0001.params``.

        Parameters
        ----------
        prefix : str
        epoch : int, optional
            Number in the name of the file of parameters; ``num_epoch`` by default.
        remove_amp_cast : bool
            Leave out ``amp_cast`` operators.
        """
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None or self.arg_params is None:
            raise ModuleStateError("save() requires parameters and an epoch number.", hint="call fit() first, and pass epoch.")
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params or {}, remove_amp_cast)

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Context | Sequence[Context] | None = None, **kwargs: Any) -> FeedForward:
        """Load a model from the files of ``save``, of this library or of MXNet 1.x.

        Parameters
        ----------
        prefix : str
        epoch : int
        ctx : Context or list of Context, optional
        **kwargs
            Arguments of the constructor.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx=ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(symbol: Symbol | Callable[..., Any], X: object, y: object = None,
               ctx: Context | Sequence[Context] | None = None, num_epoch: int | None = None, epoch_size: int | None = None,
               optimizer: OptimizerLike = "sgd", initializer: Callable[..., Any] | None = Uniform(0.01),  # noqa: B008
               eval_data: object = None, eval_metric: MetricLike = "acc", epoch_end_callback: Callbacks = None,
               batch_end_callback: Callbacks = None, kvstore: KVStoreBase | str | None = "local",
               logger: Logger | None = None, work_load_list: Sequence[float] | None = None,
               eval_end_callback: Callbacks = LogValidationMetricsCallback(),  # noqa: B008
               eval_batch_end_callback: Callbacks = None, **kwargs: Any) -> FeedForward:
        """Make a model and train it; the arguments are those of the constructor and of ``fit``."""
        model = FeedForward(symbol, ctx=ctx, num_epoch=num_epoch, epoch_size=epoch_size, optimizer=optimizer,
                            initializer=initializer, **kwargs)
        model.fit(X, y, eval_data=eval_data, eval_metric=eval_metric, epoch_end_callback=epoch_end_callback,
                  batch_end_callback=batch_end_callback, kvstore=kvstore, logger=logger, work_load_list=work_load_list,
                  eval_end_callback=eval_end_callback, eval_batch_end_callback=eval_batch_end_callback)
        return model


def _given_out(array: NDArray) -> Array | NDArray:
    """A numpy array of a dense one, and a sparse one itself."""
    return array.asnumpy() if array.stype == "default" else array


def _joined(pieces: Sequence[Array | NDArray]) -> Array | NDArray:
    """The rows of all batches."""
    result: Array | NDArray = (np.concatenate(pieces) if isinstance(pieces[0], np.ndarray)  # type: ignore[arg-type]  # all are
                               else F.concat(*pieces, dim=0))
    return result


entry_classes(FeedForward)
