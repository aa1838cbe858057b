"""Record again what MXNet 1.9.1's NDArrayIter, ResizeIter, PrefetchingIter and CSVIter give, epoch after epoch."""

import os
import sys
import tempfile

import mxnet as mx
import numpy as np
import recording


def rows(count, width=2):
    return np.arange(count * width, dtype=np.float32).reshape(count, width)


def encode_batch(batch):
    return {"data": [recording.encode(array) for array in batch.data],
            "label": [recording.encode(array) for array in batch.label], "pad": batch.pad}


def walk(iterator, steps):
    """Run a script of 'e' (an epoch), 'n' (one batch), 'r' (reset), 'h' (hard reset)."""
    found = []
    for step in steps:
        if step == "e":
            found.append([encode_batch(batch) for batch in iterator])
        elif step == "n":
            try:
                found.append([encode_batch(iterator.next())])
            except StopIteration:
                found.append("stop")
        elif step == "r":
            iterator.reset()
        else:
            iterator.hard_reset()
    return found


def walked(iterator, case):
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    return {**case, "provides": provided, "epochs": walk(iterator, case["steps"])}


def array_case(case):
    data, label = rows(case["rows"]), np.arange(case["rows"], dtype=np.float32)
    kind = case.get("kind", "single")
    if kind == "csr":
        data = mx.nd.array(data).tostype("csr")
    if kind == "list":
        data, label = [data, data * 2], [label, -label]
    if kind == "dict":
        data, label = {"b": data, "a": data.reshape(case["rows"], 2, 1)}, {"y": label}
    if kind == "none":
        label = None
    options = {name: case[name] for name in ("last_batch_handle", "data_name", "label_name", "layout") if name in case}
    iterator = mx.io.NDArrayIter(data, label, case["batch_size"], **options)
    return walked(iterator, case)


def resize_case(case):
    inner = mx.io.NDArrayIter(rows(case["rows"]), np.arange(case["rows"], dtype=np.float32), 3,
                              last_batch_handle=case["last_batch_handle"])
    iterator = mx.io.ResizeIter(inner, case["size"], case["reset_internal"])
    return walked(iterator, case)


def prefetch_case(case):
    iterators = [mx.io.NDArrayIter(rows(8) * factor, np.arange(8, dtype=np.float32), 3) for factor in range(1, case["count"] + 1)]
    renames = {}
    if case["rename"]:
        renames = {"rename_data": [{"data": f"data_{place}"} for place in range(case["count"])],
                   "rename_label": [{"softmax_label": f"label_{place}"} for place in range(case["count"])]}
    iterator = mx.io.PrefetchingIter(iterators, **renames)
    return walked(iterator, case)


def csv_case(case):
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in case.items() if name != "steps"}
    iterator = mx.io.CSVIter(**options)
    return walked(iterator, case)


KINDS = {"array": array_case, "resize": resize_case, "prefetch": prefetch_case, "csv": csv_case}

if __name__ == "__main__":
    path, known, cases = os.path.abspath(sys.argv[1]), recording.known(), []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in known["files"].items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        for recorded in known["cases"]:
            case = {name: value for name, value in recorded.items() if name not in ("provides", "epochs", "error", "reason")}
            kind = case.pop("iterator")
            print(kind, case, flush=True)
            try:
                cases.append({"iterator": kind, **KINDS[kind](case)})
            except Exception as error:
                cases.append({"iterator": kind, **case, "error": type(error).__name__, "reason": str(error)[:120]})
                print("   ", repr(error)[:200])
        recording.save(path, {"files": known["files"], "cases": cases})
