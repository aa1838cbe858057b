"""``BucketingModule``, which selects one of several networks with shared parameters for each batch."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.context import cpu
from ...base.entry import entry_classes
from ...base.errors import DTypeError, ParameterError
from ...base.naming import NameManager
from ...base.warn import warn_user
from ...initializer import Uniform
from ...module.base_module import BaseModule
from ...module.checks import check_input_names, require
from ...module.module import Module
from ...ndarray import array
from ...ndarray.checkpoints import load_params
from ...ndarray.files import load, save
from ...symbol import load as load_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...base.context import Context
    from ...base.types import Shape
    from ...core.types import Gradients
    from ...io.data import DataBatch, DataDesc
    from ...kvstore import KVStoreBase
    from ...metric.base import EvalMetric
    from ...module.types import Descriptions, Logger, Monitor, Names, OptimizerLike, OptimizerParams, Requests, RowIds
    from ...ndarray.ndarray import NDArray
    from ...symbol.symbol import Symbol


__all__ = ["BucketingModule"]


class BucketingModule(BaseModule):
    """A module for each bucket, such as a sequence length; all modules share their parameters and the optimizer.

    The ``bucket_key`` of a batch selects the module.  The first batch with a new key makes a module.

    Parameters
    ----------
    sym_gen : callable
        ``sym_gen(bucket_key)`` returns a symbol, its data names and its label names.
    default_bucket_key : hashable
        Key of the bucket that ``bind`` binds, usually the largest.  Its network must have all the parameters.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs
        As for ``Module``.
    compression_params : dict, optional
        As for ``Module``.

    Examples
    --------
    >>> def sym_gen(length):
    ...     data = mx.sym.Variable("data", shape=(0, length))
    ...     words = mx.sym.Embedding(data, input_dim=50, output_dim=8, name="embed")
    ...     net = mx.sym.FullyConnected(mx.sym.sum(words, axis=1), num_hidden=2, name="fc")
    ...     return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]
    >>> mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=20)
    """

    def __init__(self, sym_gen: Callable[[Any], tuple[Any, Any, Any]], default_bucket_key: object = None,
                 logger: Logger = logging, context: Context | Sequence[Context] = cpu(),  # noqa: B008
                 work_load_list: Sequence[float] | None = None, fixed_param_names: Names = None, state_names: Names = None,
                 group2ctxs: object = None, compression_params: object = None) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise ParameterError("BucketingModule requires default_bucket_key.", hint="pass the key of the largest bucket.")
        self._default_bucket_key, self._sym_gen = default_bucket_key, sym_gen
        self._arguments: dict[str, Any] = {"logger": logger, "context": context, "work_load_list": work_load_list,
                           "fixed_param_names": fixed_param_names, "state_names": state_names,
                           "group2ctxs": group2ctxs, "compression_params": compression_params}
        symbol, data_names, label_names = self._generated(default_bucket_key)
        for names, kind in ((data_names, "data"), (label_names, "label"), (state_names, "state"),
                            (fixed_param_names, "fixed_param")):
            check_input_names(symbol, list(names or []), kind, kind != "label")
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Module = None  # type: ignore[assignment]  # until it is bound
        self._curr_bucket_key: Any = None
        self._monitor: Any = None
        self._steps: Any = None
        self._grad_req: Any = None

    def _generated(self, bucket_key: object) -> tuple[Any, Any, Any]:
        """Symbol, data names and label names of a bucket; automatic names are numbered from 0 in each bucket."""
        with NameManager():
            generated = self._sym_gen(bucket_key)
        if not isinstance(generated, tuple) or len(generated) != 3:
            raise DTypeError(f"sym_gen({bucket_key!r}) must return (symbol, data_names, label_names), "
                             f"got {type(generated).__name__}.",
                             hint="return the three in a tuple.")
        return generated

    def _module(self, bucket_key: object) -> Module:
        """The module of a bucket, or a new module for a new bucket."""
        if bucket_key not in self._buckets:
            symbol, data_names, label_names = self._generated(bucket_key)
            with _quiet():
                return Module(symbol, data_names, label_names, **self._arguments)
        return self._buckets[bucket_key]

    # names and shapes

    @property
    def data_names(self) -> list[str]:
        """Names of the data of the current bucket."""
        return list(self._curr_module.data_names if self.binded else self._generated(self._default_bucket_key)[1])

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs of the current bucket."""
        if self.binded:
            return list(self._curr_module.output_names)
        return list(self._generated(self._default_bucket_key)[0].list_outputs())

    def _current(self) -> Module:
        require(self, "binded")
        return self._curr_module

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data to which the current bucket is bound."""
        return self._current().data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels to which the current bucket is bound; None if there are none."""
        return self._current().label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        """Pairs of the name and the shape of each output of the current bucket."""
        return self._current().output_shapes

    @property
    def symbol(self) -> Symbol:
        """The symbol of the current bucket."""
        current: Symbol = self._current().symbol
        return current

    # binding

    def bind(self, data_shapes: Descriptions, label_shapes: Descriptions = None, for_training: bool = True,
             inputs_need_grad: bool = False, force_rebind: bool = False, shared_module: object = None,
             grad_req: Requests = "write") -> None:
        """Bind the default bucket to these shapes; the first batch of each other bucket binds that bucket.

        The arguments are those of ``Module.bind``; ``shared_module`` is not supported.
        """
        if shared_module is not None:
            raise ParameterError("shared_module for BucketingModule is not supported.", hint="leave shared_module out.")
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        params = self.get_params() if self.params_initialized else None
        if self.binded:
            self.binded, self._buckets = False, {}
        module = self._module(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._buckets[self._default_bucket_key] = module
        self._curr_module, self._curr_bucket_key, self._grad_req = module, self._default_bucket_key, grad_req
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        if params is not None:
            self.set_params(*params)
        if self.optimizer_initialized:  # keep the optimizer of the previous modules
            module._steps, module.optimizer_initialized = self._steps, True

    def switch_bucket(self, bucket_key: int, data_shapes: Descriptions,
                      label_shapes: Descriptions = None) -> None:
        """Make a bucket the current one; a new bucket is bound to these shapes.

        Parameters
        ----------
        bucket_key : hashable
        data_shapes, label_shapes : list of DataDesc or of (str, tuple)
        """
        require(self, "binded")
        module = self._module(bucket_key)
        if not module.binded:
            first = self._buckets[self._default_bucket_key]
            if not data_shapes:
                raise ParameterError(f"The first batch of bucket {bucket_key!r} must have provide_data, got none.",
                                     hint="pass DataBatch(…, bucket_key=…, provide_data=…, provide_label=…).")
            with _quiet():
                module.bind(data_shapes, label_shapes, first.for_training, first.inputs_need_grad, shared_module=first,
                            grad_req=self._grad_req)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = module, bucket_key

    # parameters

    def _first(self) -> Module:
        """The module of the default bucket; marks its copy on the CPU as outdated if any bucket has changed the parameters."""
        default = self._buckets[self._default_bucket_key]
        if any(module._params_dirty for module in self._buckets.values()):
            for module in self._buckets.values():
                module._params_dirty = False
            default._params_dirty = True
        return default

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name."""
        require(self, "params_initialized")
        return self._first().get_params()

    def init_params(self, initializer: Callable[..., Any] | None = Uniform(0.01), arg_params: Mapping[str, NDArray] | None = None,  # noqa: B008
                    aux_params: Mapping[str, NDArray] | None = None, allow_missing: bool = False, force_init: bool = False,
                    allow_extra: bool = False) -> None:
        """Initialize the parameters; the arguments are those of ``Module.init_params``."""
        if self.params_initialized and not force_init:
            return
        require(self, "binded")
        self._first().init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self.params_initialized = True

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray],
                   allow_missing: bool = False, force_init: bool = True, allow_extra: bool = False) -> None:
        """Set the values of the parameters; the arguments are those of ``Module.set_params``."""
        if self.params_initialized and not force_init:
            warn_user("Parameters already initialized and force_init=False. set_params call ignored.", UserWarning)
            return
        require(self, "binded")
        self._first().set_params(arg_params, aux_params, allow_missing, True, allow_extra)
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Values of the states of the current bucket, as for ``Module.get_states``."""
        require(self, "binded", "params_initialized")
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: object = None, value: object = None) -> None:
        """Set the values of the states of the current bucket, as for ``Module.set_states``."""
        require(self, "binded", "params_initialized")
        self._curr_module.set_states(states, value)

    def init_optimizer(self, kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
                       optimizer_params: OptimizerParams = (("learning_rate", 0.01),), force_init: bool = False) -> None:
        """Set the optimizer, which all buckets share; the arguments are those of ``Module.init_optimizer``."""
        require(self, "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        first = self._first()
        first.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not first and module.binded:
                module.borrow_optimizer(first)
        self._steps, self.optimizer_initialized = first._steps, True

    # training

    def _bucket_of(self, data_batch: DataBatch) -> None:
        """Switch to the bucket of a batch."""
        key = getattr(data_batch, "bucket_key", None)
        if key is None:
            raise ParameterError("A batch for BucketingModule must have bucket_key, got None.",
                                 hint="pass DataBatch(…, bucket_key=…, provide_data=…, provide_label=…).")
        self.switch_bucket(key, data_batch.provide_data, data_batch.provide_label)

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn: RowIds = None) -> None:
        """Bind the bucket of a batch, and prepare it as for ``Module.prepare``; the current bucket stays the same."""
        require(self, "binded", "params_initialized")
        before = self._curr_module, self._curr_bucket_key
        self._bucket_of(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._curr_module, self._curr_bucket_key = before

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Switch to the bucket of a batch, and compute the outputs; the arguments are those of ``Module.forward``."""
        require(self, "binded", "params_initialized")
        self._bucket_of(data_batch)
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradients of the current bucket; ``out_grads`` is that of ``Module.backward``."""
        require(self, "binded", "params_initialized")
        self._curr_module.backward(out_grads)

    def update(self) -> None:
        """Make a step of the optimizer with the gradients of the current bucket."""
        require(self, "binded", "params_initialized", "optimizer_initialized")
        self._curr_module.update()

    # results

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward pass, as for ``Module.get_outputs``."""
        require(self, "binded", "params_initialized")
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients with respect to the data, of the last backward pass."""
        require(self, "binded", "params_initialized", "inputs_need_grad")
        return self._curr_module.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Update a metric with the outputs of the last forward pass; the arguments are those of ``Module.update_metric``."""
        require(self, "binded", "params_initialized")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor in every bucket, including buckets that are bound later."""
        require(self, "binded")
        self._monitor = mon
        for module in self._bound():
            module.install_monitor(mon)

    def _bound(self) -> Iterator[Module]:
        return (module for module in self._buckets.values() if module.binded)

    # files

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the parameters, the symbol of each bound bucket, and the bucket keys, which must be integers.

        Parameters
        ----------
        prefix : str
            Prefix of the file names.
        epoch : int
            Number in the name of the file of parameters.
        remove_amp_cast : bool
            Leave out ``amp_cast`` operators.
        """
        require(self, "params_initialized")
        if any(not isinstance(key, (int, np.integer)) for key in self._buckets):
            raise DTypeError(f"Bucket keys must be integers to be saved, got {list(self._buckets)}.",
                             hint="use sequence lengths as keys.")
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        save(f"{prefix}.buckets", array(list(self._buckets), dtype=np.int32))

    @staticmethod
    def load(prefix: str, epoch: int, sym_gen: Any = None,
             default_bucket_key: object = None, **kwargs: Any) -> BucketingModule:
        """Make a module from the files of ``save_checkpoint``; ``bind`` it before use.

        Parameters
        ----------
        prefix : str
        epoch : int
        sym_gen, default_bucket_key
            As for the constructor.
        **kwargs
            As for the constructor.

        Raises
        ------
        DataFileError
            If a file is missing or damaged.
        """
        _needed("load", sym_gen=sym_gen, default_bucket_key=default_bucket_key)
        keys = load(f"{prefix}.buckets")[0].asnumpy().astype(np.int64).tolist()
        symbols = {key: load_symbol(f"{prefix}-{key}-symbol.json") for key in keys}
        arg_params, aux_params = load_params(prefix, epoch)
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, arg_params, aux_params, **kwargs)

    @staticmethod
    def load_dict(sym_dict: Any = None, sym_gen: Any = None,
                  default_bucket_key: object = None, arg_params: object = None, aux_params: object = None,
                  **kwargs: Any) -> BucketingModule:
        """Make a module from symbols and parameters; ``bind`` it before use.

        Parameters
        ----------
        sym_dict : dict
            Symbols by bucket key.
        sym_gen, default_bucket_key
            As for the constructor.
        arg_params, aux_params : dict of NDArray
        **kwargs
            As for the constructor.
        """
        _needed("load_dict", sym_dict=sym_dict, sym_gen=sym_gen, default_bucket_key=default_bucket_key, arg_params=arg_params,
                aux_params=aux_params)
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        if default_bucket_key not in sym_dict:
            raise ParameterError(f"sym_dict must have the default bucket key {default_bucket_key!r}.",
                                 hint=f"its keys are {', '.join(map(str, sym_dict))}.")
        for key, symbol in sym_dict.items():
            _, data_names, label_names = module._generated(key)
            module._buckets[key] = Module(symbol, data_names, label_names, **module._arguments)
        module._curr_module, module._curr_bucket_key = module._buckets[default_bucket_key], default_bucket_key
        module._curr_module._arg_params, module._curr_module._aux_params = arg_params, aux_params
        module._curr_module.params_initialized = module.params_initialized = True
        return module


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings about names, which the default bucket has already raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _needed(method: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ParameterError(f"{name} is required for BucketingModule.{method}.", hint=f"pass {name}=….")


entry_classes(BucketingModule)
