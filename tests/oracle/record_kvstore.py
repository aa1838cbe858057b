"""Record what a kvstore of MXNet 1.9.1 gives for keys, arrays and rows nested in every way; what it refuses is left out.

    python tests/oracle/record_kvstore.py tests/golden/kvstore.json
"""

import json
import pathlib
import sys

import mxnet as mx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kvstore"))

from nestings import cases

if __name__ == "__main__":
    found = {}
    for name, call in cases(mx):
        try:
            found[name] = call()
        except (AssertionError, AttributeError, TypeError, ValueError, mx.MXNetError):
            continue
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()) + "\n}\n")
