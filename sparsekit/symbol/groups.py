"""Where the arrays of a graph are whose parts have groups: ``AttrScope(ctx_group="stage1")``, and ``group2ctx`` of a binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.context import Context
from ..base.errors import DTypeError, UnsupportedError, expected
from .node import Entry, SymbolNode, order


def checked_groups(group2ctx: object, ctx: Context) -> Mapping[str, Context]:
    """The contexts of the groups, which share the memory of the computer.

    Raises
    ------
    DTypeError
        If ``group2ctx`` is not a dict of contexts.
    UnsupportedError
        If one of the contexts, or that of the graph, is a GPU.
    """
    if group2ctx is None:
        return {}
    if not isinstance(group2ctx, dict) or not all(isinstance(context, Context) for context in group2ctx.values()):
        raise DTypeError(expected("group2ctx", "a dict of names and Contexts", group2ctx), hint="leave it out.")
    far = [str(context) for context in group2ctx.values() if context != ctx and "gpu" in (context.device_type, ctx.device_type)]
    if far:
        raise UnsupportedError(f"group2ctx would run a graph on {ctx} and on {', '.join(far)}.",
                               hint="leave it out: the whole graph runs on ctx.")
    return group2ctx


def places(heads: Sequence[Entry], ctx: Context, groups: Mapping[str, Context]) -> dict[SymbolNode, Context]:
    """The context of each node.

    An operator without a group is where its first input is, a variable without one is where the operator is that takes it, and
    what neither decides is on ``ctx``.
    """
    nodes = order(heads)
    contexts: dict[SymbolNode, Context] = {}
    for node in nodes:
        own = groups.get(node.attrs.get("__ctx_group__", ""))
        place = next((contexts[source] for source, _ in node.inputs if source in contexts), None) if own is None else own
        if place is not None:
            contexts[node] = place
    for node in reversed(nodes):
        if node in contexts:
            for source, _ in node.inputs:
                contexts.setdefault(source, contexts[node])
    return {node: contexts.get(node, ctx) for node in nodes}
