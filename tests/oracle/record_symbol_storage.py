"""Record again what ``simple_bind`` infers: storage types of outputs and gradient arrays, for each storage type of the inputs.

This is MXNet's symbolic storage inference as users see it.  The calls are data, evaluated by the test of sparsekit too.
``error`` is there where MXNet refuses, or fails at the first forward pass (on arrays without entries); what it inferred
before that is kept.
"""

import sys

import mxnet as mx
import recording


def record(case):
    call, shapes, stypes = case["call"], case["shapes"], case["stypes"]
    names = {"S": mx.sym, **{name: mx.sym.Variable(name) for name in "abc"}}
    given = dict(zip(shapes, stypes, strict=True))
    made = recording.given(case, "call", "shapes", "stypes")
    try:
        symbol = eval(call, names)
        executor = symbol.simple_bind(mx.cpu(), stype_dict=given, **{name: tuple(shape) for name, shape in shapes.items()})
        made["outputs"] = [array.stype for array in executor.outputs]
        made["gradients"] = {name: array.stype for name, array in executor.grad_dict.items()}
        executor.forward(is_train=True)  # MXNet finds only then that a kernel is missing
        executor.outputs[0].wait_to_read()
    except Exception as error:
        made["error"] = type(error).__name__
    return made


def main():
    cases = recording.known()["cases"]
    records = recording.record_each(len(cases), lambda number: record(cases[number]))
    for case, made in zip(cases, records, strict=True):
        made.update(recording.given(case, "call", "shapes", "stypes"))  # of one that killed the process too
    recording.save(sys.argv[1], {"cases": records})


if __name__ == "__main__":
    main()
