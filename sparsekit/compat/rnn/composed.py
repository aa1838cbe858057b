"""Cells made of other cells: stacks, both directions, dropout, zoneout and residual connections."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...base.errors import DTypeError, ParameterError
from ...symbol import Symbol, creation
from ...symbol.functions import F
from ..base import numeric_types
from .cells import BaseRNNCell, formatted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...ndarray import NDArray
    from .cells import RNNParams


class _Cells(BaseRNNCell):
    """A cell whose states and weights are those of other cells, one after another."""

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__("", params)
        self._override_cell_params = params is not None
        self._cells: list[BaseRNNCell] = []

    def _append(self, cell: BaseRNNCell) -> None:
        """Take a cell, and share its variables or give it those of this cell."""
        if self._override_cell_params:
            if not cell._own_params:
                raise ParameterError(f"Both {type(self).__name__} and the cell {cell._prefix!r} in it were given params.",
                                     hint="pass params to one of them.")
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)
        self._cells.append(cell)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Callable[..., Any]) -> list[Any]:  # type: ignore[override]
        """The initial states of all cells; arguments as those of ``BaseRNNCell.begin_state``."""
        self._check_not_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with the weights of each gate of each cell in an array of its own."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return dict(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters as a module takes them, from those that ``unpack_weights`` gave."""
        for cell in self._cells:
            args = cell.pack_weights(args)
        return dict(args)

    def _with_states(self, states: Sequence[Symbol]) -> Iterator[tuple[BaseRNNCell, Sequence[Symbol]]]:
        """Yield each cell with its states."""
        start = 0
        for cell in self._cells:
            stop = start + len(cell.state_info)
            yield cell, states[start:stop]
            start = stop


