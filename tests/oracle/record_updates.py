"""Record again three steps of every optimizer, update operators as functions, and learning rate schedules of MXNet 1.9.1."""

import sys

import mxnet as mx
import recording

from tests.optimizer.recorded_steps import called, steps


def record_one(number):
    case = recording.given(known["cases"][number], "optimizer", "settings", "storage", "dtype")
    try:
        weights, states = steps(mx, known, **case)
    except Exception as error:
        return {**case, "error": type(error).__name__, "reason": str(error).strip().splitlines()[-1][:150]}
    return {**case, "weights": recording.plain(weights),
            "states": [{"stype": state.stype, "value": recording.plain(state.asnumpy())} for state in states]}


def record_call(call, written):
    """What a call gives, and what it writes to those arrays."""
    results, given = called(mx, known, call)
    return {"call": call, "results": list(map(recording.encode, results)),
            "written": {name: recording.plain(given[name].asnumpy()) for name in written}}


def record_schedule(text):
    schedule = eval("mx.lr_scheduler." + text, {"mx": mx})
    return {"schedule": text, "rates": [schedule(number) for number in range(16)]}


known = recording.known()
records = recording.record_each(len(known["cases"]), record_one)
recording.save(sys.argv[1], {
    **recording.given(known, "weight", "gradients", "arrays", "vectors"),
    "calls": [record_call(case["call"], case["written"]) for case in known["calls"]],
    "schedules": [record_schedule(case["schedule"]) for case in known["schedules"]], "cases": records})
