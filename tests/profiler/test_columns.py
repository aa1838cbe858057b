"""The columns of profiles: what events say of their arrays, and what merging, selecting and leaving out keep."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.profiler import Profiler
from sparsekit.profiler import memory as tracking
from sparsekit.profiler.columns import NONE, Strings, build


def named(prof):
    """Of each event its name, and for each input the name of the event that made it."""
    columns = prof.tables
    names = columns.texts(columns.kinds.name[columns.events.kind])
    return [(name, [names[maker] if maker != NONE else None for maker in makers])
            for name, makers in zip(names, columns.events.made_by.lists(), strict=True)]


def test_each_event_says_which_event_wrote_its_inputs_last():
    x = mx.nd.array(np.eye(3))
    with Profiler() as prof:
        y = mx.nd.exp(x)
        z = y * 2 + y
        z[:] = mx.nd.sin(y)
        mx.nd.sum(z)
    found = [(name, makers) for name, makers in named(prof) if makers]
    assert found[:3] == [("exp", [None]), ("_mul_scalar", ["exp"]), ("elemwise_add", ["_mul_scalar", "exp"])]
    assert found[3] == ("sin", ["exp"])
    assert found[-1] == ("sum", ["sin"])  # what was assigned came last


@pytest.mark.parametrize("hybridized", [False, True])
def test_the_way_of_a_sparse_value_can_be_followed_to_the_update(hybridized):
    net = mx.gluon.nn.Embedding(50, 4, sparse_grad=True)
    net.initialize()
    if hybridized:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step():
        with mx.autograd.record():
            loss = net(mx.nd.array([1, 2])).sum()
        loss.backward()
        trainer.step(1)

    for _ in range(3):
        step()
    with Profiler() as prof:
        step()
    columns = prof.tables
    (update,) = [place for place, record in enumerate(prof.records) if record["lane"] == "update"]
    roles = [(array.get("role"), array.get("owner"), array["stype"]) for array in prof.records[update]["inputs"]]
    assert roles[:2] == [("parameter", net.weight.name, "default"), ("gradient", net.weight.name, "row_sparse")]
    maker = int(columns.events.made_by.of(update)[1])
    assert prof.records[maker]["lane"] == "backward"
    assert prof.records[maker]["outputs"][0]["stype"] == "row_sparse"


def test_what_refers_to_rows_that_are_left_out_refers_to_none():
    columns = build(Strings(), runs={"wall": [1]}, kinds={"name": ["a", "b"]}, events={
        "kind": [0, 1, 1], "start": [0, 1, 2], "conversion": [NONE, 0, 0], "made_by": [[], [0], [0, 1]], "run": [0, 0, 0]})
    kept = columns.taken({"events": np.array([2, 1])})
    assert kept.events.start.tolist() == [2, 1]
    assert kept.events.conversion.tolist() == [NONE, NONE]
    assert kept.events.made_by.lists() == [[NONE, 1], [NONE]]
    assert columns.taken({"events": np.zeros(0, np.int64)}).events.made_by.lists() == []


def test_the_peak_stays_exact_when_older_changes_are_put_together(library, monkeypatch):
    monkeypatch.setattr(tracking, "MAX_CHANGES", 200)
    monkeypatch.setattr(tracking, "COARSE", 5)
    draw = np.random.default_rng(0)
    held, most, level = [], 0, 0
    with Profiler() as prof:
        for _ in range(900):
            if held and draw.random() < 0.5:
                level -= held.pop(int(draw.integers(len(held)))).nbytes
            size = int(draw.choice([1, 30, 300]))
            array = library.run("zeros", (), library.dense(size))
            level += array.nbytes
            most = max(most, level)
            held.append(array)
            del array
            if len(held) > 40:
                level -= sum(one.nbytes for one in held)
                held.clear()
    memory = prof.memory
    assert len(prof.tables.changes) < 900
    assert memory["peak_bytes"] == most
    assert sum(row["bytes"] for row in memory["at_peak"]) == most
    assert memory["samples"][-1][1] == level
    assert all(total <= most for _, total, _ in memory["samples"])
    assert min(total for _, total, _ in memory["samples"]) >= 0
    del held
