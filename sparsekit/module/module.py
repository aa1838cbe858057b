"""``Module``, which trains a symbol on one context or on several."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from .. import kvstore as stores
from .. import optimizer as optimizers
from ..base.context import Context, cpu
from ..base.errors import DTypeError, ParameterError, ShapeError, UnsupportedError, expected
from ..base.lazy import add_lazy_names
from ..base.warn import warn_user
from ..initializer import InitDesc, Uniform
from ..io import DataDesc
from ..model import load_checkpoint
from ..ndarray import zeros
from ..optimizer.compiled import CompiledStep, RepeatedStep, reason_against
from ..optimizer.optimizer import arguments_of
from ..symbol import Symbol
from .base_module import BaseModule
from .checks import (
    check_data,
    check_input_names,
    check_labels,
    check_values,
    described,
    groups_of,
    require,
    warn_of_labels,
)
from .executor_group import DataParallelExecutorGroup
from .steps import Steps, check_row_ids, store_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ..core.types import Gradients
    from ..kvstore import KVStoreBase
    from ..metric.base import EvalMetric
    from ..ndarray.ndarray import NDArray
    from ..optimizer import Optimizer, Updater
    from ..symbol.executor import Executor
    from .types import (
        Batch,
        Descriptions,
        Logger,
        Monitor,
        Names,
        OptimizerLike,
        OptimizerParams,
        Requests,
        RowIds,
    )

__all__ = ["Module"]

add_lazy_names(globals())

#: The methods that a compiled step stands for.
_PASSES = ("forward", "backward", "update", "forward_backward")


class Module(BaseModule):
    """A network defined by a symbol, with its parameters and an optimizer.

    Batches keep their storage types: a csr batch is passed to a variable declared csr without conversion, and split into csr
    parts for several contexts.  A row_sparse parameter stays row_sparse, and only the rows that a batch uses are updated.

    Parameters
    ----------
    symbol : Symbol
        The network, usually with an output layer such as ``SoftmaxOutput`` or ``LinearRegressionOutput``.
    data_names, label_names : list of str
        Arguments of the symbol that are part of a batch; the others are parameters.
    logger : module logging or Logger
    context : Context or list of Context
        Each context computes a part of every batch, and has a copy of the parameters.
    work_load_list : list of float, optional
        Share of the batch of each context; equal by default.
    fixed_param_names : list of str, optional
        Parameters that are not trained.
    state_names : list of str, optional
        Arguments that ``set_states`` sets; initially zero.
    group2ctxs : dict or list of dict, optional
        Contexts of CPUs for the groups of ``AttrScope(ctx_group=…)``: where arrays are said to be.  The graph runs as without.
    compression_params : dict, optional
        Arguments of ``DistKVStore.set_gradient_compression``.  With any other store, ``init_optimizer`` raises an error.

    Raises
    ------
    ParameterError
        If the symbol has no argument with one of the names (for labels, this is a warning), or the numbers of contexts and
        work loads differ.
    UnsupportedError
        If ``group2ctxs`` names a GPU; by ``bind``.

    Examples
    --------
    >>> data = mx.sym.Variable("data", stype="csr")
    >>> weight = mx.sym.Variable("weight", stype="row_sparse", shape=(100, 1))
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.sparse.dot(data, weight), mx.sym.Variable("label"))
    >>> mod = mx.mod.Module(net, label_names=["label"])
    >>> mod.fit(train_iter, eval_metric="mse", initializer=mx.init.Normal(), num_epoch=10)
    """

    def __init__(self, symbol: Symbol, data_names: Names = ("data",), label_names: Names = ("softmax_label",),
                 logger: Logger = logging, context: Sequence[Context] | Context = cpu(),  # noqa: B008
                 work_load_list: Sequence[float] | None = None, fixed_param_names: Names = None, state_names: Names = None,
                 group2ctxs: object = None, compression_params: dict[str, Any] | None = None) -> None:
        if not isinstance(symbol, Symbol):
            raise DTypeError(expected("symbol", "a Symbol", type(symbol)),
                             hint="define it with mx.sym; use gluon.Trainer for a Gluon block.")
        super().__init__(logger)
        self._symbol, self._context = symbol, [context] if isinstance(context, Context) else list(context)
        self._group2ctxs = groups_of(group2ctxs, len(self._context))
        self._compression_params = compression_params
        self._work_load_list = [1] * len(self._context) if work_load_list is None else list(work_load_list)
        if len(self._work_load_list) != len(self._context) or not self._context:
            raise ParameterError(f"There are {len(self._work_load_list)} work loads for {len(self._context)} contexts.",
                                 hint="pass at least one context, and one work load for each, or no work loads.")
        kinds = {"data": data_names, "label": label_names, "state": state_names, "fixed_param": fixed_param_names}
        names = {kind: _names(wanted, f"{kind}_names") for kind, wanted in kinds.items()}
        for kind, listed_names in names.items():
            check_input_names(symbol, listed_names, kind, kind != "label")
        self._data_names, self._label_names, self._state_names, self._fixed_param_names = names.values()
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None
        self._grad_req: Any = None
        self._arg_params: Any = None
        self._aux_params: Any = None
        self._params_dirty = False
        self._steps: Any = None
        self._states_file: Any = None
        self._exec_group: DataParallelExecutorGroup = None  # type: ignore[assignment]  # until it is bound

    # files

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Make a module from the files of ``save_checkpoint``, of this library or of MXNet 1.x; ``bind`` it before use.

        Parameters
        ----------
        prefix : str
            Prefix of the file names.
        epoch : int
        load_optimizer_states : bool
            Read the optimizer states of ``prefix-0001.states`` in ``init_optimizer``.  Files of MXNet, which are pickles,
            are not supported.  Default False.
        **kwargs
            Arguments of ``Module``.

        Raises
        ------
        DataFileError
            If a file is missing or damaged.
        """
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params, module.params_initialized = arg_params, aux_params, True
        if load_optimizer_states:
            module._states_file = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
                        ) -> None:
        """Write ``prefix-symbol.json``, ``prefix-0001.params`` and, if requested, ``prefix-0001.states``.

        Parameters
        ----------
        prefix : str
            Prefix of the file names.
        epoch : int
            Number in the file names.
        save_optimizer_states : bool
        remove_amp_cast : bool
            As in ``Symbol.save``.
        """
        if save_optimizer_states:
            require(self, "optimizer_initialized")
        require(self, "params_initialized")
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        path = f"{prefix}-{epoch:04d}.params"
        self.save_params(path)
        logging.info('Saved checkpoint to "%s"', path)
        if save_optimizer_states:
            path = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(path)
            logging.info('Saved optimizer state to "%s"', path)

    def save_optimizer_states(self, fname: str | Path) -> None:
        """Write the optimizer's states to a file."""
        require(self, "optimizer_initialized")
        self._steps.save(fname)

    def load_optimizer_states(self, fname: str | Path) -> None:
        """Read the optimizer's states from a file."""
        require(self, "optimizer_initialized")
        self._steps.load(fname)

    # names and shapes

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._symbol.list_outputs()

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data to which the module is bound."""
        require(self, "binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels to which the module is bound; None if there are none."""
        require(self, "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of the name and the shape of each output."""
        require(self, "binded")
        return self._exec_group.get_output_shapes()

    # binding

    def bind(self, data_shapes: Descriptions, label_shapes: Descriptions = None, for_training: bool = True,
             inputs_need_grad: bool = False, force_rebind: bool = False, shared_module: Module | None = None,
             grad_req: Requests = "write") -> None:
        """Allocate the arrays for batches of these shapes.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or of (str, tuple)
            For example an iterator's ``provide_data`` and ``provide_label``.
        for_training : bool
            Whether to compute gradients.  Default True.
        inputs_need_grad : bool
            Whether to compute gradients with respect to the data, for ``get_input_grads``.  Default False.
        force_rebind : bool
            Bind again if the module is bound; the parameters keep their values.  Default False.
        shared_module : Module, optional
            Module with which to share parameters and the optimizer.
        grad_req : str, list or dict of {"write", "add", "null"}
            For all arguments, in the order of the arguments, or by name.

        Raises
        ------
        ParameterError
            If the names are not those of the module.
        ShapeError
            If the batch sizes differ, or the network does not take these shapes.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("inputs_need_grad=True requires for_training=True.", hint="leave out one of them.")
        data, labels = self._described(data_shapes, label_shapes)
        shared = _shared_group(shared_module, len(self._context))
        if self.params_initialized and self._params_dirty and self._exec_group is not None:
            self._sync()
        group = DataParallelExecutorGroup(
            self._symbol, self._context, self._work_load_list, data, labels, self._param_names, for_training, inputs_need_grad,
            shared, self._fixed_param_names, grad_req, self._state_names, self._group2ctxs)
        self._connect_params(group, shared_module)
        self._exec_group, self._data_shapes, self._label_shapes, self._grad_req = group, data, labels, grad_req
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)

    def _described(self, data_shapes: Descriptions, label_shapes: Descriptions, warn: bool = True
                   ) -> tuple[list[DataDesc], list[DataDesc] | None]:
        data, labels = described(data_shapes, "data_shapes"), described(label_shapes or [], "label_shapes")
        check_data(self._data_names, data)
        if warn:
            warn_of_labels(self._label_names, labels)
        return data, check_labels(self._symbol, self._label_names, labels) or None

    def _connect_params(self, group: DataParallelExecutorGroup, shared_module: Module | None) -> None:
        """Connect the parameters to a new group of executors."""
        if shared_module is not None:
            self._arg_params, self._aux_params = shared_module._arg_params, shared_module._aux_params
            self.params_initialized = True
            return
        own = zip(self._param_names, group.param_arrays, strict=True), zip(self._aux_names, group.aux_arrays, strict=True)
        arguments, states = ({name: zeros(block[0].shape, cpu(), block[0].dtype, block[0].stype) for name, block in some}
                             for some in own)
        if self.params_initialized:
            check_values(arguments, self._arg_params, "argument", False, allow_extra=False)
            check_values(states, self._aux_params, "auxiliary state", False, allow_extra=False)
            for into, values in ((arguments, self._arg_params), (states, self._aux_params)):
                for name, array in into.items():
                    values[name].copyto(array)
            group.set_params(arguments, states)
        self._arg_params, self._aux_params = arguments, states

    def reshape(self, data_shapes: Descriptions, label_shapes: Descriptions = None) -> None:
        """Change the shapes of batches; the parameters stay the same.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or of (str, tuple)
        """
        require(self, "binded")
        data, labels = self._described(data_shapes, label_shapes, warn=False)
        self._exec_group.reshape(data, labels)
        self._data_shapes, self._label_shapes = data, labels

    # parameters

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name, on the CPU; with several contexts, the mean over them.

        Returns
        -------
        arg_params, aux_params : dict of NDArray
        """
        require(self, "params_initialized")
        if self._params_dirty:
            self._sync()
        return self._arg_params, self._aux_params

    def _sync(self) -> None:
        """Update the parameters on the CPU from the contexts."""
        if self._steps is not None:
            self._steps.complete(self._param_names, self._exec_group.param_arrays, prepared=True)
        self._exec_group.get_params(self._arg_params, self._aux_params)
        self._params_dirty = False

    def _has_copies(self) -> bool:
        return len(self._context) > 1

    def init_params(self, initializer: Callable[..., Any] | None = Uniform(0.01),  # noqa: B008
                    arg_params: Mapping[str, NDArray] | None = None, aux_params: Mapping[str, NDArray] | None = None,
                    allow_missing: bool = False, force_init: bool = False, allow_extra: bool = False) -> None:
        """Initialize the parameters and auxiliary states.

        Parameters
        ----------
        initializer : Initializer
            Fills the arrays that are not in ``arg_params`` and ``aux_params``; the ``init`` of a variable has precedence.
        arg_params, aux_params : dict of NDArray, optional
            Values by name.
        allow_missing : bool
            Whether ``arg_params`` and ``aux_params`` may lack names; the initializer fills these.  Default False.
        force_init : bool
            Initialize again if the parameters are initialized.  Default False.
        allow_extra : bool
            Has no effect: names that the network does not have are always ignored.

        Raises
        ------
        ParameterNameError
            If a value is missing; nothing has changed then.
        ShapeError
            If a value has another shape; nothing has changed then.
        """
        if self.params_initialized and not force_init:
            warn_user("Parameters already initialized and force_init=False. init_params call ignored.", UserWarning)
            return
        require(self, "binded")
        self._refuse_far(arg_params, initializer is not None)
        pairs = [(self._arg_params, arg_params), (self._aux_params, aux_params)]
        for held, values in pairs:
            if values is not None:
                check_values(held, values, "parameter", allow_missing)
        self._take(pairs, initializer)

    def _take(self, pairs: Sequence[tuple[dict[str, Any], Any]], initializer: Callable[..., Any] | None) -> None:
        """Copy values that are given to the parameters, have an initializer fill the others, and distribute all."""
        attrs = self._symbol.attr_dict()
        for held, values in pairs:
            for name, array in sorted(held.items()):
                if values is None or name not in values:
                    if initializer is not None:
                        initializer(InitDesc(name, attrs.get(name)), array)
                elif values[name] is not array:
                    values[name].copyto(array)
        self._distribute_params()

    def _refuse_far(self, arg_params: Mapping[str, NDArray] | None, anew: bool = False) -> None:
        """Raise if new values of parameters are given and servers of several machines hold them.

        Parameters
        ----------
        arg_params : dict of NDArray, optional
            The module's own arrays, as ``get_params`` gives them, do not count as new values.
        anew : bool
            Whether parameters that are not given get new values.
        """
        if self._steps is None or not self._steps.far or not self._steps.on_kvstore:
            return
        values = arg_params or {}
        if any(values[name] is not array if name in values else anew for name, array in self._arg_params.items()):
            raise UnsupportedError(f"The parameters lie on the servers of the kvstore '{self._steps.kvstore.type}', and cannot "
                                   "be replaced by one worker.", hint="set them before init_optimizer().")

    def _distribute_params(self) -> None:
        """Copy the parameters to every context and to the store."""
        self._exec_group.set_params(self._arg_params, self._aux_params)
        if self._steps is not None and not self._steps.far:
            for name in self._param_names:
                self._steps.set(name, self._arg_params[name])
        self.params_initialized, self._params_dirty = True, False

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray],
                   allow_missing: bool = False, force_init: bool = True, allow_extra: bool = False) -> None:
        """Set the values of the parameters and auxiliary states.

        Parameters
        ----------
        arg_params, aux_params : dict of NDArray
        allow_missing : bool
            Do not change the arrays whose names are missing.  Default False: missing names raise.
        force_init : bool
            If False, do nothing if the parameters are initialized.  Default True.
        allow_extra : bool
            With ``allow_missing``, ignore names that the network does not have, which raise otherwise.  Without
            ``allow_missing``, they are always ignored.

        Raises
        ------
        ParameterNameError, ShapeError
            As for ``init_params``; nothing has changed then.
        """
        if not allow_missing:
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warn_user("Parameters already initialized and force_init=False. set_params call ignored.", UserWarning)
            return
        require(self, "binded")
        self._refuse_far(arg_params)
        check_values(self._arg_params, arg_params, "argument", True, allow_extra)
        check_values(self._aux_params, aux_params, "auxiliary state", True, allow_extra)
        if self._params_dirty:
            self._sync()
        self._take([(self._arg_params, arg_params), (self._aux_params, aux_params)], None)

    # the optimizer

    def init_optimizer(self, kvstore: KVStoreBase | str | None = "local", optimizer: OptimizerLike = "sgd",
                       optimizer_params: OptimizerParams = (("learning_rate", 0.01),), force_init: bool = False) -> None:
        """Set the optimizer of the parameters.

        Parameters
        ----------
        kvstore : str, KVStore or None
            Store that sums the gradients of several contexts or machines.  For a single context, a name is ignored unless it
            begins with ``dist_``.
        optimizer : str or Optimizer
        optimizer_params : dict or list of pairs
            Arguments of the optimizer if it is a name; ``rescale_grad`` is 1 / batch size by default, and 1 / (batch size ·
            number of workers) with ``"dist_sync"``.
        force_init : bool
            Replace the optimizer if there is one.  Default False.
        """
        require(self, "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if self._params_dirty:
            self._sync()
        store, on_kvstore = store_for(kvstore, len(self._context), self._arg_params)
        if self._compression_params:
            (stores.KVStoreBase() if store is None else store).set_gradient_compression(self._compression_params)
        chosen = self._optimizer_of(optimizer, optimizer_params, on_kvstore, store)
        steps = Steps(chosen, store, on_kvstore, self._param_names)
        steps.start(self._param_names, self._exec_group.param_arrays, self._arg_params)
        if self._states_file is not None:
            steps.load(self._states_file)
            self._states_file = None
        self._steps, self.optimizer_initialized = steps, True

    def _optimizer_of(self, optimizer: OptimizerLike, optimizer_params: OptimizerParams, on_kvstore: bool,
                      store: KVStoreBase | None) -> Optimizer:
        count = 1 if on_kvstore else len(self._context)
        names = {number * count + place: name for place in range(count) for number, name in enumerate(self._param_names)}
        workers = store.num_workers if store is not None and "dist" in store.type and "_sync" in store.type else 1
        rescale = 1.0 / ((self._exec_group.batch_size or 1) * workers)
        if isinstance(optimizer, str):
            options = {"rescale_grad": rescale, **arguments_of(optimizer_params)}
            return optimizers.create(optimizer, sym=self._symbol, param_idx2name=names, **options)
        if not isinstance(optimizer, optimizers.Optimizer):
            raise DTypeError(expected("optimizer", "a name or an Optimizer", type(optimizer)),
                             hint="'sgd', or mx.optimizer.SGD(…).")
        if optimizer.rescale_grad != rescale:
            warn_user("Optimizer created manually outside Module but rescale_grad is not normalized to "
                          f"1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {rescale}). Is this intended?", UserWarning)
        if not optimizer.idx2name:
            optimizer.idx2name = names
        return optimizer

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of another module with which this module shares parameters."""
        require(shared_module, "optimizer_initialized")
        self._steps, self.optimizer_initialized = shared_module._steps, True

    @property
    def _optimizer(self) -> Optimizer | None:
        """The optimizer, under the name that programs for MXNet use."""
        return None if self._steps is None else self._steps.optimizer

    @property
    def _skips(self) -> bool:
        """As in ``BaseModule``."""
        return self._steps is not None and self._steps.far and self._steps.kvstore._skips

    @property
    def _kvstore(self) -> KVStoreBase | None:
        """The store of the parameters, under the name that programs for MXNet use."""
        return None if self._steps is None else self._steps.kvstore

    @property
    def _updater(self) -> Updater | None:
        """What makes the steps unless the store does, under the name that programs for MXNet use."""
        return None if self._steps is None else self._steps.updater

    # training

    def prepare(self, data_batch: Batch, sparse_row_id_fn: RowIds = None) -> None:
        """Copy the rows of row_sparse parameters that a batch needs from the store to the contexts; call before ``forward``.

        Without this call, the next forward pass copies all rows.  With a ``dist_`` store, the round trip that pushes the
        gradients of ``update`` also returns these rows and the new values of the dense parameters.

        Parameters
        ----------
        data_batch : DataBatch
        sparse_row_id_fn : callable, optional
            ``sparse_row_id_fn(data_batch)`` returns row numbers by parameter name.
        """
        require(self, "binded")
        if sparse_row_id_fn is None:
            return
        if self._steps is None or not self._steps.on_kvstore:
            warn_user("Parameters are not updated in the KVStore. No need to call sparse_row_id_fn.", UserWarning)
            return
        wanted, blocks = {}, self._exec_group.param_arrays
        for name, rows in check_row_ids(sparse_row_id_fn(data_batch), self._param_names).items():
            if blocks[self._param_names.index(name)][0].stype != "row_sparse":
                warn_user(f"{name}.stype is not 'row_sparse'. No need to perform row_sparse_pull.", UserWarning)
            else:
                wanted[name] = rows
        self._steps.prepare(wanted, self._param_names, blocks)

    def _prepare_first(self, data_batch: Batch, sparse_row_id_fn: RowIds) -> None:
        if sparse_row_id_fn is not None and self._steps is not None and self._steps.far and self._steps.on_kvstore:
            self.prepare(data_batch, sparse_row_id_fn)

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Compute the outputs for a batch; a batch of other shapes calls ``reshape``.

        Parameters
        ----------
        data_batch : DataBatch, or list of DataBatch
            A list has one batch for each context.
        is_train : bool, optional
            Default: ``for_training`` of ``bind``.

        Raises
        ------
        ParameterError
            If the number of arrays is not that of the bound shapes.
        ShapeError
            If the network does not take arrays of these shapes.
        """
        self._make_ready(data_batch, self.for_training if is_train is None else is_train)
        self._exec_group.forward(data_batch, is_train)

    def _make_ready(self, data_batch: Batch, is_train: bool) -> None:
        """Bind the shapes of a batch, and have all parameters."""
        require(self, "binded", "params_initialized")
        shapes = self._shapes_of(data_batch)
        if shapes != [description.shape for description in self._data_shapes]:
            self._reshape_to(data_batch, shapes)
        if self._steps is not None and self._steps.on_kvstore:
            self._steps.complete(self._param_names, self._exec_group.param_arrays)
        if self._aux_names and is_train:
            self._params_dirty = True  # the forward pass updates moving averages

    def _train_on(self, data_batch: Batch) -> None:
        """Make one step, as one table of compiled calls where that can be done."""
        if isinstance(data_batch, list) or not self._may_compile():
            super()._train_on(data_batch)  # type: ignore[arg-type]  # a batch for each context is a list
            return
        self._make_ready(data_batch, True)
        group = self._exec_group
        group.feed(data_batch)
        executor = group.execs[0]
        training = executor.training = executor.training or Training()
        arrays = group.param_arrays, group.grad_arrays
        self._params_dirty = True  # also if the step fails, which may have updated some
        if not (group.complete and training.repeat(self._steps.updater, executor, self._steps, self._param_names, *arrays)):
            executor.forward(is_train=True)
            self.backward()
            self.update()

    def _may_compile(self) -> bool:
        """Whether forward pass, backward pass and update are this class's, on one CPU, and nobody looks in between."""
        kind, steps = type(self), self._steps
        if any(getattr(kind, name) is not getattr(Module, name) or name in vars(self) for name in _PASSES):
            return False
        if not self.optimizer_initialized or not self.binded or len(self._context) > 1:
            return False
        if self._context[0].device_type == "gpu" or steps.kvstore is not None or steps.updater is None:
            return False
        if steps.updater.optimizer is not steps.optimizer or reason_against(steps.optimizer):
            return False
        return all(executor._monitor is None for executor in self._exec_group.execs)

    def _shapes_of(self, batch: Batch) -> list[tuple[int, ...]]:
        """Shapes of the data of a whole batch."""
        if not isinstance(batch, list):
            return [array.shape for array in batch.data]
        if len(batch) != len(self._context):
            raise ParameterError(f"A list of {len(batch)} batches was passed for {len(self._context)} contexts.",
                                 hint="pass one batch for each context.")
        parts = [[array.shape for array in sub_batch.data] for sub_batch in batch]
        if any(part != parts[0] for part in parts):
            raise ShapeError("All data batches in a list need to have the same shape.", hint=f"the shapes are {parts}.")
        return [(len(batch) * shape[0], *shape[1:]) for shape in parts[0]]

    def _reshape_to(self, batch: object, shapes: list[tuple[int, ...]]) -> None:
        """Change the bound shapes to those of a batch."""
        if len(shapes) != len(self._data_shapes):
            raise ParameterError(f"A batch has {len(shapes)} arrays of data, but {len(self._data_shapes)} are bound.",
                                 hint=f"bound, in order: {', '.join(self._data_names)}.")
        first = batch[0] if isinstance(batch, list) else batch
        data = getattr(first, "provide_data", None) or [DataDesc(old.name, shape, old.dtype, old.layout)
                                                        for old, shape in zip(self._data_shapes, shapes, strict=True)]
        labels, label = getattr(first, "provide_label", None), getattr(first, "label", None)
        if not labels and label and self._label_shapes:
            count = len(batch) if isinstance(batch, list) else 1
            labels = [DataDesc(old.name, (array.shape[0] * count, *array.shape[1:]), old.dtype, old.layout)
                      for old, array in zip(self._label_shapes, label, strict=False)]
        self.reshape(data, labels or None)

    def backward(self, out_grads: Gradients = None) -> None:
        """Compute the gradients.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Gradient of each output; output layers such as ``SoftmaxOutput`` need none.
        """
        require(self, "binded", "params_initialized")
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Make a step of the optimizer with the gradients of the last backward pass."""
        require(self, "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        self._steps.update(self._param_names, self._exec_group.param_arrays, self._exec_group.grad_arrays)

    # results

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward pass.

        Parameters
        ----------
        merge_multi_context : bool
            Concatenate the outputs of several contexts; if False, each output is a list with an array for each context.

        Returns
        -------
        list of NDArray, or list of list of NDArray
        """
        require(self, "binded", "params_initialized")
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients with respect to the data, of the last backward pass; arguments and result as for ``get_outputs``."""
        require(self, "binded", "params_initialized", "inputs_need_grad")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Values of the states; if not merged, a list for each state with an array for each context.

        Raises
        ------
        UnsupportedError
            If ``merge_multi_context`` and there are several contexts.
        """
        require(self, "binded", "params_initialized")
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: object = None, value: object = None) -> None:
        """Set the values of the states by exactly one of the arguments.

        Parameters
        ----------
        states : list of list of NDArray, optional
            For each state, one array for each context.
        value : number, optional
            Value for all states.
        """
        require(self, "binded", "params_initialized")
        self._exec_group.set_states(states, value)  # type: ignore[arg-type]  # which checks them

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Update a metric by the outputs of the last forward pass.

        Parameters
        ----------
        eval_metric : EvalMetric
        labels : list of NDArray
            Labels of the batch.
        pre_sliced : bool
            Whether ``labels`` has one list for each context.  Default False.
        """
        require(self, "binded")
        self._exec_group.update_metric(eval_metric, labels, pre_sliced, self._label_names)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor of the arrays that are computed."""
        require(self, "binded")
        self._exec_group.install_monitor(mon)