class SequentialRNNCell(_Cells):
    """Cells on top of each other: the output of one is the input of the next.

    Parameters
    ----------
    params : RNNParams, optional
        Variables that the cells share.
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top of the others."""
        self._append(cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step of each cell; see ``BaseRNNCell``."""
        if not _can_step(self):
            raise ParameterError("A stack with a cell that runs both ways cannot run one step.", hint="use unroll().")
        self._counter += 1
        new: list[Symbol] = []
        for cell, own in self._with_states(states):
            inputs, given = cell(inputs, own)
            new += given
        return inputs, new

    def unroll(self, length: int, inputs: Symbol | Sequence[Symbol], begin_state: Sequence[Symbol] | None = None,
               layout: str = "NTC", merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The symbols of a whole sequence, one cell after another; see ``BaseRNNCell.unroll``."""
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        new: list[Symbol] = []
        for cell, own in self._with_states(states):
            inputs, given = cell.unroll(length, inputs=inputs, begin_state=own, layout=layout,
                                        merge_outputs=merge_outputs if cell is self._cells[-1] else None)
            new += given
        return inputs, new


class BidirectionalCell(_Cells):
    """Two cells, one of which runs backward; their outputs are concatenated.  It cannot run single steps.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
        ``l_cell`` runs from the first step to the last, ``r_cell`` from the last to the first.
    params : RNNParams, optional
        Variables that the cells share.
    output_prefix : str
        What the names of the outputs begin with.
    """

    _steps = False

    def __init__(self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None,
                 output_prefix: str = "bi_") -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._append(l_cell)
        self._append(r_cell)

    def unroll(self, length: int, inputs: Symbol | Sequence[Symbol], begin_state: Sequence[Symbol] | None = None,
               layout: str = "NTC", merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The symbols of a whole sequence; see ``BaseRNNCell.unroll``.

        The states are two lists, those of ``l_cell`` and those of ``r_cell``.
        """
        self.reset()
        steps, axis = formatted(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        (forward, forward_states), (backward, backward_states) = (
            cell.unroll(length, inputs=order, begin_state=own, layout=layout, merge_outputs=merge_outputs)
            for (cell, own), order in zip(self._with_states(states), (steps, steps[::-1]), strict=True))
        if merge_outputs is None:
            merge_outputs = isinstance(forward, Symbol) and isinstance(backward, Symbol)
            if not merge_outputs:
                forward, backward = (formatted(length, outputs, layout, False)[0] for outputs in (forward, backward))
        if merge_outputs:
            outputs = F.Concat(forward, F.reverse(backward, axis=axis), dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [F.Concat(*both, dim=1, name=f"{self._output_prefix}t{place}")
                       for place, both in enumerate(zip(forward, backward[::-1], strict=True))]
        return outputs, [forward_states, backward_states]


class DropoutCell(BaseRNNCell):
    """Drops values of its inputs in training; it has no states.

    Parameters
    ----------
    dropout : float
        Share of the values that are dropped.
    prefix : str
    params : RNNParams, optional
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, numeric_types):
            raise DTypeError(f"dropout must be a number, not a {type(dropout).__name__}.",
                             hint="it is the share of values that are dropped.")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """No states."""
        return []

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step, or of a whole sequence."""
        return F.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs, states

    def unroll(self, length: int, inputs: Symbol | Sequence[Symbol], begin_state: Sequence[Symbol] | None = None,
               layout: str = "NTC", merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The symbols of a whole sequence, one for all steps if the sequence is one symbol; see ``BaseRNNCell.unroll``."""
        self.reset()
        inputs, _ = formatted(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base of cells that modify another cell: they have its variables and states, and it is no longer called directly.

    Parameters
    ----------
    base_cell : BaseRNNCell
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The variables of the cell that is modified."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the states of the cell that is modified."""
        return self.base_cell.state_info

    @contextmanager
    def _released(self) -> Iterator[BaseRNNCell]:
        """Inside, the cell that is modified may be called directly."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    # The first parameter has another name than that of other cells, as in MXNet.
    def begin_state(self, init_sym: Callable[..., Any] = creation.zeros, **kwargs: object) -> list[Any]:  # type: ignore[override]
        """The initial states of the cell that is modified; see ``BaseRNNCell.begin_state``."""
        self._check_not_modified()
        with self._released() as cell:
            begin: Callable[..., list[Any]] = cell.begin_state
            return begin(**{"func": init_sym, **kwargs})

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters with the weights of each gate in an array of its own."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters as a module takes them, from those that ``unpack_weights`` gave."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps some outputs and states of the step before, in training: D. Krueger et al., https://arxiv.org/abs/1606.01305.

    Parameters
    ----------
    base_cell : BaseRNNCell
        A cell that can run single steps.
    zoneout_outputs, zoneout_states : float
        Share of the values that keep those of the step before.
    """

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if not _can_step(base_cell):
            raise ParameterError(f"A {type(base_cell).__name__} cannot have zoneout, since it cannot run single steps.",
                                 hint="put ZoneoutCell around the cells in it; those of a FusedRNNCell are in unfuse().")
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Any = None  # Any: the symbol of the last step, if there was one

    def reset(self) -> None:
        """Forget the output of the step before, too."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step; see ``BaseRNNCell``."""
        def mixed(share: float, new: Symbol, old: Symbol) -> Symbol:
            found: Symbol = F.where(F.Dropout(F.ones_like(new), p=share), new, old)
            return found

        output, new_states = self.base_cell(inputs, states)
        before = creation.zeros((0, 0)) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs:
            output = mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            new_states = [mixed(self.zoneout_states, new, old) for new, old in zip(new_states, states, strict=True)]
        self.prev_output = output
        return output, new_states


def _can_step(cell: BaseRNNCell) -> bool:
    """Whether a cell, and each cell in it, can run single steps."""
    inside = cell._cells if isinstance(cell, SequentialRNNCell) else [cell.base_cell] if isinstance(cell, ModifierCell) else []
    return cell._steps and all(map(_can_step, inside))


class ResidualCell(ModifierCell):
    """Adds its inputs to the outputs of a cell: Y. Wu et al., https://arxiv.org/abs/1609.08144.

    Parameters
    ----------
    base_cell : BaseRNNCell
        Cell whose outputs have the same width as its inputs.
    """

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Any, Any]:
        """The symbols of one step; see ``BaseRNNCell``."""
        output, states = self.base_cell(inputs, states)
        return _sum(output, inputs), states

    def unroll(self, length: int, inputs: Symbol | Sequence[Symbol], begin_state: Sequence[Symbol] | None = None,
               layout: str = "NTC", merge_outputs: bool | None = None) -> tuple[Any, Any]:
        """The symbols of a whole sequence, whose inputs are added in one go; see ``BaseRNNCell.unroll``."""
        self.reset()
        with self._released() as cell:
            outputs, states = cell.unroll(length, inputs=inputs, begin_state=begin_state, layout=layout,
                                          merge_outputs=merge_outputs)
        merged = isinstance(outputs, Symbol)
        added, _ = formatted(length, inputs, layout, merged)
        if merged:
            return _sum(outputs, added), states
        return [_sum(*both) for both in zip(outputs, added, strict=True)], states


def _sum(output: Symbol, inputs: Symbol) -> Symbol:
    found: Symbol = F.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
    return found
