from __future__ import annotations

import gzip
import json
import re
import sys

import numpy as np
import pytest

from sparsekit import widgets
from sparsekit.base.errors import MissingPackageError
from sparsekit.widgets import sources
from sparsekit.widgets.layout import clean
from sparsekit.widgets.pack import pack_timeline


def unpack(packed: bytes):
    raw = gzip.decompress(packed)
    assert raw[:4] == b"SKC1"
    length = int.from_bytes(raw[4:8], "little")
    header = json.loads(raw[8 : 8 + length])
    columns = {}
    for name, (kind, offset, count) in header["columns"].items():
        assert offset % 8 == 0
        columns[name] = np.frombuffer(raw, f"<{kind}", count, offset)
    return header, columns


def test_packing_keeps_every_event(records):
    header, columns = unpack(pack_timeline({"": records}))
    events = clean(records)
    names = [header["strings"][i] for i in columns["name"]]
    assert names == [event.name for event in events]
    assert [header["lanes"][i] for i in columns["lane"]] == [event.lane for event in events]
    np.testing.assert_allclose(columns["duration"], [event.duration for event in events])
    # The work starts at 0; what was compiled before lies below.
    assert columns["start"][0] < 0 == columns["start"][1]
    assert columns["node"].tolist() == [-1 if e.record["node"] is None else e.record["node"] for e in events]


def test_packing_describes_every_array_once(records):
    header, columns = unpack(pack_timeline({"": records}))
    described = [array for event in clean(records) for array in (*event.record["inputs"], *event.record["outputs"])]
    found = [header["array_table"][i] for i in columns["array"]]
    assert [row[7] for row in found] == [array["components"] for array in described]
    assert len(header["array_table"]) < len(described) / 10
    step = next(i for i, name in enumerate(columns["name"]) if header["strings"][name] == "dot")
    assert columns["density"][step] == pytest.approx(1e-5)


def test_packing_several_runs(training):
    header, columns = unpack(pack_timeline({"dense": training(dense=True), "sparse": training()}))
    assert header["runs"] == ["dense", "sparse"]
    assert set(columns["run"]) == {0, 1}
    assert header["view"][1] > header["view"][0] == 0


def test_packing_takes_anything(hostile):
    odd = [{"name": hostile, "node": 1 << 80, "attrs": {"a": object(), "b": float("nan")}, "bytes": "x",
            "inputs": [{"shape": {}, "components": 3, "stype": []}]}]  # fmt: skip
    many = [{"name": "a", "lane": f"lane{i}", "start": i, "duration": 1} for i in range(400)]
    header, columns = unpack(pack_timeline({hostile: odd, "many": many, "none": None}))
    assert columns["node"][0] == -1
    assert len(columns["lane"]) == 401
    assert len(header["lanes"]) == 250


def test_packing_is_compact_and_the_same_each_time(training):
    records = training(steps=300)
    packed = pack_timeline({"": records})
    assert packed == pack_timeline({"": records})
    assert len(packed) < 25 * len(records)


MODULES = ["timeline.js"]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_one_text_that_needs_nothing_else(name):
    text = sources.module(name)
    assert not re.search(r"^\s*import\b|\bimport\(", text, re.MULTILINE)
    assert text.count("export default { render };") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "</script" not in text
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(", text)
    assert text == sources.module(name)
    # In one text, names of several modules must not meet.
    names = re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE)
    assert sorted(set(names)) == sorted(names)


def test_the_style_sheet_fetches_nothing():
    assert not re.search(r"@import|url\(|https?:", sources.style() + sources.read("report.css"))


class TestWidgets:
    @pytest.fixture(autouse=True)
    def _needs_anywidget(self):
        pytest.importorskip("anywidget")

    def test_the_bundle_has_the_static_twin(self, records):
        from sparsekit.widgets import TimelineWidget

        widget = TimelineWidget(records)
        data, _ = widget._repr_mimebundle_()
        assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
        assert data["text/html"].count("<img ") == data["text/html"].count("<table>") == 1
        assert data["text/plain"] == repr(widget) == "TimelineWidget(131 events)"

    def test_the_chosen_record(self, records, training):
        from sparsekit.widgets import TimelineWidget

        widget = TimelineWidget({"a": records, "b": training(steps=1)})
        assert widget.selected_record is None
        widget.selected = len(records) + 1
        assert widget.selected_record["name"] == "LibSVMIter.next"

    @pytest.mark.parametrize("empty", [None, [], {}, {"a": None}])
    def test_nothing_to_show(self, empty):
        from sparsekit.widgets import TimelineWidget

        assert "No operator of sparsekit ran" in TimelineWidget(empty).description


def test_without_anywidget_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "sparsekit.widgets.live", raising=False)
    with pytest.raises(MissingPackageError, match=r"sparsekit\[lab\]"):
        widgets.TimelineWidget([])
