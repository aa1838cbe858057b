"""The operators as functions of arrays, made from the registry on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import SparsekitError
from ..core import device
from ..core.dispatch import invoke, wrap
from ..core.function import make_function
from ..core.op import Call, find
from ..ops import declared as _declared  # noqa: F401 - declares the operators
from ..ops.update.update import Update

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.context import Context


def invoke_update(call: Call, inputs: tuple[Any, ...], out: Any = None, ctx: Context | None = None) -> Any:
    """Run an optimizer step, which writes its weights, as a function: on copies of those that are not ``out``."""
    arrays = list(inputs)
    places = call.op.weights(call.attrs)  # type: ignore[attr-defined]
    targets = list(out) if isinstance(out, (list, tuple)) else [out] * (len(places) if out is None else 1)
    if len(targets) != len(places):
        raise SparsekitError(f"{call.op.name} gives {len(places)} arrays, and out= has {len(targets)}.",
                             hint=f"give out= a list of {len(places)} arrays.")
    if call.op.inputs[-1] == "rescale_grad" and isinstance(arrays[-1], (int, float)):
        arrays[-1] = wrap(device.onto(np.array([arrays[-1]], np.float32), arrays[0].context), arrays[0].context)
    written = [array for array in (*targets, *arrays) if hasattr(array, "_check_traced")]
    if not any(array._ctx.device_type == "trace" for array in written):  # traced arrays are written to when the program runs
        for array in written:
            array._check_traced()
    for place, target in zip(places, targets, strict=True):
        if place < len(arrays) and hasattr(arrays[place], "_store") and target is not arrays[place]:
            arrays[place] = arrays[place].copy()
    invoke(call, tuple(arrays))
    for number, (place, target) in enumerate(zip(places, targets, strict=True)):
        if target is None:
            targets[number] = arrays[place]
        elif target is not arrays[place]:
            target._receive(arrays[place])
    return targets if isinstance(out, (list, tuple)) or len(targets) > 1 else targets[0]


class Functions:
    """Namespace of all operators; what gradient rules see as ``F``."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = find(name)
        function = make_function(op, invoke_update if isinstance(op, Update) else invoke, "sparsekit.ndarray", name)
        setattr(self, name, function)
        return function


F: Any = Functions()
