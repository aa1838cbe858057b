from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from sparsekit.widgets import html_report, timeline_figure


class Page(HTMLParser):
    """Collects what a browser would find."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append((dict(attributes), ""))

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.inside != "style":
            self.words.append(data)

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.tags)


@pytest.fixture
def page(records):
    sections = [
        ("Words", "One paragraph.\n\nAnother."),
        ("Time", {"timeline": records, "title": "The run"}),
        ("Two runs", {"timeline": {"a": records, "b": records[:30]}}),
        ("Table", {"columns": ["a"], "rows": [["1"]], "caption": "numbers"}),
    ]
    return html_report("A report", sections, footer="made with sparsekit")


def test_the_report_needs_nothing_else(page):
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    found = Page(page)
    for tag, attributes in found.tags:
        assert tag not in ("link", "iframe", "object", "embed")
        assert all(not value or value.startswith("data:") for key, value in attributes.items() if key == "src")
    policy = [a["content"] for tag, a in found.tags if tag == "meta" and a.get("http-equiv")]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]


def test_every_live_view_stands_behind_its_picture(page):
    found = Page(page)
    assert found.count("h2") == 4
    assert found.count("img") == 2
    assert all(attributes["alt"] for tag, attributes in found.tags if tag == "img")
    views = [attributes["data-view"] for tag, attributes in found.tags if tag == "figure"]
    assert views == ["timeline", "timeline"]
    payloads = [json.loads(text) for attributes, text in found.scripts if attributes.get("type") == "application/json"]
    assert [sorted(values) for values in payloads] == [["description", "payload", "selected", "title"]] * 2
    assert sum(attributes.get("type") == "module" for attributes, _ in found.scripts) == 1


def test_modules_come_only_with_views():
    page = html_report("Plain", {"One": "word"})
    assert 'type="module"' not in page
    assert len(page) < 20_000


def test_hostile_names_end_nothing_and_start_nothing(hostile, records):
    records[3] = {**records[3], "name": hostile, "layer": hostile, "attrs": {hostile: hostile}}
    safe = html_report("A", [("b", {"timeline": records[:3]}), ("d", "e")])
    sections = [
        (hostile, {"timeline": records, "title": hostile}),
        (hostile, [hostile, {"columns": [hostile], "rows": [[hostile]]}, object]),
    ]
    page = html_report(hostile, sections, footer=hostile)
    found = Page(page)
    assert len(found.scripts) == len(Page(safe).scripts)
    assert not [attributes for tag, attributes in found.tags if tag == "img" and attributes.get("src") == "x"]
    assert not [key for _, attributes in found.tags for key in attributes if key.startswith("on")]
    page.encode("utf-8")


def test_writing_is_all_or_nothing(tmp_path, records, monkeypatch):
    path = tmp_path / "report.html"
    page = html_report("A", {"t": timeline_figure(records)}, path=path)
    assert path.read_text(encoding="utf-8") == page

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr("sparsekit.widgets.display.os.replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        html_report("B", {}, path=path)
    assert [found.name for found in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text(encoding="utf-8") == page


def test_a_report_is_the_same_each_time(records):
    assert html_report("A", {"t": {"timeline": records}}) == html_report("A", {"t": {"timeline": records}})


def test_a_report_of_a_tutorial_is_small(page):
    assert len(page) < 260_000
