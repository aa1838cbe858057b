"""Record the public names of ``mxnet.profiler``, the signatures of what can be called, and what ``dumps`` says of domains."""

import inspect
import json
import os
import re
import sys
import tempfile

import mxnet as mx
import recording

MODULE = mx.profiler


def signature(function):
    return [[name, "<required>" if parameter.default is parameter.empty else parameter.default]
            for name, parameter in inspect.signature(function).parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]


def described(value):
    if inspect.isclass(value):
        methods = {name: signature(method) for name, method in vars(value).items()
                   if inspect.isfunction(method) and name not in ("__del__",)}
        return {"kind": "class", "methods": methods}
    return {"kind": "function", "parameters": signature(value)}


found = {name: described(value) for name, value in sorted(vars(MODULE).items())
         if not name.startswith("_") and getattr(value, "__module__", "") == MODULE.__name__}


def session(profiler):
    """Two domains that use the same names; tests run this text with sparsekit's module, too."""
    first, second = profiler.Domain("first"), profiler.Domain("second")
    samples, other = first.new_counter("samples"), second.new_counter("samples")
    samples.set_value(5)
    samples.increment(7)
    samples.decrement(2)
    other.set_value(100)
    first.new_counter("given", 3)
    for domain in (first, second):
        for _ in range(2):
            with_task = domain.new_task("work")
            with_task.start()
            with_task.stop()
        domain.new_marker("here").mark()
    frame = second.new_frame("work")
    frame.start()
    frame.stop()
    event = profiler.Event("work")
    event.start()
    event.stop()


def row(line):
    """Name, count and length of a row, whose times differ from run to run, or another line as it is."""
    found = re.fullmatch(r"(\S.*?) +(\d+)( +\d+\.\d{4}){3,4}", line)
    return [found[1], int(found[2]), len(line)] if found else line


MODULE.set_config(profile_all=True, aggregate_stats=True, filename=os.path.join(tempfile.mkdtemp(), "profile.json"))
MODULE.set_state("run")
session(MODULE)
mx.nd.ones((10,)).wait_to_read()
MODULE.set_state("stop")
document = json.loads(MODULE.dumps(format="json"))
sections = [section.split("\n") for section in re.split(r"\n\n", MODULE.dumps().strip("\n"))]
sections[0] = sections[0][2:]
table = {section[0]: [row(line) for line in section[1:]] for section in sections if len(section) > 1}
skip = ("MXNET_C_API", "operator")
recording.save(sys.argv[1],
               {"names": found, "session": inspect.getsource(session), "heading": MODULE.dumps().split("\n")[:3],
                "table": {name: lines[:3] + sorted(lines[3:], key=str) for name, lines in table.items() if name not in skip},
                "json": {name: {key: value if key in ("samples", "given") else {"Count": value["Count"]}
                                for key, value in rows.items()} for name, rows in document["Time"].items() if name not in skip},
                "sections": list(document), "memory": {name: list(rows) for name, rows in document["Memory"].items()},
                "memory_keys": sorted(document["Memory"]["Device Storage"]["Memory: cpu/0"])})
