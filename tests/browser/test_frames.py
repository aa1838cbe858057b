"""A frame of a live view is little work, also of a hundred thousand events, samples, steps or values."""

from __future__ import annotations

import nbformat
import numpy as np
import pytest

from sparsekit.widgets import monitor

from .gallery import made

MANY = 100_000
#: Blocks of JavaScript that the engine may run from a key to the repainted view: some for each event, not for each pair.
#: A sixtieth of a second is time for some millions of them.
BLOCKS = 12 * MANY

#: Presses a key in the first part of a view that takes them, and waits until the view has been repainted.
PRESS = """async ([selector, key]) => {
    const target = document.querySelector(selector);
    target.focus();
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    for (let i = 0; i < 3; i += 1) { await new Promise(requestAnimationFrame); }
    await new Promise((done) => setTimeout(done, 100));
}"""


def blocks_of(page, selector, keys):
    """How many blocks of JavaScript run for each key, at its first and second press: counted by the engine, whatever the load."""
    session = page.context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})
    found = {}
    for key in keys * 2:
        session.send("Profiler.takePreciseCoverage")  # counts begin anew
        page.evaluate(PRESS, [selector, key])
        counted = session.send("Profiler.takePreciseCoverage")["result"]
        blocks = sum(one["count"] for script in counted for function in script["functions"] for one in function["ranges"])
        found.setdefault(key, []).append(blocks)
    session.send("Profiler.stopPreciseCoverage")
    session.detach()
    return found


def memory():
    """A hundred thousand samples of memory that goes up and down."""
    found = made["MEMORY"]
    held = (1000 * (i % 97) for i in range(MANY))
    samples = [[float(i), 10**6 + size, {"parameter": 10**6, "gradient": size}] for i, size in enumerate(held)]
    return {**found, "samples": samples}


def processes():
    """A worker and a server that share a hundred thousand events on one clock."""
    one = made["processes"]()
    records = [{**record, "start": record["start"] + 1e5 * turn} for turn in range(MANY // sum(map(len, one.values())) + 1)
               for record in one["worker 0"]]
    return {"worker 0": records, "server 0": [{**record, "lane": "serve"} for record in records]}


def steps():
    """A training of a hundred thousand steps."""
    with monitor(live=False) as seen:
        for i in range(MANY):
            seen.step(1 / (1 + i), rows=i % 7, density=0.1)
    return seen.data


def batch(seed):
    """A thousand rows that store a hundred values each, of a million columns."""
    draw = np.random.default_rng(seed)
    columns = np.sort(draw.permutation(1_000_000)[:MANY].reshape(1000, 100), axis=1)
    return {"stype": "csr", "shape": (1000, 1_000_000), "data": np.ones(MANY, np.float32), "indices": columns.ravel(),
            "indptr": np.arange(0, MANY + 1, 100)}


VIEWS = {
    "runs": (lambda: {"timeline": {name: made["training"](1, steps=MANY // 10) for name in ("one", "other")}},
             ".sk-stage", ["+", "-", "ArrowRight", "ArrowLeft"]),
    "processes": (lambda: {"timeline": processes(), "clock": "common"}, ".sk-stage", ["+", "-", "ArrowRight", "ArrowLeft"]),
    "memory": (lambda: {"memory": memory()}, ".sk [tabindex='0']", ["ArrowLeft", "ArrowRight"]),
    "inspector": (lambda: {"inspector": batch(0)}, ".sk [tabindex='0']", ["ArrowRight", "ArrowDown"]),
    "xray": (lambda: {"xray": {"batches": [batch(seed) for seed in range(3)], "units": 2}}, ".sk [tabindex='0']",
             ["ArrowRight", "ArrowDown"]),
    "monitor": (lambda: {"monitor": steps()}, ".sk [tabindex='0']", ["ArrowLeft", "ArrowRight"]),
    "crossover": (lambda: {"crossover": {}}, ".sk svg[tabindex='0']", ["ArrowLeft", "ArrowRight"]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_a_frame_is_little_work(open_report, name):
    content, selector, keys = VIEWS[name]
    page = open_report({name: content()}, reduced_motion="reduce")
    page.wait_for_selector(".sk[data-ready]", timeout=180_000)
    page.wait_for_timeout(300)
    found = blocks_of(page, selector, keys)
    print(name, found)
    assert all(0 < blocks <= BLOCKS for counts in found.values() for blocks in counts), found


#: A graph of nearly as many cards as the live view shows, 1,500; larger ones, and repeated layers, are folded.
GRAPH = """
import random
import sparsekit as mx
draw = random.Random(0)
net, kinds = mx.sym.Variable("x"), [mx.sym.sin, mx.sym.cos, mx.sym.tanh, mx.sym.exp, mx.sym.sqrt, mx.sym.square, mx.sym.abs]
for i in range(480):
    net = mx.sym.broadcast_add(draw.choice(kinds)(net, name=f"kind{i}"), mx.sym.Variable(f"b{i}"), name=f"plus{i}")
live = net.graph(x=(64, 1000), **{f"b{i}": (1, 1000) for i in range(480)}).live()
live
"""


@pytest.mark.slow
def test_a_frame_of_a_large_graph_is_little_work(lab, jupyter_server):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(GRAPH.strip())])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = jupyter_server.folder / "large_graph.ipynb"
    nbformat.write(notebook, path)
    page = lab(path.name).run_all().page
    page.locator(".sk-graph[data-ready]").wait_for()
    assert page.locator(".sk-graph .sk-node").count() > 1000
    page.emulate_media(reduced_motion="reduce")
    found = blocks_of(page, ".sk-graph svg", ["+", "-", "ArrowUp", "ArrowDown"])
    path.unlink()
    print(found)
    assert all(0 < blocks <= BLOCKS for counts in found.values() for blocks in counts), found
