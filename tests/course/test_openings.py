"""Every notebook opens with a picture, made by its first cells and soon there."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from urllib.parse import unquote

import nbformat
import pytest

from .notebooks import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURE = re.compile(r'<img alt="([^"]*)" [^>]*?src="data:image/svg\+xml;charset=utf-8,([^"]+)"')

#: Calls of functions up to the first picture of notebook 00: 62,000 when everything has been loaded.
CALLS = 100_000

#: Packages that a live picture does not need.
NOT_NEEDED = ("matplotlib", "pandas", "scipy.sparse", "torch")

#: Prints how many functions are called up to the first picture the second time, as the first may compile, and what it loaded.
COUNTED = """
import sys

def picture():
    names = {{}}
    exec({program!r}, names)
    assert eval({last!r}, names)._repr_mimebundle_()

calls = 0

def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")

picture()
sys.setprofile(count)
picture()
sys.setprofile(None)
print(calls, *({not_needed} & sys.modules.keys()))
"""


def opening(path):
    """The cells before the first section."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.MULTILINE):
            return
        yield cell


def pictures(cell):
    """Alternative text and document of each picture of a cell."""
    html = "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", ()))
    return [(unescape(alt), unquote(found)) for alt, found in PICTURE.findall(html)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_picture_stands_before_the_first_section(path):
    cells = list(opening(path))
    (found,) = [picture for cell in cells for picture in pictures(cell)]
    alt, document = found
    assert len(alt) > 20
    assert re.search(r"[\d]", alt), "a finding has a number"
    assert document.startswith(("<svg", "<?xml"))
    assert "picture" in cells[0].source, "the text says what the picture shows"


@pytest.mark.compiled  # numpy's kernels take loops of scipy
def test_the_first_picture_of_the_course_is_little_work():
    cell = next(cell for cell in opening(ROOT / "notebooks" / "00_start_here.ipynb") if pictures(cell))
    program, last = cell.source.rsplit("\n", 1)
    counted = COUNTED.format(program=program, last=last, not_needed=set(NOT_NEEDED))
    done = subprocess.run([sys.executable, "-c", counted], check=True, cwd=ROOT, text=True, stdout=subprocess.PIPE, timeout=400)
    calls, *loaded = done.stdout.splitlines()[-1].split()
    assert loaded == []
    assert int(calls) < CALLS
