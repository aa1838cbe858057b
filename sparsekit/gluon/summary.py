"""The table that ``Block.summary`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from .block import Block

LINE = "{:>20}  {:>42} {:>15}"
WIDTH = 80


class _Row(NamedTuple):
    """A layer: its output's shape, and how many numbers its parameters hold: all, trained, seen before."""

    layer: str
    shape: str
    parameters: int
    trainable: int
    shared: int


def print_summary(block: Block, inputs: tuple[Any, ...]) -> None:
    """Run a block once on these inputs, and print what its layers gave."""
    rows = [_Row("Input", _shapes(inputs), 0, 0, 0)]
    seen: set[int] = set()
    handles: list[Any] = []

    def note(layer: Block, _: tuple[NDArray, ...], outputs: object) -> None:
        rows.append(_row(f"{type(layer).__name__}-{len(rows)}", layer, outputs, seen))

    def listen(layer: Block) -> None:
        if not getattr(layer, "_only_stacks", False):
            handles.append(layer.register_forward_hook(note))

    try:
        block.apply(listen)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    _print(rows)


def _row(name: str, layer: Block, outputs: object, seen: set[int]) -> _Row:
    parameters = [(parameter, parameter.list_data()[0].size) for parameter in layer.params.values()]
    shared = sum(size for parameter, size in parameters if id(parameter) in seen)
    seen.update(id(parameter) for parameter, _ in parameters)
    return _Row(name, _shapes(outputs), sum(size for _, size in parameters),
                sum(size for parameter, size in parameters if parameter.grad_req != "null"), shared)


def _shapes(values: object) -> str:
    """Shapes in the structure of the values; that of a single one, alone."""
    if isinstance(values, (list, tuple)):
        return ", ".join(_nested(value) for value in values)
    return _nested(values)


def _nested(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_nested(item) for item in value)}]"
    return str(value.shape if isinstance(value, NDArray) else value)


def _print(rows: list[_Row]) -> None:
    total, trainable, shared = (sum(getattr(row, name) for row in rows) for name in ("parameters", "trainable", "shared"))
    lines = ["-" * WIDTH, LINE.format("Layer (type)", "Output Shape", "Param #"), "=" * WIDTH,
             *(LINE.format(row.layer, row.shape, row.parameters) for row in rows), "=" * WIDTH,
             "Parameters in forward computation graph, duplicate included",
             f"   Total params: {total}",
             f"   Trainable params: {trainable}",
             f"   Non-trainable params: {total - trainable}",
             f"Shared params in forward computation graph: {shared}",
             f"Unique parameters in model: {total - shared}", "-" * WIDTH]
    print("\n".join(lines))
