"""Record again what symbols MXNet makes of expressions: names, arguments, files, inferred shapes and types, refusals.

Each expression is evaluated after the variables and nets of the file, with names counted anew.
"""

import hashlib
import json
import warnings

import mxnet as mx
import recording


def record(start, line):
    names = {"mx": mx}
    with mx.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(start, names)
            with mx.name.NameManager():
                made = eval(line, names)
        except Exception as error:
            return {"expression": line, "error": type(error).__name__}
    if not isinstance(made, mx.sym.Symbol):
        return {"expression": line, "value": repr(made)}
    text = made.tojson()
    graph = json.loads(text)
    return {"expression": line, "repr": repr(made), "arguments": made.list_arguments(), "aux": made.list_auxiliary_states(),
            "outputs": made.list_outputs(), "graph": graph, "sha256": hashlib.sha256(text.encode()).hexdigest()}


if __name__ == "__main__":
    known = recording.known()
    facts = recording.given(known, "variables", "nets")
    recording.save_each(facts, known["cases"], lambda case: record("".join(facts.values()), case["expression"]))
