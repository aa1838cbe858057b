"""The X-ray of a batch: its gradient is the library's, its ages follow from the batches."""

from __future__ import annotations

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ShapeError, UnsupportedError
from sparsekit.figures.marks import Axis, Cells, Rect
from sparsekit.figures.xray import AGES, PLACES, ROWS, xray

from .gallery import drawn

scipy_sparse = pytest.importorskip("scipy.sparse")


def batches(count, rows=4, columns=30, density=0.1):
    return [scipy_sparse.random(rows, columns, density=density, format="csr", random_state=seed, dtype=np.float32)
            for seed in range(count)]  # fmt: skip


def numbers(cell):
    """The numbers of a gradient in a cell of the table: ``g0 = (1, 2, …)``."""
    return [float(value) for value in cell.rpartition("(")[2].rstrip(")").split(", ") if value != "…"]


def at(figure, number):
    """The same figure at another batch."""
    return figure.interaction.draw(None, {"batch": number})


def raster(figure):
    """The lines of ages: boxes by age."""
    return [mark for mark in figure.of(Cells) if mark.key.startswith("age")]


def test_the_gradient_is_what_the_library_computes():
    batch = mx.nd.sparse.csr_matrix(batches(1)[0])
    upstream = mx.nd.array(np.random.default_rng(0).normal(size=(4, 3)))
    gradient = mx.nd.dot(batch, upstream, transpose_a=True, forward_stype="row_sparse")
    own, given = xray(batch, 3, upstream=upstream), xray(batch, gradient=gradient)
    stored, dense = gradient.indices.asnumpy(), gradient.asnumpy()
    assert f"touch {len(stored)} of 30 weight rows" in own.finding
    assert f"the row-sparse gradient takes {gradient._store.nbytes} B" in own.finding
    assert "does not store" not in given.finding
    for figure in (own, given):
        rows = [row for row in figure.table.rows if not row[0].endswith("more")]
        assert len(rows) == min(len(stored), ROWS)
        for row in rows:
            np.testing.assert_allclose(numbers(row[2]), dense[int(row[0])], rtol=5e-3)
        drawn = [bar for bar in figure.of(Rect) if bar.panel == 1]
        labels = [float(bar.label) for bar in drawn]
        np.testing.assert_allclose(labels, np.concatenate([dense[int(row[0])] for row in rows]), rtol=5e-3)


def test_what_is_stored_is_drawn_where_it_is():
    batch = batches(1, density=0.08)[0]
    figure, dense = xray(batch), batch.toarray()
    rows = [int(row[0]) for row in figure.table.rows]
    found = {(round(bar.x0 - 0.03), rows[int(bar.y0)]): float(bar.label) for bar in figure.of(Rect) if bar.panel == 0}
    assert found == {(sample, row): pytest.approx(dense[sample, row], rel=5e-3)
                     for sample in range(4) for row in rows if dense[sample, row]}  # fmt: skip


def test_a_gradient_of_other_rows_is_told():
    other = mx.nd.sparse.row_sparse_array((np.ones((1, 2)), [0]), shape=(30, 2))
    assert "does not store the rows that the batch touches" in xray(batches(1), gradient=other).alt


@pytest.mark.parametrize("columns", [30, 256, 1000])
@pytest.mark.parametrize("count", [12, 70])
def test_ages_follow_from_the_batches(count, columns):
    listed = batches(count, columns=columns)
    figure, last = xray(listed), np.full(columns, -1)
    ends = [*(least for _, least in AGES), 1 << 30]
    for number, batch in enumerate(listed):
        shown = at(figure, number + 1)
        for row in shown.table.rows:
            if not row[0].endswith("more"):
                before = last[int(row[0])]
                gone = number - before
                assert row[3] == ("none" if before < 0 else f"{gone} step{'' if gone == 1 else 's'} old")
        last[np.unique(batch.indices)] = number
        age = np.where(last < 0, -1, number - last)
        wide = max(1.0, columns / PLACES)
        for place, lines in enumerate(raster(shown)):
            rows = np.flatnonzero((age >= ends[place]) & (age < ends[place + 1]))
            assert lines.title.endswith(f": {len(rows)} rows")
            assert sorted(set(np.floor(rows / wide).tolist())) == np.round(lines.boxes[:, 0] / wide).tolist()
        assert f"{int((age < 0).sum())} have none yet" in shown.finding
        (counts,) = [axis for axis in shown.of(Axis) if axis.panel == 4 and axis.side == "right"]
        assert sum(int(words.split()[0]) for _, words in counts.ticks) == columns


