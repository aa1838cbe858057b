"""Record the batches that MXNet 1.9.1's LibSVMIter gives, epoch after epoch."""

import os
import sys
import tempfile

import mxnet as mx
import recording

FILES = {"seven": "".join(f"{row} {row}:{row + 0.5} {row + 1}:2\n" for row in range(7)),
         "uneven": "".join(f"{-row} " + " ".join(f"{column}:{row}.25" for column in range(0, row % 4 * 2, 2)) + "\n"
                           for row in range(11)), "labels": "".join(f"{row} 0:{row} 2:-1\n" for row in range(7))}
WIDTHS = {"seven": 10, "uneven": 7}
PARTS = [{"num_parts": parts, "part_index": part} for parts in (2, 3, 4) for part in range(parts)]
CASES = [*({"data_libsvm": name, "batch_size": size} for name in WIDTHS for size in (1, 2, 3, 5, 7)),
         {"data_libsvm": "seven", "batch_size": 3, "label_shape": [1]},
         *({"data_libsvm": "seven", "batch_size": size, "label_libsvm": "labels", "label_shape": [3]} for size in (2, 7)),
         *({"data_libsvm": name, "batch_size": 2, **part} for name in WIDTHS for part in PARTS)]


def batches(case):
    case = {name: tuple(value) if isinstance(value, list) else value for name, value in case.items()}
    iterator = mx.io.LibSVMIter(data_shape=(WIDTHS[case["data_libsvm"]],), **case)
    described = [repr(iterator.provide_data), repr(iterator.provide_label)]
    epochs = []
    for _ in range(3):
        epochs.append([{"data": recording.encode(batch.data[0]), "label": recording.encode(batch.label[0]),
                        "pad": batch.pad, "index": recording.plain(batch.index)} for batch in iterator])
        iterator.reset()
    return {**case, "provides": described, "epochs": epochs}


if __name__ == "__main__":
    path = os.path.abspath(sys.argv[1])
    sys.argv[:2] = [os.path.abspath(sys.argv[0]), path]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in FILES.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        # Threads of the iterator race: a case that works on one run kills the process on another.
        found = recording.record_each(len(CASES), lambda number: batches(CASES[number]), tries=20)
    cases = [{**case, **record} for case, record in zip(CASES, found)]  # noqa: B905 - Python 3.10
    recording.save(path, {"files": FILES, "widths": WIDTHS, "cases": cases})
