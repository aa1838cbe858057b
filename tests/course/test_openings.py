"""Every notebook opens with a picture, made by its first cells and soon there."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from html import unescape
from urllib.parse import unquote

import nbformat
import pytest

from .notebooks import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURE = re.compile(r'<img alt="([^"]*)" [^>]*?src="data:image/svg\+xml;charset=utf-8,([^"]+)"')

#: Seconds of the processor from nothing to the first picture of notebook 00, with kernels that are compiled.
SECONDS = 3.0


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


def test_the_first_picture_of_the_course_is_soon_there():
    """The least of two runs: the first one compiles what is not compiled yet."""
    cell = next(cell for cell in opening(ROOT / "notebooks" / "00_start_here.ipynb") if pictures(cell))
    program, last = cell.source.rsplit("\n", 1)
    took = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", f"{program}\nassert ({last})._repr_mimebundle_()"], check=True, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) <= SECONDS, took
