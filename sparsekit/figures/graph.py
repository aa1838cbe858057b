"""A graph of operators as cards and edges: storage types, sizes, and what becomes dense, before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..base import checks
from ..base.entry import entries
from .figure import Figure
from .graph_data import COLUMNS, Array, Node, array_words, bytes_words, cost, finding, read_graph, shape_words, table_rows
from .graph_fold import MOST_CARDS, folded
from .graph_layout import GraphLayout, Placed, arrange
from .interaction import Choice, Interaction
from .layout import LABEL
from .marks import Line, Panel, Rect, Table, Text
from .text import clean, fit

#: Width of an edge whose bytes are not known, of one of no bytes, and of the one of most bytes, in pixels.
UNKNOWN, THIN, WIDE = 2.2, 1.2, 10.0
#: Widths that cards are laid out for, and the page below which they stand one after the other.
PAGE, PHONE, STACKED = 972.0, 352.0, 900.0
#: Outputs that a card shows; the table has them all.
MOST_OUTPUTS = 3
#: Cards that a live view draws if all are asked for.
MOST_LIVE = 300
#: Arrays below this share of the largest are small.
SMALL = 0.01


def graph_figure(data: Mapping[str, Any] | None, title: str = "") -> Figure:
    """Draw a graph of operators with the storage type, shape and bytes of every array, and mark what becomes dense.

    Parameters
    ----------
    data : dict
        ``{"nodes": [...]}``, in topological order.  A node has a ``name`` and an ``op`` (none for variables).  Its ``inputs`` are
        ``[node number, output number, name]``.  Its ``outputs`` have ``shape`` (None for unknown sizes), ``dtype``, ``stype``
        and, if known, ``bytes``.  It may have ``fallback``, ``result`` and ``backward`` (each with ``what``, ``bytes``,
        ``remedy`` and ``refused``), ``gradient`` (a storage type) and ``attrs``.  Nodes of the backward pass come last, and
        their ``of`` is the number of the forward node.
    title : str, optional

    Returns
    -------
    Figure
        Of a graph with more than 60 nodes, only the forward pass is drawn, and repeated blocks are folded.  The live view tells
        of each card, and draws all of a graph of up to 300 nodes if that is asked for.
    """
    nodes = read_graph(data)
    shown = checks.text("title", title) or "Storage types before anything runs"
    figure = _figure(nodes, shown, MOST_CARDS)

    def draw(_: tuple[float, float] | None, values: Mapping[str, Any]) -> Figure:
        return _figure(nodes, shown, _most(values))

    choice = (Choice("cards", "cards", ("folded", "all"), "folded"),) if MOST_CARDS < len(nodes) <= MOST_LIVE else ()
    figure.interaction = Interaction(draw if choice else None, lambda key, asked: _details(folded(nodes, _most(asked))[0], key),
                                     choice)  # fmt: skip
    return figure


def _most(values: Mapping[str, Any]) -> int:
    return MOST_LIVE if values.get("cards") == "all" else MOST_CARDS


def _figure(nodes: Sequence[Node], title: str, most: int) -> Figure:
    """The picture for a wide page, with that for a narrow one."""
    drawn, note = folded(nodes, most)
    caption = "Every variable and operator; bytes per stored value or row where the total is known only at run time"
    table = Table(COLUMNS, table_rows(nodes), caption)
    figure = Figure(title, finding(nodes), table=table, notes=[*filter(None, (note, _said(drawn))), *_remedies(drawn)])
    narrow = Figure(title, figure.finding, notes=figure.notes)
    heights = [card_height(node) for node in drawn]
    _Cards(figure, drawn, arrange(drawn, heights), PAGE).draw()
    _Cards(narrow, drawn, arrange(drawn, heights, 1, PHONE), PHONE).draw()
    figure.narrow, figure.narrow_below = narrow, STACKED
    return figure


def _said(nodes: Sequence[Node]) -> str:
    """What edges and frames say."""
    backward = " Cards with a broken frame belong to the backward pass." if any(node.of >= 0 for node in nodes) else ""
    return f"Wider edges carry more bytes. Thin blue ones are sparse arrays whose bytes are known only at run time.{backward}"


def _remedies(nodes: Sequence[Node]) -> list[str]:
    """A line for each operator at which an array becomes dense: what, at what cost, and what to do."""
    lines = []
    for number, node in enumerate((node for node in nodes if node.alarms), 1):
        refused = {True: ", more than the limit allows", False: ""}
        parts = "; ".join(f"{fallback.what} → {cost([fallback])}{refused[fallback.refused]}" for fallback in node.alarms)
        remedies = "; ".join(dict.fromkeys(fallback.remedy for fallback in node.alarms if fallback.remedy))
        lines.append(f"{number} {clean(node.name)}: {parts}. {remedies}")
    return lines


def card_height(node: Node) -> float:
    """Pixels that a card needs."""
    return 42.0 + 20 * len(_alarm_words(node)) + 31 * len(_output_lines(node)) + (18 if node.gradient else 0)


def _output_lines(node: Node) -> list[tuple[Array, str, str]]:
    """What a card says of each output: storage type, shape and element type, bytes; the last may stand for several."""
    shown = node.outputs if len(node.outputs) <= MOST_OUTPUTS else node.outputs[: MOST_OUTPUTS - 1]
    several = len(node.outputs) > 1
    lines = [(array, f"{f'{place}: ' if several else ''}{_stype(array)} {shape_words(array.shape)}",
              f"{array.dtype or 'type not known'}, {bytes_words(array, False)}")
             for place, array in enumerate(shown)]  # fmt: skip
    if len(shown) < len(node.outputs):
        hidden = node.outputs[len(shown):]
        alike = {array_words(array) for array in hidden}
        lines.append((hidden[0], f"{len(hidden)} more outputs", next(iter(alike)) if len(alike) == 1 else "see the table"))
    return lines


def _stype(array: Array) -> str:
    return {"default": "dense", "": "?"}.get(array.stype, array.stype)


def _alarm_words(node: Node) -> list[str]:
    """What a card says of what becomes dense: forwards, and for the gradient."""
    words = [f"falls back: {cost([node.fallback])}"] if node.fallback else []
    words += [f"dense by nature: {cost([node.result])}"] if node.result else []
    return words + ([f"backward: {cost(node.backward)}"] if node.backward else [])


def _kind_words(node: Node) -> str:
    """Write a node's operator with its attributes: ``"FullyConnected(num_hidden=10)"``."""
    attrs = ", ".join(f"{key}={value}" for key, value in node.attrs)
    return f"{node.op}({attrs})" if attrs and node.op else node.op or "variable"


