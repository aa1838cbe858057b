"""One of every display: how a report holds it, its static twin, how a notebook shows it, and how one uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sparsekit.widgets import (
    memory_figure,
    monitor_figure,
    xray_figure,
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


def part(owner, role, layer, stype, shape, component, size, dtype):
    return {"owner": owner, "role": role, "layer": layer, "stype": stype, "shape": shape, "component": component,
            "bytes": size, "dtype": dtype}


MEMORY = {
    "peak_bytes": 1_084_576, "peak_time": 20.0, "process_peak_bytes": 90_000_000,
    "samples": [[0.0, 1_024_000, {"parameter": 512_000, "optimizer state": 512_000}],
                [10.0, 1_025_288, {"parameter": 512_000, "optimizer state": 512_000, "input": 1288}],
                [20.0, 1_084_576, {"parameter": 512_000, "optimizer state": 512_000, "input": 1288, "gradient": 59_288}],
                [30.0, 1_024_000, {"parameter": 512_000, "optimizer state": 512_000}]],
    "at_peak": [
        part("dense0_weight", "parameter", "dense0", "default", [1000, 128], "data", 512_000, "float32"),
        part("dense0_weight", "optimizer state", "dense0", "default", [1000, 128], "data", 512_000, "float32"),
        part("dense0_weight", "gradient", "dense0", "row_sparse", [1000, 128], "data", 58_368, "float32"),
        part("dense0_weight", "gradient", "dense0", "row_sparse", [1000, 128], "indices", 912, "int64"),
        part("batch", "input", "", "csr", [10, 1000], "data", 400, "float32"),
        part("batch", "input", "", "csr", [10, 1000], "indices", 800, "int64"),
        part("batch", "input", "", "csr", [10, 1000], "indptr", 88, "int64"),
    ],
}
SMALL, LARGE = csr(6, 12, 15, 0), csr(2000, 1_000_000, 30_000, 1)
ROWS = {"stype": "row_sparse", "shape": (10**9, 10**9), "data": np.broadcast_to(np.float32(1.5), (900, 10**9)),
        "indices": np.arange(900) ** 2 * 1234}
BATCHES = [csr(5, 40, 12, seed) for seed in range(10)]
UPSTREAM = np.random.default_rng(0).normal(size=(5, 2)).round(2)
SEEN = {
    "total": 200, "merged": 1, "steps": list(range(1, 201)), "all_rows": 5000, "strange": [17],
    "loss": [None if i == 16 else 2 * math.exp(-i / 60) + 0.1 * random.Random(i).random() for i in range(200)],
    "rows": [300 + random.Random(i).randrange(40) for i in range(200)],
    "density": [0.06 + 0.01 * random.Random(i).random() for i in range(200)],
    "took": 255, "first": 700_000,
}
'''
made: dict[str, Any] = {}
exec(MADE, made)


class View(NamedTuple):
    """One display: how a report holds it, its static twin, how a notebook shows it, and how one uses it."""

    content: dict[str, Any]
    static: Callable[[], Any]
    cell: str
    use: Callable[[Any], None]


def use_memory(view: Any) -> None:
    view.locator(".sk-mark").click()
    assert view.locator("details").first.get_attribute("open") is not None
    assert "dense0_weight" in view.locator("details").first.inner_text()
    # Role, then layer, then array, then component.
    for said in ("dense0", "dense0_weight", "indices"):
        cell = view.get_by_role("button", name=f"{said}: gradient")
        cell.focus()
        view.page.keyboard.press("Enter")
    view.locator(".sk-tree button").first.focus()
    for _ in range(3):
        view.page.keyboard.press("Escape")
    view.get_by_label("What if: gradients").select_option("default")
    assert "1.54 MB instead of 1.08 MB alive at that moment: 42 % more" in view.locator(".sk-whatif output").last.inner_text()
    view.get_by_label("What if: optimizer state").select_option("true")
    view.get_by_label("What if: indices").select_option("int32")


def use_xray(view: Any) -> None:
    table = view.locator(".sk-pipe")
    assert view.locator(".sk-later").first.is_hidden()
    table.focus()
    for _ in range(3):
        view.page.keyboard.press("ArrowRight")
    assert "keep an older state" in view.locator(".sk-said").inner_text()
    view.page.keyboard.press("ArrowDown")
    said = view.locator(".sk-said").inner_text()
    assert "its gradient is" in said
    assert "is updated now" in said
    view.page.keyboard.press("PageUp")
    assert view.locator("output").inner_text() == "9 of 10"
    view.page.keyboard.press("PageDown")
    view.page.keyboard.press("ArrowDown")


def use_monitor(view: Any) -> None:
    loss = view.locator(".sk-plane").first
    loss.focus()
    view.page.keyboard.press("Home")
    assert view.locator(".sk-status").inner_text().startswith("Step 1; loss")
    view.page.keyboard.press("ArrowRight")
    assert "rows touched" in loss.get_attribute("aria-valuetext")
    view.page.keyboard.press("Escape")
    assert "not finite at 1 step" in view.locator(".sk-status").inner_text()


def show(call: str) -> str:
    return f"import sparsekit.widgets as views\nviews.{call}"


VIEWS = {
    "memory": View({"memory": made["MEMORY"]}, lambda: memory_figure(made["MEMORY"]), show("MemoryWidget(MEMORY)"), use_memory),
    "xray": View({"xray": {"batches": made["BATCHES"], "upstream": made["UPSTREAM"], "units": 2}},
                 lambda: xray_figure(made["BATCHES"], 2, upstream=made["UPSTREAM"]),
                 show("xray(BATCHES, 2, upstream=UPSTREAM)"), use_xray),
    "monitor": View({"monitor": made["SEEN"]}, lambda: monitor_figure(made["SEEN"]),
                    "from sparsekit.widgets.training import monitor_payload\n"
                    "views.MonitorWidget(monitor_payload(SEEN), views.monitor_figure(SEEN), 'Training')",
                    use_monitor),
}  # fmt: skip
