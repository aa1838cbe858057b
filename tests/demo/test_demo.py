"""The demo as one runs it: what it says, what it leaves behind, and what it refuses."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from sparsekit import cli
from sparsekit.base import machine
from sparsekit.base.errors import DataFileError, InsufficientMemoryError, ShapeError
from sparsekit.demo import command
from sparsekit.demo.settings import Settings, parse
from sparsekit.demo.variants import needed_memory
from sparsekit.profiler import turns

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = ("dense", "sparse_input", "row_sparse")
FILES = {"report.html", "results.json", *(f"{name}{ending}" for name in VARIANTS for ending in (".npz", ".trace.json.gz"))}


def demo(*words: str) -> tuple[int, str]:
    """Run the command; its status and what it printed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = cli.main(["demo", *words])
    return status, said.getvalue()


class Load:
    """A machine on which other programs use more than a core during the measurements of these numbers."""

    busy: tuple[int, ...] = ()
    count = 0

    def __init__(self):
        self.number = Load.count
        Load.count += 1

    def cores(self):
        return 1.4 if self.number in self.busy else 0.0


@pytest.fixture(scope="module", autouse=True)
def machine_of_tests():
    """A machine that says it is idle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "OtherLoad", Load)
        yield


@pytest.fixture(scope="module")
def run(machine_of_tests, tmp_path_factory):
    """One quick run: status, what was printed, the folder."""
    folder = tmp_path_factory.mktemp("demo") / "made"
    status, said = demo("--quick", "--output", str(folder))
    return status, said, folder


@pytest.fixture
def results(run):
    return json.loads((run[2] / "results.json").read_text(encoding="utf-8"))


def test_it_says_first_what_will_happen_and_last_where_the_report_is(run):
    status, said, folder = run
    assert status == 0
    assert said.startswith("sparsekit demo: the same model, trained three ways on real text")
    order = [said.index(words) for words in ("Memory:", "Data:", "× smaller: ", "gradient, the largest", "Same loss:")]
    assert order == sorted(order)
    assert f"Report: {folder / 'report.html'}" in said
    assert max(map(len, said.replace(str(folder), "").splitlines())) <= 110


def test_it_leaves_what_it_promised_and_nothing_else(run):
    assert {path.name for path in run[2].iterdir()} == FILES
    assert [path.name for path in run[2].parent.iterdir()] == [run[2].name]
    assert run[2].stat().st_mode & 0o055 == (0o777 & ~umask()) & 0o055


def umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_three_reach_the_same_loss_and_learn_something(results):
    assert results["same_loss"] is True
    assert results["apart"] < 1e-5
    assert list(results["variants"]) == ["dense", "sparse_input", "row_sparse"]
    losses = [variant["losses"] for variant in results["variants"].values()]
    assert len(losses[0]) == len(losses[1]) == len(losses[2]) == 10
    assert losses[0][-1] != losses[0][0]
    assert results["accuracies"][-1] > results["baseline"] + 0.05


def test_the_sparser_the_smaller(results):
    dense, middle, sparse = results["variants"].values()
    weight = 4 * 2**18 * 16
    assert {dense["weight_bytes"], middle["weight_bytes"], sparse["weight_bytes"]} == {weight}
    assert dense["gradient_bytes"] == middle["gradient_bytes"] == weight
    assert sparse["gradient_bytes"] == sparse["gradient_rows"] * (4 * 16 + 8)
    assert sparse["gradient_rows"] < 2**18 // 20
    assert dense["gradient_rows"] == middle["gradient_rows"] == 2**18
    batch = 4 * 64 * 2**18
    assert dense["peak_bytes"] == pytest.approx(2 * weight + batch, rel=0.05)
    assert middle["peak_bytes"] == pytest.approx(2 * weight, rel=0.05)
    assert sparse["peak_bytes"] == pytest.approx(weight + 2 * sparse["gradient_bytes"], rel=0.1)


def test_what_a_variant_is_said_to_need_is_at_least_what_it_took(results):
    settings = Settings(Path("unused"), features=2**18, units=16)
    for variant in command.VARIANTS:
        assert sum(needed_memory(variant, settings).values()) >= results["variants"][variant.key]["peak_bytes"]


def test_what_a_batch_moves_is_split_over_the_lanes(results):
    dense, middle, sparse = (variant["moved_bytes"] for variant in results["variants"].values())
    weight, batch = 4 * 2**18 * 16, 4 * 64 * 2**18
    assert dense["forward"] == pytest.approx(weight + batch, rel=0.01)
    assert dense["convert"] == pytest.approx(batch, rel=0.01)
    assert middle["convert"] == sparse["convert"] == 0
    assert dense["update"] == pytest.approx(3 * weight, rel=0.01)  # the gradient read, the weight read and written
    assert middle["forward"] == sparse["forward"] < weight / 20
    assert max(sparse.values()) < weight / 10


def test_times_are_those_of_steps_in_turn_with_an_interval(run, results):
    """Where intervals are narrow; else there are none."""
    variants = list(results["variants"].values())
    if results["warning"]:
        assert all(variant["batch_us"] is variant["time_by_first"] is None for variant in variants)
        return
    assert variants[0]["time_by_first"] is None
    for variant in variants[1:]:
        ratio, low, high = variant["time_by_first"]
        assert low <= ratio <= high <= 1.5 * low
    assert re.search(r"beside dense .* as fast", run[1])


def test_the_report_needs_no_network(run):
    page = (run[2] / "report.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[\w./-]+", page)) == {"http://www.w3.org/2000/svg", "https://ui.perfetto.dev"}
    assert '<a href="https://ui.perfetto.dev">' in page  # followed only when it is pressed
    above = page[page.index("<main>"):page.index('<nav aria-label="Contents">')]
    assert above.index('<p class="headline"><strong>') < above.index("<img ") < above.index("<table>")
    assert not re.search(r"<(?:link|iframe|object|embed)\b", page)
    assert "default-src 'none'" in page
    for words in ("In short", "peak memory", "moved in a batch", "sparse input", "Accuracy", "paragraphs"):
        assert words in page
    timed = "beside dense" in page
    assert timed == ("Memory over time: row-sparse gradient" in page)
    assert page.count("<figure data-figure>") == (4 if timed else 0)


#: A time, or how many times as fast something is.
TIME = re.compile(r"[\d.]+\s?(?:ns|µs|ms|s|min|h)\b|\bas fast\b|batches took")


@pytest.mark.parametrize("why", ["other programs", "memory"])
def test_times_that_are_unreliable_are_in_no_output(results, monkeypatch, tmp_path, why):
    """Whether other programs ran, or the variants do not fit into memory together; the rest depends on no number of batches."""
    monkeypatch.setattr(turns, "FEWEST_CALLS", 1)  # nobody sees what they are
    monkeypatch.setattr(Load, "busy", (0,) if why == "other programs" else ())
    monkeypatch.setattr(Load, "count", 0)
    if why == "memory":
        monkeypatch.setattr(machine, "available_memory", lambda: 510_000_000)
    status, said = demo("--quick", "--batches", "3", "--epochs", "1", "--output", str(tmp_path / "made"))
    assert status == 0
    assert ("times are unreliable and left out" if why == "other programs" else "do not fit into memory together") in " ".join(
        said.split())
    assert TIME.findall(said) == []
    page = (tmp_path / "made" / "report.html").read_text(encoding="utf-8")
    body = re.sub(r"<(script|style)\b.*?</\1>", "", unescape(unquote(page)), flags=re.DOTALL)
    assert TIME.findall(re.sub(r"<[^>]*>", " ", body[body.index("<main"):])) == []
    assert "data-view" not in body
    figures = json.loads((tmp_path / "made" / "results.json").read_text(encoding="utf-8"))
    assert figures["warning"] in " ".join(said.split())
    for name, variant in figures["variants"].items():
        assert variant["batch_us"] is variant["time_by_first"] is None
        assert variant["gradient_bytes"] == results["variants"][name]["gradient_bytes"] < variant["peak_bytes"]
        assert variant["gradient_rows"] == results["variants"][name]["gradient_rows"]
    assert "peak memory" in said
    assert "smaller" in body


def test_a_variant_that_does_not_fit_is_skipped_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "available_memory", lambda: 460_000_000)
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / "mine.txt").write_text("kept", encoding="utf-8")
    status, said = demo("--quick", "--output", str(folder), "--epochs", "1", "--batches", "3", "--keep-data")
    assert status == 0
    assert "Skipped: dense needs 501 MB of memory, and 460 MB is free" in " ".join(said.split())
    assert "smaller: " in said
    expected = FILES - {"dense.trace.json.gz", "dense.npz"} | {"mine.txt", "train.libsvm", "test.libsvm"}
    assert {path.name for path in folder.iterdir()} == expected
    assert (folder / "mine.txt").read_text(encoding="utf-8") == "kept"
    assert "dense needs 501 MB" in (folder / "report.html").read_text(encoding="utf-8")


def test_it_refuses_politely_when_nothing_fits(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(machine, "available_memory", lambda: 500_000_000)
    assert cli.main(["demo", "--output", str(tmp_path / "none")]) == 2
    refusal = capsys.readouterr().err
    assert "The weight alone needs 268 MB, and 500 MB of memory is free" in " ".join(refusal.split())
    assert "Hint: --units 16 would fit." in refusal
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(machine, "available_memory", lambda: 1000)
    with pytest.raises(InsufficientMemoryError, match="more memory"):
        command.main(["--quick", "--output", str(tmp_path / "none")])


def test_without_dense_or_where_memory_is_unknown(capsys):
    settings = Settings(Path("unused"), features=2**18, units=16, dense=False)
    chosen, skipped = command._fitting(settings, None)
    assert [variant.key for variant in chosen] == ["sparse_input", "row_sparse"]
    assert skipped == ["The dense variant was left out because of --no-dense."]
    assert "unknown" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "status"), [
    (signal.SIGINT, 130), pytest.param(signal.SIGTERM, 128 + signal.SIGTERM, marks=pytest.mark.thorough)])
def test_interrupted_it_leaves_nothing(tmp_path, number, status):
    words = [sys.executable, "-m", "sparsekit", "demo", "--quick", "--epochs", "100000",
             "--output", str(tmp_path / "none")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            for line in process.stdout:
                if line.startswith("Data: "):
                    break
            assert list(tmp_path.glob(".none.*.part/*.libsvm"))  # it was in the middle of its work
            process.send_signal(number)
            _, errors = process.communicate(timeout=400)
        finally:
            process.kill()
    assert process.returncode == status, errors
    assert "Traceback" not in errors
    assert ("Interrupted: nothing was written" in errors) == (number == signal.SIGINT)
    assert list(tmp_path.iterdir()) == []


def test_settings_are_read_and_mistakes_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = parse(["--units", "8", "--batch-size", "32", "--seed", "3", "--no-dense"])
    assert settings == Settings(Path("sparsekit-demo"), units=8, batch_size=32, seed=3, dense=False)
    assert parse(["--quick", "--features", "1000"]).features == 1000
    (tmp_path / "file").write_text("", encoding="utf-8")
    for words, error, says in (
        (["--units", "0"], ShapeError, "--units"),
        (["--batch-size", "-1"], ShapeError, "--batch-size"),
        (["--seed", "-1"], ShapeError, "--seed"),
        (["--output", "file"], DataFileError, "is a file"),
        (["--output", "no/where"], DataFileError, "there is no folder"),
    ):
        with pytest.raises(error, match=says) as caught:
            parse(words)
        assert caught.value.hint
