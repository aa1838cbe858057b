"""Totals by line, and by notebook cell or file."""

import pytest

import sparsekit as mx
from sparsekit.profiler import Profiler
from sparsekit.profiler.columns import Strings, build
from sparsekit.profiler.group_by_line import FOLDED, NOWHERE
from sparsekit.profiler.profiler import Profile
from sparsekit.profiler.stored import Stored


@pytest.fixture
def profile():
    x = mx.nd.ones((10, 10))
    with Profiler() as prof:
        for number in (2, 10):
            source = "y = mx.nd.exp(x)\nfor _ in range(3):\n    mx.nd.dot(x, y)\n"
            exec(compile(source, f"<ipython-input-{number}-0123456789ab>", "exec"), {"mx": mx, "x": x})
        mx.nd.log(x)
        with prof.span("part"):
            pass
    return prof


def calls(table):
    return {row[table.columns[0].partition(" ")[0]]: row["calls"] for row in table}


def test_each_line_has_a_row(profile):
    found = calls(profile.table(group_by="line"))
    here = {name: found.pop(name) for name in list(found) if name.startswith("test_places.py:")}
    assert list(here.values()) == [1, 1]  # an operator, and a span that begins in the line after it
    assert found == {"In [2]:1": 1, "In [2]:3": 3, "In [10]:1": 1, "In [10]:3": 3, "(the profiler)": 10}


def test_each_cell_or_file_has_a_row_and_names_sort_by_number(profile):
    table = profile.table("name", "cell")
    assert [row["cell"] for row in table] == ["(the profiler)", "In [2]", "In [10]", "test_places.py"]
    assert calls(table) == {"(the profiler)": 10, "In [2]": 4, "In [10]": 4, "test_places.py": 2}
    assert "In [10]" in repr(table)
    assert "<td>In [10]</td>" in table.html


@pytest.mark.parametrize("group_by", ["line", "cell"])
def test_rows_add_up_to_the_totals_by_operator(profile, group_by):
    found, wanted = profile.table(group_by=group_by), profile.table()
    for field in ("calls", "total", "self", "bytes", "flops"):
        assert sum(row[field] for row in found) == pytest.approx(sum(row[field] for row in wanted), abs=1e-2)


def test_folded_events_are_one_row_that_the_footer_explains(library):
    with Profiler(capacity=10) as prof:
        for _ in range(40):
            library.run("add", (), library.dense(10))
    prof._run.recorder.drain()
    for group_by in ("line", "cell"):
        table = prof.table(group_by=group_by)
        found = {row[group_by]: row["calls"] for row in table if row[group_by] != "(the profiler)"}
        assert found[FOLDED] == prof._data().folded > 0
        assert sum(found.values()) == 40
        assert "Lines of folded events are not kept" in table.footer
        assert "Lines of folded events" in table.html
    assert "Lines of folded" not in prof.table().footer


def test_a_profile_without_lines_says_how_to_get_them(library):
    with Profiler(lines=False) as prof:
        library.run("add", (), library.dense(10))
    table = prof.table(group_by="line")
    assert calls(table)[NOWHERE] == 1
    assert "Profiler(lines=True)" in table.footer


def test_compilation_is_no_part_of_a_line_as_it_is_none_of_an_operator(library):
    columns = build(Strings(), runs={"wall": [100_000], "events": [2]},
                    kinds={"name": ["dot", "kernel"], "lane": ["forward", "compile"], "line": ["a.py:1", ""], "bytes": [8, 8]},
                    events={"kind": [0, 1], "run": [0, 0], "start": [0, 5000], "duration": [100_000, 90_000],
                            "own": [10_000, 90_000], "net": [10_000, 90_000], "depth": [0, 1]})
    stored = Stored(columns)
    found = {row["line"]: row["total"] for row in Profile(stored).table(group_by="line")}
    assert found == {"a.py:1": 10.0, NOWHERE: 90.0, "(the profiler)": 0.0}


def cells(*sources):
    """A profile of notebook cells, which share their names."""
    names = {"mx": mx, "x": mx.nd.ones((100, 100))}
    with Profiler() as prof:
        for number, source in enumerate(sources):
            exec(compile(source, f"<ipython-input-{number + 1}-0123456789ab>", "exec"), names)
    return prof, names


def test_each_cell_has_its_peak_and_what_it_kept():
    size = 100 * 100 * 4
    prof, names = cells("y = x + 1", "z = (y + 1) * (y + 2) + 0; z = z.sum()", "z = z + 1; del y", "a = x + 1; b = a + 1")
    found = {row["cell"]: (row["peak"], row["kept"]) for row in prof.table(group_by="cell")}
    assert found["In [1]"] == (2 * size, size)
    peak, kept = found["In [2]"]
    assert 4 * size <= peak <= 6 * size
    assert 0 < kept < 100
    assert found["In [4]"] == (3 * size + kept, 2 * size)
    assert sum(row["kept"] for row in prof.table(group_by="cell")) == prof._data().kept_bytes
    assert max(row["peak"] for row in prof.table(group_by="cell")) == prof.memory["peak_bytes"]
    assert prof.table(group_by="cell").columns[-2:] == ("peak memory", "kept")
    assert "kept" not in prof.table(group_by="line").columns
    del names
