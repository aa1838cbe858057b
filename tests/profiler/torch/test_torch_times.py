"""Times of the recorder against those of PyTorch's own profiler, in the same run; `bench torch` measures what both take."""

from __future__ import annotations

import sparsekit as mx
from sparsekit.profiler import torch_mode

#: Share by which the two clocks may differ.
CLOCKS = 0.001


def called_by_the_mode(events, name):
    """Durations of an operator's events that the dispatch mode called; the program's own call is around it."""
    return [event.time_range.end - event.time_range.start for event in events
            if event.name == name and event.cpu_parent is not None and event.cpu_parent.name == "PythonDispatchMode"]


def recorded(prof):
    """Durations of the calls of each operator."""
    found = {}
    for record in prof.records:
        # Autograd detaches what it keeps of a result where PyTorch's profiler does not look.
        if "::" in record["name"] and record["name"] != "aten::detach":
            found.setdefault(record["name"], []).append(record["duration"])
    return found


def shorter(ours, theirs):
    """Operators whose total is shorter here, though it encloses what is timed there: name, and both in microseconds."""
    pairs = {name: (sum(own), sum(called_by_the_mode(theirs, name))) for name, own in ours.items()}
    return {name: (own, other) for name, (own, other) in pairs.items() if own < other * (1 - CLOCKS) - 1}


def test_each_operators_total_is_that_of_torch_profiler(torch, monkeypatch):
    # What the profiler itself computes is seen by PyTorch's too.
    monkeypatch.setattr(torch_mode, "is_due", lambda number: False)
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
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs, mx.Profiler(torch=True) as ours:
        for _ in range(3):
            step()
    times, events = recorded(ours), theirs.events()
    assert {name: len(calls) for name, calls in times.items()} == {
        name: len(called_by_the_mode(events, name)) for name in times}
    assert len(times) > 15
    assert not shorter(times, events)
    assert sum(record["self"] for record in ours.records) <= ours.wall
