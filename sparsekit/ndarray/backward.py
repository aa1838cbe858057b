"""The backward pass from arrays that were computed while recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.config import config
from ..base.errors import DensificationError, GradientError, ShapeError
from ..core import hooks
from ..core.arrays import require_arrays, wrap
from ..core.dispatch import invoke
from ..core.graph import LARGE, ProgramNode, backward
from ..core.op import find
from .functions import F

if TYPE_CHECKING:
    from .ndarray import NDArray

#: Ones for small heads on GPUs, and how many of them are kept.
_ones: dict[tuple[Any, ...], NDArray] = {}  # Any: shapes, types, contexts
REMEMBERED = 64


def run_backward(heads: list[Any], gradients: list[Any] | None, retain: bool, train_mode: bool) -> None:
    """Send gradients from ``heads`` to the variables they were computed from.

    Raises
    ------
    GradientError
        If a head was not computed while recording.
    """
    state = hooks.state
    caller = state.caller
    try:
        if hooks.sink is not None and caller is None:
            state.caller = hooks.caller(depth=3)
        entries, seeds = head_gradients(heads, gradients)
    finally:
        state.caller = caller
    before = state.recording, state.training
    try:
        state.recording, state.training = False, train_mode
        backward(entries, seeds, F, wrap, retain)
    finally:
        state.recording, state.training = before


def head_gradients(heads: list[Any], gradients: list[Any] | None) -> tuple[list[Any], list[Any]]:
    """Graph entries of the heads, and the gradients there: ones where none is given."""
    require_arrays(heads, "A head")
    if gradients is not None:
        require_arrays([gradient for gradient in gradients if gradient is not None], "A head gradient")
    entries = []
    for head in heads:
        if head._entry is None:
            raise GradientError("backward() was called on an array that was not computed while recording.",
                                hint="compute it inside `with mx.autograd.record():`, from arrays with attach_grad().")
        entries.append(head._entry)
    gradients = gradients if gradients is not None else [None] * len(heads)
    if len(gradients) != len(heads):
        raise ShapeError(f"{len(gradients)} head gradients were given for {len(heads)} heads.", hint="give one for each head.")
    seeds = []
    for head, gradient in zip(heads, gradients, strict=True):
        if gradient is not None and gradient.shape != head.shape:
            raise ShapeError(f"A head gradient has shape {gradient.shape}, but its head has shape {head.shape}.",
                             hint="they must be equal.")
        seeds.append(_ones_for(head) if gradient is None else gradient)
    return entries, seeds


def _ones_for(head: NDArray) -> NDArray:
    """The gradient at a head of which none was given: ones everywhere, so dense whatever the head is."""
    if head.stype == "default":
        if hooks.sink is None:
            if isinstance(head._store, np.ndarray):
                ones: NDArray = wrap(np.ones(head._store.shape, head._store.dtype), head._layout.ctx)
                return ones
            if head._ctx.device_type == "gpu" and head._store.nbytes < LARGE and isinstance(head._entry[0], ProgramNode):
                return _kept_ones(head)
        return F.ones_like(head.detach())
    if head.size * head.dtype.itemsize > config.densify_limit:
        raise DensificationError(
            f"backward() of a {head.stype} array of shape {head.shape} starts from ones everywhere, which would take "
            f"{head.size * head.dtype.itemsize:,} bytes, above config.densify_limit of {config.densify_limit:,}.",
            hint="reduce it first, for instance with .sum(), or give out_grad.")
    call = find("_full").bind({"shape": head.shape, "value": 1.0, "dtype_": head.dtype.name})
    return invoke(call, (), None, head.context)


def _kept_ones(head: NDArray) -> NDArray:
    """Ones that are the same array at every call, so that captured graphs read them where they lie; nobody writes to them."""
    key = head.shape, head.dtype, head._ctx
    ones = _ones.get(key)
    if ones is None:
        if len(_ones) >= REMEMBERED:
            _ones.clear()
        ones = _ones[key] = F.ones_like(head.detach())
    return ones
