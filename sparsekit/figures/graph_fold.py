"""Graphs too large to draw: blocks that repeat are drawn once, and of what is still too large only what falls back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..base.formatting import format_count
from .graph_data import Fallback, Node, both_halves, forward_half

#: Cards that a picture holds.
MOST_CARDS = 60

#: Operators of the longest block whose repetition is looked for.
LONGEST = 40


def folded(nodes: Sequence[Node], most: int = MOST_CARDS) -> tuple[list[Node], str]:
    """The graph as it can be drawn, and a sentence that says what was left out, empty if nothing was."""
    if len(nodes) <= most:
        return both_halves(nodes), ""
    nodes = forward_half(nodes)
    if len(nodes) <= most:
        return nodes, "The backward pass is left out, so that the whole forward pass has room."
    runs = _runs(nodes)
    if runs:
        contracted = _contracted(nodes, runs)
        if len(contracted) <= most:
            repeated = sum(times - 1 for _, _, times in runs)
            return contracted, (f"{format_count(len(nodes))} nodes. Repeated blocks are drawn once, and cards "
                                f"count the {format_count(repeated)} repetitions.")
    return _alarming(nodes, most)


def _runs(nodes: Sequence[Node]) -> list[tuple[int, int, int]]:
    """Blocks of operators that repeat: (place among operators, length, times)."""
    operators = [node for node in nodes if node.op]
    alike = [(node.op, tuple(array.stype for array in node.outputs), tuple(nodes[source].outputs[place].stype
              for source, place, _ in node.inputs), node.fallback is None, node.result is None, len(node.backward))
             for node in operators]
    runs, start = [], 0
    while start < len(alike):
        best = (0, 0, 0)  # operators saved, length, times
        for length in range(1, min(LONGEST, (len(alike) - start) // 2) + 1):
            times, block = 1, alike[start:start + length]
            while alike[start + times * length:start + (times + 1) * length] == block:
                times += 1
            saved = (times - 1) * length
            if times > 2 and saved > best[0]:
                best = (saved, length, times)
        if best[0]:
            runs.append((start, best[1], best[2]))
        start += best[1] * best[2] or 1
    return runs


def _contracted(nodes: Sequence[Node], runs: list[tuple[int, int, int]]) -> list[Node]:
    """Each run's repetitions after the first as one card, with the variables that they alone use.

    Operators of a run follow one another in an order in which inputs come first, so that no cycle arises.
    """
    operators = [i for i, node in enumerate(nodes) if node.op]
    group: dict[int, int] = {}
    for number, (start, length, times) in enumerate(runs):
        group.update((operators[at], number) for at in range(start + length, start + length * times))
    users: dict[int, set[int]] = {}
    for i, node in enumerate(nodes):
        for source, _, _ in node.inputs:
            users.setdefault(source, set()).add(group.get(i, -1))
    for i, node in enumerate(nodes):
        if not node.op and len(users.get(i, ())) == 1 and -1 not in users[i]:
            group[i] = next(iter(users[i]))
    members: dict[int, list[int]] = {}
    for i in sorted(group):
        members.setdefault(group[i], []).append(i)
    last = {number: max(i for i in inside if nodes[i].op) for number, inside in members.items()}
    return _rebuilt(nodes, group, members, last, lambda number: runs[number][2] - 1)


def _rebuilt(nodes: Sequence[Node], group: dict[int, int], members: dict[int, list[int]], last: dict[int, int],
             times: Callable[[int], int]) -> list[Node]:
    """The nodes that stay and one card for each group, in an order in which inputs come first."""
    kept: list[Node] = []
    at: dict[int, int] = {}
    waiting = [i for i in range(len(nodes)) if i not in group or i == last[group[i]]]
    for i in sorted(waiting, key=lambda i: (bool(nodes[i].op), i)):
        inside = members[group[i]] if i in group else [i]
        among = set(inside)
        inputs = [(at[source], place, name) for member in inside for source, place, name in nodes[member].inputs
                  if source not in among]
        unique = tuple({(source, place): (source, place, name) for source, place, name in inputs}.values())
        if i in group:
            kept.append(_card(nodes, inside, nodes[i], unique, times(group[i])))
        else:
            kept.append(nodes[i]._replace(inputs=tuple(inputs)))
        for member in inside:
            at[member] = len(kept) - 1
    # An output of a contracted card stands for all that left it.
    return [node._replace(inputs=tuple((source, min(place, len(kept[source].outputs) - 1), name)
                                       for source, place, name in node.inputs)) for node in kept]


def _card(nodes: Sequence[Node], inside: list[int], end: Node, inputs: tuple[tuple[int, int, str], ...], times: int) -> Node:
    operators = [nodes[i] for i in inside if nodes[i].op]
    name = f"{format_count(times)} more of the {format_count(len(operators) // times)} above"
    backward = tuple(alarm for node in operators for alarm in node.backward)
    fallback, result = (_together([getattr(node, which) for node in operators]) for which in ("fallback", "result"))
    return Node(name, f"{operators[0].name} – {operators[-1].name}", inputs, end.outputs, fallback, backward, "", (), result)


def _together(fallbacks: Sequence[Fallback | None]) -> Fallback | None:
    alarms = [fallback for fallback in fallbacks if fallback is not None]
    if not alarms:
        return None
    total = None if any(alarm.bytes is None for alarm in alarms) else sum(alarm.bytes or 0 for alarm in alarms)
    return Fallback(f"{format_count(len(alarms))} operators", total, alarms[0].remedy, any(alarm.refused for alarm in alarms))


def _alarming(nodes: Sequence[Node], most: int) -> tuple[list[Node], str]:
    """Only what falls back, with what is made dense for it."""
    kept: dict[int, None] = {}
    for i, node in enumerate(nodes):
        if node.alarms and len(kept) + len(node.inputs) < most:
            kept.update(dict.fromkeys([source for source, _, _ in node.inputs]))
            kept[i] = None
    order = sorted(kept)
    at = {i: number for number, i in enumerate(order)}
    drawn = [nodes[i]._replace(inputs=tuple((at[source], place, name) for source, place, name in nodes[i].inputs
                                            if source in at)) for i in order]
    said = "only operators that fall back are drawn, with their inputs" if drawn else "no node is drawn"
    return drawn, f"{format_count(len(nodes))} nodes are too many for a picture: {said}. The table has the others."
