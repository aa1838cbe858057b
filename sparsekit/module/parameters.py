"""The part of ``Module`` for parameters and the optimizer: initialization, copies and files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from .. import kvstore as stores
from .. import optimizer as optimizers
from ..base.errors import DTypeError, UnsupportedError, expected
from ..base.warn import warn_user
from ..initializer import InitDesc, Uniform
from .base_module import BaseModule
from .checks import check_values, require
from .steps import Steps, store_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ..kvstore import KVStoreBase
    from ..ndarray.ndarray import NDArray
    from ..optimizer import Optimizer, Updater
    from ..symbol.symbol import Symbol
    from .executor_group import DataParallelExecutorGroup
    from .types import Logger, OptimizerLike, OptimizerParams

__all__ = ["ParameterModule"]


class ParameterModule(BaseModule):
    """The part of ``Module`` that manages parameters; a subclass sets ``_exec_group``, whose executors have copies of them."""

    def __init__(self, logger: Logger, symbol: Symbol, contexts: list[Any]) -> None:
        super().__init__(logger)
        self._symbol, self._context = symbol, contexts
        self._param_names: list[str] = []
        self._arg_params: Any = None
        self._aux_params: Any = None
        self._params_dirty = False
        self._steps: Any = None
        self._states_file: Any = None
        self._exec_group: DataParallelExecutorGroup = None  # type: ignore[assignment]  # until it is bound
        self._compression_params: Any = None

    # values

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
        for held, given in pairs:
            if given is not None:
                check_values(held, given, "parameter", allow_missing)
        self._take(pairs, initializer)

    def _take(self, pairs: Sequence[tuple[dict[str, Any], Any]], initializer: Callable[..., Any] | None) -> None:
        """Copy values that are given to the parameters, have an initializer fill the others, and distribute all."""
        attrs = self._symbol.attr_dict()
        for held, given in pairs:
            for name, array in sorted(held.items()):
                if given is None or name not in given:
                    if initializer is not None:
                        initializer(InitDesc(name, attrs.get(name)), array)
                elif given[name] is not array:
                    given[name].copyto(array)
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
        given = arg_params or {}
        if any(given[name] is not array if name in given else anew for name, array in self._arg_params.items()):
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
        made = self._optimizer_of(optimizer, optimizer_params, on_kvstore, store)
        steps = Steps(made, store, on_kvstore, self._param_names)
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
            given = {"rescale_grad": rescale, **dict(optimizer_params)}
            return optimizers.create(optimizer, sym=self._symbol, param_idx2name=names, **given)
        if not isinstance(optimizer, optimizers.Optimizer):
            raise DTypeError(expected("optimizer", "a name or an Optimizer", type(optimizer)),
                             hint="'sgd', or mx.optimizer.SGD(…).")
        if optimizer.rescale_grad != rescale:
            warn_user("Optimizer created manually outside Module but rescale_grad is not normalized to "
                          f"1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {rescale}). Is this intended?", UserWarning)
        if not optimizer.idx2name:
            optimizer.idx2name = names
        return optimizer

    def borrow_optimizer(self, shared_module: ParameterModule) -> None:
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

    # files

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
