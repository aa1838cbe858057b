"""Record what ``mx.viz.print_summary`` of MXNet prints for the networks of ``visualization_cases.txt``."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path

import mxnet as mx

SOURCE = Path(__file__).with_name("visualization_cases.txt").read_text(encoding="utf-8")


def printed(net, line):
    """What a call prints, or the kind of error that it raises."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mx.viz.print_summary(net, **eval(f"dict({line})"))
        except Exception as error:
            return {"error": type(error).__name__}
    return {"text": text.getvalue()}


names = {"mx": mx, "S": mx.sym}
with mx.name.NameManager():
    networks, cases = SOURCE.split("--\n")
    exec(networks, names)
found = []
for case in cases.splitlines():
    net, _, line = case.partition("|")
    found.append({"net": net.strip(), "arguments": line.strip(), **printed(names[net.strip()], line.strip())})
Path(sys.argv[1]).write_text(json.dumps({"networks": networks, "cases": found}, indent=1) + "\n", encoding="utf-8")
