"""Live views in marimo: what it shows, and what its exports keep of them."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import sparsekit as mx

ROOT = Path(mx.__file__).parents[1]

#: Live views, as cells that show them.
VIEWS = {"array": "x.inspect().live()", "timeline": "prof.timeline().live()", "memory": "prof.memory.figure().live()"}
SETUP = """import sparsekit as mx
x = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
net = mx.gluon.nn.Dense(1, in_units=2)
net.initialize()
with mx.Profiler() as prof:
    net(x)
"""


@pytest.mark.parametrize("name", VIEWS)
def test_the_picture_and_the_table_come_with_every_live_view(name, monkeypatch):
    pytest.importorskip("anywidget")
    marimo = types.SimpleNamespace(vstack=list, Html=str, ui=types.SimpleNamespace(anywidget=lambda view: view))
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    names = {}
    exec(SETUP, names)
    view = eval(VIEWS[name], names)
    live, static = view._display_()
    assert live is view
    assert static.startswith("<details><summary>")
    assert view.figure.html() in static
    assert "data:image/svg+xml" in static
    assert "<table" in static


@pytest.mark.others
def test_an_exported_notebook_has_the_pictures(tmp_path):
    """Those of marimo itself, as HTML, which is read without a kernel."""
    pytest.importorskip("marimo")
    cells = [SETUP + "return mx, net, prof, x", *(f"{cell}\nreturn" for cell in VIEWS.values())]
    shown = ["", *["mx, net, prof, x"] * len(VIEWS)]
    body = "".join(f"@app.cell\ndef _({given}):\n" + "".join(f"    {line}\n" for line in cell.splitlines()) + "\n\n"
                   for cell, given in zip(cells, shown, strict=True))
    (tmp_path / "notebook.py").write_text(f"import marimo\n\napp = marimo.App()\n\n\n{body}")
    command = [sys.executable, "-m", "marimo", "-q", "export", "html", "notebook.py", "-o", "out.html", "--no-include-code"]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "SPARSEKIT_KERNELS": "numpy"}
    subprocess.run(command, cwd=tmp_path, env=settings, check=True, timeout=400)
    page = html.unescape((tmp_path / "out.html").read_text(encoding="utf-8").replace("\\u003C", "<").replace("\\u003E", ">"))
    kept = re.findall(r"<summary>Picture and table, without a running kernel</summary>(?:(?!</details>).)*data:image/svg", page,
                      re.DOTALL)
    assert len(kept) == len(VIEWS)
