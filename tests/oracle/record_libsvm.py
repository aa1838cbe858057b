"""Record again the batches that MXNet 1.9.1's LibSVMIter gives, epoch after epoch."""

import os
import sys
import tempfile
from pathlib import Path

import mxnet as mx
import recording

from tests.io.iterator_cases import libsvm

path, known = os.path.abspath(sys.argv[1]), recording.known()
given = [{name: value for name, value in case.items() if name not in ("provides", "epochs", "crash")} for case in known["cases"]]
sys.argv[:2] = [os.path.abspath(sys.argv[0]), path]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, text in known["files"].items():
        Path(name).write_text(text, encoding="utf-8")
    # Threads of the iterator race: a case that works on one run kills the process on another.
    found = recording.record_each(len(given), lambda number: libsvm(mx, known["widths"], given[number]), tries=20)
cases = [{**case, **record} for case, record in zip(given, found, strict=True)]
recording.save(path, {**recording.given(known, "files", "widths"), "cases": cases})
