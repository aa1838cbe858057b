"""What displays and tables are drawn from: plain data, for any name and for no event at all."""

import subprocess
import sys
import textwrap

import pytest

from sparsekit.core import hooks
from sparsekit.profiler import Profiler, load

ODD = "two\nlines <b>&\"' naïve ∂ 🐍 \ud800 \x00"

#: The same, without the half of a surrogate pair that nothing can write.
KEPT = ODD.replace("\ud800", "\N{REPLACEMENT CHARACTER}")


def test_odd_names_are_kept_written_read_and_escaped(library, tmp_path):
    with Profiler() as prof:
        hooks.state.layer = ODD
        library.run(ODD, (), library.dense(2))
        hooks.state.layer = ""
        with prof.span(ODD):
            prof.marker(ODD, ODD)
        prof.counter(ODD, 1.5, unit=ODD)
    loaded = load(prof.save(tmp_path / "run.npz"))
    assert loaded.records == prof.records
    assert loaded.marks == prof.marks
    assert [record["name"] for record in loaded.records] == [KEPT, KEPT]
    for name in ("run.json", "run.json.gz"):
        assert prof.save(tmp_path / name).stat().st_size
    for words in (prof.timeline().finding, repr(prof.table(group_by="layer")), str(prof.marks), *prof.tables.strings):
        words.encode("utf-8")
    html = prof._repr_mimebundle_()["text/html"]
    assert "<b>&" not in html
    assert "<b>&" not in prof.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert prof.memory["at_peak"][0]["layer"] == KEPT


def test_a_profile_of_nothing_shows_itself_everywhere(tmp_path):
    with Profiler() as prof:
        pass
    assert prof.records == prof.totals == prof.ledger == prof.marks == []
    assert len(prof.table(group_by="cell")) == 0
    assert prof.memory["peak_bytes"] == 0
    tables = [prof.table(of=of) for of in ("ledger", "transfers", "conversions", "gradients", "devices")]
    for shown in (prof, prof.table(), prof.table(group_by="lane"), *tables, prof.advice(), prof.what_if(), prof.diff(prof)):
        bundle = shown._repr_mimebundle_()
        assert bundle["text/html"]
        assert bundle["text/plain"]
    assert prof.timeline().html()
    assert prof.memory.figure().html()
    assert prof.save(tmp_path / "page.html").stat().st_size
    assert load(prof.save(tmp_path / "run.npz")).records == []


def test_what_an_operator_makes_and_frees_inside_is_a_temporary(library):
    def inside():
        library.run("cast_storage", (), library.dense(500, 10))

    with Profiler() as prof:
        library.run("dot", (), lambda: library.dense(3), inside=inside)
        library.run("add", (), lambda: library.dense(4))
    assert prof.memory["temporaries"] == [{"op": "dot", "layer": "", "arrays": 1, "bytes": 20_000, "most": 20_000}]


MILLION = """
import sparsekit as mx
from sparsekit.base.platform import process_bytes
from sparsekit.profiler.profiler import cost_of_event
x = mx.nd.ones((4, 4))
cost_of_event(True)
before = process_bytes()
with mx.Profiler() as prof:
    for _ in range(500_000):
        x + x
        x * x
calls = {row["name"]: row["calls"] for row in prof.totals if row["lane"] == "forward"}
moved = {row["name"]: row["bytes"] for row in prof.totals if row["lane"] == "forward"}
print((process_bytes() - before) // 1_000_000, prof._data().folded > 0, sorted(calls.values()), set(moved.values()))
"""


@pytest.mark.thorough
@pytest.mark.slow  # a million real events, digested: the budget of memory can only be measured at its full size
def test_a_million_events_fit_in_200_megabytes_with_exact_totals():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(MILLION)], capture_output=True, text=True, check=True,
                          timeout=400)
    megabytes, rest = done.stdout.split(" ", 1)
    assert int(megabytes) < 200
    assert rest.strip() == f"True [500000, 500000] {{{500_000 * 3 * 64}}}"
