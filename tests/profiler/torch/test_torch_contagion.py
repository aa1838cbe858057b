"""Contagion of a program in PyTorch: the operators inside of an optimizer's step are drawn, with all bytes."""

from __future__ import annotations

import sparsekit as mx
from sparsekit.base.formatting import format_bytes
from sparsekit.figures.contagion import contagion_figure


def test_an_event_that_moves_nothing_does_not_hide_what_is_inside(torch):
    layer = torch.nn.Embedding(5_000, 8)
    optimizer = torch.optim.Adagrad(layer.parameters())
    with mx.Profiler(torch=True) as prof:
        layer(torch.arange(20)).sum().backward()
        optimizer.step()
    update = sum(record["bytes"] for record in prof.records if record["lane"] == "update")
    moved = sum(record["bytes"] for record in prof.records)
    assert update > moved / 2
    figure = contagion_figure(prof)
    assert any("addcdiv" in name for _, _, name, *_ in figure.table.rows)
    assert f"the run moves {format_bytes(moved)}" in figure.finding
