"""Record again what MXNet 1.9.1's NDArrayIter, ResizeIter, PrefetchingIter and CSVIter give, epoch after epoch."""

import os
import sys
import tempfile
from pathlib import Path

import mxnet as mx
import recording

from tests.io.iterator_cases import walk

path, known, cases = os.path.abspath(sys.argv[1]), recording.known(), []
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, text in known["files"].items():
        Path(name).write_text(text, encoding="utf-8")
    for recorded in known["cases"]:
        case = {name: value for name, value in recorded.items() if name not in ("provides", "epochs", "error", "reason")}
        try:
            cases.append({**case, **walk(mx, case)})
        except Exception as error:
            cases.append({**case, "error": type(error).__name__, "reason": str(error)[:120]})
recording.save(path, {"files": known["files"], "cases": cases})
