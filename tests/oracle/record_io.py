"""Record what MXNet 1.9.1's NDArrayIter, ResizeIter, PrefetchingIter and CSVIter give, epoch after epoch."""

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
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    return {**case, "provides": provided, "epochs": walk(iterator, case["steps"])}


ARRAYS = [*({"rows": count, "batch_size": size, "last_batch_handle": handle, "steps": "eererer"}
            for handle in ("pad", "discard", "roll_over") for count, size in ((10, 3), (9, 3), (3, 5), (2, 5), (1, 1), (7, 4))),
          *({"rows": 10, "batch_size": 4, "last_batch_handle": handle, "steps": steps}
            for handle in ("pad", "discard", "roll_over") for steps in ("nrnerne", "nnnnrnhe", "erhee", "nnrnne")),
          *({"rows": 5, "batch_size": 2, "kind": kind, "steps": "ere", "last_batch_handle": "discard"}
            for kind in ("csr", "list", "dict", "none")),
          {"rows": 5, "batch_size": 2, "kind": "list", "steps": "e", "data_name": "x", "label_name": "y"},
          {"rows": 5, "batch_size": 2, "kind": "single", "steps": "e", "layout": "NTC", "data_name": "x", "label_name": "y"}]


def resize_case(case):
    inner = mx.io.NDArrayIter(rows(case["rows"]), np.arange(case["rows"], dtype=np.float32), 3,
                              last_batch_handle=case["last_batch_handle"])
    iterator = mx.io.ResizeIter(inner, case["size"], case["reset_internal"])
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    return {**case, "provides": provided, "epochs": walk(iterator, case["steps"])}


RESIZED = [{"rows": 8, "last_batch_handle": handle, "size": size, "reset_internal": reset, "steps": "erenre"}
           for handle in ("pad", "discard") for size in (2, 5) for reset in (True, False)]


def prefetch_case(case):
    iterators = [mx.io.NDArrayIter(rows(8) * factor, np.arange(8, dtype=np.float32), 3) for factor in range(1, case["count"] + 1)]
    renames = {}
    if case["rename"]:
        renames = {"rename_data": [{"data": f"data_{place}"} for place in range(case["count"])],
                   "rename_label": [{"softmax_label": f"label_{place}"} for place in range(case["count"])]}
    iterator = mx.io.PrefetchingIter(iterators, **renames)
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    return {**case, "provides": provided, "epochs": walk(iterator, case["steps"])}


PREFETCHED = [{"count": count, "rename": rename, "steps": "erernre"} for count, rename in ((1, False), (2, True), (3, True))]

CSV = {"four": "1,2,3\n2,3,4\n3,4,5\n4,5,6\n", "six": "1,2,3,4,5,6\n7,8,9,10,11,12\n-1,-2,.5,1e2,0,1\n",
       "label4": "0\n1\n2\n3\n", "label22": "0,1\n1,1\n2,1\n3,1\n"}


def csv_case(case):
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in case.items() if name != "steps"}
    iterator = mx.io.CSVIter(**options)
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    return {**case, "provides": provided, "epochs": walk(iterator, case["steps"])}


CSVS = [*({"data_csv": "four", "data_shape": [3], "batch_size": size, "round_batch": round_batch, "steps": "ererere"}
          for size in (1, 2, 3) for round_batch in (True, False)),
        {"data_csv": "six", "data_shape": [3, 2], "batch_size": 3, "steps": "e"},
        {"data_csv": "four", "data_shape": [3], "batch_size": 2, "label_csv": "label4", "steps": "e"},
        {"data_csv": "four", "data_shape": [3], "batch_size": 2, "label_csv": "label22", "label_shape": [2], "steps": "e"},
        {"data_csv": "four", "data_shape": [3], "batch_size": 2, "dtype": "int32", "steps": "e"},
        {"data_csv": "four", "data_shape": [3], "batch_size": 2, "dtype": "int64", "steps": "e"}]

if __name__ == "__main__":
    path = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in CSV.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        kinds = [("array", array_case, ARRAYS), ("resize", resize_case, RESIZED), ("prefetch", prefetch_case, PREFETCHED),
                 ("csv", csv_case, CSVS)]
        cases = []
        for name, record, given in kinds:
            for case in given:
                print(name, case, flush=True)
                try:
                    cases.append({"iterator": name, **record(dict(case))})
                except Exception as error:
                    cases.append({"iterator": name, **case, "error": type(error).__name__, "reason": str(error)[:120]})
                    print("   ", repr(error)[:200])
        recording.save(path, {"files": CSV, "cases": cases})
