"""Monitors: a function gets every array that the operators of a block compute."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..base.context import Context
from ..core import hooks
from ..core.dispatch import Plan, wrap
from ..core.trace import ControlFlow, refuse
from ..symbol.mxnet_names import is_known, output_names, spelling_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.types import ArrayObject, Ran
    from ..storage.types import Store


class OperatorMonitor:
    """Shows ``callback(node_name, operator_name, array)`` every array that operators compute.

    It takes the recorder's place while the block runs, and forwards events to a recorder, if there is one.
    The function is called when the block is done, so that what it computes itself is not shown.

    Parameters
    ----------
    callback : function
    monitor_all : bool
        Show inputs too.
    """

    def __init__(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        self._callback, self._all = callback, monitor_all

    def watch(self, layer: str, forward: Callable[..., Any], args: tuple[Any, ...]) -> object:
        """Run ``forward(*args)``, and show what its operators compute; blocks inside have monitors of their own."""
        if hooks.state.tracing:
            raise refuse(f"{layer} has a monitor, which is shown values.", kind=ControlFlow)
        before, hooks.state.called = hooks.sink, None
        recorder = before.passed if isinstance(before, _Watch) else before
        watch = _Watch(recorder)
        hooks.sink = watch  # type: ignore[assignment]  # what it does not keep, __getattr__ passes on
        try:
            out = forward(*args)
            hooks.sink = recorder
            for name, op, array in watch.shown(layer, self._all):
                self._callback(name, op, array)
        finally:
            hooks.sink = before
        return out


class _Watch:
    """A recorder that keeps what operators took and gave, and passes everything on."""

    def __init__(self, passed: Any) -> None:
        self.passed, self._seen = passed, []  # type: ignore[var-annotated]

    def op(self, plan: Ran, start: int, end: int, inputs: Sequence[Store | None], outputs: Sequence[Store | None],
           node: object) -> None:
        """One operator ran, or an input was converted for one: that belongs to no call, and is only passed on."""
        if isinstance(plan, Plan):
            self._note(plan, tuple(inputs), tuple(outputs))
        if self.passed is not None:
            self.passed.op(plan, start, end, inputs, outputs, node)

    def call(self, plan: Plan, start: int, end: int, inputs: Sequence[ArrayObject], array: ArrayObject, node: object) -> None:
        """One operator ran on array objects."""
        self._note(plan, tuple(operand._store for operand in inputs), (array._store,))
        if self.passed is not None:
            self.passed.call(plan, start, end, inputs, array, node)

    def _note(self, plan: Plan, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        self._seen.append((plan.call, Context(plan.k.device), inputs, outputs, hooks.state.called))
        hooks.state.called = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self.passed, name) if self.passed is not None else _nothing

    def shown(self, layer: str, inputs_too: bool) -> Iterator[tuple[str, str, Any]]:
        """Names, operators and arrays.

        A name is that of the call, such as ``dense0_fwd``, or counts the calls of the operator in this layer; inputs and
        outputs have the names that they have in a symbol.
        """
        counts: collections.defaultdict[str, Iterator[int]] = collections.defaultdict(itertools.count)
        for call, ctx, inputs, outputs, called in self._seen:
            op = call.op
            hint = op.name.lower().lstrip("_")
            name = f"{layer}_{called or f'{hint}{next(counts[hint])}'}"
            if inputs_too:
                names = [f"input{place}" for place in range(len(inputs))] if op.variadic else op.inputs
                yield from ((f"{name}_{key}", op.name, wrap(store, ctx)) for key, store in zip(names, inputs, strict=False)
                            if store is not None)
            names = output_names(spelling_of(op.name).name, call) if is_known(op.name) else ["output"] * call.visible
            for key, store in zip(names[:call.visible], outputs, strict=False):
                yield f"{name}_{key}", op.name, wrap(store, ctx)


def _nothing(*_: object) -> None:
    """The recorder's methods without effect, for when no recorder listens."""
