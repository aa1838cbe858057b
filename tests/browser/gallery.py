"""One of every display: how a report holds it, its static twin, how a notebook shows it, and how one uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sparsekit.widgets import (
    processes_figure,
    timeline_figure,
    timelines_figure,
)

#: Runs in this process and in a notebook's kernel alike, so that both show the same.
MADE = '''
import math
import random

import numpy as np


def csr(rows, columns, stored, seed):
    """A csr array by its components, without a library."""
    places = np.sort(np.random.default_rng(seed).choice(rows * columns, stored, replace=False))
    return {"stype": "csr", "shape": (rows, columns), "data": (places % 7 + 0.5).astype("float32"),
            "indices": places % columns, "indptr": np.searchsorted(places, np.arange(rows + 1) * columns)}


def training(slow, steps=6):
    records, time = [], 0.0
    for step in range(steps):
        for name, lane, duration in (("LibSVMIter.next", "io", 40.0), ("dot", "forward", 100.0 * slow),
                                     ("relu", "forward", 20.0), ("dot", "backward", 300.0 * slow),
                                     ("sgd_update", "update", 150.0 * slow)):
            records.append({"name": name, "kind": "op", "lane": lane, "start": time, "duration": duration,
                            "self": duration, "layer": "dense0", "node": step if name == "dot" else None,
                            "fallback": slow > 1 and lane == "forward" and name == "dot",
                            "inputs": [{"stype": "csr", "shape": [10, 1000], "dtype": "float32", "nnz": 100,
                                        "density": 0.01, "index_dtype": "int64", "bytes": 1288,
                                        "components": {"data": 400, "indices": 800, "indptr": 88}}], "outputs": [],
                            "bytes": 9000, "flops": 25600, "dense_flops": 2560000, "line": "train.py:7"})
            time += duration + 5
    return records


def processes(steps=5):
    """Two workers, of which the first waits for the second, and a server, on one clock."""
    def span(name, lane, start, duration, own=None):
        return {"name": name, "kind": "span", "lane": lane, "start": start, "duration": duration,
                "self": duration if own is None else own, "layer": "", "node": None, "attrs": {"step": 1}}

    found = {"worker 0": [], "worker 1": [], "server 0": []}
    for step in range(steps):
        start = 1000.0 * step
        found["worker 0"] += [span("dot", "forward", start, 300), span("push+pull", "exchange", start + 350, 600, 200),
                              span("wait for rank 1", "wait", start + 400, 400)]
        found["worker 1"] += [span("dot", "forward", start, 600), span("push+pull", "exchange", start + 650, 300)]
        found["server 0"] += [span("serve", "serve", start + 700, 200, 50), span("journal", "journal", start + 710, 50),
                              span("apply", "apply", start + 780, 100)]
    return found


MARKS = [
    {"kind": "marker", "name": "warm <b>", "time": 30.0, "value": None, "unit": "", "thread": 0},
    {"kind": "counter", "name": "loss", "time": 620.0, "value": 0.6931, "unit": "nats", "thread": 0},
    {"kind": "densification", "name": "dot", "time": 700.0, "source": "csr", "target": "default", "bytes_before": 1288,
     "bytes_after": 40_000, "line": "train.py:7", "thread": 0},
    {"kind": "counter", "name": "rows", "time": 1250.0, "value": 12_345, "unit": "", "thread": 0},
    {"kind": "counter", "name": "loss", "time": 1260.0, "value": "nan", "unit": "nats", "thread": 0},
    {"kind": "counter", "name": "loss", "time": 1890.0, "value": 0.25, "unit": "nats", "thread": 0},
    {"kind": "marker", "name": "half", "time": 1900.0, "value": "of it", "unit": "", "thread": 0},
]


SMALL, LARGE = csr(6, 12, 15, 0), csr(2000, 1_000_000, 30_000, 1)
ROWS = {"stype": "row_sparse", "shape": (10**9, 10**9), "data": np.broadcast_to(np.float32(1.5), (900, 10**9)),
        "indices": np.arange(900) ** 2 * 1234}
BATCHES = [csr(5, 40, 12, seed) for seed in range(10)]
UPSTREAM = np.random.default_rng(0).normal(size=(5, 2)).round(2)
'''
made: dict[str, Any] = {}
exec(MADE, made)


class View(NamedTuple):
    """One display: how a report holds it, its static twin, how a notebook shows it, and how one uses it."""

    content: dict[str, Any]
    static: Callable[[], Any]
    cell: str
    use: Callable[[Any], None]


def use_timeline(view: Any) -> None:
    view.locator(".sk-stage").focus()
    view.page.keyboard.press("Enter")
    view.page.keyboard.press("Enter")
    assert "csr 10 × 1,000" in view.locator(".sk-panel").inner_text()


def use_marks(view: Any) -> None:
    """Markers and what became dense are gone through by key; the table has all, and leads to each."""
    said, stage, page = view.locator(".sk-status"), view.locator(".sk-stage"), view.page
    assert "30 events, 2 markers, 2 counters, 1 densification" in stage.get_attribute("aria-label")
    stage.focus()
    page.keyboard.press("Home")
    page.keyboard.press("m")
    assert said.inner_text() == "Marker warm <b>, at 30.0 µs."
    page.keyboard.press("m")
    assert said.inner_text() == ("Became dense: dot, csr → default, 1.29 kB → 40.0 kB, train.py:7, at 700 µs; loss 0.6931 nats.")
    page.keyboard.press("m")
    assert said.inner_text() == "Marker half, of it, at 1.90 ms; loss 0.25 nats, rows 12,345."
    page.keyboard.press("Shift+M")
    assert said.inner_text().startswith("Became dense: dot")
    view.get_by_text("Markers and counters in view as a table").click()
    rows = view.locator(".sk-marks tbody tr")
    rows.nth(8).wait_for()
    counters, marks = rows.nth(0).inner_text().split("\t"), rows.nth(6).inner_text().split("\t")
    assert counters == ["loss", "2", "0.25", "0.4716", "0.6931", "0.25 nats"]
    assert [part.strip() for part in marks] == ["loss", "counter", "1.26 ms", "nan nats"]
    rows.nth(8).locator("button").click()
    assert said.inner_text().startswith("Marker half")
    box = stage.locator("canvas").bounding_box()
    stage.locator("canvas").hover(position={"x": 0.9 * box["width"], "y": box["height"] - 60})
    assert view.locator(".sk-tip").inner_text() == "Counter loss, 0.25 nats, at 1.89 ms."


def use_runs(view: Any) -> None:
    use_timeline(view)
    view.get_by_role("button", name="Show the whole run").click()
    view.get_by_text("The events in view as a table").click()
    # Once the zoom has come to rest.
    view.locator("details tbody tr").nth(59).wait_for()
    assert view.locator("details tbody tr").count() == 60


def use_processes(view: Any) -> None:
    """All of it can be walked through."""
    assert "3 processes on one clock" in view.locator(".sk-stage").get_attribute("aria-label")
    view.locator(".sk-stage").focus()
    view.page.keyboard.press("Enter")
    view.page.keyboard.press("Enter")
    view.locator(".sk-panel").get_by_text("worker 0").first.wait_for()
    view.page.keyboard.press("Escape")
    view.get_by_role("button", name="Show the whole run").click()


def show(call: str) -> str:
    return f"import sparsekit.widgets as views\nviews.{call}"


VIEWS = {
    "timeline": View({"timeline": made["training"](1)}, lambda: timeline_figure(made["training"](1)),
                     show("TimelineWidget(training(1))"), use_timeline),
    "marks": View({"timeline": made["training"](1), "marks": made["MARKS"]},
                  lambda: timeline_figure(made["training"](1), marks=made["MARKS"]),
                  show("TimelineWidget(training(1), marks=MARKS)"), use_marks),
    "runs": View({"timeline": {"dense": made["training"](4), "sparse": made["training"](1)}},
                 lambda: timelines_figure({"dense": made["training"](4), "sparse": made["training"](1)}),
                 show('TimelineWidget({"dense": training(4), "sparse": training(1)})'), use_runs),
    "processes": View({"timeline": made["processes"](), "clock": "common", "errors": {"worker 0": 30.0}},
                      lambda: processes_figure(made["processes"](), errors={"worker 0": 30.0}),
                      show('TimelineWidget(processes(), clock="common")'), use_processes),
}  # fmt: skip
