"""Words of all figures, from a phone to a wide screen: they do not overlap, are not cut, and stay in their cards."""

from __future__ import annotations

from sparsekit.figures.array import array_figure
from sparsekit.figures.graph import graph_figure
from sparsekit.figures.timeline import timeline_figure
from sparsekit.figures.training import training_figure
from sparsekit.figures.xray import xray
from tests.figures.gallery import everything
from tests.figures.recorded import tables, training
from tests.figures.test_timeline import CONVERTED, LEDGER, MARKS, called, processes

from .conftest import widths_of
from .gallery import made
from .test_figures import MEMORY
from .test_timeline import RUNS

#: Words of a figure that are cut by its edges, and those that lie on others.
OVERLAPS = """() => [...document.querySelectorAll("figure > svg:not(.over)")].flatMap((svg) => {
    const boxes = [...svg.querySelectorAll("text")]
        .filter((text) => text.getAttribute("display") !== "none" && text.textContent.trim())
        .map((text) => [text.textContent, text.getBoundingClientRect()]);
    const found = [];
    const picture = svg.getBoundingClientRect();
    for (const [words, box] of boxes) {
        const cut = box.left < picture.left - 1 || box.right > picture.right + 1 || box.bottom > picture.bottom + 1;
        if (cut) found.push(["outside", words]);
    }
    boxes.forEach(([words, one], i) => boxes.slice(i + 1).forEach(([others, other]) => {
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (across > 1 && down > 3.5) found.push([words, others]);
    }));
    return found;
})"""

#: Words of a graph that begin in a card and end beyond it.
BEYOND = """() => [...document.querySelectorAll("figure > svg .placed text")].filter((text) => {
    const box = text.getBoundingClientRect();
    const cards = [...document.querySelectorAll("[data-key^='node']")].map((card) => card.getBoundingClientRect());
    const [x, y] = [box.left + 4, (box.top + box.bottom) / 2];
    const card = cards.find((one) => one.left <= x && x <= one.right && one.top <= y && y <= one.bottom);
    return card && box.right > card.right + 1;
}).map((text) => text.textContent)"""


def known(name, shape, stype="default", **more):
    return {"name": name, "inputs": [], "outputs": [{"shape": shape, "dtype": "float32", "stype": stype}], **more}


GRAPH_DATA = {"nodes": [
    known("data", [64, 1_000_000], "csr"),
    known("embedding_of_a_long_name_weight", [1_000_000, 128], "row_sparse", gradient="row_sparse"),
    known("dot1", [64, 128], op="dot", inputs=[[0, 0, "lhs"], [1, 0, "rhs"]]),
    known("log1", [64, 1_000_000], op="log", inputs=[[0, 0, "data"]], attrs={"an_attribute": "of many letters" * 3},
          fallback={"what": "data csr", "bytes": 256_000_000, "remedy": "log is dense by nature; call .tostype('default')"}),
    known("gradient of dot1", [1_000_000, 128], "row_sparse", op="dot, backward", inputs=[[2, 0, "begins at"]], of=2)]}

WATCHED = {"total": 200, "steps": list(range(1, 201)), "all_rows": 5000, "strange": [17], "took": 255,
           "loss": [2 / (i + 1) for i in range(200)], "rows": [300 + i % 40 for i in range(200)], "density": [0.06] * 200,
           "bytes": [1e6] * 200}


def monitor():
    """In a page of its own it is a picture, whose words no script sees; with something to zoom it is drawn in the page."""
    figure = training_figure(WATCHED)
    figure.panels = [panel._replace(zooms=True) for panel in figure.panels]
    return figure


def memory():
    names = {}
    exec(MEMORY, names)
    return names["figure"]


FIGURES = {
    "everything": everything, "memory": memory, "graph": lambda: graph_figure(GRAPH_DATA),
    "xray": lambda: xray(made["BATCHES"], 2, upstream=made["UPSTREAM"]), "monitor": monitor,
    **{name: lambda name=name: array_figure(made[name]) for name in ("SMALL", "LARGE", "ROWS")},
    "a run with marks": lambda: timeline_figure(tables(training(steps=12), MARKS, LEDGER)),
    "runs": lambda: timeline_figure(RUNS), "processes": lambda: timeline_figure(processes(2)),
    "arrows": lambda: timeline_figure(called(*CONVERTED)),
    "long names": lambda: timeline_figure({letter * 5000: one for letter, one in zip("xy", RUNS.values(), strict=True)}),
}  # fmt: skip


def test_words_do_not_overlap_are_not_cut_and_stay_in_their_cards(open_page):
    page = open_page(*[make() for make in FIGURES.values()])
    for width in widths_of(page, 390, 640, 1000, 1200):
        assert page.locator("figure > svg:not(.over)").count() == len(FIGURES)
        assert page.evaluate(OVERLAPS) == [], width
        assert page.evaluate(BEYOND) == [], width
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width
