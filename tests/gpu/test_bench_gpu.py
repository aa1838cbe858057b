"""``sparsekit bench gpu``: its logic on cupy's stand-in, whose times mean nothing, and its error without a GPU."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import bench
from sparsekit.bench import arrays, benches, harness, rows, worker


class Here:
    """The worker in this process, which has the stand-in."""

    case = ""

    def __init__(self, wrong=""):
        self.worker, self.wrong = worker.Worker(), wrong

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def ask(self, command, *words):
        if command == "bandwidth":
            words = ("gpu", 1 << 12)
        if command == "load" and ":" not in words[0]:   # as a rival is asked
            words = (self.case, *words, "gpu", "sgd", "adam")
        answer = getattr(self.worker, command)(*map(str, words))
        Here.case = words[0] if command == "load" else Here.case
        if command == "load" and self.wrong in answer["forms"]:
            answer["forms"][self.wrong] = {form: [1e9, 1e9] for form in answer["forms"][self.wrong]}
        return json.loads(json.dumps(answer))


@pytest.fixture
def here(stand_in, monkeypatch):
    for module in (rows, harness):
        monkeypatch.setattr(module, "start_own", lambda *settings: Here())
    monkeypatch.setattr(worker, "LONG_ENOUGH", 1e-9)
    monkeypatch.setattr(harness, "PAUSE", 0)


@pytest.mark.thorough
def test_everything_is_measured(here, tmp_path, capsys):
    assert bench.main(["gpu", "--quick", "--json", str(tmp_path / "gpu.json")]) == 0
    facts = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    said = capsys.readouterr().out
    assert all(heading in said for heading in (*benches.TRANSFERS.values(), "gradient of an embedding", "SGD", "Adam"))
    assert len(facts["sections"]) == 13
    assert sum("by Zipf's law" in section["heading"] for section in facts["sections"]) == 3
    assert {"sparsekit", "sparsekit: cupy", "sparsekit: CUDA runtime", "sparsekit: CUDA driver", "sparsekit: device"} <= set(
        facts["versions"])
    rows = {section["heading"].partition(": ")[2]: section for section in facts["sections"]}
    assert set(rows["training epoch"]["rows"]) == {"sparsekit, batches parsed", "sparsekit, batches parsed, hybridized",
                                                  "sparsekit, batches parsed, TrainStep"}
    assert "of the device's copy rate" in rows["csr · dense"]["fact"]
    assert "GB/s" in rows["csr to the device"]["fact"]
    assert "of copying" not in rows["csr to the device"]["fact"]
    assert bench.main(["report", str(tmp_path / "gpu.json"), "-o", str(tmp_path / "page.html")]) == 0


@pytest.mark.thorough
def test_rivals_take_turns_and_must_agree(here, monkeypatch):
    monkeypatch.setattr(rows, "start_rivals", lambda rivals, stack, kind: {"torch": Here()})
    report = benches.BENCHES["gpu"]({"torch": "python"}, 1, True)
    assert all(section["against"] and len(section["rows"]) > 1 for section in report.sections)
    assert report.versions["torch"] == mx.__version__
    monkeypatch.setattr(rows, "start_rivals", lambda rivals, stack, kind: {"torch": Here("adam")})
    with pytest.raises(mx.SparsekitError, match="torch returns for adam"):
        benches.BENCHES["gpu"]({"torch": "python"}, 1, True)


@pytest.mark.parametrize(("place", "operation"), [(0, "csr_dense"), *(
    pytest.param(*more, marks=pytest.mark.thorough) for more in ((0, "csrT_dense"), (0, "embedding_gradient"), (3, "csr_out")))])
def test_without_rivals_results_must_be_those_of_numpy_and_scipy(here, monkeypatch, place, operation):
    make = benches.on_gpu
    one = benches.BENCHES["gpu"]._replace(tables=lambda session: rows.run_rows(session, [make(session)[place]]))
    monkeypatch.setattr(rows, "start_own", lambda *settings: Here(operation))
    with pytest.raises(mx.SparsekitError, match=f"sparsekit returns .* for {operation}, numpy and scipy"):
        one({}, 1, True)


class Quick:
    """A session, as far as rows look at it."""

    quick = True


def test_columns_are_drawn_alike_and_by_zipfs_law(stand_in):
    """A value that most rows store, as in data of advertisements; the benches of CPUs draw so too."""
    shares = []
    for hot in (False, True):
        parts = arrays.product_parts(500, 4000, 8, 2, hot)
        shares.append(np.bincount(parts["indices"]).max() / 500)
    assert shares[0] < 0.05
    assert shares[1] > 0.5
    for make, law in ((benches.dot, {False, True}), (benches.update, {False, True}), (benches.on_gpu, {False, True})):
        headings = [table.heading for row in make(Quick) for table in row.tables]
        assert {"by Zipf's law" in heading for heading in headings} == law


def test_bytes_count_every_needed_row_once():
    parts = {"data": np.zeros(6, np.float32), "indices": np.zeros(6, np.int64), "indptr": np.zeros(3, np.int64),
             "rows": np.zeros(5), "right": np.zeros((9, 4)), "turned": np.zeros((2, 4), np.float32)}
    matrix = 6 * 12 + 24
    assert arrays.compulsory_bytes("csr_dense", parts) == matrix + 5 * 16 + 32
    assert arrays.compulsory_bytes("csrT_dense", parts) == matrix + 32 + 5 * 24
    assert arrays.compulsory_bytes("embedding_gradient", parts) == 6 * 24 + 5 * 24
    step = {"values": np.zeros((3, 10, 4))}
    assert (arrays.compulsory_bytes("sgd", step), arrays.compulsory_bytes("adam", step)) == (10 * 56, 10 * 120)


def test_without_a_gpu_the_bench_says_so():
    if mx.num_gpus():
        pytest.skip("there is a GPU here")
    with pytest.raises(mx.GPUNotFound, match="0 GPUs are usable") as caught:
        bench.main(["gpu", "--quick"])
    assert "cupy" in str(caught.value)
