"""Displays of very many events are drawn from the columns, and leave no records behind."""

import pytest

import sparsekit as mx
from sparsekit.profiler import Profiler


@pytest.fixture
def busy(library, step):
    """Steps with arguments, a span with bytes of its own, and operators inside spans."""
    from sparsekit.core import hooks

    with Profiler() as prof:
        for number in range(70):
            with prof.span("part"):
                step(rows=4 + number % 3, node=number)
            hooks.sink.span("copy", "transfer", 1, 2, {"bytes": 1000 + number})
            prof.step()
    return prof


def kept(prof):
    """Whether the records were made and stay."""
    return "records" in vars(prof._data())


def test_showing_a_profile_first_changes_none_of_its_numbers(busy):
    busy.timeline()
    assert busy._data().overhead > 0
    assert "own cost" in repr(busy.table())


def test_what_is_shown_is_what_the_records_say(busy):
    figure, records = busy.timeline(rows=1000), busy.records
    moved = sum(record["bytes"] for record in records if record["name"] == "copy")
    shown = {row[1]: row for row in figure.table.rows}
    assert shown["copy"][6] == f"{moved / 1000:.1f} kB"
    assert sum(int(row[3].replace(",", "")) for row in figure.table.rows) == len(records)
    for number in (0, len(records) // 2, len(records) - 1):
        told = figure.interaction.select(f"event {number}", {})
        assert told["operator"].split(" in ")[0] == records[number]["name"]
        assert told["lane"] == records[number]["lane"]


@pytest.mark.parametrize("show", [
    lambda prof, path: prof._repr_mimebundle_()["text/html"], lambda prof, path: prof.timeline().html(),
    lambda prof, path: prof.save(path / "page.html")])
def test_showing_a_profile_leaves_no_records_behind(busy, tmp_path, show):
    assert not kept(busy)
    show(busy, tmp_path)
    assert not kept(busy)
    mine = busy.records
    show(busy, tmp_path)
    assert kept(busy)
    assert busy.records is mine


def test_another_profile_is_no_title(busy):
    with pytest.raises(mx.ProfilerError, match="merge"):
        busy.timeline(busy)
