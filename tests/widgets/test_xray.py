"""The X-ray of a batch: its gradient is the library's, its ages follow from the batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError, ShapeError, UnsupportedError
from sparsekit.widgets import gradient_xray, xray_figure
from sparsekit.widgets.gradient_xray import xray_payload

scipy_sparse = pytest.importorskip("scipy.sparse")


def batches(count, rows=4, columns=30, density=0.1):
    return [scipy_sparse.random(rows, columns, density=density, format="csr", random_state=seed, dtype=np.float32)
            for seed in range(count)]  # fmt: skip


def test_the_gradient_is_what_the_library_computes():
    batch = mx.nd.sparse.csr_matrix(batches(1)[0])
    upstream = mx.nd.array(np.random.default_rng(0).normal(size=(4, 3)))
    gradient = mx.nd.dot(batch, upstream, transpose_a=True, forward_stype="row_sparse")
    own = xray_payload(batch, 3, upstream=upstream)["steps"][0]
    given = xray_payload(batch, gradient=gradient)["steps"][0]
    assert own["touched"] == len(gradient.indices.asnumpy()) == own["new"]
    assert given["agrees"] is True
    for ours, theirs in zip(own["lines"], given["lines"], strict=True):
        assert ours["row"] == theirs["row"]
        np.testing.assert_allclose(ours["gradient"], theirs["gradient"], rtol=1e-5)
    assert own["bytes"] == gradient._store.nbytes


def test_a_gradient_of_other_rows_is_told():
    other = mx.nd.sparse.row_sparse_array((np.ones((1, 2)), [0]), shape=(30, 2))
    assert "does not store the rows that the batch touches" in xray_figure(batches(1), gradient=other).alt


def test_ages_follow_from_the_batches():
    listed = batches(12)
    last, age = np.full(30, -1), None
    for number, step in enumerate(xray_payload(listed)["steps"]):
        touched = np.unique(listed[number].indices)
        for line in step["lines"]:
            before = last[line["row"]]
            assert line["before"] == (-1 if before < 0 else number - before)
        last[touched] = number
        age = np.where(last < 0, -1, number - last)
        bounds = [0, 1, 2, 4, 8, 1 << 30]
        assert step["ages"] == [int(((age >= low) & (age < high)).sum()) for low, high in pairwise(bounds)]
        assert step["never"] == int((age < 0).sum())
    assert age is not None


def test_batches_before_those_sent_still_count():
    listed = batches(70)
    data = xray_payload(listed)
    assert [step["number"] for step in data["steps"]] == list(range(7, 71))
    assert data["steps"][-1]["never"] == 30 - len(np.unique(np.concatenate([one.indices for one in listed])))


def test_a_million_features_take_memory_for_what_is_touched():
    places = np.arange(100) * 9973 % 1_000_000
    listed = [scipy_sparse.csr_matrix((np.ones(100, np.float32), places + number, np.arange(0, 101, 10)), shape=(10, 1_000_000))
              for number in range(3)]
    data = xray_payload(listed, units=128)
    assert data["blocks"] <= 64
    assert len(str(data)) < 20_000


@pytest.mark.parametrize("columns", [30, 256, 257, 1000])
def test_the_map_counts_every_row_once(columns):
    listed = batches(12, columns=columns)
    data = xray_payload(listed)
    for number, step in enumerate(data["steps"]):
        assert [sum(ages) for ages in zip(*(ages for _, ages in step["map"]), strict=True)] == step["ages"]
        for block, ages in step["map"]:
            rows = range(block * data["span"], min(columns, (block + 1) * data["span"]))
            assert ages[0] == len(np.intersect1d(rows, listed[number].indices))


def test_the_weight_rows_shown_are_those_that_the_batch_rows_shown_use():
    wide = scipy_sparse.random(64, 100_000, density=2e-4, format="csr", random_state=0, dtype=np.float32)
    wide = scipy_sparse.csr_matrix(scipy_sparse.hstack([np.ones((64, 1), np.float32), wide]))
    (step,) = xray_payload(wide)["steps"]
    assert len(step["lines"]) == 10
    # Among them one that many batch rows use, so that its gradient is a sum.
    assert step["lines"][0]["row"] == 0
    assert all(min(row for row, _ in line["from"]) < 8 for line in step["lines"])
    # Where the batch rows shown store nothing or little, others are shown.
    late = scipy_sparse.csr_matrix(scipy_sparse.vstack([scipy_sparse.csr_matrix((20, 100_001)), wide[:1], wide]))
    assert len(xray_payload(late)["steps"][0]["lines"]) == 10


def test_the_picture_states_the_finding():
    shown = xray_figure(batches(3), units=2)
    step = xray_payload(batches(3), units=2)["steps"][-1]
    assert f"touch {step['touched']} of 30 weight rows" in shown.alt
    assert "keep an older state" in shown.alt
    assert shown.svg == xray_figure(batches(3), units=2).svg
    assert len(shown.rows) == step["touched"] or shown.rows[-1][0].endswith("more")


@pytest.mark.parametrize("wrong", [[], mx.nd.sparse.zeros("row_sparse", (2, 3)), [None], np.zeros((2, 2))])
def test_what_is_no_batch_is_refused(wrong):
    with pytest.raises(UnsupportedError):
        xray_figure(wrong)
    with pytest.raises(ShapeError):
        xray_figure([*batches(1), *batches(1, columns=31)])
    with pytest.raises(UnsupportedError):
        xray_figure(batches(1), gradient=batches(1)[0])


def test_empty_batches_are_drawn():
    empty = mx.nd.sparse.zeros("csr", (3, 9))
    assert "touch 0 of 9 weight rows" in xray_figure([empty, empty], title="<b>").alt
    assert "<b>" not in xray_figure(empty, title="<b>").svg
    assert "0 of 0" in xray_figure(mx.nd.sparse.zeros("csr", (0, 0))).alt


@pytest.mark.parametrize("units", [0, -1, 2.5, "3", True, float("nan"), [2]])
def test_units_that_cannot_be_are_refused(units):
    with pytest.raises(ParameterError, match="units must be an integer of at least 1, got ") as caught:
        xray_figure(batches(1), units=units)
    assert caught.value.hint


def test_units_are_those_of_the_arrays_given():
    gradient = mx.nd.sparse.row_sparse_array((np.ones((1, 2)), [0]), shape=(30, 2))
    upstream = np.ones((4, 3), np.float32)
    assert [xray_payload(batches(1), **given)["units"] for given in (
        {}, {"units": 5}, {"gradient": gradient}, {"upstream": upstream}, {"upstream": upstream, "units": 3})] == [1, 5, 2, 3, 3]
    with pytest.raises(ShapeError, match="the gradient 2, upstream= 3"):
        xray_payload(batches(1), gradient=gradient, upstream=upstream)
    with pytest.raises(ShapeError, match="units= 7, upstream= 3"):
        xray_payload(batches(1), 7, upstream=upstream)


@pytest.mark.parametrize("upstream", [np.ones(4), np.ones((5, 3)), np.ones((4, 3, 1)), 3])
def test_arrays_that_do_not_fit_the_batch_are_refused(upstream):
    with pytest.raises(ShapeError, match="upstream= has shape"):
        xray_figure(batches(1), upstream=upstream)
    with pytest.raises(ShapeError, match="The gradient has 31 rows, the batch 30 columns"):
        xray_figure(batches(1), gradient=mx.nd.sparse.zeros("row_sparse", (31, 2)))


def test_each_weight_row_has_a_colour_of_its_own_and_its_sum_has_numbers():
    assert len(set(gradient_xray.ROW_COLORS)) == len(gradient_xray.ROW_COLORS) == gradient_xray.ROWS
    batch = mx.nd.sparse.csr_matrix([[2.0, 0, 3], [0, 5, 1]])
    upstream = np.array([[10.0, 1], [100, 2]])
    (step,) = xray_payload([batch], upstream=upstream)["steps"]
    for line in step["lines"]:
        assert line["gradient"] == sum(value * np.array(step["upstream"][str(row)]) for row, value in line["from"]).tolist()
