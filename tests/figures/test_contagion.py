"""Contagion: which operators of a step are dense because an earlier one made an array dense."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError
from sparsekit.figures.contagion import MOST, contagion_figure
from sparsekit.figures.marks import Line, Rect, Text

from .gallery import HOSTILE, drawn

ROWS = 20_000


def recorded(line, steps=1, optimizer="adam"):
    """A profile of training on counts that first go through ``line``."""
    draw = np.random.default_rng(0)
    columns = np.sort(draw.permutation(ROWS)[:160].reshape(8, 20), axis=1).ravel()
    data = mx.nd.sparse.csr_matrix((draw.integers(1, 9, 160).astype("float32"), columns, np.arange(0, 161, 20)), shape=(8, ROWS))
    layer = mx.gluon.nn.Dense(4, in_units=ROWS, weight_grad_stype="row_sparse")
    layer.initialize(mx.init.Normal(0.01))
    trainer = mx.gluon.Trainer(layer.collect_params(), optimizer, {"learning_rate": 0.01})
    for count in (1, steps):
        with mx.Profiler() as prof:
            for _ in range(count):
                with mx.autograd.record():
                    loss = layer(line(data)).sum()
                loss.backward()
                trainer.step(8)
    return prof


@pytest.fixture(scope="module")
def runs():
    return {"x = counts - 1": recorded(lambda x: x - 1), "x = counts / 9": recorded(lambda x: x / 9)}


def rows_of(figure, run):
    return [row for row in figure.table.rows if row[0] == run]


def test_all_that_reads_what_one_line_made_dense_is_dense(runs):
    figure = contagion_figure(runs)
    assert figure.title == "“x = counts - 1”: one line makes 5 of 5 operators dense"
    sick = [row for row in rows_of(figure, "x = counts - 1") if row[3] not in ("small arrays", "dense that has to be")]
    assert [row[2] for row in sick] == ["_minus_scalar", "dot", "dot", "cast_storage", "adam_update"]
    assert sick[0][3].startswith("dense: became dense here, ")
    assert {row[3] for row in sick[1:]} == {"dense", "a sparse type that stores most"}
    healthy = [row for row in rows_of(figure, "x = counts / 9") if row[3] != "small arrays"]
    assert [row[2] for row in healthy] == ["_div_scalar", "dot", "dot", "adam_update"]
    assert {row[3] for row in healthy} == {"stored sparse"}


def test_bytes_are_those_of_the_profile_and_areas_are_true(runs):
    figure = contagion_figure(runs)
    total = {name: sum(record["bytes"] for record in prof.records if record["lane"] not in ("user", "compile", "profiler"))
             for name, prof in runs.items()}
    heads = [text.text for text in figure.of(Text) if text.size and text.text.startswith("the run moves")]
    assert heads == [f"the run moves {mx.base.formatting.format_bytes(total[name])}" for name in runs]
    dense = [mark for mark in figure.of(Rect) if mark.kind == "dense"]
    moved = [record["bytes"] for record in runs["x = counts - 1"].records
             if record["name"] in ("_minus_scalar", "dot", "cast_storage", "adam_update") and record["bytes"] > 100_000]
    areas = [(mark.x1 - mark.x0) ** 2 for mark in dense]
    assert len(areas) == len(moved) == 5
    assert np.array(areas) / max(areas) == pytest.approx(np.array(moved) / max(moved), rel=1e-6)


def test_the_thread_leads_from_the_source_to_the_last_that_it_made_dense(runs):
    figure = contagion_figure(runs)
    thick = [mark for mark in figure.of(Line) if mark.kind == "dense"]
    assert {mark.panel for mark in thick} == {0}
    dense = [(mark.x0 + mark.x1) / 2 for mark in figure.of(Rect) if mark.kind == "dense"]
    assert min(mark.x[0] for mark in thick) == pytest.approx(min(dense))
    assert max(mark.x[-1] for mark in thick) == pytest.approx(max(dense))


def test_of_many_steps_the_median_one_is_drawn():
    one, many = recorded(lambda x: x / 9), recorded(lambda x: x / 9, 7)
    rows = [[row[2:] for row in contagion_figure(prof).table.rows] for prof in (one, many)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_and_every_width_is_drawn(runs, name):
    figure = drawn(contagion_figure({name: runs["x = counts - 1"], "": runs["x = counts / 9"]}, name))
    assert len(figure.html()) < 300_000


def test_a_profile_without_events_and_what_is_no_profile():
    with mx.Profiler() as prof:
        pass
    assert contagion_figure(prof).svg()
    for wrong in ({}, 5, {"a": 5}, None, "x"):
        with pytest.raises(ParameterError, match="Hint"):
            contagion_figure(wrong)


def test_frames_show_one_more_column_each(runs):
    figure = contagion_figure(runs)
    counts = [len(frame.of(Rect)) for frame in figure.interaction.frames]
    assert counts == sorted(counts)
    assert counts[-1] == len(figure.of(Rect))
    assert math.isfinite(figure.interaction.seconds)


def test_each_dense_operator_is_laid_to_the_line_that_it_comes_from():
    tiny, large = mx.nd.sparse.csr_matrix(np.eye(3, dtype=np.float32)), recorded_counts()
    with mx.Profiler() as prof:
        _ = tiny + 1
        first = large + 1
        second = large + 2
        (second * 2 + 1).wait_to_read()
        (first + second).wait_to_read()
    figure = contagion_figure(prof)
    assert figure.title == "_plus_scalar makes 4 of 5 operators dense"   # itself, two that follow, and the sum
    assert "_plus_scalar (test_contagion.py" in figure.finding
    assert "makes 2 operators dense" in figure.finding   # itself, and the sum
    words = [row[3] for row in figure.table.rows]
    assert words[0] == "small arrays"
    assert words[1].startswith("dense: became dense here")


def test_the_conversion_inside_of_an_operator_counts_with_its_line():
    counts, weights = recorded_counts(), mx.nd.ones((ROWS, 2))
    with mx.config.set(densify="allow"), mx.Profiler() as prof:
        mx.nd.dot(mx.nd.cos(counts), weights).wait_to_read()
    figure = contagion_figure(prof)
    assert figure.title == "cos makes 3 of 3 operators dense"   # itself, what makes its input dense, and the product
    assert "makes 3 operators dense" in figure.finding


def recorded_counts():
    places = np.sort(np.random.default_rng(0).permutation(ROWS)[:50])
    return mx.nd.sparse.csr_matrix((np.ones(50, np.float32), places, np.array([0, 50])), shape=(1, ROWS))


def test_a_row_sparse_weight_has_to_be():
    net = mx.gluon.nn.Embedding(ROWS, 2, sparse_grad=True)
    net.weight._stype = "row_sparse"
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with mx.Profiler() as prof:
        for _ in range(2):
            with mx.autograd.record():
                loss = net(mx.nd.array([3, 5])).sum()
            loss.backward()
            trainer.step(1)
    assert "stores most" not in repr(contagion_figure(prof).table)


def test_many_events_are_a_small_picture_and_a_short_table():
    one = mx.nd.ones((40, 40))
    with mx.Profiler() as prof:
        for _ in range(20_000):
            one + one
    figure = contagion_figure(prof)
    assert len(figure.html()) < 100_000
    assert len(figure.table.rows) == 200
    assert "20,000 operators" in figure.finding


def test_few_small_operators_are_in_the_table_alone_and_more_are_one_block():
    tiny, large = mx.nd.sparse.csr_matrix(np.eye(3, dtype=np.float32)), recorded_counts()
    for count, shown in ((3, False), (4, True)):
        with mx.Profiler() as prof:
            _ = large + 1
            for _ in range(count):
                _ = tiny + 1
        figure = contagion_figure(prof)
        assert len(figure.table.rows) == 1 + count
        assert any(f"{count} more" in mark.title for mark in figure.of(Rect)) is shown


def test_one_operator_between_the_largest_has_its_own_name():
    large, smaller = mx.nd.ones((100, 100)), mx.nd.ones((50, 100))
    with mx.Profiler() as prof:
        for array in (large, smaller, *[large] * MOST):
            _ = array * 2
    titles = [mark.title for mark in contagion_figure(prof).of(Rect)]
    assert sum(title.startswith("_mul_scalar, forward: 40.0 kB") for title in titles) == 1
    assert not any("more" in title for title in titles)
