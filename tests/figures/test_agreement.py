"""The headline, the picture and the table of a display say the same numbers."""

from html import unescape

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.base.formatting import format_bytes, format_duration


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


def test_memory_says_the_same_in_words_picture_and_table():
    prof = trained()
    shown = prof.memory.figure()
    peak = format_bytes(prof.memory["peak_bytes"])
    assert peak in shown.alt
    assert peak in unescape(shown.svg())
    assert sum(row["bytes"] for row in prof.memory["at_peak"]) == prof.memory["peak_bytes"]
    assert f"{format_duration(prof.wall)} of wall time" in prof.table().footer
