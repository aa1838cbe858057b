"""The headline, the picture and the table of a display say the same numbers."""

import re
from html import unescape
from urllib.parse import unquote

import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.base.formatting import format_bytes, format_duration, format_share
from sparsekit.widgets import TimelineWidget, timeline_figure
from sparsekit.widgets.layout import APART, clean, lane_totals, typical_window

LANES = ("io", "transfer", "convert", "forward", "backward", "update", "user")


def trained(steps=5):
    """A profile of some training steps on csr data, with everything that a headline speaks of."""
    data = mx.nd.sparse.csr_matrix(mx.nd.array([[0, 2, 0, 0], [0, 0, 3, 0], [1, 0, 0, 4]]))
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(8, in_units=4, activation="relu"), gluon.nn.Dense(1, in_units=8))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    loss_of = gluon.loss.L2Loss()
    label = mx.nd.ones((3, 1))
    with mx.Profiler() as prof:
        for _ in range(steps):
            with autograd.record():
                loss = loss_of(net(data), label)
            loss.backward()
            trainer.step(3)
            prof.step()
    return prof


def events(layout):
    """Records of a run of a given layout: ``(lane, milliseconds)`` pairs, one after the other."""
    start, records = 0.0, []
    for lane, milliseconds in layout:
        records.append({"name": f"{lane}_operator", "lane": lane, "start": start, "duration": milliseconds * 1000.0,
                        "self": milliseconds * 1000.0, "inputs": [], "outputs": [], "layer": "", "bytes": 10})
        start += milliseconds * 1000.0
    return records


STEP = [("forward", 1), ("backward", 2), ("update", 0.5)]
LAYOUTS = {
    "a few steps": STEP * 4,
    "many steps": STEP * 40,
    "one backward pass among evaluations": [("forward", 1), ("backward", 500), ("update", 0.1),
                                            *([("forward", 1), ("update", 0.1)] * 40)],
    "compilation first": [("compile", 900), *(STEP * 30)],
    "one event": [("forward", 1)],
}


def shares_of_words(words):
    """Shares by lane in a headline."""
    return dict(re.findall(rf"\b({'|'.join(LANES)}) (<?[\d.]+ %)", words.partition("the longest")[0]))


def shares_of_picture(svg):
    """Shares by lane that stand beside the lanes of a picture."""
    texts = [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
    found = {}
    names = [text for text in texts if text in LANES]
    shares = [text for text in texts if re.fullmatch(r"<?[\d.]+ %", text)]
    for name, share in zip(names, shares, strict=True):
        found[name] = share
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_timeline_says_the_same_in_words_picture_and_table(layout):
    records = events(LAYOUTS[layout])
    shown = timeline_figure(records, rows=1000)
    totals = {lane: own for lane, own in lane_totals(clean(records)).items() if lane not in APART}
    whole = sum(totals.values())
    expected = {lane: format_share(own, whole) for lane, own in totals.items()}
    assert shares_of_words(shown.alt) == expected
    assert shares_of_picture(shown.svg) == expected
    rows = {row[0]: row[5] for row in shown.rows if row[0] in totals}  # one operator a lane
    assert rows == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_live_view_opens_on_what_the_headline_is_about(layout):
    records = events(LAYOUTS[layout])
    widget = TimelineWidget(records)
    found = clean(records)
    window = typical_window(found)
    inside = {event.lane for event in found if event.end > window.start and event.start < window.end}
    large = [lane for lane, share in shares_of_words(widget.description).items() if float(share.strip("<% ")) >= 20]
    assert set(large) <= inside
    if window.reason:
        assert widget.description.startswith("Whole run: ")
        assert widget.description.endswith(f"The view opens on {window.reason}.")
    else:
        assert widget.description == widget.static.alt


def test_a_real_profile_says_the_same_everywhere():
    prof = trained()
    shown = prof.timeline_figure(rows=1000)
    totals = {row["lane"]: row["self"] for row in prof.table(group_by="lane").rows if row["lane"] not in APART}
    whole = sum(totals.values())
    for lane, share in shares_of_words(shown.alt).items():
        assert share == format_share(totals[lane], whole)
    assert shares_of_picture(shown.svg) == shares_of_words(shown.alt)
    bundle = prof._repr_mimebundle_()["text/html"]
    (encoded,) = re.findall(r'src="data:image/svg\+xml;charset=utf-8,([^"]+)"', bundle)[:1]
    assert shares_of_picture(unquote(encoded)) == shares_of_words(shown.alt)


def test_memory_says_the_same_in_words_picture_and_table():
    prof = trained()
    shown = prof.memory.figure()
    peak = format_bytes(prof.memory["peak_bytes"])
    assert peak in shown.alt
    assert peak in unescape(shown.svg())
    assert sum(row["bytes"] for row in prof.memory["at_peak"]) == prof.memory["peak_bytes"]
    assert f"{format_duration(prof.wall)} of wall time" in prof.table().footer
