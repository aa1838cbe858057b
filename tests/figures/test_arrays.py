"""Pictures of sparse arrays: the binning is right, cheap and never dense, whatever the array."""

from __future__ import annotations

import re
import tracemalloc
from urllib.parse import unquote

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.figures import components as parts_module
from sparsekit.figures.array import array_figure, array_finding, array_html, lattice, stored_value_figure
from sparsekit.figures.components import bin_density, entries_from, read_array
from sparsekit.figures.kit import Line, Rect

scipy_sparse = pytest.importorskip("scipy.sparse")


def blocks(dense, most):
    """The same counts from the dense array."""
    height, width = (max(1, -(-size // most)) for size in dense.shape)
    return np.array([[np.count_nonzero(dense[i : i + height, j : j + width]) for j in range(0, dense.shape[1], width)]
                     for i in range(0, dense.shape[0], height)])  # fmt: skip


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (64, 64), (65, 129), (200, 3), (2, 500)])
@pytest.mark.parametrize("chunk", [1 << 20, 7])
def test_csr_blocks_count_what_is_stored(shape, index_dtype, chunk, monkeypatch):
    monkeypatch.setattr(parts_module, "CHUNK", chunk)
    matrix = scipy_sparse.random(*shape, density=0.3, format="csr", random_state=0)
    array = mx.nd.sparse.csr_matrix(matrix, index_dtype=index_dtype)
    grid = bin_density(array, 16)
    np.testing.assert_array_equal(grid.counts, blocks(matrix.toarray(), 16))
    np.testing.assert_array_equal(bin_density(matrix, 16).counts, grid.counts)


@pytest.mark.parametrize("shape", [(50, 3), (7, 40), (30, 4, 5), (9,)])
def test_row_sparse_blocks_count_whole_rows(shape):
    rows = np.array([0, 3, shape[0] - 1])
    array = mx.nd.sparse.row_sparse_array((np.ones((3, *shape[1:]), np.float32), rows), shape=shape)
    dense = array.asnumpy().reshape(shape[0], -1)
    np.testing.assert_array_equal(bin_density(array, 8).counts, blocks(dense, 8))


def test_a_billion_by_a_billion_takes_memory_and_work_for_what_is_stored(calls_of):
    rows = np.sort(np.random.default_rng(0).choice(10**9, 1000, replace=False))
    data = np.broadcast_to(np.float32(1), (1000, 10**9))
    array = {"stype": "row_sparse", "shape": (10**9, 10**9), "data": data, "indices": rows}
    tracemalloc.start()
    try:
        grid, page = bin_density(array), array_html(array)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
    assert calls_of(lambda: (bin_density(array), array_html(array))) < 200_000
    assert grid.counts.sum() == 1000 * 10**9
    assert "1,000,000,000 × 1,000,000,000" in page


def test_a_csr_of_many_columns_reads_few_of_its_row_pointers():
    class Pointers:
        """An indptr that says what is read of it."""

        dtype, shape = np.dtype("int64"), (10**9 + 1,)
        read: list[int] = []  # noqa: RUF012

        def __getitem__(self, key):
            self.read.append(key.stop - key.start)
            return np.minimum(np.arange(key.start, key.stop), 1000)

    array = {"stype": "csr", "shape": (10**9, 10**9), "data": np.ones(1000, np.float32), "indices": np.arange(1000) * 999_999,
             "indptr": Pointers()}  # fmt: skip
    grid = bin_density(array)
    assert grid.counts.sum() == 1000
    assert sum(Pointers.read) <= 70


def test_very_many_values_are_sampled_and_said_to_be(monkeypatch):
    monkeypatch.setattr(parts_module, "MOST_BINNED", 500)
    matrix = scipy_sparse.random(300, 300, density=0.05, format="csr", random_state=0)
    grid = bin_density(matrix, 10)
    assert grid.every > 1
    # Rounding down loses less than one value in each block; totals of rows are exact otherwise.
    assert 0 <= matrix.nnz - grid.counts.sum() < grid.counts.size
    assert f"The places are those of every {grid.every}th stored value." in array_figure(matrix).finding


@pytest.mark.parametrize("shape", [(300, 500), (5, 500), (300, 20), (40, 40)])
def test_the_magnifier_shows_the_elements_as_they_are(shape):
    matrix = scipy_sparse.random(*shape, density=0.1, format="csr", random_state=0)
    some = np.arange(0, shape[0], 3)
    rows = mx.nd.sparse.row_sparse_array((np.ones((len(some), shape[1])), some), shape=shape)
    for array, dense in ((matrix, matrix.toarray()), (rows, rows.asnumpy())):
        row, column, found = parts_module.elements_around(read_array(array), (12, 40))
        window = dense[row : row + 12, column : column + 40]
        assert sorted(found) == [(row + int(i), column + int(j)) for i, j in np.argwhere(window)]
        assert found


SMALL = [[7, 0, 8.25, 0], [0, 0, 0, 0], [0, -9.5, 0, 1]]


def test_an_arrow_leads_from_each_pointer_to_where_its_row_begins():
    figure = array_figure(mx.nd.sparse.csr_matrix(SMALL))
    begins = [int(line.x[-1]) for line in figure.of(Line) if line.arrow]
    assert begins == [0, 2, 2, 4]
    svg = figure.svg()
    assert ">empty</text>" in svg
    assert "Of two equal pointers, the first is that of an empty row." in " ".join(figure.notes)


def test_the_lines_between_elements_end_with_them():
    line = lattice(0, 2, 5, 3, 4)  # rows 2 to 4, columns 5 to 8
    ends = list(zip(line.x, line.y, strict=True))
    drawn = {(*ends[at], *ends[at + 1]) for at in range(0, len(ends), 3)}
    assert drawn == {(x, 2, x, 5) for x in range(5, 10)} | {(5, y, 9, y) for y in range(2, 6)}


def test_a_stored_value_and_its_cells_have_one_key():
    cells = [mark for mark in array_figure(mx.nd.sparse.csr_matrix(SMALL)).of(Rect) if mark.key == "entry 2"]
    assert [mark.label for mark in cells] == ["-9.5", "1", "-9.5"]  # in the matrix, its column, its value


def test_the_finding_says_what_an_array_is_like():
    array = mx.nd.sparse.csr_matrix(([1.0, 2, 3], [0, 2, 2], [0, 2, 3, 3]), shape=(3, 1000))
    assert array_finding(read_array(array)) == (
        "csr 3 × 1,000: 3 stored values (0.1 %), 68 B; dense it would take 12.0 kB, 176× as much. "
        "Rows store 0 to 2 values, 1 is empty.")  # fmt: skip
    emptier = mx.nd.sparse.csr_matrix(([1.0, 2, 3], [0, 2, 2], [0, 2, 3, 3, 3]), shape=(4, 1000))
    assert array_finding(read_array(emptier)).endswith("Rows store 0 to 2 values, 2 are empty.")
    rows = mx.nd.sparse.row_sparse_array((np.ones((2, 4)), [1, 5]), shape=(100, 4), dtype="float32")
    assert "8 stored values (2 %) in 2 of 100 rows, 48 B" in array_finding(read_array(rows))


def odd_arrays():
    none = np.zeros(0)
    yield {"stype": "csr", "shape": (0, 0), "data": none, "indices": none.astype(int), "indptr": np.zeros(1, int)}
    yield {"stype": "csr", "shape": (0, 5), "data": none, "indices": none.astype(int), "indptr": np.zeros(1, int)}
    yield {"stype": "csr", "shape": (5, 0), "data": none, "indices": none.astype(int), "indptr": np.zeros(6, int)}
    yield {"stype": "csr", "shape": (4, 4), "data": none, "indices": none.astype(int), "indptr": np.zeros(5, int)}
    yield {"stype": "row_sparse", "shape": (4, 0), "data": np.zeros((1, 0)), "indices": np.array([2])}
    yield {"stype": "row_sparse", "shape": (0, 3), "data": np.zeros((0, 3)), "indices": none.astype(int)}
    yield {"stype": "csr", "shape": (1, 2), "data": np.array([np.nan, np.inf]), "indices": np.array([0, 1]),
           "indptr": np.array([0, 2])}  # fmt: skip
    yield mx.nd.sparse.zeros("csr", (3, 9))
    yield mx.nd.sparse.zeros("row_sparse", (3, 9))
    yield mx.nd.sparse.csr_matrix(([1, 2], [0, 1], [0, 2]), shape=(1, 2), dtype="int64")
    yield mx.nd.sparse.csr_matrix(([1, 2], [0, 1], [0, 2]), shape=(1, 2), dtype="float16")


@pytest.mark.parametrize("array", list(odd_arrays()), ids=range(11))
def test_odd_arrays_are_drawn(array):
    shown = array_figure(array, title="<script>")
    assert "<script" not in shown.svg()
    assert shown.svg() == array_figure(array, title="<script>").svg()
    array_html(array)


@pytest.mark.parametrize("start", [0, 1, 7, 2990])
def test_stored_values_are_found_by_their_position(start):
    matrix = scipy_sparse.random(300, 500, density=0.02, format="csr", random_state=0, dtype=np.float32)
    rows, columns, values = entries_from(read_array(matrix), start, start + 10)
    found = matrix.tocoo()
    for given, expected in ((rows, found.row), (columns, found.col), (values, found.data)):
        np.testing.assert_array_equal(given, expected[start : start + 10])
    some = mx.nd.sparse.row_sparse_array((np.arange(400).reshape(100, 4), np.arange(100) * 3), shape=(300, 4))
    rows, columns, values = entries_from(read_array(some), start % 390, start % 390 + 10)
    np.testing.assert_array_equal(values, np.arange(start % 390, start % 390 + 10))
    np.testing.assert_array_equal(rows, 3 * (values // 4))
    np.testing.assert_array_equal(columns, values % 4)


def edits(draw, shape, count):
    return [(draw.integers(shape[0]), draw.integers(shape[1]), float(draw.integers(0, 9))) for _ in range(count)]


def drawn_components(figure):
    """The labels of the cells of each component, in their order."""
    last = len(figure.panels) - 1
    rows = {}
    for mark in figure.of(Rect):
        if mark.panel == last:
            rows.setdefault(mark.y0, []).append(float(mark.label))
    return [rows[y] for y in sorted(rows)]


@pytest.mark.parametrize("seed", range(20))
def test_an_edited_array_has_the_components_that_scipy_gives(seed):
    draw = np.random.default_rng(seed)
    dense = np.where(draw.random((4, 5)) < 0.3, draw.integers(1, 9, (4, 5)), 0).astype("float32")
    figure = array_figure(scipy_sparse.csr_matrix(dense))
    for row, column, value in edits(draw, dense.shape, 3):
        dense[row, column] = value
    changed = figure.interaction.draw(None, {"matrix": dense.tolist()})
    expected = scipy_sparse.csr_matrix(dense)
    if expected.nnz:
        assert drawn_components(changed) == [part[:16].tolist() for part in (expected.indptr, expected.indices, expected.data)]
    assert f"{expected.nnz} stored values" in changed.finding


def test_an_edit_of_a_row_sparse_array_stores_and_removes_rows():
    figure = array_figure(mx.nd.sparse.row_sparse_array((np.ones((2, 3)), [1, 4]), shape=(6, 3)))
    matrix = [list(row) for row in figure.interaction.inputs[0].value]
    matrix[0][2], matrix[1] = 5.0, [0.0, 0.0, 0.0]
    changed = figure.interaction.draw(None, {"matrix": matrix})
    assert drawn_components(changed)[0] == [0, 4]
    assert changed.notes[0] == "Edited: as many stored values as before. The array takes 64 B, 64 B before."


def test_stored_zeros_stay_until_they_are_edited():
    figure = array_figure(mx.nd.sparse.csr_matrix(([0.0, 2.0], [0, 1], [0, 2]), shape=(1, 3)))
    changed = figure.interaction.draw(None, {"matrix": [[0.0, 2.0, 7.0]]})
    assert drawn_components(changed)[1:] == [[0, 1, 2], [0, 2, 7]]
    assert changed.notes[0].startswith("Edited: 1 more stored value; 1 pointer changes, from indptr[1] on.")


def test_a_large_array_is_stepped_through():
    matrix = scipy_sparse.random(300, 500, density=0.02, format="csr", random_state=0, dtype=np.float32)
    ask = array_figure(matrix).interaction
    found, step = matrix.tocoo(), 1234
    figure = ask.draw(None, {"place": step})
    assert next(mark.label for mark in figure.of(Rect) if mark.key == f"entry {step}") == str(found.col[step])
    said = ask.select(f"entry {step}", {})
    assert (said["row"], said["column"]) == (str(found.row[step]), str(found.col[step]))
    for key in ("entry 99999999", "entry -1", "entry x", "", "head 999999", "entry 9" + "9" * 40):
        assert ask.select(key, {}) is None


def test_an_array_shows_itself_in_a_notebook():
    array = mx.nd.sparse.csr_matrix(([1.0, 2, 3], [0, 2, 2], [0, 2, 3, 3]), shape=(3, 1000))
    page = array._repr_html_()
    (encoded,) = re.findall(r'<img alt="[^"]+" style="[^"]+" src="data:image/svg\+xml;charset=utf-8,([^"]+)">', page)
    assert unquote(encoded).startswith("<svg")
    for words in ("csr", "3 × 1,000", "0.1 %", "data 12, indices 24, indptr 32: 68 in all", "cpu(0)"):
        assert words in page
    assert page == array._repr_html_()
    assert len(page) < 25_000


def test_no_number_of_a_component_is_cut_short_and_values_stand_below_their_indices():
    columns = np.arange(999_999_000, 999_999_040)
    wide = mx.nd.sparse.csr_matrix((np.ones(40, "float32"), columns, np.arange(0, 41, 2)), shape=(20, 10**9))
    long = mx.nd.sparse.row_sparse_array((np.ones((30, 2)), np.arange(30) * 31_000_000), shape=(10**9, 2))
    for array, first in ((wide, columns[:4]), (long, np.arange(4) * 31_000_000)):
        svg = array_figure(array).svg()
        assert not re.search(r">[^<]*\d…<", svg)
        for number in first:
            assert f">{number}<" in svg
    cells = [mark for mark in array_figure(wide).of(Rect) if mark.key == "entry 0"]
    assert {(mark.x0, mark.x1) for mark in cells} == {(cells[0].x0, cells[0].x1)}


def test_one_stored_value_is_shown_with_what_is_around_it_and_its_components():
    array = mx.nd.sparse.row_sparse_array((np.ones((3, 40), np.float32), [5, 70, 900]), shape=(1000, 40))
    figure = stored_value_figure(array, 41)
    assert [panel.title for panel in figure.panels] == ["From row 68, column 0", "Components"]
    assert "stored value 41: row 70, column 1: 1" in {mark.title for mark in figure.of(Rect)}
    assert figure.finding == array_figure(array).finding.partition(" Each line")[0]


def test_an_array_that_is_drawn_anew_without_an_edit_is_not_said_to_be_edited():
    asked = array_figure(mx.nd.sparse.csr_matrix([[7, 0, 8], [0, 0, 9]])).interaction
    matrix = [list(line) for line in asked.inputs[0].value]
    assert not any("Edited" in note for note in asked.draw(None, {"matrix": matrix}).notes)
    matrix[0][1] = 4.0
    assert any("Edited" in note for note in asked.draw(None, {"matrix": matrix}).notes)
