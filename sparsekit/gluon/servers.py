"""The parameters of a trainer whose kvstore is one of several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import pause
from ..base.errors import InitializationError, ParameterError, UnsupportedError
from ..core import device
from ..ndarray import array, sparse
from ..optimizer.updater import UpdateLane
from ..storage import RowSparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import Array
    from ..kvstore import DistKVStore
    from ..ndarray.ndarray import NDArray
    from .parameter import Parameter
    from .trainer import Trainer
    from .update_tables import Pending


class TrainerServers:
    """Puts parameters into the servers, pushes their gradients, and gets new values.

    Dense parameters get their new values in the round trip that pushes the gradients.  Of row_sparse parameters, a worker
    has the rows that it asks for: ``row_sparse_data`` pulls them, and ``data()`` pulls all.

    Parameters
    ----------
    trainer : Trainer
    store : DistKVStore
    update : bool or None
        Whether the servers make the steps; by default they do.

    Raises
    ------
    ParameterError
        If they must make the steps, and ``update`` is False.
    """

    def __init__(self, trainer: Trainer, store: DistKVStore, update: bool | None) -> None:
        self._trainer, self._store = trainer, store
        self._numbers = {id(parameter): number for number, parameter in enumerate(trainer._params)}
        self._known: set[int] = set()
        #: The step of each row_sparse parameter after which all rows were pulled.
        self._whole: dict[int, int] = {}
        self.update = True if update is None else update
        self._skips = False
        if not self.update:
            self._may_sum_only()
            return
        store.set_optimizer(trainer._optimizer)
        for parameter in trainer._params:
            parameter._source = self

    def _may_sum_only(self) -> None:
        if any(parameter.stype != "default" or parameter.grad_stype != "default" for parameter in self._trainer._params):
            raise ParameterError("Cannot set update_on_kvstore=False on a dist kvstore when sparse parameters or gradients are "
                                 "present.", hint="leave update_on_kvstore out.")
        if "async" in self._store.type:
            raise ParameterError("Cannot set update_on_kvstore=False when training in async mode.",
                                 hint="leave update_on_kvstore out.")

    def introduce(self, all_of_them: bool = False) -> None:
        """Put the parameters that have values, and are not there yet, into the servers; every worker gets those of rank 0.

        Raises
        ------
        InitializationError
            If a parameter has no values, and ``all_of_them`` must have.
        """
        absent = next((parameter for parameter in self._trainer._params if not parameter._arrays), None) if all_of_them else None
        if absent is not None:
            raise InitializationError(f"Parameter '{absent.name}' has no values yet.",
                                      hint="say its shape, or call the network on a batch before kv.resume().")
        new = [(number, parameter) for number, parameter in enumerate(self._trainer._params)
               if number not in self._known and parameter._arrays]
        if not new:
            return
        with pause():
            self._store.init([number for number, _ in new],
                             [next(iter(parameter._arrays.values())).detach() for _, parameter in new])
            dense = [(number, list(parameter._arrays.values())) for number, parameter in new if parameter.stype == "default"]
            self._store.pull([number for number, _ in dense], [arrays for _, arrays in dense])
        self._known.update(number for number, _ in new)

    # steps

    def step(self, pending: Sequence[Pending]) -> None:
        """Push gradients, those of other parameters as nothing, and get the new values of dense parameters."""
        self.introduce()
        if self._store._begins_step(self):
            self._push(pending)
            self._store._ends_step()
        _use_up(pending)

    def _push(self, pending: Sequence[Pending]) -> None:
        fresh = {index for index, _, _ in pending}
        trained = [(index, parameter) for index, parameter in enumerate(self._trainer._params) if parameter._grad_req != "null"]
        with UpdateLane():
            self._store.push([index for index, _ in trained],
                             [parameter.list_grad() if index in fresh else [_nothing(parameter)] for index, parameter in trained])
            dense = [(index, list(parameter._arrays.values())) for index, parameter in trained if parameter.stype == "default"]
            self._store.pull([index for index, _ in dense], [arrays for _, arrays in dense])

    def sum_gradients(self) -> None:
        """Give every context of every worker the sum of all gradients."""
        self.introduce()
        self._skips = not self._store._begins_step(self)
        if self._skips:
            return
        trained = [(index, parameter.list_grad()) for index, parameter in enumerate(self._trainer._params)
                   if parameter._grad_req != "null"]
        with UpdateLane():
            self._store.pushpull([index for index, _ in trained], [gradients for _, gradients in trained])

    def makes(self, pending: Sequence[Pending]) -> bool:
        """Whether the contexts make the step for which gradients have been summed; one that a snapshot has is passed."""
        if self._skips:
            _use_up(pending)
        return not self._skips

    def end_step(self) -> None:
        """The contexts have made a step."""
        self._store._ends_step()

    # snapshots

    def _kept(self) -> list[Any] | None:  # Any: arrays and bytes
        """What a snapshot has of the trainer, if the contexts make the steps: parameters and states of the optimizer."""
        trainer = self._trainer
        if self.update:
            return None
        return [[parameter.data().asnumpy() if parameter._arrays else None for parameter in trainer._params], trainer._states()]

    def _take_kept(self, state: list[Any]) -> None:  # Any: as above
        """Go on from what a snapshot has."""
        trainer, (values, states) = self._trainer, state
        for parameter, value in zip(trainer._params, values, strict=True):
            if value is not None:
                parameter.set_data(array(value, dtype=value.dtype))
        trainer._take_states(states)

    # row_sparse parameters

    def pull_rows(self, parameter: Parameter, row_id: NDArray) -> None:
        """Get the present values of some rows of a parameter, on all its contexts."""
        self.introduce()
        number = self._numbers[id(parameter)]
        if number in self._known and self._whole.get(number) != self._store._version(number):
            rows = np.unique(self._store._row_numbers(number, row_id))
            self._take(parameter, rows, self._store._rows(number, rows))

    def complete(self, parameter: Parameter) -> None:
        """Get the present values of all rows of a row_sparse parameter, if the servers have it and it has changed."""
        number = self._numbers[id(parameter)]
        if number not in self._known or parameter.stype != "row_sparse":
            return
        version = self._store._version(number)
        if version is None or self._whole.get(number) != version:
            values = self._store._rows(number, None)
            self._take(parameter, np.arange(len(values)), values)
            if version is not None:
                self._whole[number] = version

    def _take(self, parameter: Parameter, rows: Array, values: Array) -> None:
        """Write rows to the arrays of a parameter, which store all rows."""
        for context, weight in parameter._arrays.items():
            store: Any = weight._store
            moved: Any = device.onto(RowSparse(values, rows, parameter.shape, check=False), context)
            with device.current(context):
                store.data[moved.indices] = moved.data

    def refuse_new_values(self, parameter: Parameter) -> None:
        """Raise if the servers hold a parameter whose values are to be replaced."""
        if self._numbers[id(parameter)] in self._known:
            raise UnsupportedError(f"The values of Parameter '{parameter.name}' lie on the servers of the kvstore "
                                   f"'{self._store.type}', and cannot be replaced by one worker.",
                                   hint="set or load them before the first step.")


def _use_up(pending: Sequence[Pending]) -> None:
    """Gradients have been used."""
    for _, _, pairs in pending:
        for variable, _ in pairs:
            variable.fresh = False


def _nothing(parameter: Parameter) -> NDArray:
    """A gradient that adds nothing."""
    zeros: NDArray = sparse.zeros("row_sparse", parameter.shape, dtype=parameter.dtype)
    return zeros
