"""Helpers of the recorders: the files that they write, and how to survive a crash of MXNet.

The scripts beside this file run in an environment of their own (Python 3.10, mxnet 1.9.1, numpy 1.23); nothing in
``sparsekit`` or its tests imports them, but for ``encoding.py``.  What a recorder and a test both do is in a module beside the
test, which takes the library as an argument.  Each writes one JSON file into ``tests/golden``::

    python tests/oracle/record_module.py tests/golden/module.json

Most of them run the cases of the file again: calls and their results stand there together, and nowhere else.
"""

import json
import subprocess
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for what a recorder and a test share

from tests.oracle.encoding import encode, plain  # noqa: F401 - recorders have the second from here


def attempt(function):
    """Run ``function`` and encode its result, or the error it raised."""
    try:
        return encode(function())
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Traceback")]
        reason = next((line for line in lines if "Error" in line or "heck failed" in line), lines[0] if lines else "")
        reason = reason.rpartition(": ")[2] if ".cc" in reason or "/src/" in reason else reason
        return {"error": type(error).__name__, "reason": reason.strip().replace("MXNetError: ", "")[:200]}


def record_each(count, record_one, tries=1):
    """Record ``count`` cases in a child process, started again after the case that killed it, at most so many times for each."""
    if "--worker" in sys.argv:
        for number in range(int(sys.argv[sys.argv.index("--worker") + 1]), count):
            print("RECORD " + json.dumps([number, record_one(number)]), flush=True)
        sys.exit(0)
    records, tried = [], 0
    while len(records) < count:
        command = [sys.executable, sys.argv[0], sys.argv[1], "--worker", str(len(records))]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = [line[7:] for line in done.stdout.splitlines() if line.startswith("RECORD ")]
        records.extend(json.loads(line)[1] for line in lines)
        tried = 1 if lines else tried + 1
        if len(records) < count and tried >= tries:
            records.append({"crash": True})
            tried = 0
    return records


def known():
    """What the file of this run has; recorders take its cases, and write their results anew."""
    with open(sys.argv[1], encoding="utf-8") as file:
        return json.load(file)


def given(case, *names):
    """Those parts of a case that are not recorded."""
    return {name: case[name] for name in names if name in case}


def save_each(facts, cases, record):
    """Record each case but those that crash MXNet, and write them to the file of this run."""
    records = record_each(len(cases), lambda number: record(cases[number]))
    crashed = [case for case, found in zip(cases, records, strict=True) if "crash" in found]
    print(f"{len(crashed)} crashed MXNet: {crashed}")
    save(sys.argv[1], {**facts, "cases": [found for found in records if "crash" not in found]})


def save(path, facts):
    """Write the facts as JSON, one case a line where there are cases."""
    cases = facts.pop("cases", [])
    head = {"mxnet": mx.__version__, "numpy": np.__version__, **facts}
    text = json.dumps(head)[:-1] + ', "cases": [\n'
    text += ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]}\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{len(cases)} cases recorded")