def edge_widths(nodes: Sequence[Node]) -> dict[tuple[int, int], float]:
    """How wide the edges from each output are: by the root of its bytes, so that the largest does not hide the others."""
    sizes = {(i, place): array.known_bytes for i, node in enumerate(nodes) for place, array in enumerate(node.outputs)}
    most = max((size for size in sizes.values() if size), default=0)
    return {key: UNKNOWN if size is None else THIN + (WIDE - THIN) * math.sqrt(size / most) if most else THIN
            for key, size in sizes.items()}  # fmt: skip


class _Cards:
    """The marks of one layout of a graph."""

    def __init__(self, figure: Figure, nodes: Sequence[Node], layout: GraphLayout, page: float) -> None:
        self.figure, self.nodes, self.layout = figure, nodes, layout
        self.width = max(layout.width, page)
        self.left = (self.width - layout.width) / 2
        self.scale = page / self.width  # pixels of a unit on the page that this is for
        self.largest = max((array.known_bytes or 0 for node in nodes for array in node.outputs), default=0)

    def draw(self) -> None:
        """The edges, and the cards over them."""
        height = max(self.layout.height, 20.0)
        self.figure.panels = [Panel((0.0, self.width), (0.0, height), height * self.scale)]
        widths = edge_widths(self.nodes)
        for edge in self.layout.edges:
            self._edge(edge, widths)
        number = 0
        for place, (node, card) in enumerate(zip(self.nodes, self.layout.cards, strict=True)):
            number += bool(node.alarms)
            self._card(place, node, card._replace(x=card.x + self.left), number if node.alarms else 0)

    def _kind(self, array: Array, variable: bool) -> str:
        """The colour of an array."""
        if array.stype == "":
            return "outline"
        if array.stype != "default":
            return "sparse"
        if variable:
            return "needed"
        return "pale-dense" if (array.known_bytes or 0) < SMALL * self.largest else "dense"

    def _edge(self, edge: tuple[int, int, int, int, list[tuple[float, float]]], widths: Mapping[tuple[int, int], float]) -> None:
        source, place, target, number, points = edge
        array, node = self.nodes[source].outputs[place], self.nodes[target]
        kind = "sparse" if array.stype not in ("default", "") else "dense" if array.stype else "muted"
        name = node.inputs[number][2]
        words = f"{self.nodes[source].name} to {node.name}{f' as {name}' if name else ''}: {array_words(array)}"
        x, y = _bends([(across + self.left, down) for across, down in points])
        self.figure.add(Line(0, kind, x, y, f"{words}, {bytes_words(array)}", f"edge {source} {target}",
                             width=widths[source, place], arrow=True))  # fmt: skip

    def _card(self, place: int, node: Node, card: Placed, number: int) -> None:
        x, y, width, height = card
        words = f"{node.name}, {_kind_words(node)}" + "".join(f"; {said}" for said in _alarm_words(node))
        self.figure.add(Rect(0, "outline", x, x + width, y, y + height, words, f"node {place}"))
        self.figure.add(Rect(0, self._kind(node.outputs[0], not node.op), x + 3, x + 8, y + 8, y + height - 8))
        if number or node.of >= 0:
            self.figure.add(_border(card, "dense" if number else "muted", 1 if node.of >= 0 else 0))
        self._text(x + 14, y + 13, node.name, width - 22, bold=True)
        self._text(x + 14, y + 29, _kind_words(node), width - 22, "muted")
        at = y + 38
        for said in _alarm_words(node):
            shown = fit(clean(f"{number} {said}", 100), (width - 22) * self.scale, LABEL)
            self.figure.add(Rect(0, "dense", x + 12, x + width - 6, at, at + 17, label=shown))
            at += 20
        for array, description, size in _output_lines(node):
            self.figure.add(Rect(0, self._kind(array, not node.op), x + 13, x + 27, at + 3, at + 15))
            self._text(x + 34, at + 9, description, width - 40)
            self._text(x + 34, at + 24, size, width - 40, "muted")
            at += 31
        if node.gradient:
            kind = "dense" if node.gradient == "default" else "sparse"
            self.figure.add(Rect(0, kind, x + 13, x + 27, at + 2, at + 14))
            self._text(x + 34, at + 8, f"gradient {'dense' if kind == 'dense' else node.gradient}", width - 40)

    def _text(self, x: float, y: float, words: str, room: float, kind: str = "ink", bold: bool = False) -> None:
        shown = fit(clean(words, 120), room * self.scale / (1.1 if bold else 1.0), LABEL)
        if shown:
            self.figure.add(Text(0, kind, x, y, shown, bold=bold))


