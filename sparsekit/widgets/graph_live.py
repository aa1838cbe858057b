"""The live view of a graph in a notebook, on anywidget; imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.formatting import format_count
from ..base.optional import optional_import
from .graph import (
    GraphDisplay,
    alarm_words,
    card_height,
    edge_path,
    edge_widths,
    graph_figure,
    kind_words,
    output_lines,
    said,
)
from .graph_data import Node, array_words, bytes_words, cost, read_graph
from .graph_fold import folded
from .graph_layout import arrange
from .live import LiveView
from .sources import module, read, style

__all__ = ["GraphWidget", "graph_payload"]

#: Cards that the live view shows; larger graphs are folded as the picture is.
MOST_LIVE = 1500


def graph_payload(data: object) -> dict[str, Any]:
    """The cards and edges of a graph with their places, as the front end draws them."""
    nodes, note = folded(read_graph(data), MOST_LIVE)
    layout = arrange(nodes, [card_height(node) for node in nodes])
    cards = [{"x": round(place.x, 1), "y": round(place.y, 1), "w": place.width, "h": place.height, **_card(node)}
             for node, place in zip(nodes, layout.cards, strict=True)]
    edges, widths = [], edge_widths(nodes)
    for source, place, target, number, points in layout.edges:
        path, end = edge_path(points)
        array = nodes[source].outputs[place]
        edges.append({"path": path, "end": [round(at, 1) for at in end], "stype": array.stype,
                      "width": round(widths[source, place], 1), "from": source, "to": target, "place": place,
                      "input": nodes[target].inputs[number][2],
                      "words": f"{array_words(array)}, {bytes_words(array)}",
                      "dense": nodes[target].fallback is not None and array.stype not in ("default", "")})
    return {"cards": cards, "edges": edges, "width": layout.width, "height": layout.height, "note": note, "said": said(nodes)}


def _card(node: Node) -> dict[str, Any]:
    return {"name": node.name, "kind": kind_words(node), "variable": not node.op, "backward": node.of >= 0,
            "lines": [list(line) for line in output_lines(node)],
            "alarms": alarm_words(node), "gradient": node.gradient,
            "outputs": [[array_words(array), bytes_words(array)] for array in node.outputs],
            "dense": [[one.what, cost([one]), one.remedy, one.refused] for one in node.alarms],
            "attrs": list(map(list, node.attrs))}


traitlets = optional_import("traitlets", "lab", "A live view")


class GraphWidget(LiveView):
    """Live graph: pan, zoom, search, go from fallback to fallback, read an operator's arrays and remedies.

    Parameters
    ----------
    data : dict
        The graph, as for ``graph_figure``.
    title, description : str, optional
        Heading, and the sentence below it.

    Attributes
    ----------
    selected : int
        Number of the card whose details are shown; -1 if there is none.
    """

    _esm = module("graph.js")
    _css = f"{style()}\n{read('graph.css')}"
    _sentence = "A live graph to pan and zoom in"
    graph = traitlets.Dict().tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    description = traitlets.Unicode("").tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)

    def __init__(self, data: Mapping[str, Any] | None = None, title: str = "", description: str = "") -> None:
        self._data = data
        self._title = str(title) or "Storage types before anything runs"
        super().__init__(graph=graph_payload(data), title=self._title, description=str(description) or self.static.alt)

    @property
    def static(self) -> GraphDisplay:
        """The static picture and table of the same graph."""
        return graph_figure(self._data, title=self._title)

    def __repr__(self) -> str:
        return f"GraphWidget({format_count(len(self.graph.get('cards') or ()))} nodes)"
