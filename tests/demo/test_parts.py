"""Parts of the demo on their own: memory, progress, the verdict, the split of a batch."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sparsekit.base import machine
from sparsekit.base import progress as base_progress
from sparsekit.base.machine import available_memory
from sparsekit.demo import compare, interrupt
from sparsekit.demo.page import typical
from sparsekit.demo.settings import Settings
from sparsekit.demo.training import Outcome
from sparsekit.demo.variants import VARIANTS, build, needed_memory
from tests.figures.recorded import tables


def tree(folder: Path, files: dict[str, str]) -> tuple[Path, Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")
    return folder / "proc", folder / "groups"


MACHINE = {"proc/meminfo": "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n"}


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, 1_024_000),
        ({"proc/self/cgroup": "0::/a/b\n", "groups/a/b/memory.max": "max\n", "groups/a/b/memory.current": "5\n"},
         1_024_000),
        ({"proc/self/cgroup": "0::/a/b\n", "groups/a/memory.max": "900\n", "groups/a/memory.current": "500\n",
          "groups/a/memory.stat": "anon 1\ninactive_file 100\n"}, 500),
        ({"proc/self/cgroup": "0::/elsewhere\n", "groups/memory.max": "900\n", "groups/memory.current": "1000\n"}, 0),
        ({"proc/self/cgroup": "4:cpu,memory:/c\n0::/\n", "groups/memory/c/memory.limit_in_bytes": "900\n",
          "groups/memory/c/memory.usage_in_bytes": "200\n"}, 700),
        ({"proc/self/cgroup": "4:memory:/c\n", "groups/memory/memory.limit_in_bytes": "9223372036854771712\n",
          "groups/memory/memory.usage_in_bytes": "200\n"}, 1_024_000),
    ],
)
def test_free_memory_is_the_least_that_machine_and_groups_allow(tmp_path, files, free):
    assert available_memory(*tree(tmp_path, {**MACHINE, **files})) == free


def test_free_memory_is_unknown_where_neither_the_system_nor_psutil_says(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert available_memory(tmp_path / "proc", tmp_path / "groups") is None


def test_dense_arrays_are_what_costs():
    settings = Settings(Path("unused"), units=128)
    needs = {variant.key: needed_memory(variant, settings) for variant in VARIANTS}
    assert needs["dense"]["weight"] == needs["dense"]["gradient"] == 2**29
    assert needs["dense"]["dense batch"] == 4 * 64 * 2**20
    assert "gradient" not in needs["row_sparse"]


def test_every_variant_starts_from_the_same_values():
    settings = Settings(Path("unused"), features=40_000, units=3)  # more rows than are drawn at a time
    first, *others = [build(variant, settings) for variant in VARIANTS]
    assert first[0].weight.data().shape == (3, 40_000)
    for other in others:
        np.testing.assert_array_equal(first[0].weight.data().asnumpy(), other[0].weight.data().asnumpy().T)
        np.testing.assert_array_equal(first[2].weight.data().asnumpy(), other[2].weight.data().asnumpy())
    values = first[0].weight.data().asnumpy()
    assert 0.0699 < values.max() <= 0.07
    assert values[:, 16384:].std() > 0.03


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_gets_no_bar(monkeypatch):
    log = io.StringIO()
    with interrupt.stage("work", 3, log) as advance:
        advance("a beginning")
        monkeypatch.setattr(base_progress, "RELOG", -1.0)
        advance("so far so good")
    assert log.getvalue() == "  work: 2 of 3, so far so good\n"


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(base_progress, "REDRAW", -1.0)
    terminal = Terminal()
    with interrupt.stage("work", 4, terminal) as advance:
        advance("begun")
        advance("half way")
    said = terminal.getvalue()
    assert "work" in said
    assert "2/4 " in said
    assert "half way" in said
    assert said.endswith("\r")
    assert said.rstrip("\r").rpartition("\r")[2].strip() == ""


def test_a_terminal_without_tqdm_gets_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(base_progress, "REDRAW", -1.0)
    terminal = Terminal()
    with interrupt.stage("work", 4, terminal) as advance:
        advance("half way")
    assert terminal.getvalue() == ""


def outcome(variant: int, losses: list[float], ratio: tuple[float, float, float] | None = None) -> Outcome:
    return Outcome(VARIANTS[variant], losses, 800, 800, 10, 2000, {"forward": 50}, None, 1000.0, ratio)


def test_losses_count_as_the_same_within_rounding_only():
    same = compare.judge([outcome(0, [0.7, 0.5]), outcome(1, [0.7, 0.500001]), outcome(2, [0.7, 0.5])])
    assert same.same
    assert same.apart == pytest.approx(2e-6)
    for wrong in (0.51, float("nan")):
        verdict = compare.judge([outcome(0, [0.7, 0.5]), outcome(2, [0.7, wrong])])
        assert not verdict.same
        assert "wrong" in verdict.text
    assert not compare.judge([outcome(0, [float("nan")]), outcome(2, [float("nan")])]).same


@pytest.mark.parametrize(("ratio", "says"), [
    ((0.01, 0.009, 0.0111), "In steps in turn it is 90× to 111× as fast as dense."),
    ((2.0, 1.8, 2.2), "In steps in turn it is 0.5× to 0.6× as fast as dense: at this size it does not pay off."),
    ((1.0, 0.9, 1.1), "no difference in time is detected")])
def test_the_conclusion_follows_the_figures(ratio, says):
    said = compare.conclusion([outcome(0, [1.0]), outcome(2, [1.0], ratio)], True)
    assert says in said
    assert said.index("2.00 kB at its peak") < said.index("for the same loss.") < said.index("n steps in turn")
    assert "losses differ" in compare.conclusion([outcome(0, [1.0]), outcome(2, [1.0], ratio)], False)
    assert "dense" not in compare.conclusion([outcome(2, [1.0])], True)


def record(name, lane, start, duration, own=None, kind="op"):
    return {"name": name, "lane": lane, "start": start, "duration": duration, "self": duration if own is None else own,
            "kind": kind}


BATCHES = [record("batch", "user", 0.0, 500.0, 100.0, "span"), record("dot", "forward", 10.0, 400.0)] + [
    entry for i in range(4) for entry in (
        record("batch", "user", 1000.0 * (i + 1), 100.0 + i, 10.0, "span"),
        record("LibSVMIter", "io", 1000.0 * (i + 1), 10.0, kind="span"),
        record("dot", "forward", 1000.0 * (i + 1) + 10, 30.0 + i, 20.0),
        record("inner", "convert", 1000.0 * (i + 1) + 12, 10.0 + i),
        record("dot", "backward", 1000.0 * (i + 1) + 50, 40.0))]


def chosen(batches):
    """The events of the typical batch."""
    columns = typical(SimpleNamespace(records=batches, tables=tables(batches)))
    return columns.texts(columns.kinds.name[columns.events.kind]), columns.events


def test_the_typical_batch_has_its_span_and_what_is_inside():
    names, events = chosen(BATCHES)
    assert names == ["batch", "LibSVMIter", "dot", "inner", "dot"]
    assert ((events.start - events.start[0]) / 1000).tolist() == [0.0, 0.0, 10.0, 12.0, 50.0]
    assert events.duration[2] == 32_000


@pytest.mark.parametrize(("batches", "lasts"), [(BATCHES, 102.0), (BATCHES[:-5], 101.0), (BATCHES[:2], 500.0)])
def test_the_typical_batch_is_the_median_without_the_first_two(batches, lasts):
    """Also where their number is even: it is one of them, and no mean of two."""
    assert chosen(batches)[1].duration[0] / 1000 == lasts


def test_times_are_left_out_unless_they_are_reliable():
    first, narrow, wide = outcome(0, [1.0]), outcome(2, [1.0], (0.5, 0.45, 0.55)), outcome(2, [1.0], (0.5, 0.3, 0.6))
    assert compare.unreliable([first, narrow], 0.05) == compare.unreliable([first, narrow], None) == ""
    assert compare.unreliable([first, narrow], 1.4).startswith("Other programs used 1.4 of the machine's ")
    assert "vary too much" in compare.unreliable([first, wide], 0.0)
    assert "memory together" in compare.unreliable([first, narrow._replace(time=None)], 0.0)
    assert "The bytes are exact." in compare.unreliable([first, narrow], 1.4)


def test_what_other_programs_use_is_all_work_but_our_own(tmp_path):
    stat = tmp_path / "stat"
    ticks = os.sysconf("SC_CLK_TCK")
    stat.write_text("cpu  0 0 0 5 5 0 0 0 0 0\n", encoding="ascii")
    load = machine.OtherLoad(tmp_path)
    time.sleep(0.05)
    stat.write_text(f"cpu  {60 * ticks} 0 0 900 5 0 0 {40 * ticks} 0 0\n", encoding="ascii")
    found = load.cores()
    assert found is not None
    assert 100 < found < 100 / 0.05
    assert machine.OtherLoad(tmp_path / "none").cores() is None