def _border(card: Placed, kind: str, dash: int) -> Line:
    x, y, width, height = card
    return Line(0, kind, [x, x + width, x + width, x, x], [y, y, y + height, y + height, y], dash=dash,
                width=2.5 if kind == "dense" else 1.5)  # fmt: skip


def _bends(points: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """A line that leaves and arrives upright at every point."""
    t = np.linspace(0.0, 1.0, 9)
    x, y = [points[0][0]], [points[0][1]]
    for (left, top), (right, bottom) in pairwise(points):
        if left == right:
            x.append(right)
            y.append(bottom)
        else:
            x += (left + (right - left) * t * t * (3 - 2 * t))[1:].tolist()
            y += (top + (bottom - top) * t)[1:].tolist()
    return np.array(x), np.array(y)


def _details(nodes: Sequence[Node], key: str) -> dict[str, str] | None:
    """What a live view says of a card."""
    kind, _, number = key.partition(" ")
    if kind != "node" or not number.isdecimal() or len(number) > 9 or int(number) >= len(nodes):
        return None
    node = nodes[int(number)]
    said = {"operator" if node.op else "variable": f"{node.name}: {_kind_words(node)}"}
    for source, place, name in node.inputs:
        said[f"input {name}".strip()] = f"{nodes[source].name}: {array_words(nodes[source].outputs[place])}"
    for place, array in enumerate(node.outputs[:20]):
        said[f"output {place}" if len(node.outputs) > 1 else "output"] = f"{array_words(array)}, {bytes_words(array)}"
    if node.gradient:
        said["gradient"] = node.gradient
    for place, alarm in enumerate(node.alarms):
        where = f"becomes dense{f' ({place + 1})' if place else ''}"
        said[where] = f"{alarm.what}: {cost([alarm])}{', more than the limit allows' if alarm.refused else ''}. {alarm.remedy}"
    return said


entries(globals(), ["graph_figure"])
