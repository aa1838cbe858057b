"""Displays of very many events: what they take of a profile says the same as its records, and leaves nothing behind."""

import copy

import pytest

from sparsekit.profiler import Profiler
from sparsekit.widgets import timeline_figure
from sparsekit.widgets.layout import clean
from sparsekit.widgets.pack import pack_timeline


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
    busy.timeline_figure()
    assert busy._data().overhead > 0
    assert "own cost" in repr(busy.table())


def test_what_is_shown_is_what_the_records_say(busy):
    short = list(busy._brief())
    assert not kept(busy)
    found, wanted = clean(short), clean(busy.records)
    assert [event._replace(record={}) for event in found] == [event._replace(record={}) for event in wanted]
    for field in ("inputs", "outputs", "bytes", "flops", "attrs", "line", "thread"):
        assert [event.record[field] for event in found] == [event.record[field] for event in wanted]
    assert len({id(record) for record, _ in short}) < len(short) - 70  # steps and copies have their own
    assert pack_timeline({"": short}) == pack_timeline({"": busy.records})
    assert timeline_figure(short).svg == timeline_figure(busy.records).svg
    assert {event.node for event in found} >= {0, 69, None}
    assert timeline_figure(short).rows == timeline_figure(busy.records).rows


@pytest.mark.parametrize("show", [
    lambda prof, path: prof._repr_mimebundle_()["text/html"], lambda prof, path: prof.timeline_figure(),
    lambda prof, path: prof.to_html(path / "page.html")])
def test_showing_a_profile_leaves_no_records_behind(busy, tmp_path, show):
    assert not kept(busy)
    show(busy, tmp_path)
    assert not kept(busy)
    mine = busy.records
    show(busy, tmp_path)
    assert kept(busy)
    assert busy.records is mine


def test_a_profile_that_still_records_shows_what_it_has(library):
    with Profiler() as prof:
        library.run("add", (), library.dense(2))
        assert "<svg" in prof.timeline_figure().svg
        library.run("add", (), library.dense(2))
    assert len(clean(prof._brief())) == len(prof.records) == 2


def test_a_page_is_the_same_whether_events_share_their_descriptions_or_not(busy):
    assert pack_timeline({"": busy.records}) == pack_timeline({"": [copy.deepcopy(record) for record in busy.records]})
