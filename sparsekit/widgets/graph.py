"""A graph of operators -> a picture of storage types, sizes, and what becomes dense, before anything runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base import displays
from .display import Display
from .graph_data import COLUMNS, Array, Node, array_words, bytes_words, cost, finding, read_graph, shape_words, table_rows
from .graph_fold import folded
from .graph_layout import GraphLayout, Placed, arrange
from .svg import NARROW, Drawing, fit, heading, is_narrow, text_width, wrap
from .theme import ALARM, INK, LINE, MUTED, OTHER, PAPER, STRIPE, ink_on

__all__ = ["DASHES", "LETTERS", "STYPE_COLORS", "GraphDisplay", "alarm_words", "card_height", "edge_path",
           "edge_widths", "graph_figure", "kind_words", "output_lines", "said"]

STYPE_COLORS = {"default": OTHER, "csr": "#0072b2", "row_sparse": "#009e73", "coo": "#cc79a7"}

#: Marks of storage types besides colour: a letter on cards, strokes on edges.
LETTERS = {"default": "D", "csr": "C", "row_sparse": "R", "coo": "O"}
DASHES = {"default": None, "csr": "7 3", "row_sparse": "2 3", "coo": "8 2 2 2"}
EDGES = "Wider edges carry more bytes. Broken lines are sparse arrays whose bytes are known only at run time."
#: Width of an edge whose bytes are not known, of one of no bytes, and of the one of most bytes.
UNKNOWN, THIN, WIDE = 2.2, 1.2, 10.0
BACKWARD = " Cards with a broken frame belong to the backward pass."
DENSE_HERE = "sparse arrays become dense here"
WORDS = {"default": "dense", "csr": "csr", "row_sparse": "row_sparse", "coo": "coo"}

MARGIN = 20.0
#: Outputs that a card shows; the table has them all.
MOST_OUTPUTS = 3


class GraphDisplay(Display):
    """The picture of a graph; ``live()`` gives the same graph to pan, zoom and search in."""

    def __init__(self, data: Mapping[str, Any] | None, title: str, draw: Callable[[], str], alt: str,
                 rows: Sequence[Sequence[Any]]) -> None:
        super().__init__(draw, alt, COLUMNS, rows, "Every variable and operator; bytes per stored value or row "
                         "where the total is known only at run time")
        self._data, self._title = data, title

    def live(self, title: str = "", description: str = "") -> Any:
        """The live view, which needs anywidget.

        Raises
        ------
        MissingPackageError
            If anywidget is not installed.
        """
        return displays.call("GraphWidget", self._data, title=str(title) or self._title, description=description)


def graph_figure(data: Mapping[str, Any] | None, title: str = "") -> GraphDisplay:
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
    GraphDisplay
        The picture and its table.  Of a graph with more than 60 nodes, only the forward pass is drawn, and repeated blocks are
        folded.
    """
    nodes = read_graph(data)
    words = finding(nodes)
    shown = str(title) or "Storage types before anything runs"
    return GraphDisplay(data, shown, lambda: _Picture(nodes).draw(shown, words), words, table_rows(nodes))


def output_lines(node: Node) -> list[tuple[str, str, str]]:
    """What a card says of each output: storage type, shape and element type, bytes; the last may stand for several."""
    shown = node.outputs if len(node.outputs) <= MOST_OUTPUTS else node.outputs[:MOST_OUTPUTS - 1]
    several = len(node.outputs) > 1
    lines = [(array.stype, f"{f'{place}: ' if several else ''}{array.stype or '?'} {shape_words(array.shape)}",
              f"{array.dtype or 'type not known'}, {bytes_words(array, False)}") for place, array in enumerate(shown)]
    if len(shown) < len(node.outputs):
        rest = node.outputs[len(shown):]
        alike = {array_words(array) for array in rest}
        lines.append((rest[0].stype, f"{len(rest)} more outputs", next(iter(alike)) if len(alike) == 1 else "see the table"))
    return lines


def alarm_words(node: Node) -> list[str]:
    """What a card says of what becomes dense: forwards, and for the gradient."""
    words = [f"falls back: {cost([node.fallback])}"] if node.fallback else []
    words += [f"dense by nature: {cost([node.result])}"] if node.result else []
    return words + ([f"backward: {cost(node.backward)}"] if node.backward else [])


def card_height(node: Node) -> float:
    """Pixels that a card needs."""
    return 42.0 + 20 * len(alarm_words(node)) + 31 * len(output_lines(node)) + (18 if node.gradient else 0)


