"""Figures that the tests of this folder draw: one with every mark, and one of what a hostile program might name things."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np

from sparsekit.figures.kit import (
    Area,
    Axis,
    Cells,
    Choice,
    Dots,
    Figure,
    Grid,
    Interaction,
    Line,
    NumberField,
    Panel,
    Rect,
    Slider,
    Switch,
    Table,
    Text,
)
from sparsekit.figures.palette import KINDS, series

HOSTILE = ("\u202egnp.exe", "x" * 5000, "</svg><script>alert(1)</script>", "\ud800half", "nul\x00\x1b[31m", "$\\frac{1}{0}$",
           "]]>&amp;\"'", "", "_private", "</script><img src=x onerror=alert(1)>")


def drawn(figure: Figure) -> Figure:
    """A figure, after it was drawn as XML at every width, the same each time, with no script of a program."""
    pictures = [figure.svg(width) for width in (240, 390, 640, 1000, 1200)]
    for picture in pictures:
        ElementTree.fromstring(picture)
    assert figure.svg(1200) == pictures[-1]
    html = figure.html()
    assert "<script" not in html
    assert "<img src=x" not in html
    return figure


def everything(name: str = "sgd_update", label: str = "forward") -> Figure:
    """Every mark, kind and axis, with names that the caller chooses."""
    figure = Figure(f"All marks of {name}", f"{name} takes 4.08 ms against 211 ms. 99 % of it is spent on dense arrays.",
                    table=Table((name, "time"), [(label, "4.08 ms")], name),
                    notes=(f"A remark on {name} that is longer than a line. " * 3,))  # fmt: skip
    figure.panels = [
        Panel((0, 211e6), (0, 6), 126, zooms=True, rows=True),
        Panel((0, 30), (1e3, 1), 160, title=f"Loss of {name}", share=0.5, log_y=True),
        Panel((0, 128e6), (0, 3), 66, rows=True, share=0.5, title="Alive at the peak"),
        Panel((0, 100), (128e6, 0), 120, title="Memory"),
        Panel((0, 40), (0, 20), 150, aspect=2.0),
        Panel((0, 10e6), (0, 6), 0, within=(0, 160e6, 205e6, 0.2, 4.5), framed=True),
    ]
    figure.add(Axis(0, "left", ticks=tuple((row + 0.5, f"{label} {row}") for row in range(6))),
               Axis(0, "bottom", "time", label="time"),
               Axis(0, "right", ticks=tuple((row + 0.5, f"{row} %") for row in range(6))))  # fmt: skip
    for row, kind in enumerate(KINDS):
        figure.add(Rect(0, kind, row * 20e6, row * 20e6 + 18e6, row + 0.1, row + 0.9, f"{name} {kind}", f"key {row}", name))
        figure.add(Rect(0, kind, 130e6 + row * 2e6, 130.5e6 + row * 2e6, row + 0.1, row + 0.9, f"{name} thin", f"thin {row}"))
        figure.add(Rect(5, kind, row * 1e6, row * 1e6 + 8e5, row + 0.1, row + 0.9, f"{name} magnified", f"key {row}"))
    figure.add(Line(0, "ink", np.linspace(20e6, 60e6, 9), 2 + np.linspace(0, 1, 9), f"{name} is read here", "key 1", arrow=True))
    for place in range(3):
        kind, dash = series(place)
        values = 1e3 * np.exp(-np.arange(31) / (5 + 5 * place))
        values[7] = np.nan
        figure.add(Line(1, kind, range(31), values, f"{label} {place}", f"line {place}", f"{label} {place}", dash, 2.0))
    figure.add(Axis(1, "left", "number"), Axis(1, "bottom", "count", label="step"), Dots(1, "ink", [10], [300.0], title=name))
    for row, (kind, size) in enumerate((("dense", 128e6), ("dense", 64e6), ("sparse", 25e3))):
        figure.add(Rect(2, kind, 0, size, row + 0.12, row + 0.88, f"{name} {row}", f"array {row}"))
    figure.add(Axis(2, "left", ticks=tuple((row + 0.5, f"{label} · parameter") for row in range(3))),
               Axis(2, "right", ticks=tuple((row + 0.5, f"128 MB · {row}") for row in range(3))))  # fmt: skip
    figure.add(Area(3, "dense", [0, 20, 60, 100], [0, 0, 0], [30e6, 100e6, 60e6], f"{name} area", "area"),
               Area(3, "sparse", [0, 100], [100e6, 100e6], [110e6, 120e6], f"{name} straight", "straight"),
               Text(3, "on dense", 40, 50e6, label, "middle", room=40),
               Axis(3, "left", "bytes"), Axis(3, "bottom", "share"))  # fmt: skip
    boxes = np.array([[i, i + 1, i % 20, i % 20 + 1] for i in range(0, 40, 3)], dtype=float)
    figure.add(Cells(4, "sparse", boxes, f"{name} cells", "cells"), Text(4, "ink", 20, 10, name, "middle", bold=True))
    figure.legend["arrow"] = "made dense → read here"
    return figure


def asking(calls: list[Any] | None = None) -> Figure:
    """A figure with every input, which notes what it is asked."""
    seen = [] if calls is None else calls

    def draw(window: tuple[float, float] | None, values: dict[str, Any]) -> Figure:
        seen.append((window, values))
        first, last = window or (0.0, 100.0)
        figure = Figure(f"Drawn for {values['kind']}", f"rows {values['rows']}", [Panel((first, last), (0, 1), 60, zooms=True)],
                        table=Table(("name", "value"), [("rows", values["rows"])]))  # fmt: skip
        for place in range(10):
            figure.add(Rect(0, values["kind"], place * 10, place * 10 + 8, 0.1, 0.9, f"bar {place}", f"bar {place}", f"b{place}"))
        figure.add(Axis(0, "bottom", "number"))
        return figure

    def select(key: str, values: dict[str, Any]) -> Any:
        if key == "bar 9":
            raise ValueError("no bar 9 <b>")
        return {"key": key, "kind": values["kind"]}

    inputs = (Slider("density", "density", 1e-4, 1.0, 0.01, "share", log=True),
              Choice("kind", "storage", ("dense", "sparse"), "dense"),
              NumberField("rows", "rows", 5, 1, 99, whole=True), Switch("index", "with indices"),
              Grid("matrix", "matrix", ((1.0, 0.0), (0.0, 2.0))))  # fmt: skip
    start = {one.name: one.value for one in inputs}
    figure = draw(None, start)
    figure.interaction = Interaction(draw, select, inputs, answers={"dense": {"kind": "dense"}, "sparse": {"kind": "sparse"}})
    return figure


def played() -> Figure:
    """A figure of three frames."""
    frames = [Figure("Frames", f"Frame {place}", [Panel((0, 3), (0, 1), 40)],
                     [Rect(0, "sparse", 0, place, 0, 1, f"frame {place}")])
              for place in (1, 2, 3)]  # fmt: skip
    frames[-1].interaction = Interaction(frames=tuple(frames), seconds=0.5)
    return frames[-1]
