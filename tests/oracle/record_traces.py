"""Record one training step of a small network with the profiler of torch or of MXNet, and leave out what names a machine.

    python tests/oracle/record_traces.py torch tests/golden/trace_torch.json
    python tests/oracle/record_traces.py mxnet tests/golden/trace_mxnet.json

The first needs a Python with torch, the second one with mxnet.
"""

import json
import sys
import tempfile
from pathlib import Path


def torch_trace(path):
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer, data = torch.optim.SGD(net.parameters(), lr=0.1), torch.ones(5, 8)

    def step():
        optimizer.zero_grad()
        net(data).sum().backward()
        optimizer.step()

    step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as made, record_function("train"):
        step()
    made.export_chrome_trace(str(path))


def mxnet_trace(path):
    import mxnet as mx
    from mxnet import profiler

    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(path))
    net = mx.gluon.nn.Sequential()
    net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(1))
    net.initialize()
    trainer, data = mx.gluon.Trainer(net.collect_params(), "sgd"), mx.nd.ones((5, 8))

    def step():
        with mx.autograd.record():
            out = net(data).sum()
        out.backward()
        trainer.step(5)
        mx.nd.waitall()

    step()
    profiler.set_state("run")
    domain = profiler.Domain("demo")
    task, counter = domain.new_task("train"), domain.new_counter("loss", 3)
    with_task(task, step)
    counter += 4
    domain.new_marker("here").mark()
    profiler.set_state("stop")
    profiler.dump()


def with_task(task, step):
    task.start()
    step()
    task.stop()


def small(document):
    """The trace with times from 0, small numbers for processes, threads and addresses, and no name of a machine or file."""
    for field in ("host_name", "traceName", "trace_id", "baseTimeNanoseconds"):
        document.pop(field, None)
    document["traceEvents"] = [event for event in document["traceEvents"] if event.get("cat") != "MXNET_C_API"
                               and event["name"] not in ("thread_name", "thread_sort_index", "process_sort_index")]
    begin = min(event["ts"] for event in document["traceEvents"] if "ts" in event)
    numbers = {}
    for event in document["traceEvents"]:
        for field in ("pid", "tid", "id"):
            if type(event.get(field)) is int and event[field] > 100:
                event[field] = numbers.setdefault((field, event[field]), len(numbers) + 100)
        if "Addr" in event.get("args", {}):
            event["args"]["Addr"] = numbers.setdefault(("Addr", event["args"]["Addr"]), len(numbers) + 100)
        if "ts" in event:
            event["ts"] = round(event["ts"] - begin, 3)
    return document


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        {"torch": torch_trace, "mxnet": mxnet_trace}[sys.argv[1]](path)
        document = small(json.loads(path.read_text()))
    lines = ",\n".join(json.dumps(event) for event in document.pop("traceEvents"))
    Path(sys.argv[2]).write_text(json.dumps(document)[:-1] + f', "traceEvents": [\n{lines}\n]}}\n', encoding="utf-8")
