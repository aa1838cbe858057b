import re
from types import SimpleNamespace

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.profiler import Profiler
from sparsekit.profiler.source import RecordedRun


def test_a_record_says_what_ran_on_what(library, step):
    with Profiler() as prof:
        step()
    forward, backward, update = prof.records
    assert [record["name"] for record in prof.records] == ["dot", "dot", "sgd_update"]
    assert [record["lane"] for record in prof.records] == ["forward", "backward", "update"]
    assert forward["layer"] == "dense0"
    assert forward["node"] == backward["node"] == 1
    assert forward["inputs"][0] == {
        "stype": "csr", "shape": [2, 1000], "dtype": "float32", "nnz": 4, "density": 0.002, "index_dtype": "int64",
        "bytes": 72, "components": {"data": 16, "indices": 32, "indptr": 24}, "role": "input"}
    assert forward["outputs"][0]["components"] == {"data": 64}
    assert forward["outputs"][0]["index_dtype"] is None
    gradient = backward["outputs"][0]
    assert (gradient["stype"], gradient["rows"], gradient["nnz"]) == ("row_sparse", 4, 32)
    assert gradient["components"] == {"data": 128, "indices": 32}
    assert backward["attrs"] == {"transpose_a": True}
    assert (forward["flops"], forward["dense_flops"]) == (2, 10)
    assert re.fullmatch(r"\w+\.py:\d+", forward["line"])
    assert backward["line"] == forward["line"]
    assert update["kind"] == "op"


def test_bytes_moved_count_only_the_rows_that_a_sparse_operand_selects(library, step):
    with Profiler() as prof:
        step()
    forward, _, update = prof.records
    assert forward["bytes"] == 72 + 4 * 8 * 4 + 64
    assert update["bytes"] == 2 * 4 * 8 * 4 + (4 * 8 * 4 + 4 * 8)


@pytest.mark.parametrize("shape", [(8, 1000), (1000, 8)])
def test_of_a_weight_the_columns_count_that_a_csr_batch_has(library, shape):
    with Profiler() as prof:
        library.run("FullyConnected", (library.csr(2, 1000, 4), library.dense(*shape)), library.dense(2, 8))
    assert prof.records[0]["bytes"] == 72 + 4 * 8 * 4 + 64


def test_a_fallback_moves_everything(library):
    weight = library.dense(1000, 8)
    with Profiler() as prof:
        library.run(library.plan("take", fallback=True), (library.csr(2, 1000, 4), weight), library.dense(2, 8))
    assert prof.records[0]["bytes"] == 72 + weight.nbytes + 64
    assert prof.records[0]["fallback"] is True


def test_a_formula_that_fails_costs_only_the_flops(library):
    def fails(attrs, inputs, outputs):
        raise KeyError("nnz")

    with Profiler() as prof:
        library.run(library.plan("odd", cost=fails), (), library.dense(1))
    assert prof.records[0]["flops"] == 0


def test_recording_one_operator_is_cheap(calls_of):
    """Thirty calls of functions for an event, memory tracking included, however many there were; `bench epoch` measures it."""
    run = RecordedRun(1_000_000, False)
    plan, op = SimpleNamespace(op=None), run.recorder.op
    left, right = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)

    def loop(count=4000):
        for _ in range(count):
            op(plan, 1, 2, (left, right), (np.add(left, right),), None)

    for _ in range(3):
        assert calls_of(loop) < 30 * 4000


def test_spans_and_marks_have_the_line_that_they_come_from():
    with Profiler() as prof:
        array = mx.nd.array(np.ones((4, 2)))
        array.asnumpy()
        with prof.span("mine"):
            prof.marker("here")
        prof.counter("count", 1)
        list(mx.io.NDArrayIter(np.ones((4, 2), np.float32), batch_size=2))
        hooks.sink.span("compile it", "compile", 0, 1, {})
    lines = {(record["lane"], record["name"]): record["line"] for record in prof.records if record["kind"] == "span"}
    name = test_spans_and_marks_have_the_line_that_they_come_from.__code__
    for key, number in ((("transfer", "copy numpy -> cpu(0)"), None), (("transfer", "copy cpu(0) -> numpy"), 3),
                        (("user", "mine"), 4), (("io", "NDArrayIter"), 7), (("compile", "compile it"), 8)):
        file, line = lines[key].split(":")
        assert file == "test_recorder.py"
        assert number is None or int(line) == name.co_firstlineno + number
    assert [mark["line"] for mark in prof.marks] == [f"test_recorder.py:{name.co_firstlineno + place}" for place in (5, 6)]
    with Profiler(lines=False) as prof:
        mx.nd.array(np.ones((4, 2))).asnumpy()
        prof.marker("here")
    assert {record["line"] for record in prof.records} == {""}
    assert prof.marks[0]["line"] == ""


def test_more_marks_and_densifications_than_are_kept_are_counted_and_said(monkeypatch, library):
    monkeypatch.setattr("sparsekit.profiler.event_store.MOST_NOTES", 10)
    record = hooks.Densification("relu", "a.py:1", "csr", "default", (2, 3), 10, 24, "why", "what")
    with Profiler() as prof:
        library.run("add", (), library.dense(1))
        for _ in range(30):
            prof.marker("here")
            hooks.sink.densify(record)
    assert (prof.densified, len(prof.ledger), len(prof.marks)) == (30, 10, 10)
    assert [row["times"] for row in prof.table(of="ledger").rows] == [30]
    assert "20 later marks are not kept." in str(prof.table())
    assert "20 later densifications are in the ledger's table only." in str(prof.table())


def test_batches_that_became_dense_on_one_line_are_one_row_of_the_ledger():
    record = hooks.Densification("relu", "a.py:1", "csr", "default", (2, 3), 10, 24, "why", "what")
    with Profiler() as prof:
        for size in (10, 12, 10, 14):
            hooks.sink.densify(record._replace(bytes_before=size, reason=f"{size} bytes became dense"))
        hooks.sink.densify(record._replace(line="a.py:2"))
    table = prof.table(of="ledger")
    assert [(row["line"], row["times"], row["bytes_before"]) for row in table.rows] == [("a.py:1", 4, 14), ("a.py:2", 1, 10)]
    assert [cells[table.columns.index("bytes before")] for cells in table.cells] == ["10 B to 14 B", "10 B"]
