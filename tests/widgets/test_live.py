from __future__ import annotations

import re
import sys

import pytest

from sparsekit import widgets
from sparsekit.base.errors import MissingPackageError
from sparsekit.widgets import sources

MODULES = ["memory.js", "xray.js", "monitor.js"]


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

    def test_the_bundle_has_the_static_twin(self, memory):
        from sparsekit.widgets import MemoryWidget

        widget = MemoryWidget(memory)
        data, _ = widget._repr_mimebundle_()
        assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
        assert data["text/html"].count("<img ") == data["text/html"].count("<table>") == 1
        assert data["text/plain"] == repr(widget)
        assert "0x" not in repr(widget)

    def test_reprs_are_stable(self, memory):
        from sparsekit.widgets import MemoryWidget

        assert repr(MemoryWidget(memory)) == "MemoryWidget(4 samples)"

    def test_nothing_to_show(self):
        from sparsekit.widgets import MemoryWidget

        assert "No memory" in MemoryWidget(None).description


def test_without_anywidget_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "sparsekit.widgets.live", raising=False)
    with pytest.raises(MissingPackageError, match=r"sparsekit\[lab\]"):
        widgets.MemoryWidget({})
