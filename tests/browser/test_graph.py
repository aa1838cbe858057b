"""The live graph in JupyterLab, used as a reader would: keys, mouse, search, both themes."""

from __future__ import annotations

CELLS = ['''
import sparsekit as mx
x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
hidden = mx.sym.broadcast_add(mx.sym.dot(x, w, name="dot1"), mx.sym.Variable("bias"), name="plus1")
net = mx.sym.Group([mx.sym.FullyConnected(hidden, num_hidden=10, name="fc1"), mx.sym.log(x, name="log1"),
                    mx.sym.cos(w, name="cos1")])
shown = net.graph(x=(64, 1000000), w=(1000000, 128), bias=(1, 128))
''', "shown", "live = shown.live()\nlive"]


def test_the_live_graph(open_cells):
    view = open_cells(CELLS).run_all()
    page = view.page
    page.locator(".sk-graph[data-ready]").wait_for()
    graph, panel = page.locator(".sk-graph"), page.locator(".sk-graph .sk-panel")
    graph.scroll_into_view_if_needed()
    assert graph.locator(".sk-node").count() == 18
    assert graph.locator(".sk-node.sk-backward").count() == 8
    assert graph.locator(".sk-dense").count() == 2
    before = graph.locator("svg").first.get_attribute("viewBox")

    graph.locator(".sk-node").first.focus()
    page.keyboard.press("f")
    panel.wait_for(state="visible")
    assert "dense" in panel.inner_text()
    assert "sparse" in panel.inner_text() or "tostype" in panel.inner_text()
    first = panel.locator("h4").inner_text()
    page.keyboard.press("f")
    page.wait_for_function("first => document.querySelector('.sk-graph h4').innerText !== first", arg=first)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_function("['x', 'w'].includes(document.querySelector('.sk-graph h4').innerText)")
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    page.keyboard.press("+")
    page.wait_for_function("before => document.querySelector('.sk-graph svg').getAttribute('viewBox') !== before", arg=before)
    page.keyboard.press("0")

    graph.get_by_label("Search by name or operator").fill("dot")
    assert graph.locator(".sk-node:not(.sk-faint)").count() == 2  # and its gradient
    graph.get_by_label("Search by name or operator").fill("")
    page.wait_for_timeout(400)  # the view glides
    graph.locator(".sk-node").filter(has_text="log1").click()
    panel.wait_for(state="visible")
    assert "256 MB dense" in panel.inner_text()
    page.wait_for_timeout(400)
    for dark in (False, True):
        view.theme(dark)
        graph.evaluate("graph => graph.scrollIntoView({block: 'center'})")
        assert view.screenshot(f"graph-{'dark' if dark else 'light'}").stat().st_size > 10_000
    static, live = [output["data"] for output in view.outputs() if output["output_type"] == "execute_result"]
    assert sorted(static) == ["text/html", "text/plain"]
    assert sorted(live) == ["application/vnd.jupyter.widget-view+json", "text/html", "text/plain"]
    assert "2 of 5 operators fall back, 768 MB dense" in "".join(static["text/html"])
    page.locator(".jp-OutputArea-output img").first.evaluate("image => image.scrollIntoView({block: 'start'})")
    view.screenshot("graph-static-dark")
