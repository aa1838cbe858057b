"""The log of storage types that ``MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING=1`` turns on, in MXNet's format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ..base.config import config
from ..base.environment import flag
from .inference import NodeStorage
from .node import Entry, SymbolNode, order

VARIABLE = "MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING"


def wanted() -> bool:
    """Whether storage types are to be logged: as ``config.log_storage_types`` says, else as the environment does."""
    if config.log_storage_types is not None:
        return config.log_storage_types
    return flag(VARIABLE, False)


def storage_lines(heads: Sequence[Entry], storages: Iterable[NodeStorage]) -> list[str]:
    """A line for each node and each of its inputs and outputs, which are numbered through the graph.

    ``fcompute`` is a dense kernel, ``fcompute_ex`` one for these storage types, ``fcompute_fallback`` a dense one that
    its inputs are made dense for.
    """
    by_node = {storage.node: storage for storage in storages}
    numbers: dict[SymbolNode, int] = {}
    lines: list[str] = []
    entry = 0
    for place, node in enumerate(order(heads)):
        numbers[node] = entry
        storage = by_node.get(node)
        if storage is None:
            lines.append(f"node {place} var")
        else:
            lines.append(f"node {place} {node.written}: {_mode(storage)}")
            lines += [f"\t\tinput {numbers[source] + number}: {stype}" for (source, number), stype in
                      zip(node.inputs, storage.inputs, strict=True)]
            lines += [f"\t\toutput {entry + number}: {stype}" for number, stype in enumerate(storage.outputs)]
        entry += 1 if node.call is None else node.call.outputs
    return lines


def _mode(storage: NodeStorage) -> str:
    if storage.fallback or storage.cast:
        return "fcompute_fallback"
    return "fcompute" if {*storage.inputs, *storage.outputs} == {"default"} else "fcompute_ex"


def log_storage(heads: Sequence[Entry], storages: Iterable[NodeStorage], gradients: dict[str, str]) -> None:
    """Write the storage types of a graph that is bound, and of its gradients, to the standard error stream."""
    lines = storage_lines(heads, storages) + [f"gradient of {name}: {stype}" for name, stype in gradients.items()]
    print("\n".join(lines), file=sys.stderr)
