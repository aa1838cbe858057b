"""Record loops, branches and operators of one's own in symbols again: files, names, shapes, results and gradients.

Each case is code that leaves a symbol ``net``; it is run by the tests of sparsekit too.
"""

import re
import sys

import mxnet as mx
import numpy as np
import recording

from tests.compat.control_cases import net_of, value_of

#: What MXNet writes into its messages: the time.
CLOCK = r"\[\d\d:\d\d:\d\d\] "


def run(mx, code, shapes):
    """The net, what inference says, and what an executor gives for ``value_of`` every argument."""
    net = net_of(mx, code)
    inferred = net.infer_shape(**shapes)
    known = dict(zip(net.list_arguments(), inferred[0], strict=True)) if inferred[0] else shapes
    states = dict(zip(net.list_auxiliary_states(), inferred[2] or [], strict=True))
    args, aux = ({name: mx.nd.array(value_of(name, shape)) for name, shape in part.items()} for part in (known, states))
    executor = net.bind(mx.cpu(), args, {name: mx.nd.zeros(array.shape) for name, array in args.items()}, aux_states=aux)
    outputs = [array.asnumpy() for array in executor.forward(is_train=True)]
    executor.backward([mx.nd.ones(array.shape) for array in executor.outputs])
    return net, outputs, {name: array.asnumpy().tolist() for name, array in executor.grad_dict.items()}


#: How many steps a loop takes of those that it may; in the others MXNet leaves memory as it was, and here are zeros.
STEPS = {"while_loop": 3}


def taken(name, values):
    """The first output of a case, with zeros in the steps that its loop does not take."""
    values[STEPS.get(name, len(values)):] = 0
    return values


def record(name, code, shapes):
    mx.AttrScope._subgraph_names.clear()
    net, outputs, gradients = run(mx, code, shapes)
    found = {"json": net.tojson(), "arguments": net.list_arguments(), "outputs": net.list_outputs(),
             "states": net.list_auxiliary_states(),
             "values": [taken(name, outputs[0]).tolist(), *(values.tolist() for values in outputs[1:])], "gradients": gradients}
    found["inferred"] = [part if part is None else [list(shape) for shape in part] for part in net.infer_shape(**shapes)]
    return found


known = recording.known()
exec(known["start"], {"mx": mx, "np": np})


def one(number):
    case = recording.given(known["cases"][number], "name", "code", "shapes")
    try:
        return {**case, **record(case["name"], case["code"], {name: tuple(shape) for name, shape in case["shapes"].items()})}
    except Exception as error:
        return {**case, "error": re.sub(CLOCK, "", str(error).strip().splitlines()[-1])[:300]}


recording.save(sys.argv[1], {"start": known["start"], "cases": recording.record_each(len(known["cases"]), one)})
