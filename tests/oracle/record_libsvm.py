"""Record again the batches that MXNet 1.9.1's LibSVMIter gives, epoch after epoch."""

import os
import sys
import tempfile

import mxnet as mx
import recording


def batches(widths, case):
    case = {name: tuple(value) if isinstance(value, list) else value for name, value in case.items()}
    iterator = mx.io.LibSVMIter(data_shape=(widths[case["data_libsvm"]],), **case)
    described = [repr(iterator.provide_data), repr(iterator.provide_label)]
    epochs = []
    for _ in range(3):
        epochs.append([{"data": recording.encode(batch.data[0]), "label": recording.encode(batch.label[0]),
                        "pad": batch.pad, "index": recording.plain(batch.index)} for batch in iterator])
        iterator.reset()
    return {**case, "provides": described, "epochs": epochs}


if __name__ == "__main__":
    path, known = os.path.abspath(sys.argv[1]), recording.known()
    given = [{name: value for name, value in case.items() if name not in ("provides", "epochs", "crash")}
             for case in known["cases"]]
    sys.argv[:2] = [os.path.abspath(sys.argv[0]), path]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in known["files"].items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        # Threads of the iterator race: a case that works on one run kills the process on another.
        found = recording.record_each(len(given), lambda number: batches(known["widths"], given[number]), tries=20)
    cases = [{**case, **record} for case, record in zip(given, found)]  # noqa: B905 - Python 3.10
    recording.save(path, {**recording.given(known, "files", "widths"), "cases": cases})
