"""Cells made of others: stacks, both directions, and modifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ... import ndarray
from ...base import checks
from ...base.errors import DTypeError, ParameterError, UnsupportedError
from ...base.scoped import Assigned
from ..block import _indent
from .rnn_cell import HybridRecurrentCell, RecurrentCell
from .sequences import begin_state_for, format_sequence, is_list, mask_sequence, reverse_sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.types import ShapeLike
    from ...core.types import Functions, Tensor
    from ..parameter import ParameterDict
    from ..types import Sequences, States


class _Cells(RecurrentCell):
    """A cell whose states are those of its children, one after another."""

    _children: dict[str, Any]

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shapes and layouts of the states of all cells."""
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, **kwargs: object) -> list[Any]:  # type: ignore[override]
        """States of all cells to begin with; arguments as those of ``RecurrentCell.begin_state``."""
        self._check_not_modified()
        return [state for cell in self._children.values() for state in cell.begin_state(**kwargs)]


class _Stack(_Cells):
    """Cells on top of each other."""

    def __repr__(self) -> str:
        cells = "\n".join(f"({name}): {_indent(repr(cell))}" for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{cells}\n)"

    def add(self, cell: RecurrentCell) -> None:
        """Append a cell."""
        self.register_child(cell)

    def __getitem__(self, i: int) -> RecurrentCell:
        return list(self._children.values())[i]

    def __len__(self) -> int:
        return len(self._children)

    def _step(self, inputs: Tensor, states: States) -> tuple[Any, list[Any]]:
        new, start = [], 0
        for cell in self._children.values():
            stop = start + len(cell.state_info())
            inputs, states_of_cell = cell(inputs, states[start:stop])
            new += states_of_cell
            start = stop
        return inputs, new

    def unroll(self, length: int, inputs: Sequences, begin_state: States | None = None, layout: str = "NTC",
               merge_outputs: bool | None = None, valid_length: Tensor | None = None) -> tuple[Any, Any]:
        """Run each cell over the whole sequence, one after another; see ``RecurrentCell.unroll``."""
        self.reset()
        inputs, _, F, batch_size = format_sequence(length, inputs, layout, None)
        begin_state = begin_state_for(self, F, begin_state, inputs, batch_size)
        new, start, last = [], 0, len(self._children) - 1
        for number, cell in enumerate(self._children.values()):
            stop = start + len(cell.state_info())
            inputs, states_of_cell = cell.unroll(length, inputs=inputs, begin_state=begin_state[start:stop], layout=layout,
                                                 merge_outputs=merge_outputs if number == last else None,
                                                 valid_length=valid_length)
            new += states_of_cell
            start = stop
        return inputs, new


