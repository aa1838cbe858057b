"""Pictures of graphs: what they say, where things stand, and that anything may be fed to them."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import pytest

from sparsekit.figures.graph import THIN, UNKNOWN, WIDE, card_height, edge_widths, graph_figure
from sparsekit.figures.graph_data import MOST_ROWS, Array, Node, array_words, bytes_words, read_graph
from sparsekit.figures.graph_fold import MOST_CARDS, folded
from sparsekit.figures.graph_layout import ABREAST, LANE, arrange
from sparsekit.figures.kit import Line, Rect

from .gallery import HOSTILE as NAMES
from .gallery import drawn


def said(figure):
    """All that a picture says."""
    return " ".join([" ".join(ElementTree.fromstring(figure.svg()).itertext()), *figure.notes])


def variable(name, shape, stype="default", **more):
    return {"name": name, "inputs": [], "outputs": [{"shape": shape, "dtype": "float32", "stype": stype}], **more}


def operator(name, op, inputs, shape, stype="default", **more):
    return {**variable(name, shape, stype), "op": op, "inputs": inputs, **more}


def dense(size, what="data csr", refused=False):
    return {"what": what, "bytes": size, "remedy": "log is dense by nature; call .tostype('default')", "refused": refused}


@pytest.fixture
def data():
    return {"nodes": [
        variable("data", [64, 1_000_000], "csr"),
        variable("weight", [1_000_000, 128], "row_sparse", gradient="row_sparse"),
        operator("dot1", "dot", [[0, 0, "lhs"], [1, 0, "rhs"]], [64, 128]),
        operator("log1", "log", [[0, 0, "data"]], [64, 1_000_000], fallback=dense(256_000_000)),
        operator("cos1", "cos", [[1, 0, "data"]], [1_000_000, 128], fallback=dense(512_000_000, "data row_sparse", True)),
        operator("split", "SliceChannel", [[2, 0, "data"]], [64, 32]),
    ]}


def chain(count, fall_back=()):
    """Layers of an operator with a weight each, after one variable."""
    nodes = [variable("data", [8, 4], "csr")]
    for i in range(count):
        nodes.append(variable(f"weight{i}", [4, 4]))
        nodes.append(operator(f"fc{i}", "FullyConnected", [[len(nodes) - 2, 0, "data"], [len(nodes) - 1, 0, "weight"]], [8, 4],
                              fallback=dense(100) if i in fall_back else None))
    return {"nodes": nodes}


class TestWords:
    def test_the_finding_is_the_alternative_text(self, data):
        display = graph_figure(data)
        assert display.finding == (
            "2 of 4 operators fall back, 768 MB dense: cos1, log1. 1 of these would raise: more than the limit allows. "
            "Arrays: 1 csr, 1 row-sparse, 4 dense.")
        assert display.finding in display.alt
        drawn(display)

    def test_costs_and_remedies_stand_in_the_picture_and_in_the_table(self, data):
        display = graph_figure(data)
        for words in ("falls back: 256 MB dense", "falls back: 512 MB dense", "log is dense by nature", "more than the limit"):
            assert words in said(display)
        row = next(row for row in display.table.rows if row[1] == "log1")
        assert row == ("log", "log1", "data data (csr)", "default 64 × 1,000,000 float32", "256 MB", "data csr: 256 MB dense",
                       "log is dense by nature; call .tostype('default')")
        assert next(row for row in display.table.rows if row[1] == "cos1")[5] == "data row_sparse: 512 MB dense, would raise"
        assert "gradient row_sparse" in next(row for row in display.table.rows if row[1] == "weight")[3]

    @pytest.mark.parametrize(("array", "words"), [
        (Array((10, 20), "float32", "default"), "800 B"),
        (Array((10, 20), "float64", "csr"), "16 B per stored value + 88 B, at most 3.29 kB"),
        (Array((10, 20), "float32", "csr", 4), "8 B per stored value + 44 B, at most 1.64 kB"),
        (Array((10, 20), "float32", "row_sparse"), "88 B per stored row, at most 880 B"),
        (Array((None, 20), "float32", "row_sparse"), "88 B per stored row"),
        (Array((None, 20), "float32", "csr"), "12 B per stored value"),
        (Array((10, None), "float32", "csr"), "12 B per stored value + 88 B"),
        (Array((10, None), "float32", "default"), "bytes not known"),
        (Array(None, "float32", "csr"), "bytes not known"),
        (Array((10, 20), "", "default"), "bytes not known"),
        (Array((10, 20), "float32", "csr", 8, 1288), "1.29 kB"),
        (Array((), "float32", "default"), "4 B"),
        (Array((0, 5), "float32", "csr"), "12 B per stored value + 8 B, at most 8 B"),
    ])
    def test_bytes_are_exact_or_a_bound_or_said_not_to_be_known(self, array, words):
        assert bytes_words(array) == words

    def test_what_is_not_known_is_said(self):
        assert array_words(Array((3, None), "", "csr")) == "csr 3 × ? ?"
        assert array_words(Array(None, "int64", "")) == "? shape not known int64"
        unknown = {"nodes": [variable("a", None, "csr"), operator("log1", "log", [[0, 0, "data"]], None, fallback=dense(None))]}
        said = "The one operator falls back, dense bytes not known: log1. Arrays: 1 csr, 1 dense."
        assert graph_figure(unknown).finding == said
        drawn(graph_figure(unknown))


class TestBackwardHalf:
    @pytest.fixture
    def halves(self, data):
        data["nodes"][2]["backward"] = [dense(1000, "lhs of elemwise_mul csr")]
        data["nodes"] += [
            operator("gradient of dot1", "dot, backward", [[2, 0, "begins at"]], [1_000_000, 128], "row_sparse", of=2),
            operator("gradient of weight", "gradient", [[6, 0, "gradient"]], [1_000_000, 128], "row_sparse", of=1)]
        return data

    def test_it_is_drawn_and_changes_no_count(self, data, halves):
        display = graph_figure(halves)
        assert "1 of 4 operators falls back in the backward pass, 1.00 kB dense: dot1." in display.finding
        assert "Arrays: 1 csr, 1 row-sparse, 4 dense." in display.finding
        assert "gradient of weight" in said(display)
        assert "broken frame" in said(display)
        assert [row[1] for row in display.table.rows][-2:] == ["gradient of dot1", "gradient of weight"]
        drawn(display)

    def test_what_becomes_dense_stands_where_it_happens(self, halves):
        nodes, note = folded(read_graph(halves))
        assert not note
        assert [bool(node.backward) for node in nodes] == [False] * 6 + [True, False]

    def test_a_large_graph_leaves_it_out(self):
        data = chain(MOST_CARDS // 2 - 5)
        count = len(data["nodes"])
        data["nodes"][-1]["backward"] = [dense(100)]
        data["nodes"] += [operator(f"gradient{i}", "gradient", [], [8, 4], of=i) for i in range(count)]
        nodes, note = folded(read_graph(data))
        assert len(nodes) == count
        assert nodes[-1].backward
        assert "left out" in note

    @pytest.mark.parametrize("of", [-1, 10**9, "1", None, True, 2.5, [0]])
    def test_whose_it_is_may_be_anything(self, halves, of):
        halves["nodes"][3]["of"] = of
        drawn(graph_figure(halves))


class TestPlaces:
    @pytest.mark.parametrize("graph", [chain(1), chain(20), {"nodes": [variable(f"v{i}", [2]) for i in range(9)] + [
        operator("sum", "add_n", [[i, 0, ""] for i in range(9)], [2])]}], ids=["small", "deep", "wide"])
    @pytest.mark.parametrize("page", [(), (1, 340.0)], ids=["a wide page", "a narrow page"])
    def test_cards_never_overlap_and_edges_run_down_around_them(self, graph, page):
        nodes = read_graph(graph)
        layout = arrange(nodes, [card_height(node) for node in nodes], *page)
        cards = layout.cards
        for i, one in enumerate(cards):
            assert 0 <= one.x <= one.x + one.width <= layout.width + 1e-6
            assert one.y + one.height <= layout.height + 1e-6
            for other in cards[:i]:
                apart = (one.x >= other.x + other.width or other.x >= one.x + one.width
                         or one.y >= other.y + other.height or other.y >= one.y + one.height)
                assert apart, (one, other)
        rows = {}
        for one in cards:
            rows.setdefault(one.y, []).append(one)
        assert max(map(len, rows.values())) <= (page[0] if page else ABREAST)
        for source, _, target, _, points in layout.edges:
            downs = [y for _, y in points]
            assert downs == sorted(downs)
            assert downs[0] == cards[source].y + cards[source].height
            assert downs[-1] == cards[target].y
            for (x1, y1), (x2, y2) in itertools.pairwise(points):
                if x1 == x2:  # where an edge runs straight it passes no card
                    assert not any(card.x < x1 < card.x + card.width and card.y < y2 - 1e-6 and card.y + card.height > y1 + 1e-6
                                   for card in cards)
        assert LANE < 20

    def test_a_card_that_falls_back_is_framed_and_says_so(self, data):
        figure = graph_figure(data)
        frames = [line for line in figure.of(Line) if line.kind == "dense" and line.width == 2.5]
        assert len(frames) == 2
        assert [mark.label for mark in figure.of(Rect) if "falls back" in mark.label] == [
            "1 falls back: 256 MB dense", "2 falls back: 512 MB dense"]

    def test_colour_says_storage(self, data):
        figure = graph_figure(data)
        bars = [mark.kind for mark in figure.of(Rect) if mark.x1 - mark.x0 == 5]
        assert bars == ["sparse", "sparse", "pale-dense", "dense", "dense", "pale-dense"]
        edges = {line.key: line.kind for line in figure.of(Line) if line.arrow}
        assert edges == {**dict.fromkeys(("edge 0 2", "edge 1 2", "edge 0 3", "edge 1 4"), "sparse"), "edge 2 5": "dense"}
        weight = {"nodes": [variable("w", [5, 5])]}
        assert "needed" in [mark.kind for mark in graph_figure(weight).of(Rect)]

    @pytest.mark.parametrize("graph", [chain(1), chain(20)], ids=["small", "deep"])
    def test_every_card_is_on_wide_and_narrow_pages(self, graph):
        figure = graph_figure(graph)
        for one in (figure, figure.narrow):
            (x0, x1), (y0, y1) = one.panels[0].x, one.panels[0].y
            cards = [mark for mark in one.of(Rect) if mark.key.startswith("node")]
            assert len(cards) == len(graph["nodes"])
            assert all(x0 <= card.x0 < card.x1 <= x1 and y0 <= card.y0 < card.y1 <= y1 for card in cards)


class TestFolding:
    def test_blocks_that_repeat_are_drawn_once(self):
        nodes = read_graph(chain(200))
        found, note = folded(nodes)
        assert len(found) <= 10
        assert "drawn once" in note
        assert any("more of the 1 above" in node.name for node in found)
        for i, node in enumerate(found):
            assert all(source < i for source, _, _ in node.inputs)
        drawn(graph_figure(chain(200)))

    def test_a_repeated_fallback_is_counted_in_its_card(self):
        found, _ = folded(read_graph(chain(200, range(200))))
        card = next(node for node in found if "more of" in node.name)
        assert card.fallback.bytes == 100 * 198  # the first takes csr, so that 199 are alike

    def test_what_does_not_repeat_leaves_the_fallbacks(self):
        graph = chain(100, (7, 60))
        for i, node in enumerate(graph["nodes"]):
            if node.get("op"):
                node["op"] = f"op{i}"
        found, note = folded(read_graph(graph))
        assert [node.name for node in found if node.op] == ["fc6", "fc7", "fc59", "fc60"]
        assert "only operators that fall back are drawn" in note
        assert len(found) <= MOST_CARDS

    def test_a_long_table_keeps_what_falls_back(self):
        display = graph_figure(chain(2000, (1999,)))
        assert len(display.table.rows) == MOST_ROWS + 1
        assert display.table.rows[-2][1] == "fc1999"
        assert display.table.rows[-1][:2] == ("3,801 others", "none of them falls back")

    def test_the_work_for_a_large_graph_grows_with_its_size(self, calls_of):
        some, more = (calls_of(lambda size=size: graph_figure(chain(size))) for size in (1000, 3000))
        assert more < 4 * some


HOSTILE = [
    None, [], {}, {"nodes": None}, {"nodes": [None, 3, {}]},
    {"nodes": [{"name": "a", "op": "b", "inputs": [[0, 0], [5], "x", None]}]},
    {"nodes": [{"name": "a", "outputs": [{"shape": ["x", None, -4, float("nan")], "dtype": 5, "stype": []}]}]},
    {"nodes": [{"name": "a", "op": "b", "fallback": {"bytes": "x"}, "backward": [None, {}], "attrs": 3, "inputs": 7}]},
    {"nodes": [{"name": "x" * 5000, "op": "y" * 5000, "outputs": [{"shape": [1] * 300}] * 50}]},
]


@pytest.mark.parametrize("data", HOSTILE)
def test_anything_is_drawn(data):
    drawn(graph_figure(data))


@pytest.mark.parametrize("hostile", NAMES)
def test_names_are_escaped(data, hostile):
    data["nodes"][3].update(name=hostile, op=hostile, attrs={hostile: hostile}, fallback={**dense(5, hostile), "remedy": hostile})
    drawn(graph_figure(data, title=hostile))


def test_inputs_come_before_what_uses_them_so_that_there_are_no_cycles():
    later, itself = operator("a", "f", [[0, 0, ""], [1, 0, ""]], [2]), operator("b", "f", [[0, 9, ""], [1, 0, ""]], [2])
    nodes = read_graph({"nodes": [later, itself]})
    assert [node.inputs for node in nodes] == [(), ((0, 0, ""),)]


class TestLive:
    def test_a_card_tells_of_its_arrays_and_remedies(self, data):
        ask = graph_figure(data).interaction
        card = ask.select("node 4", {})
        assert card["operator"] == "cos1: cos"
        assert card["becomes dense"] == ("data row_sparse: 512 MB dense, more than the limit allows. "
                                         "log is dense by nature; call .tostype('default')")
        assert ask.select("node 2", {})["input lhs"] == "data: csr 64 × 1,000,000 float32"
        assert ask.select("node 1", {})["gradient"] == "row_sparse"
        for key in ("node 99", "node x", "edge 0 2", "", "node " + "9" * 5000):
            assert ask.select(key, {}) is None

    def test_all_cards_of_a_folded_graph_are_drawn_if_that_is_asked_for(self):
        figure = graph_figure(chain(100))
        ask = figure.interaction
        cards = [sum(mark.key.startswith("node") for mark in one.of(Rect)) for one in (
            figure, ask.draw(None, {"cards": "folded"}), ask.draw(None, {"cards": "all"}))]
        assert cards[0] == cards[1] < 11
        assert cards[2] == 201
        assert ask.select("node 200", {"cards": "all"})["operator"] == "fc99: FullyConnected"


def test_an_edge_is_as_wide_as_its_bytes_let_it_be():
    def node(shape, stype="default"):
        return Node("a", "op", (), (Array(shape, "float32", stype),), None, (), "", ())

    nodes = [node((1000, 100)), node((10, 100)), node((0, 5)), node((10, None)), node((10, 100), "csr")]
    widths = list(edge_widths(nodes).values())
    assert widths[0] == WIDE
    assert widths[1] == pytest.approx(THIN + (WIDE - THIN) * 0.1)
    assert widths[2] == THIN
    assert widths[3] == widths[4] == UNKNOWN
