"""The updater, which applies an optimizer to weights by index and keeps their states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.changes import SettingsDict, changes
from ..base.faults import is_a_handlers
from ..base.scoped import Scoped
from ..base.written import written
from ..core import device, hooks
from ..core.dispatch import wrap
from ..kernels import for_device
from ..storage import RowSparse
from . import states
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from ..base.context import Context
    from ..ndarray.ndarray import NDArray
    from .types import Index, Indices, State


class Updater:
    """Applies an optimizer to weights by index, and keeps the state of each.

    Parameters
    ----------
    optimizer : Optimizer

    Attributes
    ----------
    optimizer : Optimizer
    states : dict
        State of each weight by index: None, an array, or a tuple of these.
    states_synced : dict
        Whether the state of a weight is known to be on the context of the weight, by index.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Index, State] = SettingsDict()
        self.states_synced: dict[Index, bool] = {}

    #: ``lazy_update`` of the optimizer as the states are for it.
    _lazy: object = None

    def __setattr__(self, name: str, value: object) -> None:  # object: of any attribute
        object.__setattr__(self, name, value)
        changes.settings = object()

    @property
    def aggregate_updates(self) -> bool:
        """Whether the optimizer takes lists of weights."""
        return self.optimizer.aggregate_num > 0

    def __call__(self, index: Indices, grad: Any, weight: Any) -> None:  # Any: an array each, or a list with one for each index
        """Update one weight, or each weight of a list, by its gradient."""
        if isinstance(index, (list, tuple)):
            for key, array in zip(index, weight, strict=True):
                self._prepare(key, array)
            for each in zip(index, grad, weight, strict=True):
                self(*each)
            return
        self._prepare(index, weight)
        optimizer = self.optimizer
        counts = optimizer._index_update_count
        count, held = counts.get(index), [(name, getattr(optimizer, name)) for name in optimizer._counted]
        written.forget()
        try:
            optimizer.update_multi_precision(index, weight, grad, self.states[index])
        except BaseException as error:  # an update that failed, as a schedule may, is none; nor is one before its kernel
            interrupts = not isinstance(error, Exception) or is_a_handlers(error, [type(optimizer).update])
            if not (interrupts and written):
                if count is None:
                    counts.pop(index, None)
                else:
                    counts[index] = count
                vars(optimizer).update(held)
            raise

    def _prepare(self, index: Index, weight: NDArray) -> None:
        """Have a state for a weight, whose update is next, and raise if the optimizer cannot make it."""
        optimizer = self.optimizer
        device = weight.context.device_id
        if optimizer._device != device:
            optimizer._set_current_context(device)
        if (lazy := getattr(optimizer, "lazy_update", False)) is not self._lazy:
            self._lazy = lazy
            self.states_synced.clear()
        if not self.states_synced.get(index):
            self._prepare_state(index, weight)
        optimizer._check(index)

    def _prepare_state(self, index: Index, weight: NDArray) -> None:
        """Create the state of a weight, or adapt it to the weight, and record its owner for the profiler."""
        state = (_for_lazy(self.optimizer, self.sync_state_context(self.states[index], weight.context), weight)
                 if index in self.states else self.optimizer.create_state_multi_precision(index, weight))
        self.states[index], self.states_synced[index] = state, True
        parameter = self.optimizer.param_dict.get(index)
        for array in states.arrays_of(state):
            hooks.assign(array, "optimizer state",
                         self.optimizer.idx2name.get(index, str(index)) if parameter is None else parameter.name)

    def sync_state_context(self, state: State, context: Context) -> State:
        """The state with its arrays on ``context``."""
        if isinstance(state, (tuple, list)):
            return tuple(self.sync_state_context(part, context) for part in state)
        return state if state is None or not hasattr(state, "as_in_context") else state.as_in_context(context)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Serialize all states with the update counts of the optimizer, and with ``dump_optimizer`` also its settings.

        Training that goes on from the bytes gives the same weights, to the bit, as training that went on without them; random
        numbers of ``SGLD`` go on as ``mx.random.seed`` says.  The bytes have the format of ``mx.nd.save``; reading them
        executes no code.
        """
        return self._packed(dump_optimizer)

    def _packed(self, dump_optimizer: bool, *turned: Callable[[Index, State], State]) -> bytes:
        optimizer = self.optimizer
        return states.pack(self.states, optimizer if dump_optimizer else None, states.Progress.of(optimizer), *turned)

    def set_states(self, states_: bytes) -> None:
        """Replace the states and update counts, and the optimizer if the bytes include one, by those of ``get_states``.

        Raises
        ------
        SparsekitError
            If the bytes are not from ``get_states``.
        """
        self._unpacked(states_)

    def _unpacked(self, data: bytes, *turned: Callable[[Index, State], State]) -> None:
        all_states, optimizer, progress = states.unpack_all(data, *turned)
        if optimizer is not None:
            optimizer.param_dict = self.optimizer.param_dict
            self.optimizer = optimizer
        if progress is not None:
            progress.give(self.optimizer)
        self.states, self.states_synced = SettingsDict(all_states), dict.fromkeys(all_states, False)


def _for_lazy(optimizer: Optimizer, state: State, weight: NDArray) -> State:
    """A state in the storage type of the weight, which lazy updates need."""
    if isinstance(state, (tuple, list)):
        return tuple([_for_lazy(optimizer, part, weight) for part in state])
    if state is None or not getattr(optimizer, "lazy_update", False) or (
            state.stype == weight.stype or state.shape != weight.shape):
        return state
    if weight.stype == "default":
        return state.tostype("default")
    with device.current(state.context):
        rows = for_device(state.context.device_type).xp.arange(state.shape[0])
    array: NDArray = wrap(RowSparse(state._store, rows, state.shape, check=False), state.context)
    return array


def get_updater(optimizer: Optimizer) -> Updater:
    """An ``Updater`` for the optimizer, which is called as ``updater(index, grad, weight)``."""
    return Updater(optimizer)


class UpdateLane(Scoped):
    """A context manager in which profiles show operators in the lane "update"; returns the state, whose layer may be set."""

    __slots__ = ()

    def _before(self) -> tuple[str, str, tuple[CodeType, int] | None]:
        return hooks.state.lane, hooks.state.layer, hooks.state.caller

    def _enter(self, before: tuple[str, str, tuple[CodeType, int] | None]) -> hooks._State:
        state = hooks.state
        state.lane = "update"
        if hooks.sink is not None:
            # The function that users call is two calls above the ``with``, and this function two below it.
            state.caller = state.caller or hooks.caller(depth=5)
        return state

    def _leave(self, before: tuple[str, str, tuple[CodeType, int] | None], kind: type[BaseException] | None) -> None:
        hooks.state.lane, hooks.state.layer, hooks.state.caller = before
