"""Code of the files that ``oracle/record_module.py`` records, run here, and what it leaves beside what MXNet left."""

from __future__ import annotations

import base64
import logging
import re
import warnings

import numpy as np

import sparsekit as mx


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.levelname}: " + re.sub(r"cost=[\d.]+", "cost=T", record.getMessage()))


def run(start, case, folder, monkeypatch):
    """What the case's code leaves, logs, says and writes."""
    handler, names = Lines(), {"mx": mx, "np": np}
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    monkeypatch.chdir(folder)
    try:
        with warnings.catch_warnings(record=True) as said, mx.name.NameManager():
            warnings.simplefilter("always")
            exec(start + case["code"], names)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    # What lazy updates leave out MXNet writes to standard error: tests/optimizer/test_lazy_warning.py.
    told = [one for one in said if issubclass(one.category, UserWarning) and one.category is not mx.LazyUpdateWarning]
    return names["result"], handler.lines, [str(one.message) for one in told], files


def compare(found, expected, where=""):
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for name, item in expected.items():
            compare(found[name], item, f"{where}.{name}")
    elif isinstance(expected, list) and any(isinstance(item, (str, list, dict)) for item in expected):
        assert len(found) == len(expected), where
        for place, item in enumerate(expected):
            compare(found[place], item, f"{where}[{place}]")
    elif isinstance(expected, (bool, str, type(None))):
        assert found == expected, where
    else:
        np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=1e-5, atol=1e-6,
                                   err_msg=where)


def number(line):
    """A log line as its words, and its number if it ends with one."""
    words, equals, number = line.rpartition("=")
    return [words, [float(number)]] if equals and number != "T" else [line, [0.0]]


def check(start, case, folder, monkeypatch, logged=True):
    """Run a case, and compare the result, log lines, warnings, and files to the byte; ``logged=False`` for other log lines."""
    result, log, said, files = run(start, case, folder, monkeypatch)
    compare(result, case["result"], case["name"])
    if logged:
        compare([number(line) for line in log], [number(line) for line in case["log"]], "log")
    else:
        assert log != case["log"]
    assert said == case["warnings"]
    assert {key: base64.b64encode(data).decode() for key, data in files.items()} == case["files"]
