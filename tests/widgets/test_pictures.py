from __future__ import annotations

import re
import xml.dom.minidom
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from sparsekit.base.errors import UnsupportedError
from sparsekit.widgets import memory_bars, memory_figure, theme

ODD_MEMORY = [
    None,
    {},
    {"samples": [], "at_peak": []},
    {"samples": [[0, 0, {}]], "at_peak": []},
    {"samples": [[0, 5, {"r": 5}], [0, 5, {}]], "peak_time": -1, "at_peak": [{}, None, {"shape": None, "bytes": -4}]},
    {"samples": "x", "at_peak": [{"bytes": float("nan")}]},
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


@pytest.mark.parametrize("odd", ODD_MEMORY, ids=range(len(ODD_MEMORY)))
def test_odd_memory_is_drawn(odd, memory):
    checked(memory_figure(odd))
    for by in ("role", "component"):
        checked(memory_bars({"a": odd, "b": memory}, by=by))


def test_hostile_names_stay_text(hostile, memory):
    memory["at_peak"].append(
        {"owner": hostile, "role": hostile, "stype": hostile, "component": hostile, "bytes": 10**7}
    )
    memory["samples"].append([40.0, 5, {hostile: 10**7}])
    for display in (memory_figure(memory, title=hostile), memory_bars({hostile: memory}, title=hostile)):
        text = checked(display).svg + display.html
        assert "<script" not in text
        assert "<img src=x" not in text


def test_the_same_data_gives_the_same_bytes(memory):
    assert memory_figure(memory)._repr_mimebundle_() == memory_figure(memory)._repr_mimebundle_()


def test_memory_says_when_and_what(memory):
    display = checked(memory_figure(memory))
    assert display.alt == (
        "Memory peaked at 573 kB after 20.0 µs: parameter 89 %, gradient 10 %, input <1 %; the largest array is the "
        "parameter of dense0_weight, 512 kB. The whole process peaked at 90.0 MB."
    )
    assert display.rows[0] == ("dense0_weight", "parameter", "default", "1,000 × 128", "data", "512 kB", "89 %")
    assert [row[4] for row in display.rows if row[0] == "batch"] == ["indices", "data", "indptr"]


def test_two_buffers_of_one_gradient_are_told_apart():
    part = {"owner": "w", "role": "gradient", "stype": "row_sparse", "shape": [9, 2], "component": "data", "bytes": 80}
    shown = memory_figure({"peak_bytes": 176, "at_peak": [part, part, {**part, "component": "indices", "bytes": 16}]})
    assert [row[4] for row in shown.rows] == ["data, 1 of 2", "data, 2 of 2", "indices"]
    assert "2 buffers of the gradient of w are alive at once." in shown.alt
    assert "alive at once" not in memory_figure({"peak_bytes": 80, "at_peak": [part]}).alt


def test_pictures_of_several_runs_may_have_one_scale():
    small = {"peak_bytes": 100, "peak_time": 1, "samples": [[0, 50, {"gradient": 50}], [1, 100, {"gradient": 100}]]}
    heights = [float(re.findall(r'circle cx="[\d.]+" cy="([\d.]+)"', memory_figure(memory).svg)[0])
               for memory in (small, {**small, "top_bytes": 1000}, {**small, "top_bytes": 1})]  # fmt: skip
    assert heights[1] - heights[0] > 180
    assert heights[2] == heights[0]


def test_bars_name_the_part_that_shrank(memory):
    dense = {"at_peak": [{**memory["at_peak"][0]}, {**memory["at_peak"][1], "bytes": 512_000_000}]}
    display = checked(memory_bars({"dense": dense, "row-sparse": memory}))
    assert "its gradient alone 8,637× (512 MB against 59.3 kB)" in display.alt
    assert display.columns == ("run", "parameter", "gradient", "input", "total")
    assert checked(memory_bars({"a": memory}, by="component")).columns == ("run", "data", "indices", "indptr", "total")


def test_saving(memory, tmp_path):
    display = memory_figure(memory)
    assert display.save(tmp_path / "a.svg").read_text(encoding="utf-8") == display.svg
    assert display.table in display.save(tmp_path / "a.html").read_text(encoding="utf-8")
    with pytest.raises(UnsupportedError, match="svg"):
        display.save(tmp_path / "a.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.svg"]
