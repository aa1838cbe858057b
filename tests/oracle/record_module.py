"""Record modules again: parameters after training steps, predictions, scores, log lines, monitors, and checkpoints' bytes.

A case is code that runs under MXNet and under this library, with ``mx`` alone changed, and leaves ``result``, a dict.
"""

import base64
import os
import re
import sys
import tempfile

import mxnet as mx
import recording

from tests.module.recorded_modules import run


def record(start, case):
    with tempfile.TemporaryDirectory() as folder:
        result, log, said, files = run(mx, start + case["code"], folder)
    told = [re.sub(r"\x1b\[\d+m", "", str(one.message)) for one in said]
    return {"result": recording.plain(result), "log": log, "warnings": told,
            "files": {name: base64.b64encode(data).decode() for name, data in files.items()}}


target, known = os.path.abspath(sys.argv[1]), recording.known()
recording.save(target, {"start": known["start"], "cases": [
    {**recording.given(case, "name", "code"), **record(known["start"], case)} for case in known["cases"]]})