class _Picture:
    """One drawing in progress; ``y`` is how far down it has come."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes, self.note = folded(nodes)
        heights = [card_height(node) for node in self.nodes]
        # A narrow page has one card after the other, and the edges that pass cards beside them.
        self.layout: GraphLayout = (arrange(self.nodes, heights, 1, NARROW - 2 * MARGIN) if is_narrow() else
                                    arrange(self.nodes, heights))
        self.width = self.layout.width + 2 * MARGIN
        self.drawing = Drawing(self.width)
        self.widths = edge_widths(self.nodes)
        alarms = [i for i, node in enumerate(self.nodes) if node.alarms]
        self.badges = {i: number + 1 for number, i in enumerate(alarms)}
        self.y = 0.0

    def draw(self, title: str, words: str) -> str:
        """Draw it all and give the SVG document."""
        drawing = self.drawing
        self.y = heading(drawing, title, words, 3) - 17
        if self.note:
            self._lines(self.note)
        self._legend()
        top = self.y
        for edge in self.layout.edges:
            self._edge(edge, top)
        for i, (node, place) in enumerate(zip(self.nodes, self.layout.cards, strict=True)):
            self._card(node, place._replace(x=place.x + MARGIN, y=place.y + top), self.badges.get(i))
        self.y = top + self.layout.height + 8
        for i, badge in self.badges.items():
            self._remedy(badge, self.nodes[i])
        return drawing.finish(self.y + 14, words)

    def _lines(self, words: str) -> None:
        for line in wrap(words, self.width - 2 * MARGIN, 11.5, 5 if is_narrow() else 2):
            self.y += 16
            self.drawing.text(MARGIN, self.y, line, size=11.5, fill=MUTED)

    def _legend(self) -> None:
        drawing, x = self.drawing, MARGIN
        self.y += 22
        for stype in STYPE_COLORS:
            if any(array.stype == stype for node in self.nodes for array in node.outputs):
                self._chip(x, self.y - 12, stype)
                _stroke(drawing, f"M{x + 22:.1f} {self.y - 4:.1f}h30", stype)
                drawing.text(x + 58, self.y, WORDS[stype], size=12)
                x += 70 + text_width(WORDS[stype], 12)
        if self.badges:
            if x + 22 + text_width(DENSE_HERE, 12) > self.width:
                x, self.y = MARGIN, self.y + 20
            drawing.rect(x, self.y - 12, 16, 16, ALARM, rx=3.0)
            drawing.text(x + 8, self.y + 0.5, "!", size=12, fill=ink_on(ALARM), text_anchor="middle", font_weight="bold")
            drawing.text(x + 22, self.y, DENSE_HERE, size=12)
        self.y += 2
        self._lines(said(self.nodes))
        self.y += 20

    def _chip(self, x: float, y: float, stype: str) -> None:
        color = STYPE_COLORS.get(stype, PAPER)
        self.drawing.rect(x, y, 16, 16, color, rx=3.0, stroke=MUTED if color == PAPER else None)
        self.drawing.text(x + 8, y + 12, LETTERS.get(stype, "?"), size=11, fill=ink_on(color), text_anchor="middle",
                          font_weight="bold")

    def _edge(self, edge: tuple[int, int, int, int, list[tuple[float, float]]], top: float) -> None:
        source, place, target, _, points = edge
        array: Array = self.nodes[source].outputs[place]
        path, (x, y) = edge_path([(x + MARGIN, y + top) for x, y in points])
        _stroke(self.drawing, path, array.stype, self.widths[source, place])
        dense = self.nodes[target].fallback is not None and array.stype not in ("default", "")
        color = ALARM if dense else STYPE_COLORS.get(array.stype, MUTED)
        size = 7.0 if dense else 4.5
        if len(self.nodes[source].outputs) > 1:
            self.drawing.text(points[0][0] + MARGIN + 4, points[0][1] + top + 11, str(place), size=10, fill=MUTED)
        self.drawing.add("path", d=f"M{x - size:.1f} {y - 1.6 * size:.1f}h{2 * size:.1f}L{x:.1f} {y:.1f}z", fill=color)

    def _card(self, node: Node, place: Placed, badge: int | None) -> None:
        drawing, (x, y, width, height) = self.drawing, place
        stype = node.outputs[0].stype
        alarm = badge is not None
        drawing.rect(x, y, width, height, PAPER if node.op else STRIPE, rx=6.0 if node.op else 16.0,
                     stroke=ALARM if alarm else INK if node.op else MUTED, stroke_width=2.5 if alarm else 1.0,
                     stroke_dasharray="6 4" if node.of >= 0 else None)
        drawing.rect(x + 3, y + 8, 4, height - 16, STYPE_COLORS.get(stype, LINE), rx=2.0)
        name = fit(node.name, width - (46 if alarm else 24), 14)  # bold is wider
        drawing.text(x + 14, y + 18, name, size=13, font_weight="bold")
        drawing.text(x + 14, y + 33, fit(kind_words(node), width - 24, 11.5), size=11.5, fill=MUTED)
        at = y + 38
        for words in alarm_words(node):
            drawing.rect(x + 11, at, width - 16, 17, ALARM, rx=3.0)
            drawing.text(x + 16, at + 12.5, fit(words, width - 26, 11.5), size=11.5, fill=ink_on(ALARM), font_weight="bold")
            at += 20
        for kind, what, size in output_lines(node):
            self._chip(x + 12, at + 2, kind)
            drawing.text(x + 34, at + 13, fit(what, width - 40, 11.5), size=11.5)
            drawing.text(x + 34, at + 27, fit(size, width - 40, 11), size=11, fill=MUTED)
            at += 31
        if node.gradient:
            self._chip(x + 12, at + 1, node.gradient)
            drawing.text(x + 34, at + 13, fit(f"gradient {node.gradient}", width - 40, 11.5), size=11.5)
        if badge is not None:
            _badge(drawing, x + width - 15, y + 15, badge)

    def _remedy(self, badge: int, node: Node) -> None:
        room = self.width - 2 * MARGIN - 26
        self.y += 20
        _badge(self.drawing, MARGIN + 9, self.y - 4.5, badge)
        parts = [f"{one.what} → {cost([one])}{', more than the limit allows' if one.refused else ''}"
                 for one in node.alarms]
        for number, line in enumerate(wrap(f"{node.name}: {'; '.join(parts)}.", room, 13)):
            self.y += 17 * bool(number)
            self.drawing.text(MARGIN + 26, self.y, line, size=13, font_weight="bold")
        remedies = "; ".join(dict.fromkeys(one.remedy for one in node.alarms if one.remedy))
        for line in wrap(remedies, room, 12, 7 if is_narrow() else 3):
            self.y += 16
            self.drawing.text(MARGIN + 26, self.y, line, size=12, fill=MUTED)


def said(nodes: Sequence[Node]) -> str:
    """What edges and frames say."""
    return EDGES + (BACKWARD if any(node.of >= 0 for node in nodes) else "")


def kind_words(node: Node) -> str:
    """Write a node's operator with its attributes: ``"FullyConnected(num_hidden=10)"``."""
    attrs = ", ".join(f"{key}={value}" for key, value in node.attrs)
    return f"{node.op}({attrs})" if attrs and node.op else node.op or "variable"


