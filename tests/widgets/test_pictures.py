from __future__ import annotations

import re
import xml.dom.minidom
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from sparsekit.base.errors import UnsupportedError
from sparsekit.widgets import theme, timeline_figure, timelines_figure
from sparsekit.widgets.layout import clean, culprits

ODD = [
    None,
    [],
    [{}],
    [None, 3],
    [{"name": "a", "start": 0, "duration": 0}],
    [{"name": "x" * 5000, "lane": "forward", "start": float("nan"), "duration": float("inf")}],
    [{"name": "a", "start": "x", "duration": -4, "inputs": [None, 3], "outputs": 5, "layer": None}],
    [{"name": "a", "start": 1e15, "duration": 1e-3, "lane": "forward"}],
    [{"name": f"op{i}", "lane": f"lane{i}", "start": i, "duration": 1} for i in range(40)],
]


class Elements(HTMLParser):
    """The elements and attributes of a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attributes)


def checked(display):
    """One picture, one folded table, both well formed and without anything but colours that a sanitiser removes."""
    bundle = display._repr_mimebundle_()
    assert sorted(bundle) == ["text/html", "text/plain"]
    html = bundle["text/html"]
    data = r'"data:image/svg\+xml;charset=utf-8,([^"]+)">'
    (encoded,) = re.findall(rf'<img alt="[^"]+" style="m(?:ax-width:100%|in-width:\d+px)" src={data}', html)
    assert unquote(encoded) == display.svg
    narrow = re.findall(rf'<source media="\(max-width:\d+px\)" srcset={data}', html)
    assert [unquote(found) for found in narrow] == [svg for svg in (display.narrow_svg,) if "<source" in html]
    assert not re.search(r'src(set)?="[^"]*\s', html)  # a space ends an address of srcset
    for found in narrow:
        xml.dom.minidom.parseString(unquote(found))
    assert html.count("<table>") == html.count("<img ") == 1
    found = Elements(re.sub(r"<style>[^<]*</style>", "", html, count=1))
    assert not found.tags & {"script", "style", "iframe", "svg"}
    assert found.attributes <= {"alt", "src", "scope", "style", "media", "srcset"}
    assert re.search(r"<details><summary>[^<]+</summary><div[^>]*><table>", html)
    xml.dom.minidom.parseString(display.svg.encode())
    assert display.svg.count("<style") == display.svg.count(theme.dark_style()) == 1
    assert " style=" not in display.svg
    assert "http" not in display.svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert display.alt
    assert bundle["text/plain"].startswith(display.alt)
    return display


def test_the_alternative_text_states_the_finding(records):
    display = checked(timeline_figure(records))
    shares, longest = r"io N %, forward N %, backward N %, update N %", r"dot in dense0 \(backward\), N % of N ms"
    sentence = rf"{shares}: the longest operator is {longest}\. Apart from that: compilation N ms\."
    assert re.fullmatch(sentence.replace("N", r"[\d.]+"), display.alt)


def test_the_table_leaves_no_call_out(records):
    display = timeline_figure(records, rows=3)
    calls = display.columns.index("calls")
    assert sum(int(row[calls].replace(",", "")) for row in display.rows) == len(records)


def test_what_became_dense_is_marked(training):
    dense = checked(timeline_figure(training(dense=True)))
    assert "10 calls made a sparse array dense" in dense.alt
    assert f"hatch-{theme.ALARM[1:]}" in dense.svg
    assert any("became dense" in row[-1] for row in dense.rows)
    assert f"hatch-{theme.ALARM[1:]}" not in timeline_figure(training()).svg


def test_joined_events_are_owned_up_to(records):
    everything = timeline_figure(records, window="all")
    assert "touch at this scale" in everything.svg
    assert "the median one" in timeline_figure(records).svg


@pytest.mark.parametrize("window", ["auto", "step", "all", (3, 5), (5, 5)])
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_records_are_drawn(odd, window):
    checked(timeline_figure(odd, window=window))
    checked(timelines_figure({"a": odd, "b": [{"name": "x", "start": 1, "duration": 1}]}, window=window))


def test_hostile_names_stay_text(hostile):
    record = {"name": hostile, "layer": hostile, "lane": hostile, "start": 0, "duration": 5, "fallback": True,
              "inputs": [{"stype": hostile, "shape": [hostile]}]}  # fmt: skip
    shown = [timeline_figure([record], title=hostile), timelines_figure({hostile: [record]}, title=hostile)]
    for display in shown:
        text = checked(display).svg + display.html
        assert "<script" not in text
        assert "<img src=x" not in text


def test_the_same_data_gives_the_same_bytes(training):
    for build in (lambda: timeline_figure(training()),
                  lambda: timelines_figure({"dense": training(dense=True), "sparse": training()})):  # fmt: skip
        assert build()._repr_mimebundle_() == build()._repr_mimebundle_()


def test_a_picture_stays_small_however_many_events(training):
    few, many = timeline_figure(training()), timeline_figure(training(steps=700), window="all")
    assert len(few.svg) < 20_000
    assert len(many.svg) < 150_000
    assert len(many.html) < 210_000


def test_runs_share_one_axis_and_short_ones_are_magnified(training):
    display = checked(timelines_figure({"dense": training(dense=True), "row-sparse": training()}))
    assert re.search(r"dense takes [\d,]+× as long as row-sparse", display.alt)
    assert display.columns == ("lane", "dense", "row-sparse")
    assert {row[0]: row[1:] for row in display.rows}["became dense"] == ("1", "0")


def test_saving(records, tmp_path):
    display = timeline_figure(records)
    assert display.save(tmp_path / "a.svg").read_text(encoding="utf-8") == display.svg
    assert display.table in display.save(tmp_path / "a.html").read_text(encoding="utf-8")
    with pytest.raises(UnsupportedError, match="svg"):
        display.save(tmp_path / "a.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.svg"]


def test_whole_runs_start_together_however_long_each_compiled(training):
    display = checked(timelines_figure({"a": training(steps=1), "b": training(steps=1)[1:]}))
    assert "Not drawn: compilation" in display.svg
    lengths = next(row for row in display.rows if row[0] == "from start to end")
    assert all(length.endswith("µs") for length in lengths[1:])


@pytest.mark.parametrize("window", ["auto", "all"])
def test_the_operators_below_a_picture_are_the_first_of_its_table(training, window):
    shown = timeline_figure(training(), rows=1000, window=window)
    words = r">(\S+?)(?: in (\w+))? \((\w+)\): ([\d.]+ \S+), (\S+ %), in ([\d,]+) calls; the numbered one took"
    named = re.findall(words, shown.svg)
    rows = [(operator, layer, lane, own, share, calls) for lane, operator, layer, calls, own, share, *_ in shown.rows]
    assert named == rows[:3]
    assert f"the longest operator is {named[0][0]} in {named[0][1]} ({named[0][2]}), {named[0][4]}" in shown.alt


def test_operators_below_a_picture_that_it_does_not_draw_say_so(training):
    records = training()
    rare = {**records[-1], "name": "rare", "start": records[-1]["start"] + 1e6, "duration": 1e6, "self": 1e6}
    svg = timeline_figure([*records, rare, {**rare, "start": rare["start"] + 2e6}], window="step").svg
    assert "rare in dense0 (update): 2.00 s, 100 %, in 2 calls; none is drawn" in svg


def converted(**more):
    """A conversion, two operators that read what it made, and one that does not."""
    csr, dense = ({"stype": stype, "shape": [4, 4], "bytes": 8, "nnz": 1, "density": 0.1} for stype in ("csr", "default"))
    calls = [("plus", [csr], True, 7), ("log", [dense], False, 7), ("dot", [dense], False, 7), ("relu", [dense], False, None)]
    return [{"name": name, "kind": "op", "lane": "forward", "start": 100.0 * place, "duration": 90.0, "self": 90.0, "layer": "",
             "fallback": fallback, "inputs": inputs, "outputs": [dense], "bytes": 8, **more,
             **({} if number is None else {"conversion": number})}
            for place, (name, inputs, fallback, number) in enumerate(calls)]


def test_a_timeline_is_coloured_by_storage_type_and_has_arrows_to_the_readers_of_dense_arrays():
    shown = checked(timeline_figure(converted()))
    assert shown.svg.count("<path") == 3 * 2
    for words in ("csr", "dense only", "became dense", "is read by"):
        assert f">{words}</text>" in shown.svg
    assert "row_sparse" not in shown.svg
    without = timeline_figure([{**record, "conversion": None} for record in converted()])
    assert "<path" not in without.svg
    assert "is read by" not in without.svg


def test_an_arrow_whose_conversion_is_not_there_is_not_drawn():
    assert culprits(clean(converted())) == [0, 0, 0, -1]
    assert culprits(clean(converted()[1:])) == [-1, -1, -1]
    assert culprits(clean([{**record, "conversion": "7"} for record in converted()])) == [-1] * 4
    assert "<path" not in timeline_figure(converted()[1:]).svg


def test_many_arrows_are_counted_and_not_all_drawn():
    first, reader = converted()[:2]
    records = [first, *({**reader, "start": 100.0 * (1 + place)} for place in range(100))]
    assert "76 more arrows to readers of dense arrays are not drawn." in timeline_figure(records, window="all").svg
