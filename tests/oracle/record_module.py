"""Record modules again: parameters after training steps, predictions, scores, log lines, monitors, and checkpoints' bytes.

A case is code that runs under MXNet and under this library, with ``mx`` alone changed, and leaves ``result``, a dict.
"""

import base64
import logging
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np
import recording


class Lines(logging.Handler):
    """What is logged, with times taken out."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.levelname}: " + re.sub(r"cost=[\d.]+", "cost=T", record.getMessage()))


def plain(value):
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return recording.plain(value)


def run(start, code):
    handler, names = Lines(), {"mx": mx, "np": np}
    logger = logging.getLogger()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said, mx.name.NameManager():
            os.chdir(folder)
            warnings.simplefilter("always")
            exec(start + code, names)
            files = {path.name: base64.b64encode(path.read_bytes()).decode() for path in sorted(Path(folder).iterdir())}
    finally:
        logger.removeHandler(handler)
    told = [re.sub(r"\x1b\[\d+m", "", str(one.message)) for one in said if issubclass(one.category, UserWarning)]
    return {"result": plain(names["result"]), "log": handler.lines, "warnings": told, "files": files}


def main():
    target, known = os.path.abspath(sys.argv[1]), recording.known()
    start = known["start"]
    cases = [{"name": case["name"], "code": case["code"], **run(start, case["code"])} for case in known["cases"]]
    recording.save(target, {"start": start, "cases": cases})


if __name__ == "__main__":
    main()