def _badge(drawing: Drawing, x: float, y: float, number: int) -> None:
    drawing.add("circle", cx=x, cy=y, r=9.0, fill=INK)
    drawing.text(x, y + 4, str(number), size=11, fill=PAPER, text_anchor="middle", font_weight="bold")


def _stroke(drawing: Drawing, path: str, stype: str, width: float = UNKNOWN) -> None:
    drawing.add("path", d=path, fill="none", stroke=STYPE_COLORS.get(stype, LINE), stroke_width=width,
                stroke_dasharray=DASHES.get(stype))


def edge_widths(nodes: Sequence[Node]) -> dict[tuple[int, int], float]:
    """How wide the edges from each output are: by the root of its bytes, so that the largest does not hide the others."""
    sizes = {(i, place): array.known_bytes for i, node in enumerate(nodes) for place, array in enumerate(node.outputs)}
    most = max((size for size in sizes.values() if size), default=0)
    return {key: UNKNOWN if size is None else THIN + (WIDE - THIN) * math.sqrt(size / most) if most else THIN
            for key, size in sizes.items()}


def edge_path(points: Sequence[tuple[float, float]]) -> tuple[str, tuple[float, float]]:
    """A path that leaves and arrives upright at every point, and where it ends."""
    x, y = points[0]
    steps = [f"M{x:.1f} {y:.1f}"]
    for right, down in points[1:]:
        bend = (down - y) / 2
        steps.append(f"V{down:.1f}" if right == x else
                     f"C{x:.1f} {y + bend:.1f} {right:.1f} {down - bend:.1f} {right:.1f} {down:.1f}")
        x, y = right, down
    return "".join(steps), (x, y)