def _names(names: Names, argument: str) -> list[str]:
    """Names as a list; a single string is one name."""
    listed_names = [names] if isinstance(names, str) else list(names or [])
    if any(not isinstance(name, str) for name in listed_names):
        raise DTypeError(expected(argument, "a list of names", listed_names), hint="pass, for example, ['data'].")
    return listed_names


def _shared_group(shared_module: Module | None, contexts: int) -> DataParallelExecutorGroup | None:
    """The executors of the module with which parameters are shared."""
    if shared_module is None:
        return None
    if not isinstance(shared_module, Module):
        raise DTypeError(expected("shared_module", "a Module", type(shared_module)), hint="pass a module that is bound.")
    require(shared_module, "binded", "params_initialized")
    if len(shared_module._context) < contexts:
        raise ParameterError(f"shared_module has {len(shared_module._context)} contexts, but this module has {contexts}.",
                             hint="bind both to the same contexts.")
    return shared_module._exec_group


class Training(RepeatedStep["Executor", "Steps", "list[str]", "list[list[Any]]", "list[list[Any]]"]):  # Any: arrays
    """Forward pass, backward pass and update on the arrays that are bound.

    It is given an executor, what makes its updates, and the names, weights and gradients of the parameters.
    """

    # Any: arrays
    def _program(self, updater: Updater, executor: Executor, steps: Steps, names: list[str], weights: list[list[Any]],
                 gradients: list[list[Any]]) -> CompiledStep | str:
        step_program = executor.whole_step()
        if isinstance(step_program, str):
            return step_program
        return CompiledStep(step_program, updater,
                            {steps.numbers[name]: name for name, of_contexts in zip(names, gradients, strict=True)
                             if of_contexts[0] is not None})

    # Any: as above
    def _made(self, step: CompiledStep, executor: Executor, steps: Steps, names: list[str], weights: list[list[Any]],
              gradients: list[list[Any]]) -> bool:
        step_program = step.step_program

        def after(computed: bool, lost: bool) -> None:
            if computed:
                for _, variable, write in step_program.writers:
                    write(variable)
            if step_program.left is not None:
                executor.take(step_program.left)

        results = step((), functools.partial(steps.update, names, weights, gradients), after=after)
        if results is None:
            return False
        executor.take(results)
        return True
