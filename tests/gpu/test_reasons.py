"""One list of reasons: ``explain`` says the same of a program on a CPU, where tables run it, and on a GPU, where graphs do."""

from __future__ import annotations

import contextlib

import pytest

import sparsekit as mx
from sparsekit import autograd, gluon, nd
from sparsekit.base import capture
from sparsekit.base.refusal import Refused, reason_of
from sparsekit.core import apart, device
from sparsekit.gluon.hybrid import explain
from sparsekit.kernels.gpu import formulas

GPU = mx.gpu(1)
pytestmark = pytest.mark.usefixtures("stand_in")


class Mixed(gluon.HybridBlock):
    """Operators that run in a table and in a graph, and one that draws random numbers."""

    def hybrid_forward(self, F, x):
        return F.sin(F.Dropout(F.relu(F.exp(x)), p=0.5)) * 2


def run(block, ctx, give, times=4):
    block.hybridize()
    with mx.config.set(densify="allow"):
        for _ in range(times):
            given = give(ctx)
            given.attach_grad()
            with autograd.record():
                out = block(given)
            out.backward()
    return [(row["pass"], row["op"], row["reason"]) for row in explain(block)]


def test_what_draws_random_numbers_is_named_alike():
    here, there = (run(Mixed(), ctx, lambda ctx: nd.ones((3, 4), ctx=ctx)) for ctx in (mx.cpu(), GPU))
    assert ("forward", "Dropout", apart.DRAWS) in here
    assert here == there


def test_what_changes_storage_types_is_named_alike():
    rows = []
    for ctx in (mx.cpu(), GPU):
        block = gluon.nn.HybridLambda(lambda F, x: F.sin(F.exp(F.relu(F.cast_storage(x, stype="csr") + 1))))
        rows.append(run(block, ctx, lambda ctx: nd.ones((3, 4), ctx=ctx)))
    assert {row[:2] for row in rows[0]} == {row[:2] for row in rows[1]}
    assert {row[2] for row in rows[1]} <= {"", apart.READ_BACK, apart.CHANGES_STORAGE}


@pytest.mark.parametrize(("ctx", "setting"), [(mx.cpu(), "tables"), (GPU, "cuda_graphs")])
def test_a_setting_is_the_reason_of_all(ctx, setting):
    with mx.config.set(**{setting: False}):
        assert {row[2] for row in run(Mixed(), ctx, lambda ctx: nd.ones((3, 4), ctx=ctx))} == {f"config.{setting} is False"}


def test_a_program_that_has_not_run_often_enough_has_rows_too():
    for ctx in (mx.cpu(), GPU):
        rows = run(Mixed(), ctx, lambda ctx: nd.ones((3, 4), ctx=ctx), times=1)
        assert {row[0] for row in rows} == {"forward", "backward"}
        assert all(row[2] for row in rows)


def test_refusals_of_tables_and_of_captures_are_one_class():
    """Their words are the reason; other errors are named."""
    with pytest.raises(Refused) as found:
        device.captured(lambda: capture.refuse("the host would do something"))
    assert reason_of(found.value) == "the host would do something"
    assert reason_of(ValueError("of two\nlines")) == "ValueError: of two"


def test_a_rule_that_catches_what_a_graph_refuses_runs_by_itself(monkeypatch):
    """What it does instead would be repeated as it was."""
    usual = formulas.compute

    def compute(*given):
        with contextlib.suppress(Refused):
            capture.refuse("the host would choose")
        return usual(*given)

    monkeypatch.setattr(formulas, "compute", compute)
    block = gluon.nn.HybridLambda(lambda F, x: F.sin(F.exp(F.softrelu(x) * 2)))
    rows = run(block, GPU, lambda ctx: nd.ones((3, 4), ctx=ctx))
    assert ("forward", "softrelu", apart.CATCHES) in rows
    assert ("forward", "exp", "") in rows