class SequentialRNNCell(_Stack):
    """Cells on top of each other: the output of one is the input of the next.

    Parameters
    ----------
    prefix : str, optional
    params : ParameterDict, optional

    Examples
    --------
    >>> stack = mx.gluon.rnn.SequentialRNNCell()
    >>> with stack.name_scope():
    ...     stack.add(mx.gluon.rnn.LSTMCell(20))
    ...     stack.add(mx.gluon.rnn.DropoutCell(0.5))
    """

    def forward(self, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step of each cell."""
        self._counter += 1
        return self._step(inputs, states)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Hybrid cells on top of each other: the output of one is the input of the next.

    Parameters
    ----------
    prefix : str, optional
    params : ParameterDict, optional
    """

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step of each cell."""
        return self._step(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """Drops values of its inputs in training; it has no states.

    Parameters
    ----------
    rate : float
        Share of the values that are dropped.
    axes : tuple of int
        Axes along which all elements are dropped or kept together.
    prefix : str, optional
    params : ParameterDict, optional
    """

    def __init__(self, rate: float, axes: ShapeLike = (), prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        checks.number("rate", rate, "a number from 0 to 1", hint="it is the share of values that are dropped.", error=DTypeError)
        self._rate, self._axes = rate, axes

    def __repr__(self) -> str:
        return f"DropoutCell(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """No states."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step, or a whole sequence."""
        if not self._rate > 0:
            return inputs, states
        return F.Dropout(inputs, p=self._rate, axes=self._axes, name=self._step_name() + "fwd"), states

    def unroll(self, length: int, inputs: Sequences, begin_state: States | None = None, layout: str = "NTC",
               merge_outputs: bool | None = None, valid_length: Tensor | None = None) -> tuple[Any, Any]:
        """Drop values of a sequence, of one array in one go; see ``RecurrentCell.unroll``."""
        self.reset()
        steps, _, F, _ = format_sequence(length, inputs, layout, merge_outputs)
        if not is_list(steps):
            return self.hybrid_forward(F, steps, begin_state or [])
        return super().unroll(length, steps, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs)


class ModifierCell(HybridRecurrentCell):
    """Base of cells that modify another cell: they have its parameters, states and name, and that cell is no longer called
    directly.

    Parameters
    ----------
    base_cell : RecurrentCell
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        if base_cell._modified:
            raise ParameterError(f"Cell {base_cell.name} is already modified. One cell cannot be modified twice.",
                                 hint="modify the modifier: ResidualCell(ZoneoutCell(cell)).")
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """The parameters of the cell that is modified."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shapes and layouts of the states of the cell that is modified."""
        info: list[dict[str, Any]] = self.base_cell.state_info(batch_size)
        return info

    def begin_state(self, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """States to begin with; see ``RecurrentCell.begin_state``."""
        self._check_not_modified()
        with _released(self.base_cell):
            states: list[Any] = self.base_cell.begin_state(func=func, **kwargs)
        return states

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step, of operators of ``F``; to be overridden."""
        raise UnsupportedError(f"{type(self).__name__} has no hybrid_forward().",
                             hint="override hybrid_forward(self, F, inputs, states).")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell!r})"


def _released(cell: object) -> Assigned:
    """Inside, a cell that is modified may be called directly."""
    return Assigned(cell, _modified=False)


class Remembering(ModifierCell):
    """A modifier that keeps arrays from step to step; hybridized, it stays eager, and its cell runs as a program.

    A program of one step would be given what another step left.  A program of a whole sequence, of a block that unrolls
    the cell, contains it as it is.
    """

    def hybridize(self, active: bool = True, *args: Any, **kwargs: Any) -> None:
        """Run the cell below as a program; see ``HybridBlock.hybridize``."""
        super().hybridize(active, *args, **kwargs)
        self._programs = None


class ZoneoutCell(Remembering):
    """Keeps some outputs and states of the step before, in training: D. Krueger et al., https://arxiv.org/abs/1606.01305.

    Parameters
    ----------
    base_cell : RecurrentCell
    zoneout_outputs, zoneout_states : float
        Share of the values that keep those of the step before.
    """

    _unmarked = Remembering._unmarked | {"_prev_output"}

    def __init__(self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise UnsupportedError("BidirectionalCell doesn't support zoneout since it doesn't support step.",
                                   hint="add ZoneoutCell to the cells underneath instead.")
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return f"ZoneoutCell(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell!r})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forget the output of the step before."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step."""
        def mixed(share: float, new: Tensor, old: Tensor) -> Tensor:
            return F.where(F.Dropout(F.ones_like(new), p=share), new, old) if share else new

        output, new_states = self.base_cell(inputs, states)
        before = F.zeros_like(output) if self._prev_output is None else self._prev_output
        self._prev_output = mixed(self.zoneout_outputs, output, before)
        return self._prev_output, [mixed(self.zoneout_states, new, old) for new, old in zip(new_states, states, strict=True)]


class ResidualCell(ModifierCell):
    """Adds its inputs to the outputs of a cell: Y. Wu et al., https://arxiv.org/abs/1609.08144.

    Parameters
    ----------
    base_cell : RecurrentCell
        Cell whose outputs have the same width as its inputs.
    """

    def hybrid_forward(self, F: Functions, inputs: Tensor, states: States) -> tuple[Tensor, States]:
        """One step."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=self._step_name() + "fwd"), states

    def unroll(self, length: int, inputs: Sequences, begin_state: States | None = None, layout: str = "NTC",
               merge_outputs: bool | None = None, valid_length: Tensor | None = None) -> tuple[Any, Any]:
        """Run the cell over a sequence, and add the inputs at once; see ``RecurrentCell.unroll``."""
        self.reset()
        with _released(self.base_cell):
            outputs, states = self.base_cell.unroll(length, inputs=inputs, begin_state=begin_state, layout=layout,
                                                    merge_outputs=merge_outputs, valid_length=valid_length)
        merged = not is_list(outputs)
        inputs, axis, F, _ = format_sequence(length, inputs, layout, merged)
        if valid_length is not None:
            inputs = mask_sequence(F, inputs, length, valid_length, axis, merged)
        if merged:
            return F.elemwise_add(outputs, inputs), states
        return [F.elemwise_add(*both) for both in zip(outputs, inputs, strict=True)], states


class BidirectionalCell(_Cells, HybridRecurrentCell):
    """Two cells, one of which runs backward; their outputs are concatenated.  It cannot run single steps.

    Parameters
    ----------
    l_cell, r_cell : RecurrentCell
        ``l_cell`` runs from the first step to the last, ``r_cell`` from the last to the first.
    output_prefix : str
        Prefix of the outputs' names.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Tensor, states: States) -> NoReturn:
        """Not available: the backward cell begins at the end.

        Raises
        ------
        UnsupportedError
        """
        raise UnsupportedError("A BidirectionalCell cannot run one step, since its backward cell starts at the end.",
                               hint="use unroll().")

    def __repr__(self) -> str:
        return f"BidirectionalCell(forward={self._children['l_cell']!r}, backward={self._children['r_cell']!r})"

    def unroll(self, length: int, inputs: Sequences, begin_state: States | None = None, layout: str = "NTC",
               merge_outputs: bool | None = None, valid_length: Tensor | None = None) -> tuple[Any, Any]:
        """Run both cells over a sequence; see ``RecurrentCell.unroll``."""
        self.reset()
        steps, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = begin_state_for(self, F, begin_state, steps, batch_size)
        first, second = self._children.values()
        count = len(first.state_info(batch_size))
        outputs, new = first.unroll(length, inputs=steps, begin_state=states[:count], layout=layout,
                                    merge_outputs=merge_outputs, valid_length=valid_length)
        turned, backward_states = second.unroll(length, inputs=reverse_sequence(steps, valid_length), begin_state=states[count:],
                                                layout=layout, merge_outputs=False, valid_length=valid_length)
        merged = not is_list(outputs)
        turned, _, _, _ = format_sequence(None, reverse_sequence(turned, valid_length), layout, merged)
        prefix = self._output_prefix
        outputs = (F.concat(outputs, turned, dim=2, name=f"{prefix}out") if merged else
                   [F.concat(*both, dim=1, name=f"{prefix}t{place}")
                    for place, both in enumerate(zip(outputs, turned, strict=True))])
        if valid_length is not None:
            outputs = mask_sequence(F, outputs, length, valid_length, axis, merged)
        return outputs, new + backward_states
