"""Where the cards of a graph stand: in layers, few crossings, the same each time.

Layers and their order are after Sugiyama, Tagawa and Toda (1981); places within a layer are the least squares ones,
found by pooling adjacent violators (Ayer et al., 1955).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .graph_data import Node

CARD, GAP, LANE, BETWEEN = 228.0, 22.0, 14.0, 46.0

#: Cards that stand side by side on a wide page; a wider layer is wrapped.
ABREAST = 4

SWEEPS = 6


class Placed(NamedTuple):
    """A card's corner and size."""

    x: float
    y: float
    width: float
    height: float


class GraphLayout(NamedTuple):
    """Where everything stands.

    Attributes
    ----------
    cards : list of Placed
        One for each node.
    edges : list of (source, place, target, number of the input, points)
        Points run from the lower edge of one card to the upper edge of the other.
    width, height : float
    """

    cards: list[Placed]
    edges: list[tuple[int, int, int, int, list[tuple[float, float]]]]
    width: float
    height: float


class _Item:
    """What stands in a row: a card, or the lane in which an edge passes by."""

    __slots__ = ("above", "below", "center", "node", "width")

    def __init__(self, node: int, width: float) -> None:
        self.node, self.width = node, width
        self.center = 0.0
        self.above: list[_Item] = []
        self.below: list[_Item] = []


def _layers(nodes: Sequence[Node]) -> list[int]:
    """The layer of each node: operators below all their inputs, variables just above what first uses them."""
    layers = [0] * len(nodes)
    for i, node in enumerate(nodes):
        if node.op:
            layers[i] = max((layers[source] + 1 for source, _, _ in node.inputs), default=0)
    first: dict[int, int] = {}
    for i, node in enumerate(nodes):
        for source, _, _ in node.inputs:
            first[source] = min(first.get(source, layers[i]), layers[i])
    return [layers[i] if node.op else max(0, first.get(i, 1) - 1) for i, node in enumerate(nodes)]


def _rows(nodes: Sequence[Node], abreast: int) -> list[list[int]]:
    """Layers as rows of cards; a layer that is too wide becomes several."""
    layers: dict[int, list[int]] = {}
    for i, layer in enumerate(_layers(nodes)):
        layers.setdefault(layer, []).append(i)
    rows = []
    for layer in sorted(layers):
        members = sorted(layers[layer], key=lambda i: (bool(nodes[i].op), i))
        rows += [members[start:start + abreast] for start in range(0, len(members), abreast)]
    return rows


def arrange(nodes: Sequence[Node], heights: Sequence[float], abreast: int = ABREAST, least: float = 3 * CARD) -> GraphLayout:
    """Place every card, given its height, in rows of at most ``abreast``, and route every edge around the others."""
    rows = _rows(nodes, abreast)
    row_of = {i: at for at, row in enumerate(rows) for i in row}
    items = {i: _Item(i, CARD) for i in row_of}
    lines: list[list[_Item]] = [[items[i] for i in row] for row in rows]
    lanes = _lanes(nodes, row_of, items, lines)
    _order(lines)
    width = max([sum(item.width for item in line) + GAP * (len(line) - 1) for line in lines] + [least])
    _place(lines, width)
    tops, y = [], 0.0
    for row in rows:
        tops.append(y)
        y += max((heights[i] for i in row), default=0.0) + BETWEEN
    bottoms = [tops[at] + max(heights[i] for i in row) for at, row in enumerate(rows)]
    cards = [Placed(items[i].center - CARD / 2, tops[row_of[i]], CARD, heights[i]) for i in range(len(nodes))]
    return GraphLayout(cards, _routes(nodes, cards, lanes, row_of, tops, bottoms), width, max(0.0, y - BETWEEN))


_Lanes = dict[tuple[int, int, int], _Item]


def _lanes(nodes: Sequence[Node], row_of: dict[int, int], items: dict[int, _Item], lines: list[list[_Item]]) -> _Lanes:
    """Lanes for edges that pass rows by; all edges of one array share theirs."""
    lanes: _Lanes = {}
    for i, node in enumerate(nodes):
        for source, place, _ in node.inputs:
            before = items[source]
            for row in range(row_of[source] + 1, row_of[i]):
                lane = lanes.get((source, place, row))
                if lane is None:
                    lane = lanes[source, place, row] = _Item(-1, LANE)
                    lines[row].append(lane)
                    _join(before, lane)
                before = lane
            _join(before, items[i])
    return lanes


def _join(upper: _Item, lower: _Item) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _order(lines: list[list[_Item]]) -> None:
    """Sort each row by where its neighbours stand, downwards and upwards in turn."""
    places = {id(item): float(at) for line in lines for at, item in enumerate(line)}

    def sweep(line: list[_Item], side: str) -> None:
        def middle(item: _Item) -> float:
            others = getattr(item, side)
            return sum(places[id(other)] for other in others) / len(others) if others else places[id(item)]

        line.sort(key=middle)
        places.update((id(item), float(at)) for at, item in enumerate(line))

    for number in range(SWEEPS):
        for line in lines if number % 2 == 0 else reversed(lines):
            sweep(line, "above" if number % 2 == 0 else "below")


def _place(lines: list[list[_Item]], width: float) -> None:
    """Move each row's items near their neighbours, without overlap and within the width."""
    for line in lines:
        _settle(line, [width / 2] * len(line), width)
    for number in range(SWEEPS):
        for line in lines if number % 2 == 0 else reversed(lines):
            wanted = []
            for item in line:
                near = (item.above if number % 2 == 0 else item.below) or item.above or item.below
                wanted.append(sum(other.center for other in near) / len(near) if near else width / 2)
            _settle(line, wanted, width)


def _settle(line: list[_Item], wanted: list[float], width: float) -> None:
    offsets, at = [], 0.0
    for item in line:
        offsets.append(at + item.width / 2)
        at += item.width + GAP
    free = width - (at - GAP)
    blocks: list[tuple[float, int]] = []  # mean, count
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, number = blocks.pop()
            mean, count = (mean * count + other * number) / (count + number), count + number
        blocks.append((mean, count))
    starts = [min(max(mean, 0.0), free) for mean, count in blocks for _ in range(count)]
    for item, start, offset in zip(line, starts, offsets, strict=True):
        item.center = start + offset


def _routes(nodes: Sequence[Node], cards: list[Placed], lanes: _Lanes, row_of: dict[int, int],
            tops: list[float], bottoms: list[float]) -> list[tuple[int, int, int, int, list[tuple[float, float]]]]:
    edges = []
    for i, node in enumerate(nodes):
        for number, (source, place, _) in enumerate(node.inputs):
            upper, lower = cards[source], cards[i]
            points = [(upper.x + upper.width * (place + 1) / (len(nodes[source].outputs) + 1), upper.y + upper.height)]
            if upper.y + upper.height < bottoms[row_of[source]]:  # past the taller cards of its row
                points.append((points[0][0], bottoms[row_of[source]]))
            for row in range(row_of[source] + 1, row_of[i]):
                center = lanes[source, place, row].center
                points += [(center, tops[row]), (center, bottoms[row])]
            points.append((lower.x + lower.width * (number + 1) / (len(node.inputs) + 1), lower.y))
            edges.append((source, place, i, number, points))
    return edges
