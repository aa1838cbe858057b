"""Times of the recorder against those of PyTorch's own profiler, in the same run."""

from __future__ import annotations

import pytest

import sparsekit as mx

#: Microseconds by which a call may take longer here, as what Python's call of the operator takes is in its time.
A_CALL = 60

#: Share by which the totals of an operator may differ beside that.
SHARE = 0.1


def innermost(events, name):
    """Durations of the events of an operator that hold no other of it: the recorder's own call of an operator is inside the
    program's."""
    found = [(event.time_range.start, event.time_range.end) for event in events if event.name == name]
    return [end - start for start, end in found
            if not any(start <= other and last <= end and (other, last) != (start, end) for other, last in found)]


def test_each_operators_total_is_that_of_torch_profiler(torch):
    torch.set_num_threads(1)
    emb = torch.nn.Embedding(50_000, 64)
    rest = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 64))
    optimizer = torch.optim.SGD([*emb.parameters(), *rest.parameters()], lr=0.1)
    tokens = torch.randint(0, 50_000, (512, 20))

    def step():
        optimizer.zero_grad()
        rest(emb(tokens).mean(1)).square().sum().backward()
        optimizer.step()

    step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as theirs, mx.Profiler(torch=True) as ours:
        for _ in range(3):
            step()
    events = theirs.events()
    checked = 0
    for row in ours.totals:
        if "::" not in row["name"] or row["lane"] == "profiler":
            continue
        own = sum(record["duration"] for record in ours.records if record["name"] == row["name"])
        calls = sum(record["name"] == row["name"] for record in ours.records)
        other = innermost(events, row["name"])
        assert len(other) == calls, row["name"]
        assert sum(other) - 1 <= own <= sum(other) * (1 + SHARE) + A_CALL * calls, row["name"]
        checked += 1
    assert checked > 15
    for name in ("aten::addmm", "aten::embedding_dense_backward", "aten::mean"):
        own = sum(record["duration"] for record in ours.records if record["name"] == name)
        assert own == pytest.approx(sum(innermost(events, name)), rel=0.25), name
