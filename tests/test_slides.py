"""The slides: what the original's blocks become, and the one file that is presented."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
SLIDES = ROOT / "notebooks" / "slides"
NOTEBOOK = nbformat.read(SLIDES / "sparse_tensors.ipynb", as_version=4)
SOURCES = "\n".join(cell.source for cell in NOTEBOOK.cells if cell.cell_type == "code")

#: Lines of code on the original's slides.
ORIGINAL = (
    "import scipy.sparse as spsp",
    "sp_matrix = spsp.rand(2, 3, density=0.3, dtype='float32'",
    "print(sp_matrix.toarray())",
    "x = mx.ndarray.sparse.csr_matrix(sp_matrix, ctx=mx.cpu())",
    "w = mx.ndarray.random.uniform(shape=(3, 1))",
    "y = mx.ndarray.sparse.dot(x, w)",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pytest.importorskip("nbconvert", reason="no nbconvert: python -m pip install 'sparsekit[lab]'")
    made = tmp_path_factory.mktemp("slides") / "slides.html"
    runpy.run_path(str(SLIDES / "export.py"))["main"](["-o", str(made)])
    return made


@pytest.mark.parametrize("line", ORIGINAL)
def test_the_code_of_the_original_slides_is_there(line):
    assert line in SOURCES


def test_every_cell_has_its_place():
    kinds = [cell.metadata.get("slideshow", {}).get("slide_type", "-") for cell in NOTEBOOK.cells]
    assert kinds[0] == "slide"
    assert 15 <= kinds.count("slide") + kinds.count("subslide") <= 20
    assert set(kinds) <= {"slide", "subslide", "fragment", "skip", "notes", "-"}
    assert kinds.count("notes") >= 10


def test_the_talk_begins_with_a_picture_and_has_many_of_them(page):
    slides = re.findall(r'<section class="slide".*?</section>', page.read_text(encoding="utf-8"), re.DOTALL)
    pictured = [number for number, slide in enumerate(slides, 1) if "<img " in slide]
    assert pictured[0] == 2, "the first is the title"
    assert len(pictured) >= 8


def test_the_page_is_whole_and_loads_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r'<section class="slide"', text)) >= 15
    assert "Where does the sparsity go?" in text
    assert not re.search(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="https?:', text)
    assert len(re.findall('<img alt="[^"]+[0-9][^"]*"', text)) >= 8, "the finding of each picture, with a number"
    assert "mx.random.seed(0)" not in text  # what prepares the talk is not shown
