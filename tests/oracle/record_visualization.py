"""Record again what ``mx.viz.print_summary`` of MXNet prints for the networks of the file."""

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path

import mxnet as mx


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


known = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
names = {"mx": mx, "S": mx.sym}
with mx.name.NameManager():
    exec(known["networks"], names)
for case in known["cases"]:
    net, line = case["net"], case["arguments"]
    case.clear()
    case.update(net=net, arguments=line, **printed(names[net], line))
Path(sys.argv[1]).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
