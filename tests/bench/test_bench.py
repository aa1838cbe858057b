"""``sparsekit bench`` runs, and its arithmetic and its refusals are right."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sparsekit import bench
from sparsekit.base.errors import SparsekitError
from sparsekit.bench import harness, ranking, rows, tutorial
from tests.sampling import some


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(harness, "PAUSE", 0)


def test_contenders_take_turns():
    order = []
    measures = {name: lambda name=name: order.append(name) or len(order) for name in "ab"}
    assert harness.take_turns(measures, 2) == {"a": [3, 5], "b": [4, 6]}
    assert order == ["a", "b"] * 3


def test_report_gives_medians_and_both_ratios(tmp_path):
    report = harness.Report("title", 3, ["a note"])
    report.add("heading", "ms", {"own": [1.0, 2.0, 3.0], "rival": [2.0, 8.0, 4.0]}, "own")
    rival = report.sections[0]["rows"]["rival"]
    assert (rival["median"], rival["min"], rival["max"]) == (4.0, 2.0, 8.0)
    assert rival["ratio_of_medians"] == 0.5
    assert rival["pairwise_ratio"]["values"] == [0.5, 0.25, 0.75]
    assert "0.50 (0.25 - 0.75)" in report.text()
    assert "a note" in report.text()
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["sections"][0]["rows"]["own"]["median"] == 2.0
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_worker_that_ends_is_a_named_error():
    with (
        harness.Worker("mute", [sys.executable, "-c", "pass"]) as worker,
        pytest.raises(SparsekitError, match=r"mute ended(.|\n)*Hint"),
    ):
        worker.ask("info")


def test_a_worker_that_cannot_is_a_named_error():
    program = 'import sys; sys.stdin.readline(); print(\'{"error": "no"}\', flush=True); sys.stdin.read()'
    with (
        harness.Worker("poor", [sys.executable, "-c", program]) as worker,
        pytest.raises(SparsekitError, match="poor could not run 'epoch': no"),
    ):
        worker.ask("epoch")


@pytest.mark.parametrize(
    ("rival", "message"), [("tensor=python", "rival named 'tensor'"), ("torch", "--rival must be torch=PYTHON, got torch"),
                           ("torch=/no/such/python", "could not be started")]
)  # fmt: skip
def test_an_unusable_rival_is_refused(rival, message):
    with pytest.raises(SparsekitError, match=message):
        bench.main(["dispatch", "--quick", "--rival", rival])


def test_the_data_set_is_the_same_in_both_files(tmp_path):
    path = str(tmp_path / "data.npz")
    tutorial.write_data(path, tutorial.Workload(samples=20, features=1000))
    arrays = np.load(path)
    lines = (tmp_path / "data.libsvm").read_text().splitlines()
    pairs = [pair.split(":") for line in lines for pair in line.split()[1:]]
    assert [int(column) for column, _ in pairs] == arrays["indices"].tolist()
    assert [np.float32(value) for _, value in pairs] == arrays["data"].tolist()
    assert [float(line.split()[0]) for line in lines] == arrays["label"].tolist()
    assert len(set(arrays["label"].tolist())) == 2


@pytest.mark.parametrize(("name", "headings"), some(
    [pytest.param("epoch", ["one epoch", "profiler", "by TrainStep", "by the kernels"], marks=pytest.mark.compiled),
     ("dispatch", ["a + b", "record"]), ("import", ["import"]),
     ("dot", ["csr · dense", "csrᵀ · dense", "csr · row_sparse"] * 4),
     ("convert", ["dense -> csr", "csr -> dense", "dense -> row_sparse", "row_sparse -> dense", "csr -> row_sparse",
                  "row_sparse -> csr"]),
     ("update", ["SGD,", "momentum", "Adam", "AdaGrad"] * 2), ("libsvm", ["500 x 1,000", "peak memory"]),
     ("variants", ["one batch", "peak memory", "gradient of the first weight"]),
     ("models", [model for model in ("linear", "machine", "matrix", "wide", "LSTM 8", "projected") for _ in range(3)]),
     ("lstm", ["a step: LSTM 16", "bytes of all gradients", "peak memory"])], one_in=100, always=["dispatch"]))
def test_a_quick_bench_runs_and_writes_its_figures(tmp_path, capsys, name, headings):
    file = tmp_path / "figures.json"
    assert bench.main([name, "--quick", "--rounds", "1", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())
    assert len(figures["sections"]) == len(headings)
    for section, heading in zip(figures["sections"], headings, strict=True):
        assert heading in section["heading"]
        assert all(row["min"] > 0 or section["unit"] == "MB" for row in section["rows"].values())
    assert "sparsekit" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "rival", "package"), [
    ("libsvm", "sklearn load_svmlight_file", "sklearn"), ("dot", "scipy matmul", "scipy"),
    pytest.param("epoch", "numba", "numba", marks=pytest.mark.compiled)])
@pytest.mark.thorough
def test_a_rival_takes_turns_and_is_compared(tmp_path, name, rival, package):
    pytest.importorskip(package)
    file, scripts = tmp_path / "figures.json", Path(__file__).parents[2] / "profiles" / "rivals"
    assert bench.main([name, "--quick", "--rounds", "1", "--json", str(file), "--rivals", str(scripts), "--rival",
                       f"{package}={sys.executable}"]) == 0
    figures = json.loads(file.read_text())
    assert figures["versions"][package]
    first = figures["sections"][0]
    assert first["against"].startswith("sparsekit")
    assert first["rows"][rival]["ratio_of_medians"] > 0


@pytest.mark.thorough
def test_estimators_beside_those_of_scikit_learn(tmp_path):
    pytest.importorskip("sklearn")
    file = tmp_path / "figures.json"
    assert bench.main(["sklearn", "--quick", "--rounds", "1", "--json", str(file)]) == 0
    equal, *beside = json.loads(file.read_text())["sections"]
    assert set(equal["rows"]) == {"sparsekit SparseClassifier", "SGDClassifier", "LogisticRegression"}
    assert [set(section["rows"]) for section in beside] == [{"sparsekit SparseClassifier", "SGDClassifier"}] * 2
    with pytest.raises(SparsekitError, match="no sklearn_estimators") as error:
        bench.main(["sklearn", "--quick", "--rival", "sklearn=python"])
    assert "torch" in error.value.hint


@pytest.mark.thorough
def test_recommenders_rank_unseen_items(tmp_path):
    file = tmp_path / "figures.json"
    assert bench.main(["ranking", "--quick", "--rounds", "1", "--json", str(file)]) == 0
    [section] = json.loads(file.read_text())["sections"]
    assert set(section["rows"]) == {"sparsekit"}
    assert float(section["heading"].rpartition(" ")[2]) > 0.66  # half of the pairs would be in order by chance


def test_ranking_draws_no_item_that_the_user_has():
    data = ranking._data()
    drawn = data.drawn(np.random.default_rng(1), data.keys)
    assert len(drawn) > 0.8 * data.keys.size
    assert not np.isin(drawn[:, 0] * data.items + drawn[:, 2], data.keys).any()
    assert np.isin(drawn[:, 0] * data.items + drawn[:, 1], data.keys).all()
    assert not np.isin(data.test_rows[:, 0] * data.items + data.test_rows[:, 1], data.keys).any()


def test_a_file_that_cannot_be_written_is_refused_before_measuring(tmp_path, monkeypatch):
    first = bench.BENCHES["dispatch"]._replace(tables=lambda _: pytest.fail("it measured first"))
    monkeypatch.setitem(bench.BENCHES, "dispatch", first)
    with pytest.raises(SparsekitError, match="no folder"):
        bench.main(["dispatch", "--quick", "--json", str(tmp_path / "absent" / "figures.json")])


def forms(**totals):
    """What one process loaded of one operation."""
    return {"product": totals}


def test_who_computes_something_else_is_refused():
    row = rows.Row("arrays:products", (), atol=1e-3)
    rows.check(row, {"sparsekit": forms(**{"": [1.0, 4.0]}), "scipy": forms(form=[1.0, 4.0])})
    rows.check(row, {"sparsekit": forms(**{"": [0.7, 0.6]}), "torch": forms(**{"": [0.7, 0.6001]})})
    with pytest.raises(SparsekitError, match="scipy form returns for product"):
        rows.check(row, {"sparsekit": forms(**{"": [1.0, 4.0]}), "scipy": forms(form=[1.0, 5.0])})
    with pytest.raises(SparsekitError, match="torch returns for product"):
        rows.check(row, {"sparsekit": forms(**{"": [0.7, 0.6]}), "torch": forms(**{"": [0.7, 0.65]})})
    with pytest.raises(SparsekitError, match="sparsekit other returns for product"):
        rows.check(row, {"sparsekit": forms(**{"": [1.0], "other": [2.0]})})


def test_the_first_must_agree_with_numpy(tmp_path):
    np.savez(tmp_path / "data.npz", a=np.arange(3))
    row = rows.Row("arrays:products", (), oracle=lambda operation, parts: (float(parts["a"].sum()),))
    rows.check(row, {"sparsekit": forms(**{"": [3.0]})}, str(tmp_path / "data.npz"))
    with pytest.raises(SparsekitError, match=r"sparsekit returns \[4.0\] for product, numpy and scipy \[3.0\]"):
        rows.check(row, {"sparsekit": forms(**{"": [4.0]})}, str(tmp_path / "data.npz"))


def test_a_call_that_is_long_is_measured_once_and_a_short_one_repeated(monkeypatch):
    from sparsekit.bench import worker

    now = [0.0]  # a clock that only the calls advance
    monkeypatch.setattr(worker, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    made, calls = worker.Worker(), []
    for seconds, most in ((worker.LONG_ENOUGH * 1.1, 1), (worker.LONG_ENOUGH / 10, 60)):
        made.forms = {"sleep": {"": worker.Form(lambda seconds=seconds: calls.append(now.append(now.pop() + seconds)))}}
        calls.clear()
        assert made.time("sleep") == pytest.approx(seconds * 1e3)
        assert (len(calls) == 1) if most == 1 else 4 <= len(calls) <= most
