"""The trainer: gradients to new parameter values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.changes import changes
from ..base.context import Context
from ..base.errors import (
    DTypeError,
    InitializationError,
    ParameterError,
    StaleGradientError,
    UnsupportedError,
    expected,
)
from ..base.files import write_whole
from ..kvstore import DistKVStore, KVStore, KVStoreBase
from ..kvstore import create as create_kvstore
from ..kvstore.kvstore import read_states
from ..ndarray.ndarray import NDArray
from ..optimizer import Optimizer, Updater, create
from ..optimizer.optimizer import arguments_of
from ..optimizer.updater import UpdateLane
from .parameter import Parameter, ParameterDict
from .servers import TrainerServers
from .update_tables import CompiledUpdates
from .user_python import is_ours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..optimizer.types import Index, State
    from .update_tables import Pending


__all__ = ["Trainer"]

#: The methods that ``step`` consists of, none of which is called where a table makes the step.
_OF_A_STEP = frozenset(("step", "_divide_by", "_follow", "_allreduce_grads", "_update", "_pending",
                        "_update_one_by_one"))


class UpdatedOnKVStoreError(UnsupportedError, AssertionError):
    """A step is made in parts, and the kvstore makes it as a whole; an ``AssertionError`` in MXNet."""


class Trainer:
    """Applies an optimizer to a set of parameters, on one context or several.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
        Parameters that are initialized, or whose initialization is deferred.  All must be on the same contexts.
    optimizer : str or Optimizer
    optimizer_params : dict, optional
        Arguments of the optimizer, such as ``{"learning_rate": 0.1, "wd": 1e-4, "lr_scheduler": schedule}``.
    kvstore : {"device", "local", "dist_sync", "dist_async", "dist_device_sync", None} or KVStoreBase
        The store that sums the gradients of several contexts.  With None the contexts are not synchronized.  On a single
        context, only the ``dist_`` stores sum anything.
    compression_params : dict, optional
        Arguments of ``DistKVStore.set_gradient_compression``.  Only ``dist_`` stores support it.
    update_on_kvstore : bool, optional
        True: the store runs the optimizer once, and all contexts get the new values.  False: each context runs the optimizer
        by itself.  The default is True, unless dense parameters have sparse gradients.  For ``dist_`` stores the default is
        always True; ``"dist_async"``, and ``dist_`` stores with sparse parameters or gradients, do not allow False.  With True,
        ``allreduce_grads()`` and ``update()`` cannot be called.

    Raises
    ------
    UnknownNameError
        If there is no such optimizer or kvstore.  The hint names the most similar one.
    InitializationError
        If a parameter has not been initialized, or is on other contexts than the rest.
    NoClusterError
        If the store is a ``dist_`` store, and the program was not started as a worker.
    UnsupportedError
        If the store does not support ``compression_params`` or ``update_on_kvstore=True``, or if a parameter with sparse values
        has another trainer already, as in MXNet.
    ParameterError
        If a ``dist_`` store does not allow ``update_on_kvstore=False``.

    Notes
    -----
    With a ``dist_`` store, the first step or the first ``row_sparse_data`` initializes the parameters on the servers.  Every
    worker then gets the values of rank 0.  Give all workers the same seed, so that they compute the first gradients with the
    same values.  ``step`` takes the number of samples of all workers together.  If a worker ignores a stale gradient, it
    contributes nothing to the sum.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.ones((4, 2))).sum()
    >>> loss.backward()
    >>> trainer.step(batch_size=4)
    """

    # what loops of programs for MXNet ask before a step of their own: a trainer connects when it is made
    _kv_initialized = True
    _params_to_init: Sequence[Parameter] = ()

    def __init__(self, params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter], optimizer: str | Optimizer,
                 optimizer_params: dict[str, Any] | None = None, kvstore: object = "device",
                 compression_params: dict[str, Any] | None = None, update_on_kvstore: bool | None = None) -> None:
        self._params = _listed(params)
        for parameter in self._params:
            parameter._set_trainer(self)
        self._contexts = self._common_contexts()
        self._tables = CompiledUpdates()
        # by MXNet's name, for its programs; Any: a name or a store, and a bool or None
        self._kvstore_params: dict[str, Any] = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._compression_params = compression_params
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._servers: TrainerServers | None = None
        self._init_optimizer(optimizer, optimizer_params)
        self._scale = self._optimizer.rescale_grad
        self._connect()

    def __setattr__(self, name: str, value: object) -> None:  # object: of any attribute
        object.__setattr__(self, name, value)
        changes.settings = object()

    def _init_optimizer(self, optimizer: str | Optimizer, optimizer_params: dict[str, Any] | None) -> None:
        """Begin with an optimizer without states.  Programs for MXNet call this between steps, to begin anew."""
        if isinstance(optimizer, Optimizer) and optimizer_params:
            raise ParameterError("optimizer_params must be None if optimizer is an instance of Optimizer instead of str.",
                                 hint="give them when making the optimizer.")
        self._optimizer = create(optimizer, **arguments_of(optimizer_params or {}))
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._updaters: list[Updater] = []
        if self._update_on_kvstore:
            self._kvstore.set_optimizer(self._optimizer)

    @property
    def _param2idx(self) -> dict[str, int]:
        """The number of each parameter in the optimizer and the kvstore, by its name; programs for MXNet read it."""
        return {parameter.name: index for index, parameter in enumerate(self._params)}

    def _common_contexts(self) -> list[Context]:
        """The contexts of the first parameter, which must be those of all."""
        contexts: list[Context] = []
        for parameter in self._params:
            own_contexts = parameter.list_ctx()
            if contexts and own_contexts != contexts:
                raise InitializationError(
                    f"All Parameters must be initialized on the same set of contexts, but Parameter {parameter.name} is "
                    f"initialized on {', '.join(map(str, own_contexts))} while previous Parameters are initialized on "
                    f"{', '.join(map(str, contexts))}.", hint="call collect_params().reset_ctx(ctx).")
            contexts = own_contexts
        return contexts

    # the store

    def _connect(self) -> None:
        """Choose the store, and whether it or the contexts make the step."""
        asked, update = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        if isinstance(asked, str):
            store = create_kvstore(asked)
            self._kvstore = store if len(self._contexts) > 1 or isinstance(store, DistKVStore) else None
        elif asked is None or isinstance(asked, KVStoreBase):
            self._kvstore = asked
        else:
            raise DTypeError(expected("kvstore", "'device', 'local', None or a KVStore", type(asked)), hint="leave it out.")
        self._shared: set[int] = set()
        far = isinstance(self._kvstore, DistKVStore)
        if self._compression_params:
            (KVStoreBase() if self._kvstore is None else self._kvstore).set_gradient_compression(self._compression_params)
        if self._kvstore is None:
            self._update_on_kvstore = None
            return
        if far:
            self._servers = TrainerServers(self, self._kvstore, update)
            self._update_on_kvstore = self._servers.update
            return
        sparse_gradients = any(parameter.grad_stype != "default" and parameter.stype == "default" for parameter in self._params)
        wanted = not sparse_gradients if update is None else update
        able = self._kvstore.is_capable(KVStoreBase.OPTIMIZER)
        if update and not able:
            raise UnsupportedError(f"A kvstore of type {self._kvstore.type} cannot update parameters.",
                                   hint="use update_on_kvstore=False.")
        self._update_on_kvstore = bool(wanted and able)
        if self._update_on_kvstore:
            self._kvstore.set_optimizer(self._optimizer)

    @property
    def _own_method(self) -> str:
        """A method of a user's class or of this one object that makes the step another than the library's; empty if none does."""
        return next((name for name in sorted(_OF_A_STEP) if name in vars(self) or not is_ours(getattr(type(self), name))), "")

    @property
    def _is_as_defined(self) -> bool:
        """Whether none of them has been replaced in this one object."""
        return _OF_A_STEP.isdisjoint(vars(self))

    def _follow(self) -> None:
        """Connect anew if the parameters have moved to other contexts."""
        if self._params and list(self._params[0]._arrays) != self._contexts:
            self._contexts = self._common_contexts()
            if self._servers is None:
                self._connect()

    def _keep(self, index: int, parameter: Parameter) -> None:
        """Let the store keep the values that it updates, or room for the sum of the gradients."""
        if isinstance(self._kvstore, KVStore):
            if self._update_on_kvstore:
                self._kvstore._share(index, parameter.list_data()[0])
            elif index not in self._shared:
                self._kvstore._share(index, parameter.list_grad()[0].copy())
        elif index not in self._shared:
            self._kvstore.broadcast(index, parameter.list_data()[0], parameter.list_data())
        self._shared.add(index)

    # rates

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate.

        Raises
        ------
        SparsekitError
            If the optimizer has a learning-rate scheduler.
        """
        self._optimizer.set_learning_rate(lr)

    # steps

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Add the gradients of all contexts up, divide by ``batch_size``, and update.

        Parameters
        ----------
        batch_size : int
            Number of samples of all contexts together; 1 if the loss already is a mean over the batch.
        ignore_stale_grad : bool
            Skip parameters whose gradient is stale: no backward pass has computed it since the last step.

        Raises
        ------
        StaleGradientError
            If a gradient is stale and ``ignore_stale_grad`` is False.  No parameter is then updated.
        SparsekitError
            If ``batch_size`` is not above 0.
        """
        self._divide_by(batch_size)
        self._follow()
        if self._update_on_kvstore:
            if self._servers is not None:
                self._servers.step(self._pending(ignore_stale_grad))
            else:
                self._update_there(ignore_stale_grad)
            return
        if self._kvstore is not None:
            self._pending(ignore_stale_grad)  # a stale gradient is an error before any is added to another
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """Give every context the sum of all contexts' gradients, for clipping for instance; then call ``update``.

        Raises
        ------
        UnsupportedError
            If the trainer has ``update_on_kvstore=True``.
        """
        self._follow()
        self._refuse_on_kvstore("allreduce_grads")
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """One step of the optimizer on every parameter, gradients divided by ``batch_size``; as ``step`` without sums."""
        self._follow()
        self._refuse_on_kvstore("update")
        self._divide_by(batch_size)
        self._update(ignore_stale_grad)

    def _refuse_on_kvstore(self, name: str) -> None:
        if self._update_on_kvstore:
            raise UpdatedOnKVStoreError(f"{name}() when parameters are updated on kvstore is not supported.",
                                        hint="make the trainer with update_on_kvstore=False.")

    def _divide_by(self, batch_size: int) -> None:
        if not batch_size > 0:
            raise ParameterError(expected("batch_size", "above 0", batch_size), hint="pass the number of samples of the batch.")
        factor = self._scale / batch_size
        if self._optimizer.rescale_grad != factor:
            self._optimizer.rescale_grad = factor

    def _pending(self, ignore_stale_grad: bool) -> list[Pending]:
        """The parameters to update with their numbers, and on each context the variable and its values.

        Raises
        ------
        StaleGradientError
            If a gradient is not new; nothing has been changed then.
        """
        pending = []
        for index, parameter in enumerate(self._params):
            if parameter._grad_req == "null":
                continue
            if not parameter._arrays:
                parameter._explain_absence()
            pairs, fresh = [], False
            for values in parameter._arrays.values():
                variable = values._entry[0]
                if variable.fresh:
                    fresh = True
                    if variable.late is not None:
                        variable.settle()
                elif not ignore_stale_grad:
                    raise _stale(parameter, values)
                pairs.append((variable, values))
            if fresh:
                pending.append((index, parameter, pairs))
        return pending

    def _update(self, ignore_stale_grad: bool) -> None:
        """A step on every context."""
        pending = self._pending(ignore_stale_grad)
        if self._servers is not None and not self._servers.makes(pending):
            return
        while len(self._updaters) < len(self._contexts):
            self._updaters.append(Updater(self._optimizer))
        alone = len(self._contexts) == 1 and self._optimizer._collected is None
        if not (alone and self._tables.run(self, pending)):
            self._update_one_by_one(pending)
        if self._servers is not None:
            self._servers.end_step()

    def _update_one_by_one(self, pending: Sequence[Pending]) -> None:
        with UpdateLane() as state:
            for index, _, pairs in pending:
                for updater, (variable, values) in zip(self._updaters, pairs, strict=False):
                    if variable.fresh:
                        updater._prepare(index, values)
            for index, parameter, pairs in pending:
                state.layer = parameter.name
                for updater, (variable, values) in zip(self._updaters, pairs, strict=False):
                    if variable.fresh:
                        updater(index, variable.grad, values)
                        variable.fresh = False

    def _allreduce_grads(self) -> None:
        """Add the gradients up.  Trainers of programs for MXNet, such as Horovod's, define it to add those of other processes."""
        if self._kvstore is None:
            return
        if self._servers is not None:
            self._servers.sum_gradients()
            return
        with UpdateLane() as state:
            for index, parameter in enumerate(self._params):
                if parameter._grad_req != "null":
                    state.layer = parameter.name
                    self._keep(index, parameter)
                    self._kvstore.pushpull(index, parameter.list_grad(), priority=-index)

    def _update_there(self, ignore_stale_grad: bool) -> None:
        """A step in the store, whose result every context gets."""
        pending = self._pending(ignore_stale_grad)
        with UpdateLane() as state:
            for index, parameter, pairs in pending:
                state.layer = parameter.name
                self._keep(index, parameter)
                self._kvstore.pushpull(index, parameter.list_grad(), out=parameter.list_data(), priority=-index)
                for variable, _ in pairs:
                    variable.fresh = False

    # states

    def save_states(self, fname: str | Path) -> None:
        """Write the optimizer's states and settings, not the parameters' ``lr_mult`` and ``wd_mult``, to a file.

        Parameters
        ----------
        fname : str or path
        """
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
        else:
            write_whole(fname, self._states())

    def _states(self) -> bytes:
        """The states and settings of the optimizer, if the contexts make the steps."""
        updater = self._updaters[0] if self._updaters else Updater(self._optimizer)
        return updater._packed(True, self._turned_state)

    def _take_states(self, data: bytes) -> None:
        """Go on from what ``_states`` gave."""
        self._updaters = [Updater(self._optimizer) for _ in self._contexts]
        for updater in self._updaters:
            updater._unpacked(data, self._turned_state)
            updater.optimizer = self._updaters[0].optimizer
        self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))

    def _turned_state(self, index: Index, state: State) -> State:
        """The state of a weight as files have it, or back: transposed if the weight is kept so."""
        if isinstance(index, str) or not 0 <= index < len(self._params):
            return state
        if isinstance(state, (tuple, list)):
            turned = [self._turned_state(index, part) for part in state]
            return turned if isinstance(state, list) else tuple(turned)
        return self._params[index]._turned(state) if isinstance(state, NDArray) else state

    def load_states(self, fname: str | Path) -> None:
        """Read what ``save_states`` wrote; nothing in the file is executed.

        Parameters
        ----------
        fname : str or path

        Raises
        ------
        DataFileError
            If the file does not exist.
        SparsekitError
            If the file does not contain optimizer states.
        """
        if self._update_on_kvstore:
            if self._servers is not None:
                self._servers.introduce()
            self._kvstore.load_optimizer_states(fname)
            self._optimizer = (self._kvstore if self._servers is not None else self._kvstore._updater).optimizer
            self._optimizer.param_dict = dict(enumerate(self._params))
        else:
            self._take_states(read_states(fname))


def _stale(parameter: Parameter, values: NDArray) -> StaleGradientError:
    return StaleGradientError(
        f"Gradient of Parameter `{parameter.name}` on context {values.context} has not been updated by backward since last "
        "`step`. This could mean a bug in your model that made it only use a subset of the Parameters (Blocks) for this "
        "iteration.", hint="call backward() on the loss before step().  If you use only a subset on purpose, call step with "
                           "ignore_stale_grad=True.")


def _listed(params: object) -> list[Parameter]:
    """The parameters as a list; those of a dict by the order of their names."""
    if isinstance(params, (dict, ParameterDict)):
        params = [params[name] for name in sorted(params.keys())]
    if not isinstance(params, (list, tuple)):
        raise DTypeError(f"First argument must be a list or dict of Parameters, got {type(params).__name__}.",
                         hint="pass net.collect_params().")
    for parameter in params:
        if not isinstance(parameter, Parameter):
            raise DTypeError(f"First argument must be a list or dict of Parameters, got list of {type(parameter).__name__}.",
                             hint="pass net.collect_params().")
    return list(params)