def test_a_million_features_make_a_small_picture():
    places = np.arange(100) * 9973 % 1_000_000
    listed = [scipy_sparse.csr_matrix((np.ones(100, np.float32), places + number, np.arange(0, 101, 10)), shape=(10, 1_000_000))
              for number in range(3)]
    figure = xray(listed, units=128)
    assert len(figure.marks) < 100
    assert len(figure.html()) < 80_000
    assert "0.001 % is blue" in "".join(panel.title for panel in figure.panels)


def test_the_weight_rows_shown_are_those_that_the_batch_rows_shown_use():
    wide = scipy_sparse.random(64, 100_000, density=2e-4, format="csr", random_state=0, dtype=np.float32)
    wide = scipy_sparse.csr_matrix(scipy_sparse.hstack([np.ones((64, 1), np.float32), wide]))
    rows = xray(wide).table.rows[:-1]
    assert len(rows) == ROWS
    # Among them one that many batch rows use, so that its gradient is a sum.
    assert rows[0][0] == "0"
    assert all(int(row[1].split(",")[0]) < 8 for row in rows)
    # Where the batch rows shown store nothing or little, others are shown.
    late = scipy_sparse.csr_matrix(scipy_sparse.vstack([scipy_sparse.csr_matrix((20, 100_001)), wide[:1], wide]))
    assert len(xray(late).table.rows) == ROWS + 1


def test_the_live_view_steps_and_tells():
    listed = batches(12)
    figure = xray(listed, units=2)
    assert figure.interaction.inputs[0].value == 12
    assert at(figure, 12).svg() == figure.svg()
    assert at(figure, 1).finding != figure.finding
    assert len(figure.interaction.answers) <= 6
    for name, values in figure.interaction.answers.items():
        assert at(figure, values["batch"]).svg(), name
    row = figure.table.rows[0]
    told = figure.interaction.select(f"row {row[0].replace(',', '')}", {"batch": 12})
    assert told["gradient"] == row[2]
    assert told["optimizer state"] == f"{row[3]} → updated now"
    assert list(figure.interaction.select("age 0", {"batch": 12})) == ["updated now"]
    for wrong in ("", "row", "row x", "row 999", "age 9", "age", "other 0"):
        assert figure.interaction.select(wrong, {"batch": 12}) is None
    assert xray(listed[:1]).interaction.draw is None


@pytest.mark.parametrize("wrong", [[], mx.nd.sparse.zeros("row_sparse", (2, 3)), [None], np.zeros((2, 2))])
def test_what_is_no_batch_is_refused(wrong):
    with pytest.raises(UnsupportedError):
        xray(wrong)
    with pytest.raises(ShapeError):
        xray([*batches(1), *batches(1, columns=31)])
    with pytest.raises(UnsupportedError):
        xray(batches(1), gradient=batches(1)[0])


def test_empty_batches_are_drawn():
    empty = mx.nd.sparse.zeros("csr", (3, 9))
    assert "touch 0 of 9 weight rows" in xray([empty, empty], title="<b>").alt
    shown = drawn(xray([empty, empty], title="<b>"))
    assert "<b>" not in shown.html()
    assert "stores nothing" in shown.notes[0]
    assert "0 of 0" in xray(mx.nd.sparse.zeros("csr", (0, 0))).alt


def test_units_are_those_of_the_arrays_given():
    gradient = mx.nd.sparse.row_sparse_array((np.ones((1, 2)), [0]), shape=(30, 2))
    upstream = np.ones((4, 3), np.float32)
    touched = len(np.unique(batches(1)[0].indices))
    for given, units in (({}, 1), ({"units": 5}, 5), ({"gradient": gradient}, 2), ({"upstream": upstream}, 3),
                         ({"upstream": upstream, "units": 3}, 3)):  # fmt: skip
        assert f"takes {touched * (4 * units + 8)} B" in xray(batches(1), **given).finding
    with pytest.raises(ShapeError, match="the gradient 2, upstream= 3"):
        xray(batches(1), gradient=gradient, upstream=upstream)
    with pytest.raises(ShapeError, match="units= 7, upstream= 3"):
        xray(batches(1), 7, upstream=upstream)


@pytest.mark.parametrize("upstream", [np.ones(4), np.ones((5, 3)), np.ones((4, 3, 1)), 3])
def test_arrays_that_do_not_fit_the_batch_are_refused(upstream):
    with pytest.raises(ShapeError, match="upstream= has shape"):
        xray(batches(1), upstream=upstream)
    with pytest.raises(ShapeError, match="The gradient has 31 rows, the batch 30 columns"):
        xray(batches(1), gradient=mx.nd.sparse.zeros("row_sparse", (31, 2)))
