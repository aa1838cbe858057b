"""Iterators as the cases of ``io.json`` and ``libsvm_iter.json`` describe them, and what they give, of either library."""

import numpy as np

from tests.oracle.encoding import encode, plain


def rows(count, width=2):
    return np.arange(count * width, dtype=np.float32).reshape(count, width)


def single(mx, case):
    """An iterator over arrays in memory."""
    data, label, kind = rows(case["rows"]), np.arange(case["rows"], dtype=np.float32), case.get("kind")
    if kind == "csr":
        data = mx.nd.array(data).tostype("csr")
    if kind == "list":
        data, label = [data, data * 2], [label, -label]
    if kind == "dict":
        data, label = {"b": data, "a": data.reshape(case["rows"], 2, 1)}, {"y": label}
    options = {name: case[name] for name in ("last_batch_handle", "data_name", "label_name", "layout") if name in case}
    return mx.io.NDArrayIter(data, None if kind == "none" else label, case["batch_size"], **options)


def resized(mx, case):
    """One whose epochs have another length."""
    inner = mx.io.NDArrayIter(rows(8), np.arange(8, dtype=np.float32), 3, last_batch_handle=case["last_batch_handle"])
    return mx.io.ResizeIter(inner, case["size"], case["reset_internal"])


def ahead(mx, case):
    """One that makes its batches ahead, of several."""
    inner = [mx.io.NDArrayIter(rows(8) * factor, np.arange(8, dtype=np.float32), 3) for factor in range(1, case["count"] + 1)]
    renames = {}
    if case["rename"]:
        renames = {"rename_data": [{"data": f"data_{place}"} for place in range(case["count"])],
                   "rename_label": [{"softmax_label": f"label_{place}"} for place in range(case["count"])]}
    return mx.io.PrefetchingIter(inner, **renames)


def of_a_file(mx, case):
    """One over a file of comma-separated numbers."""
    return mx.io.CSVIter(**{name: tuple(value) if isinstance(value, list) else value for name, value in case.items()
                            if name not in ("iterator", "steps", "provides", "epochs")})


KINDS = {"array": single, "resize": resized, "prefetch": ahead, "csv": of_a_file}


def batch(made):
    return {"data": [encode(array) for array in made.data], "label": [encode(array) for array in made.label], "pad": made.pad}


def walk(mx, case):
    """What an iterator provides, and gives in a script of 'e' (an epoch), 'n' (one batch), 'r' (reset), 'h' (hard reset)."""
    iterator, found = KINDS[case["iterator"]](mx, case), []
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    for step in case["steps"]:
        if step == "e":
            found.append([batch(one) for one in iterator])
        elif step == "n":
            one = next(iterator, None)
            found.append("stop" if one is None else [batch(one)])
        else:
            {"r": iterator.reset, "h": getattr(iterator, "hard_reset", None)}[step]()
    return {"provides": provided, "epochs": found}


def libsvm(mx, widths, case, **more):
    """What three epochs of an iterator over a file of LibSVM give."""
    case = {name: tuple(value) if isinstance(value, list) else value for name, value in case.items()}
    iterator, epochs = mx.io.LibSVMIter(data_shape=(widths[case["data_libsvm"]],), **case, **more), []
    provided = [repr(iterator.provide_data), repr(iterator.provide_label)]
    for _ in range(3):
        epochs.append([{"data": encode(one.data[0]), "label": encode(one.label[0]), "pad": one.pad, "index": plain(one.index)}
                       for one in iterator])
        iterator.reset()
    return {"provides": provided, "epochs": epochs}
